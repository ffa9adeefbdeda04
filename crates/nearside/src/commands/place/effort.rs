//! Time, threads and Ctrl-C for the solvers, which know none of them; and a sign of life meanwhile.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nearside_net::Stop;
use nearside_placement::Budget;
use nearside_placement::solver::Workers;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::args::EffortArgs;

/// What the flags allow: answers solvers whether to stop, and runs their jobs.
pub(super) struct Effort {
    started: Instant,
    limit: Duration,
    steps: Option<u64>,
    seed: u64,
    stop: Stop,
    pool: Pool,
}

/// Who counts steps wants the same answer on every machine, so the clock has no say.
fn usual_limit(args: &EffortArgs) -> Duration {
    match args.steps {
        Some(_) => Duration::from_secs(24 * 60 * 60),
        None => Duration::from_secs(10),
    }
}

/// Rayon's threads as the engine's workers.
pub(super) struct Pool(ThreadPool);

impl Pool {
    pub(super) fn new(threads: Option<usize>) -> Result<Self> {
        let threads = threads.unwrap_or(0); // 0 is one for each core
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        Ok(Self(pool.context("cannot start threads")?))
    }
}

impl Workers for Pool {
    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        self.0.install(|| (0..jobs).into_par_iter().for_each(job));
    }
}

impl Effort {
    pub(super) fn new(args: &EffortArgs, stop: Stop) -> Result<Self> {
        Ok(Self {
            started: Instant::now(),
            limit: args
                .time
                .map_or_else(|| usual_limit(args), Duration::from_secs_f64),
            steps: args.steps,
            seed: args.seed,
            stop,
            pool: Pool::new(args.threads)?,
        })
    }

    /// Time counts from now on.
    pub(super) fn restart(&mut self) {
        self.started = Instant::now();
    }

    pub(super) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    pub(super) const fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn interrupted(&self) -> bool {
        self.stop.is_stopped()
    }

    /// Whether steps were given, which then end the work and not the clock.
    pub(super) const fn counts_steps(&self) -> bool {
        self.steps.is_some()
    }

    /// How much of the time is gone: 1 and above is too much.
    fn share_gone(&self) -> f64 {
        match self.stop.is_stopped() || self.limit.is_zero() {
            true => f64::INFINITY,
            false => self.started.elapsed().div_duration_f64(self.limit),
        }
    }

    /// Solves with a budget of these means, and says on a terminal what it is at.
    pub(super) fn spend<R>(&self, what: &str, solve: impl FnOnce(&Budget<'_>) -> R) -> R {
        let _sign = SignOfLife::new(what, self.limit);
        let gone = || self.share_gone();
        let budget = Budget::unlimited(self.seed)
            .with_clock(&gone)
            .with_workers(&self.pool);
        let budget = match self.steps {
            Some(steps) => budget.with_steps(steps),
            None => budget,
        };
        solve(&budget)
    }
}

/// A line on standard error while somebody waits; gone afterwards.
struct SignOfLife(ProgressBar);

impl SignOfLife {
    fn new(what: &str, limit: Duration) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let line = format!(
            "{{spinner}} {what}, {{elapsed}} of {} s at most; Ctrl-C shows what was found",
            limit.as_secs_f64()
        );
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(&line) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(150));
        Self(bar)
    }
}

impl Drop for SignOfLife {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

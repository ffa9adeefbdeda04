//! Threads for the solvers, and the test that their number changes nothing but the time.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use nearside_placement::network::NetworkParams;
use nearside_placement::solver::{Anchors, Auto, Greedy, TightSpan, Workers};
use nearside_placement::{Budget, Instance, Solver, Task};

use super::figures::{check, millis};
use super::{Bench, Findings};
use crate::commands::bench::targets::{Bound, Verdict};

/// So many threads that fetch jobs until none is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Threads(usize);

impl Threads {
    /// One for each core unless the user says otherwise.
    pub(super) fn new(wanted: Option<usize>) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self(wanted.unwrap_or_else(cores))
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Workers for Threads {
    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        if self.0 <= 1 || jobs <= 1 {
            return (0..jobs).for_each(job);
        }
        let next = AtomicUsize::new(0);
        let fetch = || {
            loop {
                let mine = next.fetch_add(1, Ordering::Relaxed);
                if mine >= jobs {
                    return;
                }
                job(mine);
            }
        };
        std::thread::scope(|scope| {
            // The caller is one of them.
            (1..self.0.min(jobs)).for_each(|_| drop(scope.spawn(fetch)));
            fetch();
        });
    }
}

/// Numbers of threads whose answers must be the same.
const NUMBERS: [usize; 3] = [1, 2, 4];

/// Enough for tight span and search to take turns.
const STEPS: u64 = 20_000;

pub(super) fn measure(bench: &Bench<'_>) -> Result<Findings> {
    bench.say("threads: the same steps on 1, 2 and 4")?;
    let solvers: [&dyn Solver; 4] = [&Greedy::default(), &Anchors, &TightSpan::default(), &Auto];
    let (mut compared, mut differ) = (0, 0);
    for &seed in bench.seeds.as_slice().iter().take(5) {
        let plain = NetworkParams::default().generate(seed);
        let crowded = plain.clone().with_capacity(10);
        for (instance, bounds) in [(&plain, &[20.0, 24.0, 28.0][..]), (&crowded, &[28.0])] {
            for &bound in bounds {
                for solver in solvers {
                    compared += 1;
                    differ += usize::from(differs(solver, instance, bound, seed)?);
                }
            }
        }
        if bench.stop.is_stopped() {
            break;
        }
    }
    Ok(Findings {
        parts: vec![format!(
            "Threads: {compared} times a solver got the same task, seed and {STEPS} steps on 1, 2 and \
             4 threads; {differ} times an answer, its bounds or its counts differed."
        )
        .into()],
        verdicts: vec![Verdict::new(
            "threads: answers that differ".to_owned(),
            Bound::AtMost(0.0),
            "",
            Some(differ as f64),
        )],
    })
}

fn differs(solver: &dyn Solver, instance: &Instance, bound: f64, seed: u64) -> Result<bool> {
    let task = Task {
        instance,
        bound: millis(bound),
    };
    let solve = |threads| {
        let workers = Threads(threads);
        let budget = Budget::unlimited(seed).with_steps(STEPS);
        solver.solve(task, &budget.with_workers(&workers))
    };
    let [alone, others @ ..] = NUMBERS.map(solve);
    check(solver.name(), task, &alone)?;
    Ok(others.iter().any(|outcome| *outcome != alone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once_at_any_number_of_threads() {
        for threads in [1, 2, 7] {
            let done: Vec<AtomicUsize> = (0..20).map(|_| AtomicUsize::new(0)).collect();
            Threads(threads).run(20, &|job| {
                done[job].fetch_add(1, Ordering::Relaxed);
            });
            assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1));
        }
    }
}

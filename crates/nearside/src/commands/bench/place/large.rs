//! 1,000 servers and 10,000 clients: what the paper's greedy algorithm needs, and what we do.

use std::time::Duration;

use anyhow::Result;
use nearside_placement::network::NetworkParams;
use nearside_placement::solver::{Auto, Greedy, Nearest};
use nearside_placement::{Delay, Instance, Solver, Task};
use nearside_report::{Cell, Column, Table};

use super::figures::{Solved, largest, millis};
use super::{Bench, Findings};
use crate::commands::bench::targets::{Bound, Verdict};

/// What the solver is given, so that building its tables and seating everybody fit into ten seconds.
const LIMIT: Duration = Duration::from_secs(8);
/// Greedy may take as long as it wants.
const PATIENCE: Duration = Duration::from_secs(600);

/// Where the bounds lie between the delay of everybody at the nearest server, the tightest that the
/// paper's algorithm can start from, and that of one server for all.
const SHARES: [f64; 5] = [0.02, 0.1, 0.3, 0.5, 0.8];
/// The first bounds have a target.
const JUDGED: usize = 3;

struct Round {
    bound: Delay,
    greedy: Solved,
    ours: Solved,
}

pub(super) fn measure(bench: &Bench<'_>) -> Result<Findings> {
    if bench.quick {
        return Ok(Findings::default());
    }
    let seed = bench.seeds.first();
    bench.say("1000 servers × 10000 clients, 5 bounds")?;
    let params = NetworkParams {
        servers: 1_000,
        clients: 10_000,
        ..NetworkParams::default()
    };
    let instance = params.generate(seed);
    let mut rounds = Vec::new();
    for bound in bounds(bench, &instance, seed)? {
        let task = Task {
            instance: &instance,
            bound,
        };
        // Ours first: what greedy leaves in memory is not ours.
        let ours = bench.solve(&Auto, task, seed, LIMIT)?;
        let greedy = bench.solve(&Greedy::default(), task, seed, PATIENCE)?;
        rounds.push(Round {
            bound,
            greedy,
            ours,
        });
        if bench.stop.is_stopped() {
            return Ok(Findings::default());
        }
    }
    Ok(Findings {
        parts: vec![table(&rounds, seed).into()],
        verdicts: verdicts(&rounds),
    })
}

fn bounds(bench: &Bench<'_>, instance: &Instance, seed: u64) -> Result<Vec<Delay>> {
    let task = Task {
        instance,
        bound: Delay::LONGEST,
    };
    let delay = |solver: &dyn Solver| -> Result<f64> {
        let solved = bench.solve(solver, task, seed, PATIENCE)?;
        Ok(solved.outcome.delay.map_or(0.0, Delay::as_millis))
    };
    // Without a bound to keep, greedy stays at the core.
    let (nearest, alone) = (delay(&Nearest)?, delay(&Greedy::default())?);
    let bound = |share: &f64| millis(nearest + share * (alone - nearest));
    Ok(SHARES.iter().map(bound).collect())
}

impl Round {
    /// By what share ours needs fewer servers than greedy, in percent.
    fn saved(&self) -> Option<f64> {
        Some(100.0 * (1.0 - self.ours.servers()? / self.greedy.servers()?))
    }
}

fn table(rounds: &[Round], seed: u64) -> Table {
    let caption = format!("1,000 servers × 10,000 clients, seed {seed}");
    let mut table = Table::new("large", caption)
        .column(Column::new("bound").heading("delay bound").unit("ms"))
        .column(
            Column::new("greedy")
                .heading("greedy, servers")
                .not_fitted(),
        )
        .column(Column::new("auto").heading("auto, servers").not_fitted())
        .column(Column::new("lower_bound").heading("at least").not_fitted())
        .column(Column::new("saved").unit("%").not_fitted())
        .column(
            Column::new("greedy_s")
                .heading("greedy")
                .unit("s")
                .not_fitted(),
        )
        .column(Column::new("auto_s").heading("auto").unit("s").not_fitted());
    let number = |value: Option<f64>, decimals| {
        value.map_or(Cell::Missing, |value| Cell::number(value, decimals))
    };
    for round in rounds {
        table.push([
            Cell::number(round.bound.as_millis(), 2),
            number(round.greedy.servers(), 0),
            number(round.ours.servers(), 0),
            Cell::number(round.ours.outcome.lower_bound.as_units(), 0),
            number(round.saved(), 1),
            Cell::number(round.greedy.seconds, 2),
            Cell::number(round.ours.seconds, 2),
        ]);
    }
    table
}

fn verdicts(rounds: &[Round]) -> Vec<Verdict> {
    let saved = rounds.iter().take(JUDGED).map(|round| {
        Verdict::new(
            format!(
                "1000 × 10000: fewer servers than greedy at {:.1} ms",
                round.bound.as_millis()
            ),
            Bound::AtLeast(35.0),
            "%",
            round.saved(),
        )
    });
    let times: Vec<f64> = rounds.iter().map(|round| round.ours.seconds).collect();
    let slowest = Verdict::new(
        "1000 × 10000: slowest of five".to_owned(),
        Bound::AtMost(10.0),
        "s",
        largest(&times),
    );
    let memory = Verdict::new(
        "1000 × 10000: peak memory".to_owned(),
        Bound::Below(512.0),
        "MiB",
        peak_memory_mib(),
    );
    saved.chain([slowest, memory]).collect()
}

/// The most that was resident in this process so far. Linux only.
fn peak_memory_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

//! The paper's size, 100 servers and 50 clients: every solver beside the proven optimum.

use std::time::Duration;

use anyhow::Result;
use nearside_placement::network::NetworkParams;
use nearside_placement::solver::{Anchors, Auto, Greedy, Nearest, TightSpan, Zizo};
use nearside_placement::{Solver, Status, Task};
use nearside_report::{Cell, Column, Table};

use super::figures::{Interval, Solved, largest, mean, millis};
use super::{Bench, Findings};
use crate::commands::bench::targets::{Bound, Verdict};

/// The bounds of the paper's figures, in milliseconds.
fn bounds() -> impl Iterator<Item = f64> {
    (20..=42).step_by(2).map(f64::from)
}

/// How long a proof may take before it counts as not made.
const PATIENCE: Duration = Duration::from_secs(60);
/// Within which nearly all proofs have to be made.
const SOON: f64 = 3.0;

/// All solvers on one instance at one bound.
struct Round {
    seed: u64,
    bound: f64,
    optimum: Solved,
    others: Vec<Solved>,
}

pub(super) fn measure(bench: &Bench<'_>) -> Result<Findings> {
    bench.say("100 servers × 50 clients, 12 bounds, all solvers")?;
    let tight_span = TightSpan::default();
    let greedy = Greedy::default();
    let zizo = Zizo::VARIANTS;
    let solvers: Vec<&dyn Solver> = [&tight_span as &dyn Solver, &Anchors, &greedy]
        .into_iter()
        .chain(zizo.iter().map(|zizo| zizo as &dyn Solver))
        .chain([&Nearest as &dyn Solver])
        .collect();
    let mut rounds = Vec::new();
    for &seed in bench.seeds.as_slice() {
        let instance = NetworkParams::default().generate(seed);
        for bound in bounds() {
            let task = Task {
                instance: &instance,
                bound: millis(bound),
            };
            let solve = |solver: &&dyn Solver| bench.solve(*solver, task, seed, PATIENCE);
            rounds.push(Round {
                seed,
                bound,
                optimum: solve(&(&Auto as &dyn Solver))?,
                others: solvers.iter().map(solve).collect::<Result<_>>()?,
            });
            if bench.stop.is_stopped() {
                return Ok(Findings::default());
            }
        }
    }
    let names: Vec<&str> = solvers.iter().map(|solver| solver.name()).collect();
    Ok(Findings {
        parts: vec![
            by_solver(&rounds, &names).into(),
            by_bound(&rounds, &names).into(),
        ],
        verdicts: verdicts(&rounds),
    })
}

impl Round {
    /// Whether it is known for sure what the best is, if there is any.
    fn is_proven(&self) -> bool {
        matches!(
            self.optimum.outcome.status,
            Status::Optimal | Status::Infeasible
        )
    }

    /// Servers over the optimum's; `None` where either has no answer, or the optimum no proof.
    fn ratio(&self, place: usize) -> Option<f64> {
        let proven = self.optimum.outcome.status == Status::Optimal;
        let fewest = self.optimum.servers().filter(|_| proven)?;
        Some(self.others[place].servers()? / fewest)
    }
}

/// For each seed, the mean over its bounds: seeds are independent, bounds are not.
fn ratios_by_seed(rounds: &[Round], place: usize) -> Vec<f64> {
    let of_seed = |rounds: &[Round]| {
        let ratios: Vec<f64> = rounds
            .iter()
            .filter_map(|round| round.ratio(place))
            .collect();
        mean(&ratios)
    };
    let seeds = rounds.chunk_by(|one, other| one.seed == other.seed);
    seeds.filter_map(of_seed).collect()
}

fn by_solver(rounds: &[Round], names: &[&str]) -> Table {
    let caption = format!(
        "100 servers × 50 clients, {} tasks. Servers over the proven optimum where the solver keeps \
         the bound: mean of seeds with its 95 % interval, and the worst task",
        rounds.len()
    );
    let mut table = Table::new("solvers", caption)
        .column(Column::new("solver"))
        .column(Column::new("kept").heading("bound kept").not_fitted())
        .column(
            Column::new("ratio")
                .heading("servers / optimum")
                .not_fitted(),
        )
        .column(Column::new("low").heading("95 % from").not_fitted())
        .column(Column::new("high").heading("to").not_fitted())
        .column(Column::new("worst").not_fitted())
        .column(
            Column::new("mean_ms")
                .heading("mean")
                .unit("ms")
                .not_fitted(),
        )
        .column(Column::new("p99_ms").heading("p99").unit("ms").not_fitted())
        .column(
            Column::new("slowest_ms")
                .heading("slowest")
                .unit("ms")
                .not_fitted(),
        );
    let optima: Vec<&Solved> = rounds.iter().map(|round| &round.optimum).collect();
    let ones = Interval::of(&[1.0]);
    table.push(row("auto", &optima, ones, Some(1.0)));
    for (place, name) in names.iter().enumerate() {
        let solved: Vec<&Solved> = rounds.iter().map(|round| &round.others[place]).collect();
        let ratios: Vec<f64> = rounds
            .iter()
            .filter_map(|round| round.ratio(place))
            .collect();
        let interval = Interval::of(&ratios_by_seed(rounds, place));
        table.push(row(name, &solved, interval, largest(&ratios)));
    }
    table
}

fn row(name: &str, solved: &[&Solved], ratio: Option<Interval>, worst: Option<f64>) -> Vec<Cell> {
    let kept = solved.iter().filter(|solved| solved.servers().is_some());
    let mut times: Vec<f64> = solved.iter().map(|solved| 1e3 * solved.seconds).collect();
    times.sort_by(f64::total_cmp);
    let number = |value: Option<f64>, decimals| {
        value.map_or(Cell::Missing, |value| Cell::number(value, decimals))
    };
    let start = [Cell::from(name), kept.count().into()];
    let end = [
        number(worst, 2),
        number(mean(&times), 1),
        number(nearside_types::quantile(&times, 0.99), 1),
        number(times.last().copied(), 1),
    ];
    let ratio = Interval::cells(ratio, 4);
    start.into_iter().chain(ratio).chain(end).collect()
}

fn by_bound(rounds: &[Round], names: &[&str]) -> Table {
    let caption = "Servers in use, means over the tasks on which the solver keeps the bound";
    let table = Table::new("bounds", caption)
        .column(Column::new("bound").heading("delay bound").unit("ms"))
        .column(Column::new("feasible").not_fitted())
        .column(Column::new("proven").not_fitted())
        .column(Column::new("optimum").not_fitted());
    let mut table = names.iter().fold(table, |table, name| {
        let column = Column::new(name.replace('-', "_")).heading(*name);
        table.column(column.not_fitted())
    });
    for bound in bounds() {
        let here: Vec<&Round> = rounds.iter().filter(|round| round.bound == bound).collect();
        let servers = |of: &dyn Fn(&Round) -> Option<f64>| {
            let values: Vec<f64> = here.iter().filter_map(|round| of(round)).collect();
            mean(&values).map_or(Cell::Missing, |mean| Cell::number(mean, 2))
        };
        let feasible = here
            .iter()
            .filter(|round| round.optimum.servers().is_some());
        let proven = here.iter().filter(|round| round.is_proven());
        let start = [
            Cell::number(bound, 0),
            feasible.count().into(),
            proven.count().into(),
            servers(&|round| round.optimum.servers()),
        ];
        let others = (0..names.len()).map(|place| servers(&|round| round.others[place].servers()));
        table.push(start.into_iter().chain(others.collect::<Vec<_>>()));
    }
    table
}

fn verdicts(rounds: &[Round]) -> Vec<Verdict> {
    const TIGHT_SPAN: usize = 0;
    let share = |which: &dyn Fn(&Round) -> bool| {
        let count = rounds.iter().filter(|round| which(round)).count();
        (!rounds.is_empty()).then(|| 100.0 * count as f64 / rounds.len() as f64)
    };
    let times = rounds
        .iter()
        .map(|round| 1e3 * round.others[TIGHT_SPAN].seconds);
    let times: Vec<f64> = times.collect();
    vec![
        Verdict::new(
            "100 × 50: optima proven by auto".to_owned(),
            Bound::AtLeast(100.0),
            "%",
            share(&Round::is_proven),
        ),
        Verdict::new(
            "100 × 50: proven within 3 s".to_owned(),
            Bound::AtLeast(99.0),
            "%",
            share(&|round| round.is_proven() && round.optimum.seconds <= SOON),
        ),
        Verdict::new(
            "100 × 50: tight span, servers over the optimum".to_owned(),
            Bound::AtMost(1.01),
            "×",
            mean(&ratios_by_seed(rounds, TIGHT_SPAN)),
        ),
        Verdict::new(
            "100 × 50: tight span, mean time".to_owned(),
            Bound::AtMost(150.0),
            "ms",
            mean(&times),
        ),
    ]
}

//! `nearside place sweep`: servers against the bound, as a table, rows for scripts and a picture.

use anyhow::Result;
use nearside_placement::{Cost, Curve, Delay, Instance, Status, Task, curve};
use nearside_report::{Axis, Cell, Column, Figure, Layer, Point, Table, csv, svg, text};
use serde::Serialize;

use super::args::{PlaceFormat, SweepArgs};
use super::effort::Effort;
use super::{SolverName, input, show};
use crate::commands::stop_on_interrupt;
use crate::exit::{Exit, WorldFailure};

pub(super) fn run(args: &SweepArgs) -> Result<Exit> {
    let mut effort = Effort::new(&args.effort, stop_on_interrupt()?)?;
    let file = input::read(&args.input, args.effort.seed)?;
    effort.restart();
    let sweep = match &args.bounds[..] {
        [] => Sweep::whole_curve(&file.instance, &effort),
        bounds => {
            let mut bounds: Vec<f64> = bounds.iter().flat_map(|some| some.0.clone()).collect();
            bounds.sort_by(f64::total_cmp);
            bounds.dedup();
            Sweep::at(&file.instance, &bounds, &args.solver, &effort)
        }
    };
    if let Some(path) = &args.svg {
        let picture = svg::render(&sweep.figure());
        std::fs::write(path, picture)
            .map_err(|error| WorldFailure(format!("cannot write {}: {error}", path.display())))?;
    }
    show::print(&match show::format(args.format) {
        PlaceFormat::Json => show::json(&sweep)?,
        PlaceFormat::Csv => csv::table(&sweep.table()),
        PlaceFormat::Table => text::table(&sweep.table(), 100) + &sweep.note(),
    })?;
    Ok(
        match sweep.rows.iter().any(|row| row.servers_used.is_some()) {
            _ if effort.interrupted() => Exit::Interrupted,
            true => Exit::Done,
            false => Exit::Negative,
        },
    )
}

/// The JSON of `sweep`, also of the service.
#[derive(Serialize)]
pub(super) struct Sweep {
    /// Whether the rows are all there are: below the last bound nothing is possible.
    complete: Option<bool>,
    rows: Vec<Row>,
    seconds: f64,
    seed: u64,
}

#[derive(Serialize)]
struct Row {
    bound_ms: Delay,
    solver: String,
    status: Status,
    servers_used: Option<usize>,
    cost: Option<Cost>,
    delay_ms: Option<Delay>,
    lower_bound: Option<Cost>,
}

impl Sweep {
    fn whole_curve(instance: &Instance, effort: &Effort) -> Self {
        let curve = effort.spend("following the curve", |budget| curve(instance, budget));
        Self::of_curve(&curve, effort.seconds(), effort.seed())
    }

    pub(super) fn of_curve(curve: &Curve, seconds: f64, seed: u64) -> Self {
        let rows = curve.points.iter().map(|point| Row {
            bound_ms: point.delay,
            solver: SolverName::Auto.to_string(),
            status: if point.is_proven {
                Status::Optimal
            } else {
                Status::Feasible
            },
            servers_used: Some(point.servers_used),
            cost: Some(point.cost),
            delay_ms: Some(point.delay),
            lower_bound: point.is_proven.then_some(point.cost),
        });
        Self {
            complete: Some(curve.is_complete),
            rows: rows.collect(),
            seconds,
            seed,
        }
    }

    fn at(instance: &Instance, bounds: &[f64], solvers: &[SolverName], effort: &Effort) -> Self {
        let mut rows = Vec::new();
        for bound in bounds
            .iter()
            .filter_map(|&millis| Delay::from_millis(millis))
        {
            for solver in solvers {
                let task = Task { instance, bound };
                let what = format!("{} ms, {solver}", bound.as_millis());
                let outcome = effort.spend(&what, |budget| solver.solver().solve(task, budget));
                let within = outcome.is_within_bound();
                rows.push(Row {
                    bound_ms: bound,
                    solver: solver.to_string(),
                    status: outcome.status,
                    servers_used: within.then_some(outcome.servers_used),
                    cost: outcome.cost.filter(|_| within),
                    delay_ms: outcome.delay.filter(|_| within),
                    lower_bound: Some(outcome.lower_bound).filter(|&lower| lower != Cost::INFINITE),
                });
            }
        }
        Self {
            complete: None,
            rows,
            seconds: effort.seconds(),
            seed: effort.seed(),
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::new("servers-by-bound", "Servers needed to keep a bound.")
            .column(Column::new("bound_ms").heading("bound").unit("ms"))
            .column(Column::new("solver"))
            .column(Column::new("status"))
            .column(Column::new("servers_used").heading("servers"))
            .column(Column::new("cost"))
            .column(Column::new("delay_ms").heading("delay").unit("ms"))
            .column(Column::new("lower_bound").heading("at least"));
        for row in &self.rows {
            let count = |number: usize| Cell::Count(number as u64);
            let delay = |delay: Delay| Cell::number(delay.as_millis(), 3);
            table.push([
                delay(row.bound_ms),
                Cell::Text(row.solver.clone()),
                Cell::Text(in_words(row.status).to_owned()),
                row.servers_used.map_or(Cell::Missing, count),
                row.cost
                    .map_or(Cell::Missing, |cost| Cell::number(cost.as_units(), 2)),
                row.delay_ms.map_or(Cell::Missing, delay),
                row.lower_bound
                    .map_or(Cell::Missing, |lower| Cell::number(lower.as_units(), 2)),
            ]);
        }
        table
    }

    fn note(&self) -> String {
        let end = match self.complete {
            Some(true) => "Below the last bound nothing is possible. ",
            Some(false) => "The time ended before the whole curve was known. ",
            None => "",
        };
        format!("\n{end}{:.2} s, seed {}.\n", self.seconds, self.seed)
    }

    /// Fewer servers to the right: each solver's steps.
    fn figure(&self) -> Figure {
        let most = self.rows.iter().filter_map(|row| row.servers_used).max();
        // Six or more, so that every tick is a whole number of servers.
        let servers = Axis::linear("servers").range(0.0, most.unwrap_or(0).max(6) as f64);
        let figure = Figure::chart(
            "servers-by-bound",
            "Servers needed to keep a bound on the session delay.",
            Axis::linear("bound, ms"),
            servers,
        );
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.solver.as_str()) {
                names.push(&row.solver);
            }
        }
        names.into_iter().fold(figure, |figure, name| {
            let of_this = self.rows.iter().filter(|row| row.solver == name);
            let mut points: Vec<Point> = of_this
                .filter_map(|row| {
                    Some(Point {
                        x: row.bound_ms.as_millis(),
                        y: row.servers_used? as f64,
                    })
                })
                .collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            figure.layer(match self.complete {
                Some(_) => Layer::steps(name, points),
                None => Layer::line(name, points),
            })
        })
    }
}

fn in_words(status: Status) -> &'static str {
    match status {
        Status::Optimal => "optimal",
        Status::Feasible => "feasible",
        Status::Infeasible => "impossible",
        Status::BoundUnmet => "not met",
        Status::OutOfBudget => "not found in time",
    }
}

//! `nearside place sweep`: servers against the bound, as a table, rows for scripts and a picture.

use anyhow::Result;
use nearside_placement::{Cost, Curve, CurvePoint, Delay, Instance, Outcome, Status, Task, curve};
use nearside_report::{Axis, Cell, Column, Figure, Layer, Point, Table, svg, text};
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
    show::print(&match show::format(args.format) {
        PlaceFormat::Json => show::json(&sweep)?,
        PlaceFormat::Csv => sweep.csv()?,
        PlaceFormat::Table => text::table(&sweep.table(), 100) + &sweep.note(&effort),
    })?;
    // Last, since what took long to find is shown even if the picture cannot be written.
    if let Some(path) = &args.svg {
        let picture = svg::render(&sweep.figure());
        std::fs::write(path, picture)
            .map_err(|error| WorldFailure(format!("cannot write {}: {error}", path.display())))?;
    }
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
    #[serde(skip)]
    counted_in: CountedIn,
}

/// What a picture of the sweep has on its other axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountedIn {
    Servers,
    Cost,
}

impl CountedIn {
    fn of(instance: &Instance) -> Self {
        match instance.has_unit_costs() {
            true => Self::Servers,
            false => Self::Cost,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Servers => "servers",
            Self::Cost => "cost",
        }
    }
}

#[derive(Serialize)]
struct Row {
    bound_ms: Delay,
    solver: String,
    status: Status,
    servers_used: Option<usize>,
    cost: Option<Cost>,
    delay_ms: Option<Delay>,
    /// Nothing within the bound costs less; of a corner, nothing that is faster than the one before.
    lower_bound: Option<Cost>,
    /// Nothing at this cost is faster; only corners of the whole curve know.
    at_least_ms: Option<Delay>,
    /// Whether that is the last word: nothing cheaper exists, or nothing at all. Of a corner: nothing
    /// faster exists at its cost, and no other corner between it and the one before.
    proven: bool,
    /// Whether the budget ended it, so that a larger one may say more.
    #[serde(skip)]
    cut_short: bool,
}

/// The names of a row's fields, for CSV.
const COLUMNS: [&str; 9] = [
    "bound_ms",
    "solver",
    "status",
    "servers_used",
    "cost",
    "delay_ms",
    "lower_bound",
    "at_least_ms",
    "proven",
];

impl Row {
    fn corner(point: &CurvePoint) -> Self {
        let proven = point.is_proven();
        Self {
            bound_ms: point.delay,
            solver: SolverName::Auto.to_string(),
            status: if proven {
                Status::Optimal
            } else {
                Status::Feasible
            },
            servers_used: Some(point.servers_used),
            cost: Some(point.cost),
            delay_ms: Some(point.delay),
            lower_bound: Some(point.cost_at_least),
            at_least_ms: Some(point.delay_at_least),
            proven,
            cut_short: !proven,
        }
    }

    fn at(bound: Delay, solver: SolverName, outcome: &Outcome, budget_is_over: bool) -> Self {
        let within = outcome.is_within_bound();
        let proven = matches!(outcome.status, Status::Optimal | Status::Infeasible);
        Self {
            bound_ms: bound,
            solver: solver.to_string(),
            status: outcome.status,
            servers_used: within.then_some(outcome.servers_used),
            cost: outcome.cost.filter(|_| within),
            delay_ms: outcome.delay.filter(|_| within),
            lower_bound: Some(outcome.lower_bound).filter(|&lower| lower != Cost::INFINITE),
            at_least_ms: None,
            proven,
            cut_short: !proven && (budget_is_over || outcome.status == Status::OutOfBudget),
        }
    }

    fn record(&self) -> [String; COLUMNS.len()] {
        let millis = |delay: Option<Delay>| delay.map(|delay| delay.as_millis().to_string());
        let units = |cost: Option<Cost>| cost.map(|cost| cost.as_units().to_string());
        let used = self.servers_used.map(|used| used.to_string());
        [
            self.bound_ms.as_millis().to_string(),
            self.solver.clone(),
            show::word(self.status),
            used.unwrap_or_default(),
            units(self.cost).unwrap_or_default(),
            millis(self.delay_ms).unwrap_or_default(),
            units(self.lower_bound).unwrap_or_default(),
            millis(self.at_least_ms).unwrap_or_default(),
            self.proven.to_string(),
        ]
    }

    /// Where it stands in a picture.
    fn point(&self, counted_in: CountedIn) -> Option<Point> {
        Some(Point {
            x: self.bound_ms.as_millis(),
            y: match counted_in {
                CountedIn::Servers => self.servers_used? as f64,
                CountedIn::Cost => self.cost?.as_units(),
            },
        })
    }
}

impl Sweep {
    fn whole_curve(instance: &Instance, effort: &Effort) -> Self {
        let curve = effort.spend("following the curve", |budget| curve(instance, budget));
        Self::of_curve(instance, &curve, effort.seconds(), effort.seed())
    }

    pub(super) fn of_curve(instance: &Instance, curve: &Curve, seconds: f64, seed: u64) -> Self {
        Self {
            complete: Some(curve.is_complete),
            rows: curve.points.iter().map(Row::corner).collect(),
            seconds,
            seed,
            counted_in: CountedIn::of(instance),
        }
    }

    fn at(instance: &Instance, bounds: &[f64], solvers: &[SolverName], effort: &Effort) -> Self {
        let bounds: Vec<Delay> = bounds
            .iter()
            .filter_map(|&millis| Delay::from_millis(millis))
            .collect();
        let mut left = bounds.len() * solvers.len();
        let mut rows = Vec::new();
        for bound in bounds {
            for &solver in solvers {
                let task = Task { instance, bound };
                let what = format!("{} ms, {solver}", bound.as_millis());
                let (outcome, late) = effort.spend(&what, |budget| {
                    // What one does not need, the others have.
                    let share = budget.part_of_time(left);
                    let outcome = solver.solver().solve(task, &share);
                    (outcome, share.time_is_up())
                });
                left -= 1;
                let out_of_steps = effort.counts_steps() && solver.uses_all_of_a_budget();
                rows.push(Row::at(bound, solver, &outcome, late || out_of_steps));
            }
        }
        Self {
            complete: None,
            rows,
            seconds: effort.seconds(),
            seed: effort.seed(),
            counted_in: CountedIn::of(instance),
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
            .column(Column::new("lower_bound").heading("at least"))
            .column(Column::new("at_least_ms").heading("not below").unit("ms"))
            .column(Column::new("proven"));
        for row in &self.rows {
            let count = |number: usize| Cell::Count(number as u64);
            let delay = |delay: Delay| Cell::number(delay.as_millis(), 3);
            let as_bound = |bound: Delay| delay(show::rounded_up(bound, 3));
            table.push([
                match self.complete {
                    Some(_) => as_bound(row.bound_ms),
                    None => Cell::number(row.bound_ms.as_millis(), decimals(row.bound_ms)),
                },
                Cell::Text(row.solver.clone()),
                Cell::Text(in_words(row.status).to_owned()),
                row.servers_used.map_or(Cell::Missing, count),
                row.cost
                    .map_or(Cell::Missing, |cost| Cell::number(cost.as_units(), 2)),
                row.delay_ms.map_or(Cell::Missing, as_bound),
                row.lower_bound
                    .map_or(Cell::Missing, |lower| Cell::number(lower.as_units(), 2)),
                row.at_least_ms
                    .map_or(Cell::Missing, |least| delay(show::rounded_down(least, 3))),
                Cell::Text(if row.proven { "yes" } else { "no" }.to_owned()),
            ]);
        }
        table
    }

    /// The rows of the JSON, in its words and with all decimals.
    fn csv(&self) -> Result<String> {
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record(COLUMNS)?;
        for row in &self.rows {
            out.write_record(row.record())?;
        }
        Ok(String::from_utf8(out.into_inner()?)?)
    }

    fn note(&self, effort: &Effort) -> String {
        let (ended, remedy) = match effort.counts_steps() {
            _ if effort.interrupted() => ("It was interrupted", "another run"),
            true => ("The steps ended", "more --steps"),
            false => ("The time ended", "a longer --time"),
        };
        let end = match self.complete {
            Some(true) if self.rows.is_empty() => "Nothing is possible at any bound. ".to_owned(),
            Some(false) if self.rows.is_empty() => format!("{ended} before anything was found. "),
            Some(true) => "Below the last bound nothing is possible. ".to_owned(),
            Some(false) => format!("{ended} before the whole curve was known. "),
            None => String::new(),
        };
        let open = self.what_is_open(remedy);
        format!("\n{open}{end}{:.2} s, seed {}.\n", self.seconds, self.seed)
    }

    /// How many rows are the last word, and whether more of something may change the others.
    fn what_is_open(&self, remedy: &str) -> String {
        let count = |which: fn(&Row) -> bool| self.rows.iter().filter(|row| which(row)).count();
        let (all, proven) = (self.rows.len(), count(|row| row.proven));
        let others = match count(|row| row.cut_short) {
            _ if all == 0 => return String::new(),
            _ if proven == all => return "Every row is proven. ".to_owned(),
            0 => "the other solvers ended without a proof".to_owned(),
            cut if cut == all - proven => format!("{remedy} may prove or better the others"),
            cut => format!("{remedy} may prove or better {cut} of the others"),
        };
        format!("{proven} of {all} rows are proven; {others}. ")
    }

    /// Fewer servers to the right: each solver's steps, and a mark where more time may find better.
    fn figure(&self) -> Figure {
        let words = self.counted_in.words();
        let points = self
            .rows
            .iter()
            .filter_map(|row| row.point(self.counted_in));
        // Six or more, so that every tick is a whole number of servers.
        let most = points.map(|point| point.y).fold(6.0, f64::max);
        let figure = Figure::chart(
            format!("{words}-by-bound"),
            format!("The {words} needed to keep a bound on the session delay."),
            self.bound_axis(),
            Axis::linear(words).range(0.0, most),
        );
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.solver.as_str()) {
                names.push(&row.solver);
            }
        }
        let figure = names.into_iter().fold(figure, |figure, name| {
            let points = self.points(|row| row.solver == name);
            figure.layer(match self.complete {
                Some(_) => Layer::steps(name, points),
                None => Layer::line(name, points),
            })
        });
        match &self.points(|row| !row.proven)[..] {
            [] => figure,
            open => figure.layer(Layer::points("not proven", open.iter().copied())),
        }
    }

    /// A single bound stands in the middle, not on the frame.
    fn bound_axis(&self) -> Axis {
        let axis = Axis::linear("bound, ms");
        let points = self.points(|_| true);
        match (points.first(), points.last()) {
            (Some(first), Some(last)) if first.x == last.x => {
                let middle = first.x.round().max(1.0);
                axis.range(0.0, 2.0 * middle)
            }
            _ => axis,
        }
    }

    /// Those of some rows, from left to right.
    fn points(&self, which: impl Fn(&Row) -> bool) -> Vec<Point> {
        let rows = self.rows.iter().filter(|row| which(row));
        let mut points: Vec<Point> = rows.filter_map(|row| row.point(self.counted_in)).collect();
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        points
    }
}

/// Three, or all that a bound has.
fn decimals(bound: Delay) -> u8 {
    let exact = bound.as_millis().to_string();
    let decimals = exact
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    u8::try_from(decimals).unwrap_or(u8::MAX).max(3)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(millis: f64, proven: bool, cut_short: bool) -> Row {
        let bound = Delay::from_millis(millis).unwrap();
        Row {
            bound_ms: bound,
            solver: "auto".to_owned(),
            status: Status::Feasible,
            servers_used: Some(1),
            cost: Some(Cost::ONE),
            delay_ms: Some(bound),
            lower_bound: None,
            at_least_ms: None,
            proven,
            cut_short,
        }
    }

    fn sweep(rows: Vec<Row>) -> Sweep {
        Sweep {
            complete: None,
            rows,
            seconds: 0.0,
            seed: 1,
            counted_in: CountedIn::Servers,
        }
    }

    #[test]
    fn a_single_bound_stands_in_the_middle_of_the_picture() {
        let alone = sweep(vec![row(20.0, true, false)]);
        assert_eq!(alone.bound_axis().range, Some((0.0, 40.0)));
        let two = sweep(vec![row(20.0, true, false), row(30.0, true, false)]);
        assert_eq!(two.bound_axis().range, None);
    }

    #[test]
    fn more_is_promised_only_to_rows_that_were_cut_short() {
        let rows = |cut: &[bool]| {
            let open = cut.iter().map(|&cut| row(20.0, false, cut));
            let rows = open.chain([row(30.0, true, false)]).collect();
            sweep(rows).what_is_open("a longer --time")
        };
        assert_eq!(rows(&[]), "Every row is proven. ");
        assert!(!rows(&[false, false]).contains("--time"));
        assert!(rows(&[true, true]).ends_with("--time may prove or better the others. "));
        assert!(rows(&[true, false]).ends_with("better 1 of the others. "));
    }

    #[test]
    fn bounds_are_shown_with_all_their_decimals() {
        let decimals_of = |millis: f64| decimals(Delay::from_millis(millis).unwrap());
        assert_eq!([60.0, 60.5, 33.7961].map(decimals_of), [3, 3, 4]);
    }
}

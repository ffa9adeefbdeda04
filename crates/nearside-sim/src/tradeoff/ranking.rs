//! Every order and every stop in one line, by what it costs when all find the same.

use nearside_discover::planner::StopRule;
use nearside_report::{Better, Cell, Column, Part, Table};

use super::ordering::{self, Grouping, Ordering};
use super::outcome::{EQUAL_RECALL, at_recall, mean};
use super::stops::{self, rule_words};
use super::{FAR, job};
use crate::experiment::{Experiment, Job, Name, Study};

/// The ranking.
pub(super) struct Ranking(pub(super) Name);

/// So many of the best are shown, and so many of the worst; what was published is shown anyway.
const BEST: usize = 15;
const WORST: usize = 5;

/// A second, more demanding recall, in percent.
const DEMANDING: f64 = 99.0;

impl Experiment for Ranking {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "Ranking by probes at equal recall".to_owned()
    }

    fn jobs(&self) -> Vec<Job> {
        let on_places = |order: Ordering| FAR.map(|place| job(&order, place));
        ordering::all().into_iter().flat_map(on_places).collect()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        let lines = ranked(study);
        vec![introduction(lines.len()).into(), table(&lines).into()]
    }
}

fn introduction(count: usize) -> String {
    format!(
        "{count} settings: every order of this study with the published stop, and the papers' two \
         orders with every other stop. The threshold of each stop is set in hindsight so that \
         {EQUAL_RECALL} % of the playable servers are found over all seeds; what remains is cost. \
         Ranked by the mean over far places. Differences between neighbours are mostly chance; see \
         the deviations. Shown are the best, the worst and what was published (marked *)."
    )
}

/// A setting and its costs, place by place.
struct Line {
    order: Ordering,
    rule: StopRule,
    /// Seed by seed, in percent of the list; empty where the recall is out of reach.
    probes: [Vec<f64>; FAR.len()],
    demanding: [Option<f64>; FAR.len()],
}

impl Line {
    fn new(study: &Study, order: Ordering, rule: StopRule) -> Self {
        let found = |recall| FAR.map(|place| at_recall(study, &job(&order, place), rule, recall));
        let (equal, demanding) = (found(EQUAL_RECALL), found(DEMANDING));
        Self {
            order,
            rule,
            probes: equal.map(|at| at.map_or_else(Vec::new, |at| at.probes)),
            demanding: demanding.map(|at| at.map(|at| mean(&at.probes))),
        }
    }

    /// The mean over places; not a number, which ranks last, where one is out of reach.
    fn cost(&self) -> f64 {
        mean(&self.probes.each_ref().map(|probes| mean(probes)))
    }

    fn is_published(&self) -> bool {
        let orders = [Grouping::As, Grouping::CountryAnd(8)].map(Ordering::published);
        orders.contains(&self.order) && self.rule == StopRule::PUBLISHED
    }
}

/// All settings, the cheapest first.
fn ranked(study: &Study) -> Vec<Line> {
    let orders = ordering::all()
        .into_iter()
        .map(|order| (order, StopRule::PUBLISHED));
    let rules: Vec<StopRule> = stops::windows()
        .into_iter()
        .chain(stops::smooth_runs())
        .flatten()
        .filter(|rule| *rule != StopRule::PUBLISHED)
        .collect();
    let papers = [Grouping::As, Grouping::CountryAnd(8)].map(Ordering::published);
    let others = papers
        .iter()
        .flat_map(|order| rules.iter().map(|rule| (*order, *rule)));
    let settings = orders.chain(others);
    let mut lines: Vec<Line> = settings
        .map(|(order, rule)| Line::new(study, order, rule))
        .collect();
    lines.sort_by(|one, other| one.cost().total_cmp(&other.cost()));
    lines
}

fn table(lines: &[Line]) -> Table {
    let caption = format!("Probes at {EQUAL_RECALL} % recall, CS:S");
    let percent = |name: String| Column::new(name).unit("%").not_fitted();
    let mut table = Table::new("ranking", caption)
        .column(Column::new("rank"))
        .column(Column::new("clusters"))
        .column(Column::new("stop"))
        .column(percent("mean".to_owned()));
    for place in FAR {
        let low = place.to_lowercase();
        table = table.column(percent(low.clone()).heading(place)).column(
            percent(format!("{low}_{DEMANDING}")).heading(format!("{place} at {DEMANDING} %")),
        );
    }
    let is_shown = |place: usize| place < BEST || place + WORST >= lines.len();
    for (place, line) in lines.iter().enumerate() {
        if is_shown(place) || line.is_published() {
            table.push(row(place + 1, line));
        }
    }
    table
}

fn row(rank: usize, line: &Line) -> Vec<Cell> {
    let star = if line.is_published() { " *" } else { "" };
    let number = |value: Option<f64>, decimals| {
        value.map_or(Cell::Missing, |value| Cell::number(value, decimals))
    };
    let mut cells = vec![
        rank.into(),
        format!("{}{star}", line.order.words()).into(),
        rule_words(line.rule).into(),
        Cell::number(line.cost(), 2),
    ];
    for place in 0..FAR.len() {
        cells.push(Cell::spread(&line.probes[place], Better::Low, 1));
        cells.push(number(line.demanding[place], 1));
    }
    cells
}

//! When to stop: windows and percentiles of Algorithm 2, and smooth runs instead of it.

use nearside_discover::planner::StopRule;
use nearside_report::{Evidence, Figure, Heat, Part};

use super::ordering::{Grouping, Ordering};
use super::outcome::{EQUAL_RECALL, Outcome, at_recall, mean};
use super::stops::{self, BOTTOMS, PLAYABLE, RUNS, SPREADS, WINDOWS};
use super::{FAR, job};
use crate::experiment::{Experiment, Job, Name, Study};

/// W against the percentile.
pub(super) struct Windows(pub(super) Name);

/// The length of a run against its spread.
pub(super) struct SmoothRuns(pub(super) Name);

impl Experiment for Windows {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "Auto-stop: how many answers, and how many of them may be near".to_owned()
    }

    fn jobs(&self) -> Vec<Job> {
        FAR.map(published).to_vec()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        let text = "Algorithm 2 stops when all but 2 % of the last W = 100 answers are beyond \
                    RTT_stop. AS clusters as published; 0 % means that none may be near.";
        let grid = Grid {
            x: "share of the window that may be near",
            y: "window W (answers)",
            columns: BOTTOMS
                .map(|bottom| format!("{} %", 100.0 * bottom))
                .to_vec(),
            rows: WINDOWS.map(|window| window.to_string()).to_vec(),
            rules: stops::windows(),
        };
        let parts = [Part::from(text)].into_iter();
        parts.chain(grid.figures(study)).collect()
    }
}

impl Experiment for SmoothRuns {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "Auto-stop by a smooth run of high RTTs".to_owned()
    }

    fn jobs(&self) -> Vec<Job> {
        FAR.map(published).to_vec()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        let text = "The country paper proposes, for later work, to wait for a smooth run of \
                    consistently high RTTs. Here: so many answers in a row at or beyond RTT_stop, \
                    their 20th and 80th percentile close together. AS clusters as published.";
        let grid = Grid {
            x: "spread within the run, at most",
            y: "answers in a row",
            columns: SPREADS.map(|spread| format!("{spread} ms")).to_vec(),
            rows: RUNS.map(|run| run.to_string()).to_vec(),
            rules: stops::smooth_runs(),
        };
        let parts = [Part::from(text)].into_iter();
        parts.chain(grid.figures(study)).collect()
    }
}

fn published(place: &'static str) -> Job {
    job(&Ordering::published(Grouping::As), place)
}

/// Rules to stop by, in rows and columns.
struct Grid {
    x: &'static str,
    y: &'static str,
    columns: Vec<String>,
    rows: Vec<String>,
    rules: Vec<Vec<StopRule>>,
}

impl Grid {
    fn figures(&self, study: &Study) -> Vec<Part> {
        let mut figures = Vec::new();
        for place in FAR {
            let job = published(place);
            let at_stop = |rule| Outcome::of(study, &job, &stops::stop(rule, PLAYABLE));
            let equal = |rule| {
                let found = at_recall(study, &job, rule, EQUAL_RECALL);
                found.map_or(f64::NAN, |found| mean(&found.probes))
            };
            let label = format!("probes at {EQUAL_RECALL} % recall (% of the list)");
            figures.push(self.heat(place, "equal", &label, equal));
            let label = "probes at RTT_stop = 200 ms (% of the list)";
            figures.push(self.heat(place, "probes", label, |rule| mean(&at_stop(rule).probes)));
            let label = "playable servers found at RTT_stop = 200 ms (%)";
            figures.push(self.heat(place, "recall", label, |rule| mean(&at_stop(rule).recall)));
        }
        figures.into_iter().map(Part::from).collect()
    }

    fn heat(
        &self,
        place: &str,
        name: &str,
        label: &str,
        value: impl Fn(StopRule) -> f64,
    ) -> Figure {
        let row = |rules: &Vec<StopRule>| rules.iter().copied().map(&value).collect();
        let heat = Heat {
            x: self.x.to_owned(),
            y: self.y.to_owned(),
            value: label.to_owned(),
            columns: self.columns.clone(),
            rows: self.rows.clone(),
            values: self.rules.iter().map(row).collect(),
            decimals: 1,
        };
        let name = format!("{name}-{}", place.to_lowercase());
        let caption = format!("CS:S from {place}, mean over seeds.");
        Figure::heat(name, caption, heat).evidence(Evidence::NotFitted)
    }
}

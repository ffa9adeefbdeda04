//! What an experiment is: it asks for runs, and tells what they showed. Experiments that ask for
//! the same runs share them.

mod crowd;
mod job;
mod setup;
mod study;

use std::fmt;

use nearside_report::{Evidence, Part, Report};

use crate::batch::Progress;

pub use crowd::Crowd;
pub use job::Job;
pub use setup::{Setup, Size};
pub use study::Study;

/// A table, figure or section of a paper, to be made again.
pub trait Experiment: Send + Sync {
    /// What users call it.
    fn name(&self) -> Name;

    /// What readers see first: `Table 2: optimised discovery from six locations`.
    fn title(&self) -> String;

    /// The runs it needs on every seed.
    fn jobs(&self) -> Vec<Job> {
        Vec::new()
    }

    /// The runs it needs probe by probe, on the first seed only.
    fn pictures(&self) -> Vec<Job> {
        Vec::new()
    }

    /// What came out, in reading order.
    fn parts(&self, study: &Study) -> Vec<Part>;

    /// The same, of an experiment that has long work of its own besides runs.
    fn watched_parts(&self, study: &Study, _progress: &dyn Progress) -> Vec<Part> {
        self.parts(study)
    }

    /// Whether a quick run is on another, smaller world, to which nothing was fitted.
    fn shrinks_the_world(&self) -> bool {
        true
    }
}

/// An experiment by its paper and its place there: the words behind `nearside sim`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// The paper: `armitage-as`.
    pub paper: &'static str,
    /// The table or figure: `table2`.
    pub item: &'static str,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.paper, self.item)
    }
}

/// Runs experiments together, each run once, and reports on each in turn.
pub fn conduct(
    experiments: &[Box<dyn Experiment>],
    setup: &Setup,
    progress: &dyn Progress,
) -> Vec<Report> {
    let jobs = experiments.iter().flat_map(|experiment| experiment.jobs());
    let pictures = experiments
        .iter()
        .flat_map(|experiment| experiment.pictures());
    let study = Study::run(setup.clone(), jobs.collect(), pictures.collect(), progress);
    let each = experiments.iter().map(AsRef::as_ref);
    each.map(|experiment| report(experiment, &study, progress))
        .collect()
}

fn report(experiment: &dyn Experiment, study: &Study, progress: &dyn Progress) -> Report {
    let (name, setup) = (experiment.name(), study.setup());
    let mut parts = experiment.watched_parts(study, progress);
    if setup.size == Size::Quick && experiment.shrinks_the_world() {
        parts.iter_mut().for_each(unfit);
    }
    Report {
        parts,
        ..Report::new(
            format!("{}-{}", name.paper, name.item),
            experiment.title(),
            setup.command(&name.to_string()),
            setup.seeds_in_words(),
        )
    }
}

/// The world was fitted at its full size: what a small one shows was fitted to nothing.
fn unfit(part: &mut Part) {
    let unfit = |evidence: &mut Option<Evidence>| {
        if *evidence == Some(Evidence::Fitted) {
            *evidence = Some(Evidence::NotFitted);
        }
    };
    match part {
        Part::Text(_) => {}
        Part::Table(table) => {
            let columns = table.columns_mut().iter_mut();
            columns.for_each(|column| unfit(&mut column.evidence));
        }
        Part::Figure(figure) => unfit(&mut figure.evidence),
    }
}

//! All figures of a bench and the judgement: the document that `--json` prints.

use serde::Serialize;

use super::child::Account;
use super::machine::{self, Machine};
use super::programs::Program;
use super::scenario::Scenario;
use super::targets::{Verdict, verdicts};
use super::truth::{Errors, Spread};
use crate::cli::BenchBrowseArgs;

/// Everything that was measured, and the judgement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) seed: u64,
    pub(super) machine: Machine,
    pub(super) load_after: Option<String>,
    pub(super) scenarios: Vec<ScenarioFigures>,
    pub(super) targets: Vec<Verdict>,
    pub(super) notes: [&'static str; 5],
}

/// The runs of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ScenarioFigures {
    pub(super) scenario: Scenario,
    pub(super) servers: usize,
    pub(super) runs: Vec<RunFigures>,
}

/// What one program did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct RunFigures {
    pub(super) program: Program,
    pub(super) command: String,
    pub(super) lab_command: String,
    pub(super) found: usize,
    pub(super) share_found: f64,
    pub(super) seconds: f64,
    pub(super) servers_per_second: f64,
    pub(super) cpu_seconds: Option<f64>,
    pub(super) peak_memory_mib: Option<f64>,
    pub(super) error: Option<Spread>,
    pub(super) retried_error: Option<Spread>,
    pub(super) lab_lateness: Option<Spread>,
}

const NOTES: [&str; 5] = [
    "time: from start to end of the process; servers/s: servers found in that time",
    "cpu: user and system time; memory: most resident at a time",
    "error: |ping − what the lab logged as that reply's delay|, in ms; nearside's lowest ping is held \
     against the lowest reply",
    "quakestat prints whole ms and does not say which leg or try it timed: the nearest reply is taken",
    "late: how late the lab's replies were, in ms; the truth includes it",
];

impl Report {
    pub(super) fn new(
        args: &BenchBrowseArgs,
        machine: Machine,
        scenarios: Vec<ScenarioFigures>,
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            seed: args.seed,
            machine,
            load_after: machine::load(),
            targets: verdicts(&scenarios),
            scenarios,
            notes: NOTES,
        }
    }

    /// Whether no target was missed.
    pub(super) fn all_met(&self) -> bool {
        self.targets.iter().all(|target| target.met != Some(false))
    }
}

impl ScenarioFigures {
    /// The run of a program, unless it was left out.
    pub(super) fn run(&self, program: Program) -> Option<&RunFigures> {
        self.runs.iter().find(|run| run.program == program)
    }
}

/// What is known of a run once its program has ended.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    pub(super) program: Program,
    pub(super) command: String,
    pub(super) lab_command: String,
    pub(super) listed: usize,
    pub(super) found: usize,
    pub(super) account: Account,
    pub(super) errors: Errors,
    pub(super) lab_lateness: Option<Spread>,
}

impl From<Observed> for RunFigures {
    fn from(seen: Observed) -> Self {
        let (found, seconds) = (seen.found as f64, seen.account.wall.as_secs_f64());
        let kib = seen.account.peak_memory_kib;
        Self {
            program: seen.program,
            command: seen.command,
            lab_command: seen.lab_command,
            found: seen.found,
            share_found: found / seen.listed as f64,
            seconds,
            servers_per_second: found / seconds,
            cpu_seconds: seen.account.cpu.map(|cpu| cpu.as_secs_f64()),
            peak_memory_mib: kib.map(|kib| kib as f64 / 1024.0),
            error: seen.errors.all,
            retried_error: seen.errors.retried,
            lab_lateness: seen.lab_lateness,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::time::Duration;

    const SPREAD: Spread = Spread {
        samples: 10,
        p50_ms: 0.05,
        p90_ms: 0.1,
        p99_ms: 0.5,
        max_ms: 0.9,
    };

    fn run(program: Program, wall: Duration) -> RunFigures {
        RunFigures::from(Observed {
            program,
            command: "browse".to_owned(),
            lab_command: "lab".to_owned(),
            listed: 1_000,
            found: 1_000,
            account: Account {
                wall,
                cpu: Some(Duration::from_millis(40)),
                peak_memory_kib: Some(8_192),
            },
            errors: Errors {
                all: Some(SPREAD),
                retried: None,
            },
            lab_lateness: Some(SPREAD),
        })
    }

    pub(in super::super) fn report(quakestat: Duration) -> Report {
        let ours = run(Program::NearsideUnlimited, Duration::from_millis(500));
        let theirs = run(Program::QuakestatDefault, quakestat);
        let plain = ScenarioFigures {
            scenario: Scenario::Plain,
            servers: 1_000,
            runs: vec![ours, theirs],
        };
        let args = BenchBrowseArgs {
            servers: 1_000,
            seed: 7,
            json: false,
            alone: false,
        };
        Report::new(&args, Machine::read(), vec![plain])
    }

    #[test]
    fn speeds_are_compared_and_judged() {
        let slow = report(Duration::from_secs(20));
        assert!(slow.all_met());
        let text = slow.to_string();
        assert!(
            text.contains("40.0 times as fast as quakestat default"),
            "{text}"
        );
        let quick = report(Duration::from_secs(2));
        assert!(!quick.all_met());
        assert!(quick.to_string().contains("MISSED"));
    }

    #[test]
    fn programs_left_out_are_not_judged() {
        let report = report(Duration::from_secs(20));
        let tuned = |target: &&Verdict| target.what.contains("quakestat tuned");
        assert_eq!(report.targets.iter().find(tuned).unwrap().met, None);
    }

    #[test]
    fn the_document_has_every_figure_under_its_name() {
        let json = serde_json::to_value(report(Duration::from_secs(20))).unwrap();
        let run = &json["scenarios"][0]["runs"][0];
        assert_eq!(run["program"], "nearside-unlimited");
        assert_eq!(run["servers_per_second"], 2_000.0);
        assert_eq!(run["peak_memory_mib"], 8.0);
        assert_eq!(run["error"]["p99_ms"], 0.5);
        assert_eq!(json["targets"][0]["target"]["at_least"], 20.0);
        assert_eq!(json["targets"][0]["met"], true);
    }
}

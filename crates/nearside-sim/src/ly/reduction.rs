//! Figures 6 and 8: by how much session RTTs fall, and what players would make of it.

use std::sync::Arc;

use nearside_report::{Better, Evidence, Part};
use nearside_types::median;

use super::emulation::Log;
use super::journey::Journey;
use super::laboratory::{Laboratory, Who};
use super::points::{hit_fraction, lap_time};
use super::settings::Way;
use super::tables::{self, Claim, Measure, mean, over_seeds, share_from};
use crate::batch::{Progress, Unwatched};
use crate::experiment::{Experiment, Name, Study};

/// Figure 6.
pub(super) struct Reduction {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
}

impl Experiment for Reduction {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        "Ly et al., Figure 6: reduction of session RTTs".to_owned()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let emulated = self.lab.emulated(study.setup(), progress);
        let at_least_100 = |who| {
            over_seeds(&emulated, who, |log, who| {
                share_from(&log.reductions(who), 100.0)
            })
        };
        let some = |who| over_seeds(&emulated, who, some_reduction);
        let [paper, ours, oracle] = Who::WITH_DETOURS;
        vec![
            self.lab.words_in_time(study.setup()).into(),
            INTRODUCTION.into(),
            tables::distributions(
                self.name.item,
                "Distribution of the reduction of session RTTs over all sessions of all seeds.",
                "reduction of the session RTT (ms)",
                &emulated,
                &Who::WITH_DETOURS,
                Log::reductions,
            )
            .into(),
            tables::side_by_side(
                "sessions",
                "Session RTTs, the highest from any player to the host, and by how much they fall",
                &emulated,
                &Who::ALL,
                &REDUCTION,
            )
            .into(),
            tables::claims([
                Claim {
                    paper: "More than 60 % of sessions achieve 100 ms or more (the abstract says \
                            80 %).",
                    measured: format!(
                        "{:.1} % by the paper's way, {:.1} % by ours.",
                        at_least_100(paper),
                        at_least_100(ours)
                    ),
                    ceiling: format!("{:.1} %", at_least_100(oracle)),
                },
                Claim {
                    paper: "Nearly all sessions observe some reduction.",
                    measured: format!(
                        "{:.1} % by the paper's way, {:.1} % by ours (which wants 10 ms).",
                        some(paper),
                        some(ours)
                    ),
                    ceiling: format!("{:.1} %", some(oracle)),
                },
            ])
            .into(),
        ]
    }
}

const INTRODUCTION: &str = "Clients join, measure their neighbours and report to the directory for ten \
     minutes; then a game begins every 15 to 60 s and lasts 3 to 10 minutes (section 5.1). Every \
     player asks for detours to the host. How many play together is assumed: the paper does not \
     print its distribution (data/ly-players-per-session.csv). A path is chosen when the game begins; \
     what it does later is not followed. Nothing here was fitted to the paper's figure.";

const REDUCTION: [Measure; 6] = [
    Measure {
        name: "median_rtt",
        heading: "median session RTT",
        unit: "ms",
        better: Better::Low,
        decimals: 1,
        of: |log, who| {
            let mut rtts = log.session_rtts(who);
            rtts.sort_by(f64::total_cmp);
            median(&rtts).unwrap_or(0.0)
        },
    },
    Measure {
        name: "mean_reduction",
        heading: "mean reduction",
        unit: "ms",
        better: Better::High,
        decimals: 1,
        of: |log, who| mean(&log.reductions(who)),
    },
    Measure {
        name: "some",
        heading: "sessions with any",
        unit: "%",
        better: Better::High,
        decimals: 1,
        of: some_reduction,
    },
    Measure {
        name: "from_10",
        heading: "10 ms or more",
        unit: "%",
        better: Better::High,
        decimals: 1,
        of: |log, who| share_from(&log.reductions(who), 10.0),
    },
    Measure {
        name: "from_100",
        heading: "100 ms or more",
        unit: "%",
        better: Better::High,
        decimals: 1,
        of: |log, who| share_from(&log.reductions(who), 100.0),
    },
    Measure {
        name: "share_of_oracle_gain",
        heading: "share of the oracle's gain over players",
        unit: "",
        better: Better::High,
        decimals: 3,
        of: share_of_oracle,
    },
];

fn some_reduction(log: &Log, who: Who) -> f64 {
    share_from(&log.reductions(who), 0.001)
}

/// Over all players, not only the slowest of each session.
fn share_of_oracle(log: &Log, who: Who) -> f64 {
    let journeys = || log.sessions.iter().flatten();
    let oracle: f64 = journeys().map(Journey::oracle_gain).sum();
    let gain: f64 = match who {
        Who::Direct => 0.0,
        Who::Oracle => oracle,
        Who::Finds(_) => journeys().map(Journey::gain).sum(),
    };
    match oracle > 0.0 {
        true => gain / oracle,
        false => 1.0,
    }
}

/// Figure 8(a) or 8(b).
pub(super) struct Performance {
    pub(super) name: Name,
    pub(super) lab: Arc<Laboratory>,
    pub(super) of: Skill,
}

/// What suffers from latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skill {
    /// Seconds of a lap in a racing game.
    LapTime,
    /// Shots that hit.
    Hits,
}

impl Experiment for Performance {
    fn name(&self) -> Name {
        self.name
    }

    fn title(&self) -> String {
        match self.of {
            Skill::LapTime => "Ly et al., Figure 8(a): lap time in a racing game".to_owned(),
            Skill::Hits => "Ly et al., Figure 8(b): hit fraction in a shooter".to_owned(),
        }
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let emulated = self.lab.emulated(study.setup(), progress);
        let (caption, axis, values, measures) = match self.of {
            Skill::LapTime => (
                "Distribution of the improvement of lap times over all sessions.",
                "lap time saved (s)",
                saved_laps as fn(&Log, Who) -> Vec<f64>,
                &LAPS,
            ),
            Skill::Hits => (
                "Distribution of the improvement of hit fractions over all sessions.",
                "hit fraction gained (points of per cent)",
                gained_hits as fn(&Log, Who) -> Vec<f64>,
                &HITS,
            ),
        };
        vec![
            self.lab.words_in_time(study.setup()).into(),
            ASSUMED.into(),
            tables::distributions(
                self.name.item,
                caption,
                axis,
                &emulated,
                &Who::WITH_DETOURS,
                values,
            )
            .evidence(Evidence::Assumed)
            .into(),
            tables::side_by_side("performance", caption, &emulated, &Who::ALL, measures)
                .assumed()
                .into(),
            tables::claims([self.claim(&emulated)]).assumed().into(),
        ]
    }
}

const ASSUMED: &str = "The function from RTT to performance is assumed (data/ly-lap-time.csv, \
     data/ly-hit-fraction.csv): the points of Claypool and Claypool 2006 that the paper uses are not \
     in its text. So the direction means something here, and the height of the curves does not.";

impl Performance {
    fn claim(&self, emulated: &super::laboratory::Emulated) -> Claim {
        let (paper, values, least) = match self.of {
            Skill::LapTime => (
                "40 % of players reduce their lap times by more than 1 s.",
                saved_laps as fn(&Log, Who) -> Vec<f64>,
                1.0,
            ),
            Skill::Hits => (
                "30 % of players increase their hit fractions by more than 15 %.",
                gained_hits as fn(&Log, Who) -> Vec<f64>,
                15.0,
            ),
        };
        let share = |who| {
            over_seeds(emulated, who, |log, who| {
                share_from(&values(log, who), least)
            })
        };
        Claim {
            paper,
            measured: format!(
                "{:.1} % by the paper's way, {:.1} % by ours.",
                share(Who::Finds(Way::Paper)),
                share(Who::Finds(Way::Ours))
            ),
            ceiling: format!("{:.1} %", share(Who::Oracle)),
        }
    }
}

fn saved_laps(log: &Log, who: Who) -> Vec<f64> {
    let laps = lap_time();
    let before = log.session_rtts(Who::Direct).into_iter();
    let after = log.session_rtts(who).into_iter();
    before
        .zip(after)
        .map(|(b, a)| laps.at(b) - laps.at(a))
        .collect()
}

fn gained_hits(log: &Log, who: Who) -> Vec<f64> {
    let hits = hit_fraction();
    let before = log.session_rtts(Who::Direct).into_iter();
    let after = log.session_rtts(who).into_iter();
    before
        .zip(after)
        .map(|(b, a)| 100.0 * (hits.at(a) - hits.at(b)))
        .collect()
}

const LAPS: [Measure; 2] = [
    Measure {
        name: "mean",
        heading: "mean lap time",
        unit: "s",
        better: Better::Low,
        decimals: 2,
        of: |log, who| {
            let laps = lap_time();
            mean(
                &log.session_rtts(who)
                    .iter()
                    .map(|rtt| laps.at(*rtt))
                    .collect::<Vec<_>>(),
            )
        },
    },
    Measure {
        name: "from_1",
        heading: "saved 1 s or more",
        unit: "%",
        better: Better::High,
        decimals: 1,
        of: |log, who| share_from(&saved_laps(log, who), 1.0),
    },
];

const HITS: [Measure; 2] = [
    Measure {
        name: "mean",
        heading: "mean hit fraction",
        unit: "%",
        better: Better::High,
        decimals: 2,
        of: |log, who| {
            let hits = hit_fraction();
            100.0
                * mean(
                    &log.session_rtts(who)
                        .iter()
                        .map(|rtt| hits.at(*rtt))
                        .collect::<Vec<_>>(),
                )
        },
    },
    Measure {
        name: "from_15",
        heading: "gained 15 points or more",
        unit: "%",
        better: Better::High,
        decimals: 1,
        of: |log, who| share_from(&gained_hits(log, who), 15.0),
    },
];

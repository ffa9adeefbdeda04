//! Ly, Hsu and Hefeeda, "Improving Online Gaming Quality using Detour Paths" (MM 2010), figure by
//! figure, on recorded latencies or on an invented globe: the directory, the clients and the path
//! sessions of the live system are driven in virtual time, with the oracle beside every curve.
//!
//! Figures 1 to 5 and 10 are drawings and a map, and are not made again.

mod attack;
mod backups;
mod beyond;
mod collect;
mod coordinates;
mod emulation;
mod evidence;
mod journey;
mod judged;
mod laboratory;
mod lag;
mod lies;
mod matchability;
mod matrix_mode;
mod messages;
mod network;
mod points;
mod ranking;
mod reduction;
mod replay;
mod residential;
mod sessions;
mod settings;
mod survey;
mod sweeps;
mod table1;
mod tables;
mod tanks;

use std::sync::Arc;

use crate::experiment::{Experiment, Name};

pub use collect::{Collected, Filtered};
pub use coordinates::{CoordinateRow, CoordinateStudy};
pub use laboratory::Laboratory;
pub use lag::{LagRow, LagStudy};
pub use lies::{Liars, Lie, UnknownLie};
pub use matrix_mode::MatrixMode;
pub use network::{Network, NoNetwork, Source};
pub use ranking::{NoPairs, RankingRow, RankingStudy};
pub use settings::Settings;

use messages::Traffic;
use reduction::Skill;
use sweeps::Parameter;

/// The paper, as users name it.
pub const LY: &str = "ly";

/// The paper repeats its experiment so often (section 5.2).
pub(crate) const REPEATS: usize = 5;

/// Every figure and table with numbers, in the order of the paper, then what it does not vary.
pub fn detours(lab: Laboratory) -> Vec<Box<dyn Experiment>> {
    let shared = Arc::new(lab);
    let lab = || Arc::clone(&shared);
    let name = |item| Name { paper: LY, item };
    let messages = |item, of| messages::Messages {
        name: name(item),
        lab: lab(),
        of,
    };
    let performance = |item, of| reduction::Performance {
        name: name(item),
        lab: lab(),
        of,
    };
    let sweep = |item, of| -> Box<dyn Experiment> {
        Box::new(sweeps::Sweep {
            name: name(item),
            lab: lab(),
            of,
        })
    };
    let of_network: Vec<Box<dyn Experiment>> = vec![
        Box::new(reduction::Reduction {
            name: name("figure6"),
            lab: lab(),
        }),
        Box::new(messages("figure7a", Traffic::Probes)),
        Box::new(messages("figure7b", Traffic::Updates)),
        Box::new(performance("figure8a", Skill::LapTime)),
        Box::new(performance("figure8b", Skill::Hits)),
        Box::new(backups::Backups {
            name: name("figure9"),
            lab: lab(),
        }),
        Box::new(residential::Residential {
            name: name("residential"),
            lab: lab(),
        }),
        Box::new(table1::Tanks {
            name: name("table1"),
            lab: lab(),
        }),
        Box::new(matchability::Matchability {
            name: name("figure11"),
            lab: lab(),
        }),
        sweep("sweep-delta", Parameter::Delta),
        sweep("sweep-t", Parameter::ReportInterval),
        sweep("sweep-k", Parameter::Candidates),
        sweep("sweep-p", Parameter::Pings),
        sweep("sweep-n", Parameter::Neighbours),
        Box::new(backups::Loads {
            name: name("load"),
            lab: lab(),
        }),
        Box::new(beyond::Overheads {
            name: name("overhead"),
            lab: lab(),
        }),
        Box::new(beyond::Staleness {
            name: name("staleness"),
            lab: lab(),
        }),
        Box::new(attack::Attacks {
            name: name("liars"),
            lab: lab(),
        }),
        Box::new(survey::Rankings {
            name: name("ranking-figure"),
            lab: lab(),
        }),
        Box::new(survey::Predictions {
            name: name("coordinates-table"),
            lab: lab(),
        }),
    ];
    let marked = of_network.into_iter().map(|of| -> Box<dyn Experiment> {
        let lab = lab();
        Box::new(evidence::Marked { of, lab })
    });
    // Lags are looked for in series, which have nothing to do with the network.
    let lags: Box<dyn Experiment> = Box::new(survey::Lags {
        name: name("lag-table"),
        lab: lab(),
    });
    marked.chain([lags]).collect()
}

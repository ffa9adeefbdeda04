//! The study that both discovery papers leave to future work: what every parameter of Algorithms 1
//! and 2 costs and brings, which clusters are best, what origins cost on the wire, and which claims
//! of the papers hold in our worlds.
//!
//! Orders of probes are run without a stop; stops are then judged in hindsight, by the watch of the
//! live planner. Orders become comparable at equal recall: the threshold of the published stop is
//! moved until every order finds the same share of what is playable.

mod claims;
mod clusters;
mod grids;
mod list_bytes;
mod ordering;
mod outcome;
mod ranking;
mod stopping;
mod stops;
mod wishes;

use crate::experiment::{Crowd, Experiment, Job, Name};
use ordering::Ordering;
use stops::Stops;

/// As users name it.
pub const TRADE_OFF: &str = "trade-off";

/// Every part of the study, conclusions last.
pub fn trade_off() -> Vec<Box<dyn Experiment>> {
    let name = |item| Name {
        paper: TRADE_OFF,
        item,
    };
    vec![
        Box::new(clusters::Clusters(name("clusters"))),
        Box::new(grids::Grids::samples(name("samples"))),
        Box::new(grids::Grids::thresholds(name("splits"))),
        Box::new(stopping::Windows(name("windows"))),
        Box::new(stopping::SmoothRuns(name("smooth-run"))),
        Box::new(wishes::Wishes(name("rtt-stop"))),
        Box::new(list_bytes::ListBytes(name("bytes"))),
        Box::new(ranking::Ranking(name("ranking"))),
        Box::new(claims::Claims(name("claims"))),
    ]
}

/// Far from most servers, where there is something to save.
const FAR: [&str; 2] = ["AU", "JP"];

/// Two far places and one in the middle of the servers.
const PLACES: [&str; 3] = ["AU", "JP", "DE"];

/// An order on the CS:S population of both papers, with the stops that are judged of it. The
/// papers' own orders are judged in full, and so that they run once, always are.
fn job(ordering: &Ordering, place: &'static str) -> Job {
    let is_published = *ordering == Ordering::published(ordering.grouping);
    let stops = match ordering.grouping {
        ordering::Grouping::As | ordering::Grouping::CountryAnd(8) if is_published => {
            Stops::Everything
        }
        _ => Stops::Thresholds,
    };
    ordering.job(Crowd::Css, place, stops)
}

//! One player's way to the host: measured by every candidate, and what was chosen.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use nearside_coords::Node;
use nearside_detour::path::{Output, Route};
use nearside_detour::{PathConfig, PathSession};
use nearside_types::{Moment, Rtt};

use super::matrix_mode::client;
use super::network::Paths;

/// A way in milliseconds: as it was, as it became, as it could have been.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Journey {
    /// The player and the host.
    pub(super) ends: (usize, usize),
    pub(super) direct: f64,
    pub(super) taken: f64,
    pub(super) oracle: f64,
    /// The quickest of the direct path and all candidates, taken or not.
    pub(super) best: f64,
    /// Candidates that are quicker than the direct path.
    pub(super) detours: usize,
    /// Relays of the whole network that are.
    pub(super) all_detours: usize,
    pub(super) relay: Option<usize>,
    /// The best relay of the whole network, if any is quicker than the direct path.
    pub(super) oracle_relay: Option<usize>,
}

/// The ways between two ends at one moment.
#[derive(Debug, Clone)]
pub(super) struct Ways {
    ends: (usize, usize),
    direct: f64,
    /// By each client as a relay; infinite for the ends themselves.
    via: Vec<f64>,
}

impl Paths {
    /// The ways between two ends, copied out.
    pub(super) fn clone_row(&self, a: usize, b: usize) -> Ways {
        let way = |relay: usize| match relay == a || relay == b {
            true => f64::INFINITY,
            false => self.via(a, relay, b),
        };
        Ways {
            ends: (a, b),
            direct: self.direct(a, b),
            via: (0..self.nodes()).map(way).collect(),
        }
    }
}

impl Journey {
    /// The paper's client: measures all, takes the best.
    pub(super) fn by_the_best(ways: &Ways, relays: &[usize]) -> Self {
        let quicker = relays.iter().copied();
        let best = quicker.min_by(|a, b| ways.via[*a].total_cmp(&ways.via[*b]));
        let relay = best.filter(|relay| ways.via[*relay] < ways.direct);
        Self::new(ways, relays, relay)
    }

    /// Our client: a path session measures, decides and engages; a relay that is full is left.
    pub(super) fn by_session(
        ways: &Ways,
        relays: &[usize],
        now: Moment,
        mut engage: impl FnMut(usize) -> bool,
    ) -> Self {
        let config = PathConfig::default();
        let first_look = first_look(&config);
        let mut session = PathSession::new(config, now);
        let ids = relays.iter().map(|relay| client(Node::at(*relay)));
        session.handle_candidates(now, ids);
        let mut now = measure(&mut session, ways, now, first_look);
        loop {
            let Route::Via(id) = session.active() else {
                return Self::new(ways, relays, None);
            };
            let relay = id.0 as usize;
            if engage(relay) {
                return Self::new(ways, relays, Some(relay));
            }
            session.handle_relay_failed(now, id);
            // A look of one more sample lets it reconsider.
            now = measure(&mut session, ways, now, SECOND_LOOK);
        }
    }

    fn new(ways: &Ways, relays: &[usize], relay: Option<usize>) -> Self {
        let quicker = |via: &&f64| **via < ways.direct;
        let candidates = || relays.iter().map(|relay| &ways.via[*relay]);
        Self {
            ends: ways.ends,
            direct: ways.direct,
            best: candidates().copied().fold(ways.direct, f64::min),
            taken: relay.map_or(ways.direct, |relay| ways.via[relay]),
            oracle: ways.via.iter().copied().fold(ways.direct, f64::min),
            detours: candidates().filter(quicker).count(),
            all_detours: ways.via.iter().filter(quicker).count(),
            relay,
            oracle_relay: ways.best_relay(),
        }
    }

    pub(super) fn gain(&self) -> f64 {
        self.direct - self.taken
    }

    /// What the best candidate would gain, without margins and caps.
    pub(super) fn best_gain(&self) -> f64 {
        self.direct - self.best
    }

    pub(super) fn oracle_gain(&self) -> f64 {
        self.direct - self.oracle
    }
}

/// Long enough for the slowest path to get the samples that it needs before it is judged, the one that
/// is not counted among them, or to be found silent.
fn first_look(config: &PathConfig) -> Duration {
    let samples = u32::try_from(config.least_samples).unwrap_or(u32::MAX);
    let answers = config.patience.saturating_mul(samples.saturating_add(1));
    let pauses = config.warm_interval.saturating_mul(samples);
    answers + pauses + config.warm_interval
}

const SECOND_LOOK: Duration = Duration::from_secs(2);

/// Drives a path session for a while; gives the moment it came to.
fn measure(session: &mut PathSession, ways: &Ways, start: Moment, long: Duration) -> Moment {
    let mut now = start;
    let mut answers: BinaryHeap<Reverse<(Moment, Route, Option<Rtt>)>> = BinaryHeap::new();
    let end = start + long;
    while now < end {
        let until = match session.poll_output(now) {
            Output::Event(_) => continue,
            Output::Measure(route) => {
                answers.push(Reverse(ways.answer(route, now)));
                continue;
            }
            Output::Wait(until) => until,
        };
        match answers.peek() {
            Some(Reverse((at, ..))) if *at <= until => {
                let Some(Reverse((at, route, rtt))) = answers.pop() else {
                    continue;
                };
                now = at;
                session.handle_rtt(now, route, rtt);
            }
            _ => now = until,
        }
    }
    end
}

impl Ways {
    fn best_relay(&self) -> Option<usize> {
        let quicker = self
            .via
            .iter()
            .enumerate()
            .filter(|(_, via)| **via < self.direct);
        let best = quicker.min_by(|(_, a), (_, b)| a.total_cmp(b));
        best.map(|(relay, _)| relay)
    }

    /// When a measurement ends, and what it says.
    fn answer(&self, route: Route, now: Moment) -> (Moment, Route, Option<Rtt>) {
        let millis = match route {
            Route::Direct => self.direct,
            Route::Via(relay) => self.via[relay.0 as usize],
        };
        match millis.is_finite() && millis < 2000.0 {
            true => {
                let rtt = Rtt::from_millis_f64(millis);
                (now + rtt.as_duration(), route, Some(rtt))
            }
            false => (now + Duration::from_secs(2), route, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways() -> Ways {
        Ways {
            ends: (0, 1),
            direct: 100.0,
            via: vec![f64::INFINITY, f64::INFINITY, 95.0, 60.0, 150.0, 58.0],
        }
    }

    #[test]
    fn the_paper_takes_the_best_candidate_and_the_direct_path_if_none_is_quicker() {
        let best = Journey::by_the_best(&ways(), &[2, 3, 4]);
        assert_eq!((best.taken, best.relay, best.detours), (60.0, Some(3), 2));
        assert_eq!((best.oracle, best.all_detours), (58.0, 3));
        assert_eq!(best.oracle_relay, Some(5));
        let none = Journey::by_the_best(&ways(), &[4]);
        assert_eq!((none.taken, none.relay), (100.0, None));
    }

    #[test]
    fn a_session_takes_a_detour_for_ten_milliseconds_and_leaves_a_full_relay() {
        let go = |relays: &[usize], full: usize| {
            Journey::by_session(&ways(), relays, Moment::EPOCH, |relay| relay != full).relay
        };
        assert_eq!(go(&[2, 3, 4], 99), Some(3));
        assert_eq!(go(&[2, 4], 99), None, "5 ms are not worth a relay");
        assert_eq!(go(&[3, 5], 5), Some(3));
        assert_eq!(go(&[3], 3), None);
    }

    #[test]
    fn a_slow_direct_path_is_left_however_slow_it_and_its_detour_are() {
        for (direct, via) in [
            (900.0, 110.0),
            (920.0, 110.0),
            (1900.0, 110.0),
            (2500.0, 110.0),
            (1900.0, 1500.0),
            (9000.0, 1900.0),
        ] {
            let ways = Ways {
                ends: (0, 1),
                direct,
                via: vec![f64::INFINITY, f64::INFINITY, via],
            };
            let journey = Journey::by_session(&ways, &[2], Moment::EPOCH, |_| true);
            assert_eq!(
                journey.relay,
                Some(2),
                "{direct} ms directly, {via} ms by the relay"
            );
        }
    }
}

//! The paper's client, control side: it measures its neighbours (the neighbour update module), keeps
//! its coordinate (the client coordinate module) and tells the directory what changed.

mod config;
mod schedule;

use std::collections::BTreeMap;
use std::time::Duration;

use nearside_coords::{Coordinate, Neighbour, Refused, Vivaldi};
use nearside_types::{Moment, Rtt};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::directory::{Peer, Report, Welcome};
use crate::ids::ClientId;

pub use config::ClientConfig;

use schedule::Pace;

/// What a client wants its caller to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Measure a neighbour; tell the outcome by [`Client::handle_reply`] or
    /// [`Client::handle_silence`].
    Probe(Peer),
    /// Send this to the directory. An empty one says that the client is still there.
    Report(Report),
    /// Nothing to do before then.
    Wait(Moment),
}

/// One client's control side.
///
/// Call [`poll_output`](Self::poll_output) until it says wait, then again at that moment or after any
/// `handle_*`.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    vivaldi: Vivaldi,
    neighbours: BTreeMap<ClientId, Watched>,
    /// The coordinate the directory knows.
    told: Option<Coordinate>,
    next_report: Moment,
    /// When the directory must hear something, if only to know that we live.
    next_sign: Moment,
}

/// A neighbour and what is known of it.
#[derive(Debug)]
struct Watched {
    peer: Peer,
    pace: Pace,
    next: Moment,
    waiting: bool,
    rtt: Option<Rtt>,
    /// What the directory was told, and when.
    told: Option<(Rtt, Moment)>,
    silent: u32,
}

/// How long the first answers may take before the first report.
const FIRST_ANSWERS: Duration = Duration::from_secs(2);

/// So many probes in a row without an answer, and a neighbour counts as gone.
const GONE: u32 = 4;

impl Watched {
    fn new(peer: Peer, config: &ClientConfig, next: Moment) -> Self {
        Self {
            pace: Pace::new(config),
            next,
            waiting: false,
            rtt: None,
            told: None,
            silent: 0,
            peer,
        }
    }
}

impl Client {
    /// A client that was just welcomed by the directory.
    pub fn new(config: ClientConfig, welcome: Welcome, seed: u64, now: Moment) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let start = welcome
            .start
            .unwrap_or_else(|| Coordinate::origin(config.vivaldi.dimensions));
        let first = config.shortest_interval;
        // Spread over the first interval: a thousand clients that join at once must not ping at once.
        let mut spread = || now + first.mul_f64(random.random_range(0.0..1.0));
        let watch = |peer| Watched::new(peer, &config, spread());
        let neighbours = welcome.neighbours.into_iter().map(watch);
        Self {
            neighbours: neighbours
                .map(|watched| (watched.peer.id, watched))
                .collect(),
            vivaldi: Vivaldi::starting_at(config.vivaldi.clone(), start, seed),
            told: None,
            // The first one as soon as all neighbours have been measured twice (the first time does not
            // count): nobody knows us before.
            next_report: now + config.report_interval.min(first * 2 + FIRST_ANSWERS),
            next_sign: now + config.sign_of_life,
            config,
        }
    }

    /// The directory took the client in again, and named its neighbours anew. Where the client is it knows
    /// already, and what it measured to those who stay. Everything is reported once more: the directory
    /// may have lost it, or be another one.
    pub fn join_again(&mut self, welcome: Welcome, now: Moment) {
        let named = |id: ClientId| welcome.neighbours.iter().any(|peer| peer.id == id);
        self.neighbours.retain(|id, watched| {
            watched.told = None;
            let stays = named(*id);
            if !stays {
                self.vivaldi.forget(Neighbour(id.0));
            }
            stays
        });
        let count = welcome.neighbours.len();
        for (number, peer) in welcome.neighbours.into_iter().enumerate() {
            // Spread, as at the beginning: after a restart of the directory everybody joins at once.
            let share = number as f64 / count as f64;
            let next = now + self.config.shortest_interval.mul_f64(share);
            let new = Watched::new(peer, &self.config, next);
            let known = self.neighbours.entry(new.peer.id).or_insert(new);
            // Whoever was to answer before the break may not any more.
            known.waiting = false;
        }
        self.told = None;
        let soon = self.config.shortest_interval * 2 + FIRST_ANSWERS;
        self.next_report = now + self.config.report_interval.min(soon);
        self.next_sign = now + self.config.sign_of_life;
    }

    /// Where the client is: what it sends along with its answers to probes.
    pub fn coordinate(&self) -> &Coordinate {
        self.vivaldi.coordinate()
    }

    /// What was measured to a neighbour last.
    pub fn rtt(&self, neighbour: ClientId) -> Option<Rtt> {
        self.neighbours.get(&neighbour)?.rtt
    }

    /// Neighbours that are still there; with few left, join again for new ones.
    pub fn neighbours(&self) -> usize {
        self.neighbours.len()
    }

    /// The directory asks for one more neighbour, as a witness of its legs; with too many already it is
    /// not taken.
    pub fn handle_neighbour(&mut self, now: Moment, peer: Peer) {
        if self.neighbours.len() < self.config.most_neighbours {
            let watched = Watched::new(peer, &self.config, now);
            let neighbours = &mut self.neighbours;
            neighbours.entry(watched.peer.id).or_insert(watched);
        }
    }

    /// A neighbour answered, and sent its coordinate along.
    ///
    /// # Errors
    /// If the measurement is not believed; it still shows that the neighbour is there.
    pub fn handle_reply(
        &mut self,
        now: Moment,
        from: ClientId,
        place: &Coordinate,
        rtt: Rtt,
    ) -> Result<(), Refused> {
        let Some(watched) = self.neighbours.get_mut(&from) else {
            return Ok(()); // an answer from before it was given up
        };
        watched.silent = 0;
        watched.waiting = false;
        let counted = self.vivaldi.observe(Neighbour(from.0), place, rtt);
        if counted.is_ok() {
            watched.pace.adapt(watched.rtt, rtt, &self.config);
            watched.rtt = Some(rtt);
        }
        watched.next = now + watched.pace.interval();
        counted
    }

    /// A neighbour did not answer. After a few silences in a row it is forgotten.
    pub fn handle_silence(&mut self, now: Moment, from: ClientId) {
        let Some(watched) = self.neighbours.get_mut(&from) else {
            return;
        };
        watched.silent += 1;
        watched.waiting = false;
        // Soon again: who is gone must not be offered as a leg for hours.
        watched.next = now + self.config.shortest_interval;
        if watched.silent >= GONE {
            self.neighbours.remove(&from);
            self.vivaldi.forget(Neighbour(from.0));
        }
    }

    /// Something that came by way of a neighbour was late or lost: it is measured at once, and what is new
    /// of it is told as soon as it has answered.
    pub fn handle_suspicion(&mut self, now: Moment, of: ClientId) {
        if let Some(watched) = self.neighbours.get_mut(&of) {
            watched.next = watched.next.min(now);
            watched.pace = Pace::new(&self.config);
            self.next_report = self.next_report.min(now + FIRST_ANSWERS);
        }
    }

    /// What to do now.
    pub fn poll_output(&mut self, now: Moment) -> Output {
        if let Some(report) = self.due_report(now) {
            return Output::Report(report);
        }
        let due = |watched: &&mut Watched| !watched.waiting && watched.next <= now;
        if let Some(watched) = self.neighbours.values_mut().find(due) {
            watched.waiting = true;
            return Output::Probe(watched.peer.clone());
        }
        Output::Wait(self.next_time())
    }

    /// When there is something to do.
    pub fn next_time(&self) -> Moment {
        let probes = self.neighbours.values().filter(|watched| !watched.waiting);
        let next = probes.map(|watched| watched.next).min();
        let report = self.next_report.min(self.next_sign);
        next.map_or(report, |next| next.min(report))
    }

    /// Every T what moved by more than Δx or Δd, and at longer intervals a sign of life.
    fn due_report(&mut self, now: Moment) -> Option<Report> {
        let (report_due, sign_due) = (now >= self.next_report, now >= self.next_sign);
        if !report_due && !sign_due {
            return None;
        }
        self.next_report = now + self.config.report_interval;
        let report = self.changes(now);
        let nothing_new = report.coordinate.is_none() && report.legs.is_empty();
        if nothing_new && !sign_due {
            return None;
        }
        self.next_sign = now + self.config.sign_of_life;
        Some(report)
    }

    fn changes(&mut self, now: Moment) -> Report {
        let config = &self.config;
        let legs = self.neighbours.values_mut().filter_map(|watched| {
            let rtt = watched.rtt?;
            let old = watched.told.is_none_or(|(told, at)| {
                let moved = told.as_micros().abs_diff(rtt.as_micros());
                moved > config.delta_d.as_micros() || now.since(at) >= config.refresh
            });
            old.then(|| {
                watched.told = Some((rtt, now));
                (watched.peer.id, rtt)
            })
        });
        let legs = legs.collect();
        let place = self.vivaldi.coordinate();
        let moved = self.told.as_ref().map(|told| place.moved_since(told));
        let coordinate = moved
            .is_none_or(|moved| moved > config.delta_x)
            .then(|| place.clone());
        if coordinate.is_some() {
            self.told.clone_from(&coordinate);
        }
        Report { coordinate, legs }
    }
}

#[cfg(test)]
mod tests;

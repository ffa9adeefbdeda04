//! One session's way to the other end: candidates are measured end to end, the best is used, the next
//! ones are kept warm, and a path that lags is left (sections 3.2 and 4 of the paper).

mod config;
mod lag;
mod route;

use std::collections::{BTreeMap, VecDeque};

use nearside_types::{Moment, Rtt};
use serde::{Deserialize, Serialize};

use crate::ids::ClientId;

pub use config::PathConfig;
pub use lag::{LagConfig, LagDetector};

use route::Watched;

/// A way to the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// As the Internet takes it.
    Direct,
    /// By way of a relay.
    Via(ClientId),
}

/// Why a session takes another path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A detour is quicker by the margin.
    QuickerDetour,
    /// The direct path is as good again, or nearly: a detour is not worth its relay.
    DirectIsGood,
    /// The game said that updates come late.
    LagReported,
    /// The path became slower than it was.
    LagDetected,
    /// The relay left, refused, or is not there any more.
    RelayFailed,
    /// Nothing came any more, or never did.
    Silent,
    /// Too much got lost.
    Lossy,
    /// The game sends more than a relay takes.
    TooFast,
}

/// What happened to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Another path is used from now on.
    Switched {
        /// When.
        at: Moment,
        /// The old one.
        from: Route,
        /// The new one.
        to: Route,
        /// Why.
        reason: Reason,
        /// What the new path is expected to save, in microseconds; negative when a lag or a failure
        /// left no better one, `None` when one of both was never measured.
        expected_gain_us: Option<i64>,
    },
    /// A relay is not used until then.
    Vetoed {
        /// The relay.
        relay: ClientId,
        /// When it may be tried again.
        until: Moment,
    },
}

/// What a session wants its caller to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Measure a path end to end, with a packet of the game's size; tell the outcome by
    /// [`PathSession::handle_rtt`].
    Measure(Route),
    /// Something happened.
    Event(Event),
    /// Nothing to do before then.
    Wait(Moment),
}

/// The paths of one session, and the one in use.
///
/// Call [`poll_output`](Self::poll_output) until it says wait, then again at that moment or after any
/// `handle_*`.
#[derive(Debug)]
pub struct PathSession {
    config: PathConfig,
    routes: BTreeMap<Route, Watched>,
    active: Route,
    lag: LagDetector,
    vetoes: BTreeMap<ClientId, Moment>,
    /// Whether the game sends more than a relay takes.
    too_fast: bool,
    events: VecDeque<Event>,
}

impl PathSession {
    /// A session on its direct path.
    pub fn new(config: PathConfig, now: Moment) -> Self {
        Self::on(Route::Direct, config, now)
    }

    /// A session that has only this path as yet: the one through a relay where no direct one exists.
    pub fn on(route: Route, config: PathConfig, now: Moment) -> Self {
        Self {
            routes: BTreeMap::from([(route, Watched::new(now))]),
            active: route,
            lag: LagDetector::new(config.lag.clone()),
            vetoes: BTreeMap::new(),
            too_fast: false,
            events: VecDeque::new(),
            config,
        }
    }

    /// There is a direct path after all.
    pub fn handle_direct(&mut self, now: Moment) {
        let direct = self.routes.entry(Route::Direct);
        direct.or_insert_with(|| Watched::new(now));
    }

    /// The path to send on.
    pub fn active(&self) -> Route {
        self.active
    }

    /// What a path takes, by its recent samples; `None` while it has too few.
    pub fn score(&self, route: Route) -> Option<Rtt> {
        self.routes.get(&route)?.score(&self.config)
    }

    /// How much a path's round trips differ from one to the next.
    pub fn jitter(&self, route: Route) -> Option<Rtt> {
        self.routes.get(&route)?.jitter()
    }

    /// Measured paths beside the active one, the quickest first.
    pub fn backups(&self) -> Vec<Route> {
        let others = self.routes.keys().filter(|route| **route != self.active);
        let mut scored: Vec<(Rtt, Route)> = others
            .filter_map(|route| Some((self.score(*route)?, *route)))
            .collect();
        scored.sort();
        scored.into_iter().map(|(_, route)| route).collect()
    }

    /// The directory's candidates; those that are vetoed, or in use already, are not taken anew, nor
    /// are more than a session can measure.
    pub fn handle_candidates(&mut self, now: Moment, relays: impl IntoIterator<Item = ClientId>) {
        for relay in relays {
            if !self.is_vetoed(relay, now) && self.routes.len() <= self.config.most_candidates {
                let route = self.routes.entry(Route::Via(relay));
                route.or_insert_with(|| Watched::new(now));
            }
        }
    }

    /// A path was measured end to end (`None`: nothing came back), by a probe or by delivered data,
    /// which count alike.
    pub fn handle_rtt(&mut self, now: Moment, route: Route, rtt: Option<Rtt>) {
        // No round trip takes no time; such an answer is a fault, not a quick path.
        let rtt = rtt.filter(|rtt| rtt.as_micros() > 0);
        let warm = self.is_warm(route);
        let Some(watched) = self.routes.get_mut(&route) else {
            return;
        };
        watched.sampled(now, rtt, warm, &self.config);
        if route == self.active && self.lag.push(rtt) {
            self.active_lags(now);
        }
        self.reconsider(now);
    }

    /// Probes on the active path come late or not at all. It is left for one that is quicker than it is
    /// now, or that answers while it does not: when nothing answers, the fault is not the relay's.
    fn active_lags(&mut self, now: Moment) {
        let Some((to, score)) = self.best_other() else {
            return;
        };
        let (active, other) = (&self.routes[&self.active], &self.routes[&to]);
        let leave = match active.recent(self.config.lag.recent) {
            Some(recent) => gain_us(recent, score) >= i64::from(self.config.margin.as_micros()),
            None => other.answered() > active.answered(),
        };
        if leave {
            self.leave_active(now, Reason::LagDetected);
        }
    }

    /// Packets of the game come later than they used to on the active path, by so much: it is left if
    /// another path is not slower than that. Whether it was.
    pub fn handle_late(&mut self, now: Moment, by: Rtt) -> bool {
        let Some(((_, other), active)) = self.best_other().zip(self.score(self.active)) else {
            return false;
        };
        let late = i64::from(by.as_micros()) + gain_us(active, other);
        if late > 0 {
            self.leave_active(now, Reason::LagDetected);
        }
        late > 0
    }

    /// Too many packets of the game get lost on the active path, and fewer on others: the best of those
    /// is used.
    pub fn handle_losses(&mut self, now: Moment) {
        self.leave_active(now, Reason::Lossy);
    }

    /// Whether the game sends more than relays take: then it stays on the direct path, where there is one,
    /// and no relay is to blame. Says whether that is news.
    pub fn handle_pace(&mut self, now: Moment, too_fast: bool) -> bool {
        let news = std::mem::replace(&mut self.too_fast, too_fast) != too_fast;
        let may_leave = self.active != Route::Direct && self.routes.contains_key(&Route::Direct);
        if news && too_fast && may_leave {
            self.switch(now, Route::Direct, Reason::TooFast);
        }
        news
    }

    /// Nothing comes on the active path any more, and this one is used at once. What was known of the
    /// old one does not count any more; it is not vetoed, since the fault may be anybody's.
    pub fn fail_over(&mut self, now: Moment, to: Route) {
        let left = self.active;
        if to == left || !self.routes.contains_key(&to) {
            return;
        }
        self.switch(now, to, Reason::Silent);
        self.routes.insert(left, Watched::new(now));
    }

    /// The paper's API: the game says that updates come late. The next backup is used at once.
    pub fn report_lag(&mut self, now: Moment) {
        self.leave_active(now, Reason::LagReported);
    }

    /// A relay is gone or refuses.
    pub fn handle_relay_failed(&mut self, now: Moment, relay: ClientId) {
        match self.active == Route::Via(relay) {
            true => self.leave_active(now, Reason::RelayFailed),
            false => {
                self.veto(now, relay);
                self.routes.remove(&Route::Via(relay));
            }
        }
    }

    /// What to do now.
    pub fn poll_output(&mut self, now: Moment) -> Output {
        if let Some(event) = self.events.pop_front() {
            return Output::Event(event);
        }
        let due = |watched: &Watched| watched.is_due(now);
        let next = self.routes.iter_mut().find(|(_, watched)| due(watched));
        if let Some((route, watched)) = next {
            watched.ask(now, &self.config);
            return Output::Measure(*route);
        }
        let next = self.routes.values().map(Watched::next).min();
        Output::Wait(next.unwrap_or(now + self.config.cold_interval))
    }

    /// The active path, the direct one and the best backups are kept warm: measured often.
    fn is_warm(&self, route: Route) -> bool {
        let best = self.backups();
        route == self.active
            || route == Route::Direct
            || best
                .iter()
                .take(self.config.warm_backups)
                .any(|r| *r == route)
    }

    /// Whether another path is better by the margin: hysteresis, since jitter alone must not make a
    /// session wander.
    fn reconsider(&mut self, now: Moment) {
        let Some((to, score)) = self.best_other() else {
            return;
        };
        let Some(current) = self.score(self.active) else {
            return self.leave_the_silent(now, to);
        };
        // When nothing has answered since the active path did, the line itself is down.
        let (active, other) = (&self.routes[&self.active], &self.routes[&to]);
        if active.has_just_lost() && other.answered() <= active.answered() {
            return;
        }
        let gain = gain_us(current, score);
        let margin = i64::from(self.config.margin.as_micros());
        // A detour must earn its relay; going back to the direct path needs no such excuse.
        let direct_is_good = self.score(Route::Direct).is_some_and(|direct| {
            self.active != Route::Direct
                && gain_us(direct, current) < i64::from(self.config.least_gain.as_micros())
        });
        match to {
            Route::Via(_) if gain >= margin => self.switch(now, to, Reason::QuickerDetour),
            Route::Direct if gain >= margin => self.switch(now, to, Reason::DirectIsGood),
            _ if direct_is_good => self.switch(now, Route::Direct, Reason::DirectIsGood),
            _ => {}
        }
    }

    /// An active path without a score is waited for, unless it has not answered several times while
    /// another one has: its lag may have been told when no other path was known well enough.
    fn leave_the_silent(&mut self, now: Moment, to: Route) {
        let (active, other) = (&self.routes[&self.active], &self.routes[&to]);
        let silent = active.lost() >= self.config.lag.losses;
        if silent && other.answered() > active.answered() {
            self.switch(now, to, Reason::Silent);
        }
    }

    /// The best path beside the active one, of those that take what the game sends.
    fn best_other(&self) -> Option<(Route, Rtt)> {
        let mut backups = self.backups().into_iter();
        let best = backups.find(|route| !self.too_fast || *route == Route::Direct)?;
        Some((best, self.score(best)?))
    }

    /// Falls to the next backup; a relay that lagged is vetoed. The direct path has no backup but a
    /// measured detour, and stays if there is none; so does the only path of all.
    fn leave_active(&mut self, now: Moment, reason: Reason) {
        let left = self.active;
        let to = match self.best_other() {
            Some((to, _)) => to,
            None if self.routes.contains_key(&Route::Direct) => Route::Direct,
            None => return,
        };
        if let Route::Via(relay) = left {
            self.veto(now, relay);
        }
        if to != left {
            self.switch(now, to, reason);
        }
        if let Route::Via(_) = left {
            self.routes.remove(&left);
        }
    }

    fn switch(&mut self, now: Moment, to: Route, reason: Reason) {
        let scores = self.score(self.active).zip(self.score(to));
        self.events.push_back(Event::Switched {
            at: now,
            from: self.active,
            to,
            reason,
            expected_gain_us: scores.map(|(old, new)| gain_us(old, new)),
        });
        self.active = to;
        self.lag = LagDetector::new(self.config.lag.clone());
    }

    fn veto(&mut self, now: Moment, relay: ClientId) {
        let until = now + self.config.veto;
        self.vetoes.retain(|_, until| *until > now);
        self.vetoes.insert(relay, until);
        self.events.push_back(Event::Vetoed { relay, until });
    }

    /// The relays that are not used for a while.
    pub fn vetoed(&self, now: Moment) -> impl Iterator<Item = ClientId> {
        let vetoes = self.vetoes.iter().filter(move |(_, until)| **until > now);
        vetoes.map(|(relay, _)| *relay)
    }

    fn is_vetoed(&self, relay: ClientId, now: Moment) -> bool {
        self.vetoes.get(&relay).is_some_and(|until| *until > now)
    }
}

fn gain_us(old: Rtt, new: Rtt) -> i64 {
    i64::from(old.as_micros()) - i64::from(new.as_micros())
}

#[cfg(test)]
mod tests;

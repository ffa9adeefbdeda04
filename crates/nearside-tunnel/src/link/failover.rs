//! Silence, lateness and loss: how they are noticed, and which path is used then.

use std::time::Duration;

use nearside_detour::path::Route;
use nearside_types::{Moment, Rtt};

use crate::messages::{Fault, Talk};

use super::way::Way;
use super::{
    COPIES, Event, LOSSY, Link, MUCH_LOST, Output, PLAY, SETTLING, SILENCE, Trying, relay_of,
};

/// The side that follows waits this long for the leader to try another path.
const GONE: Duration = Duration::from_millis(600);

impl Link {
    /// The paper's API: the game says that updates come late.
    pub fn report_lag(&mut self, now: Moment) {
        match &mut self.lead {
            Some(lead) => {
                lead.paths.report_lag(now);
                self.follow_paths(now);
            }
            None => {
                let lag = Talk::LagReported(relay_of(self.sending));
                self.talks.say(now, &lag);
                self.poll_talks(now);
            }
        }
    }

    /// Much of what the other end sends does not come.
    pub(super) fn loses(&mut self, now: Moment) {
        if now.since(self.switched) < SETTLING {
            return; // those of the path before
        }
        let Some(lead) = &mut self.lead else {
            self.talks.say(now, &Talk::Losing(relay_of(self.sending)));
            return;
        };
        if self.pace.is_too_fast(now) {
            return; // what a relay dropped as it should
        }
        let (active, backups) = (lead.paths.active(), lead.paths.backups());
        let loss = |route: &Route| self.ways.get(route).and_then(Way::loss).unwrap_or(0.0);
        if backups.first().is_some_and(|best| loss(best) < MUCH_LOST) {
            lead.paths.handle_losses(now);
            self.failed(active, Fault::Lossy);
            self.follow_paths(now);
        }
    }

    pub(super) fn lags(&mut self, now: Moment, by: Rtt) {
        match &mut self.lead {
            Some(lead) => {
                let left = lead.paths.active();
                if lead.paths.handle_late(now, by) {
                    self.failed(left, Fault::Late);
                }
                self.follow_paths(now);
            }
            None => {
                self.copy_to_backup(now);
                self.talks.say(now, &Talk::Lagging(relay_of(self.sending)));
                self.poll_talks(now);
            }
        }
    }

    /// Leaves a path that loses much more than another.
    pub(super) fn check_loss(&mut self, now: Moment, route: Route) {
        let loss = |route: Route| self.ways.get(&route).and_then(Way::loss).unwrap_or(0.0);
        let Some(lead) = self
            .lead
            .as_ref()
            .filter(|lead| lead.paths.active() == route)
        else {
            return;
        };
        let (here, backups) = (loss(route), lead.paths.backups());
        let Some(best) = backups.first() else {
            return;
        };
        if here >= LOSSY && loss(*best) < here / 2.0 && !self.pace.is_too_fast(now) {
            self.failed(route, Fault::Lossy);
            if let Some(lead) = &mut self.lead {
                lead.paths.handle_losses(now);
            }
        }
    }

    pub(super) fn failed(&mut self, route: Route, fault: Fault) {
        if let Route::Via(relay) = route {
            self.out
                .push_back(Output::Event(Event::RelayFailed { relay, fault }));
        }
    }

    /// Sends by the path that the measurements chose.
    pub(super) fn follow_paths(&mut self, now: Moment) {
        let Some(lead) = &self.lead else {
            return;
        };
        let active = lead.paths.active();
        if active == self.sending || !self.ways.contains_key(&active) {
            return;
        }
        self.copies = Some((self.sending, now + COPIES));
        self.sending = active;
        self.gaps.restart();
        self.switched = now;
        self.say_beat(now);
    }

    /// Whether the path in use has brought nothing for too long, although the other end has had time to
    /// learn that a game is played.
    pub(super) fn is_silent(&self, now: Moment) -> bool {
        let Some(play) = self.played.filter(|play| now.since(play.last) < PLAY) else {
            return false;
        };
        let rtt = self.score(self.sending);
        let rtt = rtt.unwrap_or(Rtt::from_micros(500_000)).as_micros();
        let round_trip = Duration::from_micros(rtt.into());
        // The other end hears of a game, or of another path, after half a round trip at the earliest.
        let expected = play.since.max(self.switched) + round_trip;
        let way = self.ways.get(&self.sending);
        let heard = way.and_then(|way| way.heard).unwrap_or(expected);
        now.since(heard.max(expected)) >= SILENCE
    }

    pub(super) fn listen(&mut self, now: Moment) {
        if !self.is_silent(now) {
            return;
        }
        match self.lead.is_some() {
            true => self.fail_over(now),
            false => {
                self.copy_to_backup(now);
                if now.since(self.heard) >= GONE {
                    self.says_silent();
                }
            }
        }
    }

    /// Tells once that nothing comes on any path.
    fn says_silent(&mut self) {
        if !std::mem::replace(&mut self.was_silent, true) {
            self.out.push_back(Output::Event(Event::PeerSilent));
        }
    }

    /// The next path that is not known to be dead, at once; copies go on the one that was left.
    pub(super) fn fail_over(&mut self, now: Moment) {
        let sending = self.sending;
        let grace = self.score(sending).unwrap_or(Rtt::from_micros(200_000));
        let Some(lead) = &mut self.lead else {
            return;
        };
        if let Some(trying) = &lead.trying
            && now.since(trying.since) < SILENCE + Duration::from_micros(grace.as_micros().into())
        {
            return; // the next path has not had its time yet
        }
        let (left, mut tried) = match lead.trying.take() {
            Some(trying) => (trying.left, trying.tried),
            None => (sending, Vec::new()),
        };
        tried.push(sending);
        let is_open = |route: &Route| self.ways.get(route).is_some_and(Way::is_open);
        let mut backups = lead.paths.backups().into_iter();
        let direct = std::iter::once(Route::Direct);
        let next = backups
            .by_ref()
            .chain(direct)
            .find(|route| is_open(route) && !tried.contains(route));
        let Some(next) = next else {
            let since = now;
            lead.trying = Some(Trying { left, since, tried });
            self.says_silent();
            return;
        };
        lead.paths.fail_over(now, next);
        lead.trying = Some(Trying {
            left,
            since: now,
            tried,
        });
        self.follow_paths(now);
    }

    /// Something came: if it came on the path that was tried, the one before is to blame.
    pub(super) fn proven(&mut self, now: Moment, route: Route) {
        let sending = self.sending;
        let Some(lead) = &mut self.lead else {
            return;
        };
        let Some(trying) = &lead.trying else {
            return;
        };
        if route == trying.left {
            // It was only late; measurements will tell which path is better.
            lead.trying = None;
            return;
        }
        if route != sending {
            return;
        }
        let left = trying.left;
        lead.trying = None;
        if let Route::Via(relay) = left {
            lead.paths.handle_relay_failed(now, relay);
            self.ways.remove(&left);
            if self.copies.is_some_and(|(route, _)| route == left) {
                self.copies = None;
            }
            self.failed(left, Fault::Silent);
        }
    }

    /// The side that follows cannot choose; it says everything twice until it hears again.
    pub(super) fn copy_to_backup(&mut self, now: Moment) {
        let alive = |(route, way): &(&Route, &Way)| **route != self.sending && way.is_open();
        let backups = self.ways.iter().filter(alive);
        let best = backups.min_by_key(|(route, way)| (way.rank, **route != Route::Direct));
        if let Some(route) = best.map(|(route, _)| *route) {
            let fresh = self.copies.is_none();
            self.copies = Some((route, now + COPIES));
            if fresh {
                self.say_beat(now);
            }
        }
    }
}

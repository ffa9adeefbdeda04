//! What comes in, and what it says of the path it came by.

use std::net::SocketAddr;

use nearside_detour::path::Route;
use nearside_types::{Moment, Rtt};
use nearside_wire::detour::{Carry, CarryFlags, SEALED_HEADER};

use crate::crypto::Broken;
use crate::messages::Talk;

use super::inner::{Echo, Inner, Probe};
use super::way::Way;
use super::{Arrival, Event, Link, MUCH_LOST, Output, relay_of};

impl Link {
    /// Which path a carried frame came by, if its tag fits one.
    pub fn route_of(&self, carry: &Carry<'_>) -> Option<Route> {
        let accepts = |way: &Way| way.through().is_some_and(|hop| hop.accepts(carry));
        let fits = |(_, way): &(&Route, &Way)| accepts(way);
        self.ways.iter().find(fits).map(|(route, _)| *route)
    }

    /// A relay took a ticket; whether it was one of ours.
    pub fn handle_opened(&mut self, now: Moment, hop: u32, tag: u64) -> bool {
        let opened = |(route, way): (&Route, &mut Way)| {
            let news = way
                .through_mut()
                .is_some_and(|through| through.opened(hop, tag));
            news.then_some(*route)
        };
        let Some(Route::Via(relay)) = self.ways.iter_mut().find_map(opened) else {
            return false;
        };
        if let Some(lead) = &mut self.lead {
            lead.paths.handle_candidates(now, [relay]);
        }
        true
    }

    /// A relay has no place for us; whether it is one of ours. The side that follows leaves an open way
    /// when the one that leads does.
    pub fn handle_refused(&mut self, now: Moment, hop: u32, tag: u64) -> bool {
        let refused = |way: &Way| way.through().is_some_and(|way| way.is_refused(hop, tag));
        let Some((route, way)) = self.ways.iter().find(|(_, way)| refused(way)) else {
            return false;
        };
        if self.lead.is_some() || !way.is_open() {
            self.give_up(now, *route);
        }
        true
    }

    /// A sealed frame for this link came.
    pub fn handle_sealed(&mut self, now: Moment, at: Arrival, counter: u64, body: &mut [u8]) {
        if at.route == Route::Direct && !self.knows_direct(at.from) {
            self.counts.astray += 1;
            return;
        }
        let length = SEALED_HEADER + body.len();
        let plain = match self.keys.opener.open(counter, body) {
            Ok(plain) => plain,
            Err(Broken::Replayed) => {
                self.counts.seen_before += 1;
                // A copy that came second did not get lost.
                if let Some(way) = self.ways.get_mut(&at.route) {
                    way.came_again();
                }
                return;
            }
            Err(Broken::Forged) => {
                self.counts.forged += 1;
                return;
            }
        };
        let Ok(inner) = Inner::parse(plain) else {
            return;
        };
        self.heard = now;
        self.was_silent = false;
        if let Some(way) = self.ways.get_mut(&at.route) {
            way.came(now);
        }
        match inner {
            Inner::Data {
                flow,
                sent,
                word,
                path,
                payload,
            } => {
                let payload = payload.to_vec();
                self.counts.delivered += 1;
                self.plays(now);
                self.out.push_back(Output::Deliver { flow, payload });
                self.spoken_to(now, at, counter, (sent, path));
                self.pace.came(now, word, length);
                self.count_word(now, at.route, word);
            }
            Inner::Beat {
                sent,
                word,
                path,
                plays,
            } => {
                if plays != 0 {
                    self.peer_plays = Some(now);
                }
                self.spoken_to(now, at, counter, (sent, path));
                self.pace.came(now, word, length);
                self.count_word(now, at.route, word);
            }
            Inner::Probe(probe) => self.answer(now, at, probe),
            Inner::Echo(echo) => self.echoed(now, at, echo),
            Inner::Talk { id, message } => {
                let talk = self.talks.came(id, message);
                self.send_on(now, at.route, &Inner::Heard { id });
                if let Some(talk) = talk {
                    self.told(now, talk);
                }
            }
            Inner::Heard { id } => self.talks.heard(id),
        }
        self.mind_pace(now);
        self.proven(now, at.route);
    }

    /// Counts a word of the other end; when much of what it says does not come, the path is to blame.
    ///
    /// Words that come by two paths overtake each other: as long as they do, in a comparison or where some
    /// are too long for a relay, a gap says nothing, and probes alone tell what is lost.
    pub(super) fn count_word(&mut self, now: Moment, route: Route, word: u16) {
        if route != self.sending {
            return self.gaps.restart();
        }
        let lost = self.gaps.came(word);
        if lost.is_some_and(|share| share >= MUCH_LOST) && self.is_played(now) {
            self.loses(now);
        }
    }

    /// Whether the other end may be there: at the address of the handshake, on any port, since NATs
    /// forget, or where the directory says it is now. Anywhere else a relay could send on what it should
    /// carry and be taken for the direct path.
    fn knows_direct(&self, from: SocketAddr) -> bool {
        let Some(way) = self.ways.get(&Route::Direct) else {
            return false;
        };
        let repair = self.repair.as_ref();
        way.address().ip() == from.ip() || repair.is_some_and(|repair| repair.knows(from.ip()))
    }

    /// A packet that shows which path the other end uses, and how late it was.
    pub(super) fn spoken_to(
        &mut self,
        now: Moment,
        at: Arrival,
        counter: u64,
        (sent, path): (u32, u8),
    ) {
        let newest = self.newest.is_none_or(|newest| counter > newest);
        let Some(way) = self.ways.get_mut(&at.route) else {
            return;
        };
        let late = way.delay.came(at.received, sent);
        if newest {
            self.newest = Some(counter);
            if at.port == way.port() {
                way.move_to(at.from);
            }
            self.follow(now, path);
        }
        if let Some(by) = late.filter(|_| at.route == self.sending) {
            self.lags(now, by);
        }
    }

    /// The side that follows uses the path that the leader says it uses.
    pub(super) fn follow(&mut self, now: Moment, number: u8) {
        let is_meant = |(_, way): &(&Route, &Way)| way.number == number && way.is_open();
        let Some((route, _)) = self.ways.iter().find(is_meant) else {
            return;
        };
        if self.lead.is_none() && self.sending != *route {
            self.sending = *route;
            self.switched = now;
            self.gaps.restart();
        }
    }

    /// Answers a probe by the way it came.
    pub(super) fn answer(&mut self, now: Moment, at: Arrival, probe: Probe) {
        if at.route == Route::Direct && self.repair.is_some() {
            self.finds_direct(now, at.from, at.port);
        }
        let Some(way) = self.ways.get_mut(&at.route) else {
            return;
        };
        way.rank = probe.rank;
        let echo = way.echo(probe, now.since(at.received), at.residence);
        if self.seal(&[&Inner::Echo(echo).emit()]).is_err() {
            return;
        }
        let Some(way) = self.ways.get_mut(&at.route).filter(|way| way.is_open()) else {
            return;
        };
        let mut outgoing = way.wrap(now, &self.frame, CarryFlags::STAMP);
        if at.route == Route::Direct {
            // A probe from another port of the leader's is answered to that port.
            (outgoing.to, outgoing.port) = (at.from, at.port);
        }
        self.out.push_back(Output::Send(outgoing));
    }

    pub(super) fn echoed(&mut self, now: Moment, at: Arrival, echo: Echo) {
        let Some((way, lead)) = self.ways.get_mut(&at.route).zip(self.lead.as_mut()) else {
            return;
        };
        let Some(rtt) = way.echoed(at.received, echo, at.residence) else {
            return;
        };
        let comparing = lead.comparing.as_mut();
        if comparing.is_some_and(|comparing| comparing.came(echo.sequence, Some(rtt))) {
            return;
        }
        if let Some(port) = lead.trial_ports.remove(&echo.sequence) {
            if let Some(trial) = &mut lead.trial {
                trial.came(port, rtt);
            }
            if port != 0 {
                return;
            }
        }
        lead.paths.handle_rtt(now, at.route, Some(rtt));
        if at.route == Route::Direct {
            self.finds_direct(now, at.from, at.port);
        }
        self.check_loss(now, at.route);
        self.follow_paths(now);
    }

    pub(super) fn told(&mut self, now: Moment, talk: Talk) {
        match talk {
            Talk::Meet { pass, number } if self.lead.is_none() => {
                self.invited(now, pass, number);
            }
            // What is told of a path that was left meanwhile is of no use any more.
            Talk::Lagging(relay) | Talk::Losing(relay) | Talk::LagReported(relay)
                if relay != relay_of(self.sending) => {}
            Talk::Lagging(_) => {
                // The other end saw it in what we send; that it is later by the margin is all we know.
                self.lags(now, Rtt::from_micros(20_000));
            }
            Talk::Losing(_) => self.loses(now),
            // The side that follows has nobody else to report it to.
            Talk::LagReported(_) if self.lead.is_some() => self.report_lag(now),
            Talk::LagReported(_) => {}
            Talk::Goodbye => self.out.push_back(Output::Event(Event::Closed)),
            talk => self.out.push_back(Output::Event(Event::Talk(talk))),
        }
    }
}

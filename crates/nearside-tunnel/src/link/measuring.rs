//! Which paths there are, and what they take: the side that leads opens relays, sends probes, and tries
//! the direct path from several ports.

use nearside_detour::ClientId;
use nearside_detour::path::{self, Route};
use nearside_types::Moment;
use nearside_wire::detour::CarryFlags;

use crate::messages::{RelayPass, Talk};
use crate::vouched::{Authority, Vouched};

use super::compare::{Comparing, Comparison};
use super::delay::micros;
use super::hop::{self, Hop};
use super::inner::Inner;
use super::way::{self, Way};
use super::{Event, Link, MOST_WAYS, Output, PATIENCE, relay_of};

impl Link {
    /// Compares the direct path with the best detour on live traffic, until it is decided or time is up;
    /// or ends that, and forgets what was found.
    pub fn set_comparison(&mut self, now: Moment, on: bool) {
        if let Some(lead) = &mut self.lead {
            lead.comparing = on.then(|| Comparing::new(now));
        }
    }

    /// What the comparison found so far.
    pub fn comparison(&self) -> Option<Comparison> {
        let comparing = self.lead.as_ref()?.comparing.as_ref()?;
        Some(comparing.result())
    }

    /// The path whose turn it is in a comparison; a probe goes along.
    pub(super) fn compared(&mut self, now: Moment) -> Option<Route> {
        let lead = self.lead.as_mut()?;
        let comparing = lead.comparing.as_mut()?;
        let is_detour = |route: &Route| matches!(route, Route::Via(_));
        let active = std::iter::once(lead.paths.active());
        let detour = active.chain(lead.paths.backups()).find(is_detour)?;
        let detours_turn = comparing.is_detours_turn(now)?;
        let route = if detours_turn { detour } else { Route::Direct };
        if !self.ways.get(&route).is_some_and(Way::is_open) {
            return None;
        }
        if comparing.wants_probe(now) {
            comparing.sent(lead.sequence.wrapping_add(1));
            self.probe(now, route, None);
        }
        Some(route)
    }

    /// A relay to try; the other end is told, and opens its side.
    ///
    /// One that it has already stays as it is, and so does the other end's: a new ticket would close a
    /// way that is in use until it is opened again.
    pub fn add_relay(&mut self, now: Moment, ours: RelayPass, theirs: Vouched) {
        if self.ways.contains_key(&Route::Via(ours.relay)) {
            return;
        }
        if let Some(number) = self.free_number()
            && self.meet_at(now, ours, number)
        {
            let meet = Talk::Meet {
                pass: theirs,
                number,
            };
            self.talks.say(now, &meet);
        }
    }

    /// A number that no path has at present.
    pub(super) fn free_number(&self) -> Option<u8> {
        let is_taken = |number: &u8| self.ways.values().any(|way| way.number == *number);
        (1..way::DIRECT).find(|number| !is_taken(number))
    }

    /// The other end names a relay: believed if our own directory vouches for it, in this session.
    pub(super) fn invited(&mut self, now: Moment, vouched: Vouched, number: u8) {
        let authority = self.authority.as_ref();
        let pass = authority.and_then(|(own, session)| own.check(now, *session, vouched));
        match pass {
            Some(pass) => {
                self.meet_at(now, pass, number);
            }
            None => self.counts.unvouched += 1,
        }
    }

    /// The directory took us in again, and its clock may go differently. Another directory's word counts
    /// for nothing in this session.
    pub fn set_authority(&mut self, new: Authority) {
        if let Some((authority, _)) = &mut self.authority
            && authority.key == new.key
        {
            authority.clock = new.clock;
        }
    }

    /// A way through a relay, unless there are too many.
    pub(super) fn meet_at(&mut self, now: Moment, pass: RelayPass, number: u8) -> bool {
        let route = Route::Via(pass.relay);
        self.pace.allow(now, &pass);
        if let Some(way) = self.ways.get_mut(&route) {
            way.renew(pass, number, now);
        } else if self.ways.len() < MOST_WAYS {
            let way = Way::hop(Hop::new(pass, now), number, now);
            self.ways.insert(route, way);
        } else {
            return false;
        }
        true
    }

    /// The relays it knows, those included that it does not use for a while.
    pub fn relays(&self, now: Moment) -> Vec<ClientId> {
        let routes = self.ways.keys().filter_map(|route| relay_of(*route));
        let mut relays: Vec<ClientId> = routes.collect();
        let vetoed = self.lead.iter().flat_map(|lead| lead.paths.vetoed(now));
        relays.extend(vetoed.filter(|relay| !self.ways.contains_key(&Route::Via(*relay))));
        relays
    }

    pub(super) fn open_ways(&mut self, now: Moment) {
        let mut gone = Vec::new();
        for (route, way) in &mut self.ways {
            match way.through_mut().map(|hop| hop.poll_open(now)) {
                Some(Ok(Some(open))) => self.out.push_back(Output::Send(open)),
                Some(Err(hop::Gone)) => gone.push(*route),
                _ => {}
            }
        }
        for route in gone {
            self.give_up(now, route);
        }
    }

    /// A relay has no place for us, or took no ticket. That is no reason to complain: it may carry others
    /// well, and a ticket that is not taken may be due to our own NAT.
    pub(super) fn give_up(&mut self, now: Moment, route: Route) {
        if let (Some(lead), Route::Via(relay)) = (&mut self.lead, route) {
            lead.paths.handle_relay_failed(now, relay);
        }
        self.follow_paths(now);
        // The only path of all stays, for what it is worth.
        if self.sending != route {
            self.ways.remove(&route);
        }
        if self.copies.is_some_and(|(copied, _)| copied == route) {
            self.copies = None;
        }
    }

    pub(super) fn poll_talks(&mut self, now: Moment) {
        while let Some((id, message)) = self.talks.poll(now) {
            let talk = Inner::Talk {
                id,
                message: &message,
            };
            self.send_on(now, self.sending, &talk);
            // The first time on the path in use alone; a repetition may need another.
            if self.is_silent(now) {
                self.emit(now, Route::Direct, CarryFlags::default());
            }
        }
    }

    pub(super) fn lose_probes(&mut self, now: Moment) {
        let mut lost = Vec::new();
        for (route, way) in &mut self.ways {
            let unanswered = way.unanswered(now, PATIENCE);
            lost.extend(unanswered.into_iter().map(|sequence| (*route, sequence)));
        }
        let Some(lead) = &mut self.lead else {
            return;
        };
        let mut missed = 0;
        for (route, sequence) in lost {
            let comparing = lead.comparing.as_mut();
            let compared = comparing.is_some_and(|comparing| comparing.came(sequence, None));
            // Ports that nobody answers are no losses of the path.
            let port = lead.trial_ports.remove(&sequence);
            if !compared && port.is_none_or(|port| port == 0) {
                lead.paths.handle_rtt(now, route, None);
                missed += u32::from(route == Route::Direct);
            }
        }
        for _ in 0..missed {
            self.misses_direct();
        }
        self.follow_paths(now);
    }

    pub(super) fn poll_trial(&mut self, now: Moment) {
        let Some(lead) = &mut self.lead else {
            return;
        };
        let Some(trial) = &mut lead.trial else {
            return;
        };
        if trial.is_over(now) {
            let verdict = trial.verdict();
            lead.trial = None;
            if let (Some((port, gain)), Some(way)) = (verdict, self.ways.get_mut(&Route::Direct)) {
                way.set_port(port);
                self.out
                    .push_back(Output::Event(Event::SourcePort { port, gain }));
            }
            self.out.push_back(Output::Event(Event::Settled));
        } else if let Some(port) = trial.poll(now) {
            self.probe(now, Route::Direct, Some(port));
        }
    }

    pub(super) fn poll_paths(&mut self, now: Moment) {
        loop {
            let Some(lead) = &mut self.lead else {
                return;
            };
            match lead.paths.poll_output(now) {
                path::Output::Measure(route) => self.probe(now, route, None),
                path::Output::Event(event) => {
                    self.out.push_back(Output::Event(Event::Path(event)));
                }
                path::Output::Wait(next) => {
                    self.next_path = next;
                    break;
                }
            }
        }
        self.follow_paths(now);
    }

    pub(super) fn probe(&mut self, now: Moment, route: Route, port: Option<u8>) {
        let rank = self.rank(route);
        let Some((way, lead)) = self.ways.get_mut(&route).zip(self.lead.as_mut()) else {
            return;
        };
        // A direct path that is sought has nothing but probes.
        if !way.is_open() && route != Route::Direct {
            return;
        }
        way.rank = rank;
        lead.sequence = lead.sequence.wrapping_add(1);
        if let Some(port) = port {
            lead.trial_ports.insert(lead.sequence, port);
        }
        let probe = way.probe(now, lead.sequence, micros(now));
        if self.seal(&[&Inner::Probe(probe).emit()]).is_err() {
            return;
        }
        let Some(way) = self.ways.get_mut(&route) else {
            return;
        };
        let mut outgoing = way.wrap(now, &self.frame, CarryFlags::STAMP);
        if let Some(port) = port {
            outgoing.port = port;
        }
        self.out.push_back(Output::Send(outgoing));
    }

    pub(super) fn rank(&self, route: Route) -> u8 {
        if route == self.sending {
            return 0;
        }
        let backups = self.lead.as_ref().map(|lead| lead.paths.backups());
        let place = backups.and_then(|backups| backups.iter().position(|backup| *backup == route));
        place
            .and_then(|place| u8::try_from(place + 1).ok())
            .unwrap_or(u8::MAX)
    }
}

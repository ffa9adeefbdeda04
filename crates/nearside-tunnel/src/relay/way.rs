use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use nearside_types::Moment;

use crate::crypto::{HopKey, Ticket, Window};

use super::Arrival;
use super::rate::{Bucket, Rate};

/// One end of a session at the relay.
#[derive(Debug)]
pub(super) struct Way {
    ticket: Ticket,
    address: SocketAddr,
    seen: Window,
    sent: u64,
    rate: Rate,
    heard: Moment,
    /// What a path that is only measured may need; a game takes more.
    measuring: Bucket,
    /// When it last carried more than that, with a place for it.
    carried: Option<Moment>,
}

/// What goes over a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// No more than measuring needs, or a game that has its place.
    Settled,
    /// More, and no place for it yet.
    Begins,
    /// The same, and the sender is to be told if there is none: at the first packet of that kind, so that
    /// it can leave before any is lost, and at those that are really too many.
    Insists,
}

/// Packets that a way without a place may bring at once: copies of a game for the quarter of a second
/// after a switch, at 60 each second, are half of them.
const MEASURING_AT_ONCE: f64 = 30.0;
/// And each second: a warm path is measured once a second, and one that is played on brings 20 at least.
const MEASURING: f64 = 5.0;
/// A game that was not heard for so long has lost its place.
const PLACE: Duration = Duration::from_secs(10);

/// The way a packet goes on by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Partner {
    pub(super) hop: u32,
    session: u64,
    end: u8,
}

impl Way {
    pub(super) fn new(ticket: &Ticket, arrival: Arrival) -> Self {
        Self {
            ticket: *ticket,
            address: arrival.from,
            seen: Window::default(),
            sent: 0,
            rate: Rate::new(ticket.packets.into(), ticket.kilobits.into(), arrival.now),
            heard: arrival.now,
            measuring: Bucket::holding(MEASURING_AT_ONCE, MEASURING, arrival.now),
            carried: None,
        }
    }

    pub(super) fn is_of(&self, ticket: &Ticket) -> bool {
        let same = |ticket: &Ticket| (ticket.session, ticket.end, ticket.key.0);
        same(&self.ticket) == same(ticket)
    }

    pub(super) fn key(&self) -> HopKey {
        self.ticket.key
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn heard(&self) -> Moment {
        self.heard
    }

    /// A ticket was shown again, perhaps through another mapping of the same NAT.
    pub(super) fn came_back(&mut self, arrival: Arrival) {
        self.address = arrival.from;
        self.heard = arrival.now;
    }

    /// Whether packets may come from there: the port may change, since NATs forget; another address
    /// needs another ticket.
    pub(super) fn knows(&self, from: SocketAddr) -> bool {
        self.address.ip() == from.ip()
    }

    /// Counts a packet whose tag fits; `false` if it came before. The newest one says where the end is.
    pub(super) fn take(&mut self, counter: u64, arrival: Arrival) -> bool {
        let newest = self.seen.highest().is_none_or(|highest| counter > highest);
        let new = self.seen.take(counter);
        if new {
            self.heard = arrival.now;
        }
        if new && newest {
            self.address = arrival.from;
        }
        new
    }

    pub(super) fn has_room(&mut self, now: Moment, bytes: usize) -> bool {
        self.rate.take(now, bytes)
    }

    /// Counts one more packet.
    pub(super) fn weigh(&mut self, now: Moment) -> Load {
        let (before, after) = self.measuring.draw(now);
        let enough = MEASURING_AT_ONCE / 2.0;
        if after >= enough {
            return Load::Settled;
        }
        if self.has_place(now) {
            self.carried = Some(now);
            return Load::Settled;
        }
        match before >= enough || before < 1.0 {
            true => Load::Insists,
            false => Load::Begins,
        }
    }

    pub(super) fn has_place(&self, now: Moment) -> bool {
        self.carried.is_some_and(|at| now.since(at) < PLACE)
    }

    pub(super) fn give_place(&mut self, now: Moment) {
        self.carried = Some(now);
    }

    /// Whether this end counts for its session, which has one place for both.
    pub(super) fn counts(&self, ways: &HashMap<u32, Self>, now: Moment) -> bool {
        let partner = self.partner();
        let other = ways.get(&partner.hop);
        let other = other.is_some_and(|way| way.is_partner(partner) && way.has_place(now));
        self.has_place(now) && (self.ticket.end == 0 || !other)
    }

    pub(super) fn partner(&self) -> Partner {
        Partner {
            hop: self.ticket.other_hop,
            session: self.ticket.session,
            end: self.ticket.end,
        }
    }

    /// Whether this is the other end of the same session.
    pub(super) fn is_partner(&self, of: Partner) -> bool {
        self.ticket.session == of.session && self.ticket.end != of.end
    }

    pub(super) fn has_partner(&self, ways: &HashMap<u32, Self>) -> bool {
        let partner = self.partner();
        ways.get(&partner.hop)
            .is_some_and(|way| way.is_partner(partner))
    }

    pub(super) fn next_counter(&mut self) -> u64 {
        self.sent += 1;
        self.sent
    }
}

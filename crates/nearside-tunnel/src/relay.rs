//! The relay: takes a packet that somebody with a ticket sent, and sends it on to the other end of the
//! same session. It keeps no keys of what is inside, makes no copy, and answers nobody with more than
//! they sent.

mod rate;
mod way;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::ClientId;
use nearside_types::Moment;
use nearside_wire::detour::{
    CARRY_HEADER, Carry, CarryFlags, Frame, RESIDENCE_UNIT_NS, SAFE_BYTES,
};
use serde::Serialize;

use crate::crypto::{BadTicket, Ticket, TicketKey};
use crate::messages::Capacity;
pub(crate) use rate::Rate;
use way::{Load, Partner, Way};

/// How long a way may be unused before it is closed. Default of all relays; keep-alives come every
/// 15 s, so three may get lost.
const IDLE: Duration = Duration::from_secs(60);

/// Sessions that may measure a relay for each that it carries. A session measures 32 relays at most and
/// uses one, so where relays are scarce, that is how many come to each place.
const MEASURED_FOR_EACH: usize = 32;

/// One relay.
#[derive(Debug)]
pub struct Relay {
    id: ClientId,
    capacity: Capacity,
    tickets: Option<TicketKey>,
    /// The key before the last one: its tickets may still be on their way.
    old_tickets: Option<TicketKey>,
    ways: HashMap<u32, Way>,
    /// Sessions that have a place: those of the last sweep, and those that began since.
    carried: usize,
    total: Rate,
    counts: Counts,
    swept: Moment,
}

/// What a relay did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Packets sent on.
    pub forwarded: u64,
    /// Bytes of those.
    pub forwarded_bytes: u64,
    /// Tickets taken.
    pub opened: u64,
    /// Tickets refused.
    pub refused: u64,
    /// Tickets and packets for which there was no place; their senders were told.
    pub full: u64,
    /// Packets without a way, or whose tag does not fit.
    pub strangers: u64,
    /// Packets that came a second time.
    pub replayed: u64,
    /// Packets beyond the ticket's or the relay's rate.
    pub too_many: u64,
    /// Packets for an end that has not come yet.
    pub nobody_there: u64,
    /// Packets longer than is safe.
    pub too_long: u64,
}

/// A datagram that came, with all that is asked of it.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Where it came from.
    pub from: SocketAddr,
    /// When the kernel took it.
    pub received: Moment,
    /// Now.
    pub now: Moment,
    /// Time since 1970, for tickets.
    pub wall: Duration,
}

impl Relay {
    /// A relay that carries nothing until it has a ticket key.
    pub fn new(id: ClientId, capacity: Capacity, now: Moment) -> Self {
        Self {
            id,
            capacity,
            tickets: None,
            old_tickets: None,
            ways: HashMap::new(),
            carried: 0,
            total: Rate::new(capacity.packets, capacity.kilobits, now),
            counts: Counts::default(),
            swept: now,
        }
    }

    /// The key that the directory seals tickets with from now on.
    pub fn set_ticket_key(&mut self, key: TicketKey) {
        self.old_tickets = self.tickets.replace(key);
    }

    /// What it did.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Sessions whose game goes through it.
    pub fn carried(&self, now: Moment) -> usize {
        let ways = self.ways.values();
        ways.filter(|way| way.counts(&self.ways, now)).count()
    }

    /// Sessions with at least one end here, most of which only measure.
    pub fn sessions(&self) -> usize {
        let whole = self
            .ways
            .values()
            .filter(|way| way.has_partner(&self.ways))
            .count();
        self.ways.len() - whole / 2
    }

    /// Whether it had to leave packets because of its own limits lately.
    pub fn is_overloaded(&self, now: Moment) -> bool {
        self.total.was_exceeded(now)
    }

    /// Whether it had to since then.
    pub(crate) fn was_overloaded_since(&self, moment: Moment) -> bool {
        self.total.was_exceeded_since(moment)
    }

    /// When it is not overloaded any more, if nothing more comes.
    pub(crate) fn relieved(&self) -> Option<Moment> {
        self.total.forgiven()
    }

    /// Takes a carried frame or a shown ticket, and turns it in place into what is to be sent.
    /// `None`: nothing is. Other frames are none of its business.
    pub fn handle(&mut self, arrival: Arrival, frame: &mut Vec<u8>) -> Option<SocketAddr> {
        self.sweep(arrival.now);
        match Frame::parse(frame) {
            Ok(Frame::Carry(carry)) if !carry.flags.has(CarryFlags::FROM_RELAY) => {
                let (hop, counter) = (carry.hop, carry.counter);
                let (tag, flags, residence) = (carry.tag, carry.flags, carry.residence);
                let outer = Outer {
                    hop,
                    counter,
                    tag,
                    flags,
                    residence,
                };
                self.forward(arrival, outer, frame)
            }
            Ok(Frame::Open { ticket, tag }) => match self.open(arrival, ticket, tag) {
                Ok(ticket) => {
                    *frame = self.enter(arrival, &ticket).emit();
                    Some(arrival.from)
                }
                Err(_) => {
                    self.counts.refused += 1;
                    None
                }
            },
            _ => None,
        }
    }

    /// Lets one in who has shown a good ticket, unless too many are in already: then it is told so.
    fn enter(&mut self, arrival: Arrival, ticket: &Ticket) -> Frame<'static> {
        let hop = ticket.hop;
        if let Some(way) = self.ways.get_mut(&hop) {
            way.came_back(arrival);
        } else if self.ways.len() < self.most_ways() {
            self.ways.insert(hop, Way::new(ticket, arrival));
        } else {
            self.counts.full += 1;
            let tag = ticket.key.tag_refused(hop);
            return Frame::Refused { hop, tag };
        }
        self.counts.opened += 1;
        let tag = ticket.key.tag_opened(hop);
        Frame::Opened { hop, tag }
    }

    fn most_ways(&self) -> usize {
        usize::from(self.capacity.sessions) * 2 * MEASURED_FOR_EACH
    }

    /// The ticket, if it is for whoever shows it.
    fn open(
        &self,
        arrival: Arrival,
        sealed: &[u8; nearside_wire::detour::TICKET_BYTES],
        tag: u64,
    ) -> Result<Ticket, BadTicket> {
        let keys = [self.tickets.as_ref(), self.old_tickets.as_ref()];
        let ticket = keys
            .into_iter()
            .flatten()
            .find_map(|key| key.open(sealed).ok());
        let ticket = ticket.ok_or(BadTicket::Forged)?;
        ticket.check(self.id, arrival.from, arrival.wall)?;
        if ticket.key.tag_open(sealed) != tag {
            return Err(BadTicket::Stolen);
        }
        match self.ways.get(&ticket.hop) {
            Some(way) if !way.is_of(&ticket) => Err(BadTicket::ElsewhereBound),
            _ => Ok(ticket),
        }
    }

    fn forward(
        &mut self,
        arrival: Arrival,
        outer: Outer,
        frame: &mut Vec<u8>,
    ) -> Option<SocketAddr> {
        let length = frame.len();
        if length > SAFE_BYTES {
            self.counts.too_long += 1;
            return None;
        }
        let (header, inner) = frame.split_first_chunk_mut::<CARRY_HEADER>()?;
        let Some(way) = self.ways.get_mut(&outer.hop) else {
            self.counts.strangers += 1;
            return None;
        };
        if !way.knows(arrival.from) || way.key().tag_of(header, inner) != outer.tag {
            self.counts.strangers += 1;
            return None;
        }
        if !way.take(outer.counter, arrival) {
            self.counts.replayed += 1;
            return None;
        }
        if !way.has_room(arrival.now, length) || !self.total.take(arrival.now, length) {
            self.counts.too_many += 1;
            return None;
        }
        if inner.is_empty() {
            return None; // a keep-alive: heard, and that was its purpose
        }
        let (other, load, key) = (way.partner(), way.weigh(arrival.now), way.key());
        if load != Load::Settled
            && !self.find_place(arrival.now, outer.hop, other)
            && load == Load::Insists
        {
            let (hop, tag) = (outer.hop, key.tag_refused(outer.hop));
            *frame = Frame::Refused { hop, tag }.emit();
            self.counts.full += 1;
            return Some(arrival.from);
        }
        let Some(partner) = self
            .ways
            .get_mut(&other.hop)
            .filter(|way| way.is_partner(other))
        else {
            self.counts.nobody_there += 1;
            return None;
        };
        let carry = Carry {
            flags: outer.flags.with(CarryFlags::FROM_RELAY),
            residence: outer.stamped(arrival),
            hop: other.hop,
            counter: partner.next_counter(),
            tag: 0,
            inner,
        };
        let tag = partner.key().tag(&carry);
        *header = Carry { tag, ..carry }.header();
        self.counts.forwarded += 1;
        self.counts.forwarded_bytes += length as u64;
        Some(partner.address())
    }

    /// A game begins on a way: whether there is a place for its session.
    fn find_place(&mut self, now: Moment, hop: u32, partner: Partner) -> bool {
        let other = self.ways.get(&partner.hop);
        let shared = other.is_some_and(|way| way.is_partner(partner) && way.has_place(now));
        let found = shared || self.carried < usize::from(self.capacity.sessions);
        if let Some(way) = self.ways.get_mut(&hop).filter(|_| found) {
            way.give_place(now);
            self.carried += usize::from(!shared);
        }
        found
    }

    /// Closes ways that nobody uses; looks at most once a second. To be called now and then where no
    /// packets come.
    pub fn sweep(&mut self, now: Moment) {
        if now.since(self.swept) >= Duration::from_secs(1) {
            self.swept = now;
            self.ways.retain(|_, way| now.since(way.heard()) < IDLE);
            self.carried = self.carried(now);
        }
    }
}

/// The header of a carried frame.
#[derive(Debug, Clone, Copy)]
struct Outer {
    hop: u32,
    counter: u64,
    tag: u64,
    flags: CarryFlags,
    residence: u16,
}

impl Outer {
    /// The residence so far and here, if it is asked for.
    fn stamped(&self, arrival: Arrival) -> u16 {
        if !self.flags.has(CarryFlags::STAMP) {
            return self.residence;
        }
        let held = arrival.now.since(arrival.received).as_nanos() / u128::from(RESIDENCE_UNIT_NS);
        let held = u16::try_from(held).unwrap_or(u16::MAX);
        self.residence.saturating_add(held)
    }
}

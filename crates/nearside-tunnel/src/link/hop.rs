//! One player's way through one relay: the ticket is shown until it is taken, then frames are carried.

use std::net::SocketAddr;
use std::time::Duration;

use nearside_types::Moment;
use nearside_wire::detour::{Carry, CarryFlags, Frame};

use crate::messages::RelayPass;

use super::Outgoing;

/// See the module.
#[derive(Debug)]
pub struct Hop {
    pass: RelayPass,
    counter: u64,
    opened: bool,
    next_open: Moment,
    tries: u32,
}

/// The relay does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

/// How often a ticket is shown before a relay counts as gone.
const MOST_OPENS: u32 = 6;
const OPEN_INTERVAL: Duration = Duration::from_millis(250);

impl Hop {
    pub(crate) fn new(pass: RelayPass, now: Moment) -> Self {
        Self {
            pass,
            counter: 0,
            opened: false,
            next_open: now,
            tries: 0,
        }
    }

    pub(crate) fn pass(&self) -> &RelayPass {
        &self.pass
    }

    pub(crate) fn number(&self) -> u32 {
        self.pass.hop
    }

    pub(crate) fn relay(&self) -> nearside_detour::ClientId {
        self.pass.relay
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.pass.address
    }

    pub(crate) fn is_open(&self) -> bool {
        self.opened
    }

    /// Whether a frame came from the relay: its tag fits.
    pub(crate) fn accepts(&self, carry: &Carry<'_>) -> bool {
        let from_relay = carry.flags.has(CarryFlags::FROM_RELAY);
        carry.hop == self.pass.hop && from_relay && self.pass.key.tag(carry) == carry.tag
    }

    /// The relay says that it took a ticket; whether it was ours, and news.
    pub(crate) fn opened(&mut self, hop: u32, tag: u64) -> bool {
        let ours = self.pass.hop == hop && self.pass.key.tag_opened(hop) == tag;
        let news = ours && !self.opened;
        self.opened |= ours;
        news
    }

    /// Whether the relay says that it has no place, and means this way.
    pub(crate) fn is_refused(&self, hop: u32, tag: u64) -> bool {
        self.pass.hop == hop && self.pass.key.tag_refused(hop) == tag
    }

    /// The ticket, if it is time to show it.
    pub(crate) fn poll_open(&mut self, now: Moment) -> Result<Option<Outgoing>, Gone> {
        if self.opened || self.next_open > now {
            return Ok(None);
        }
        if self.tries == MOST_OPENS {
            return Err(Gone);
        }
        self.tries += 1;
        self.next_open = now + OPEN_INTERVAL * self.tries;
        let ticket = &self.pass.ticket.0;
        let tag = self.pass.key.tag_open(ticket);
        Ok(Some(self.outgoing(Frame::Open { ticket, tag }.emit())))
    }

    pub(crate) fn next_open(&self) -> Option<Moment> {
        (!self.opened).then_some(self.next_open)
    }

    /// A frame to the other end.
    pub(crate) fn carry(&mut self, frame: &[u8], flags: CarryFlags) -> Outgoing {
        self.counter += 1;
        let carry = Carry {
            flags,
            residence: 0,
            hop: self.pass.hop,
            counter: self.counter,
            tag: 0,
            inner: frame,
        };
        let tag = self.pass.key.tag(&carry);
        self.outgoing(Frame::Carry(Carry { tag, ..carry }).emit())
    }

    fn outgoing(&self, bytes: Vec<u8>) -> Outgoing {
        Outgoing {
            port: 0,
            to: self.pass.address,
            bytes,
        }
    }
}

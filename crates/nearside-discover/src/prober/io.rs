//! What goes into the prober and what comes out of it.

use std::net::SocketAddr;

use nearside_types::{Listed, Moment};
use serde::{Deserialize, Serialize};

use super::record::MAX_TRIES;
use crate::planner::{Memory, ServerId};

/// A socket the shell keeps for the prober: one for each address family and try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PortId {
    /// The address family.
    pub ipv6: bool,
    /// The try, from 0.
    pub attempt: u8,
}

impl PortId {
    /// Every port a prober may name.
    pub fn all() -> impl Iterator<Item = Self> {
        [false, true]
            .into_iter()
            .flat_map(|ipv6| (0..MAX_TRIES as u8).map(move |attempt| Self { ipv6, attempt }))
    }

    /// A place for this port in an array of all of them.
    pub const fn index(self) -> usize {
        self.attempt as usize + if self.ipv6 { MAX_TRIES } else { 0 }
    }
}

/// What happens to the prober.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Input<'a> {
    /// More of the list: unique, probeable servers that were not listed before.
    Listed(&'a [Listed]),
    /// What is remembered of an earlier run; before the list is whole.
    Remembered(&'a Memory),
    /// Servers of the list to probe before all others.
    Favourites(&'a [ServerId]),
    /// The list is whole.
    ListComplete,
    /// A datagram arrived.
    Datagram {
        /// The socket it came in on.
        port: PortId,
        /// Who sent it.
        from: SocketAddr,
        /// When the kernel received it, `None` if the stamp cannot be trusted (the clock was
        /// stepped meanwhile): then nothing is measured from it.
        received: Option<Moment>,
        /// Its bytes.
        payload: &'a [u8],
    },
    /// The network said that a datagram sent to this address cannot be delivered.
    Unreachable {
        /// Where it was sent.
        to: SocketAddr,
    },
    /// The user wants to stop now.
    Interrupt,
}

/// What the prober wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send this now.
    Transmit {
        /// From this socket.
        port: PortId,
        /// To this address.
        to: SocketAddr,
        /// These bytes.
        payload: Vec<u8>,
    },
    /// Something became known.
    Event(Event),
    /// Nothing until this moment, or until the next input if there is none.
    Wait(Option<Moment>),
    /// Done: the summary is final.
    Finished,
}

/// Something that became known about a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It answered; its row is complete.
    Answered(ServerId),
    /// It did not answer, or nothing listens there.
    Unanswered(ServerId),
}

/// Counters that tell of trouble on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Oddities {
    /// Datagrams from addresses nobody asked, or on sockets they were not asked on.
    pub unsolicited: u64,
    /// Replies that came twice.
    pub duplicates: u64,
    /// Replies that do not parse.
    pub malformed: u64,
    /// Quake 3 replies whose challenge is not the one that was sent: forged or stale.
    pub wrong_challenge: u64,
    /// Replies whose receive stamp could not be trusted.
    pub unstamped: u64,
    /// Replies that came after the last try was given up, kept all the same.
    pub late: u64,
}

//! What a directory shows of itself: counts, events and lists.

use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::ClientId;
use serde::Serialize;

use super::whereabouts::Nat;
use crate::crypto::PublicKey;
use crate::messages::Refusal;

/// What a directory did since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Datagrams that came.
    pub datagrams: u64,
    /// Bytes of those.
    pub bytes_in: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Bytes of those.
    pub bytes_out: u64,
    /// Datagrams that are no frames for a directory.
    pub strange: u64,
    /// Hellos without a cookie, answered by one.
    pub retries: u64,
    /// Handshakes answered.
    pub handshakes: u64,
    /// Hellos with a cookie, and no handshake in them.
    pub bad_hellos: u64,
    /// Hellos with a cookie for which there was no time or room.
    pub turned_away: u64,
    /// Sealed frames of unknown connections.
    pub unknown: u64,
    /// Sealed frames that were forged.
    pub forged: u64,
    /// Sealed frames that came before.
    pub replayed: u64,
    /// Requests that could not be read.
    pub unreadable: u64,
    /// Requests.
    pub requests: u64,
    /// Requests that came again.
    pub repeated: u64,
    /// Requests beyond a client's budget.
    pub too_many: u64,
    /// Requests refused for another reason.
    pub refused: u64,
    /// Answers held back, since nobody has proven to receive there.
    pub held_back: u64,
    /// Clients that joined.
    pub joined: u64,
    /// Clients that left, or fell silent.
    pub left: u64,
    /// Clients whose address changed.
    pub moved: u64,
    /// Reports taken in.
    pub reports: u64,
    /// Parts of reports that were not believed.
    pub doubts: u64,
    /// Pairs introduced.
    pub introduced: u64,
    /// Relays offered.
    pub offered: u64,
    /// Complaints about relays.
    pub complaints: u64,
    /// Notices that nobody confirmed.
    pub unheard: u64,
    /// Notices for clients of other directories, handed to the store.
    pub posted: u64,
    /// Notices of other directories for clients of this one.
    pub delivered: u64,
}

/// Something worth a line in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A client joined.
    Joined {
        /// Who.
        id: ClientId,
        /// Where it is seen.
        address: SocketAddr,
        /// Whether it relays.
        relays: bool,
    },
    /// A client was not let in.
    Refused {
        /// Who.
        id: ClientId,
        /// Where it is seen.
        address: SocketAddr,
        /// Why.
        refusal: Refusal,
    },
    /// A client left.
    Left {
        /// Who.
        id: ClientId,
        /// Whether it said goodbye.
        goodbye: bool,
    },
    /// A client is seen elsewhere.
    Moved {
        /// Who.
        id: ClientId,
        /// Where it was.
        from: SocketAddr,
        /// Where it is.
        to: SocketAddr,
    },
    /// It is known what a client's NAT does.
    Nat {
        /// Who.
        id: ClientId,
        /// What it does.
        nat: Nat,
    },
    /// Two were introduced.
    Introduced {
        /// The session.
        session: u64,
        /// Who asked.
        source: ClientId,
        /// The other.
        target: ClientId,
    },
    /// A relay is not offered for a while, or is again.
    Paused {
        /// Which.
        relay: ClientId,
        /// Whether it is not.
        paused: bool,
    },
}

/// A client, as an operator sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientView {
    /// Who it is.
    pub id: ClientId,
    /// Its key; `None` after a restart, until it connects again.
    pub key: Option<PublicKey>,
    /// Where it is seen.
    pub address: SocketAddr,
    /// What its NAT does.
    pub nat: Nat,
    /// Whether it carries sessions of others.
    pub relays: bool,
    /// How many it carries.
    pub carries: u16,
    /// Whether it is not offered at present: overloaded, complained about, or not believed.
    pub paused: bool,
    /// Legs it has reported.
    pub legs: usize,
    /// Time since it was heard.
    pub silent_for: Duration,
}

/// A session, as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionView {
    /// Its number.
    pub session: u64,
    /// Who leads.
    pub source: ClientId,
    /// The other.
    pub target: ClientId,
    /// How long ago they were introduced.
    pub age: Duration,
    /// The relay in use.
    pub relay: Option<ClientId>,
}

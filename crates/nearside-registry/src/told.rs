//! What a master tells its caller: datagrams to send, events, figures.

use std::fmt;
use std::net::SocketAddr;

use nearside_types::ServerAddr;
use serde::Serialize;

use crate::payload::Payload;
use crate::refusals::Refusal;
use crate::server::Server;

/// What the caller has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send a datagram.
    Send {
        /// Where to.
        to: SocketAddr,
        /// From which socket; if missing, from the one that the datagram came by which this answers,
        /// or from any.
        via: Option<SocketId>,
        /// Its bytes.
        payload: Payload,
    },
    /// Send a datagram from a port of its own, where nothing but answers to such questions arrives;
    /// they come back by [`Master::handle_answer`](crate::Master::handle_answer).
    Ask {
        /// Where to.
        to: SocketAddr,
        /// The socket that the server registered on: its address is the one to ask from.
        via: Option<SocketId>,
        /// Its bytes.
        payload: Payload,
    },
    /// Something happened that a store, a log or another front end should know.
    Event(Event),
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A server is new, or known with new facts or a new expiry.
    Put {
        /// As it is now.
        server: Server,
        /// Whether the address was not registered before.
        is_new: bool,
    },
    /// A server is gone.
    Removed {
        /// Which.
        addr: ServerAddr,
        /// Why.
        cause: Removal,
    },
    /// A server was refused. It has proven its address, unless that is what was refused.
    Refused {
        /// Who.
        addr: ServerAddr,
        /// Why.
        refusal: Refusal,
    },
    /// A server that was refused before sends heartbeats again: tell its operator why.
    Reminded {
        /// Who.
        addr: ServerAddr,
        /// Why it was refused the last time.
        refusal: Refusal,
    },
}

/// Why a server is on no list any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// It was not heard of in its time.
    Expired,
    /// A ban, with its reason.
    Banned(String),
    /// Private networks are listed no longer.
    Private,
    /// The masters that listed it do so no longer.
    Unlisted,
}

impl Removal {
    /// A stable name for logs and figures.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Expired => "removed: expired",
            Self::Banned(_) => "removed: banned",
            Self::Private => "removed: private",
            Self::Unlisted => "removed: unlisted",
        }
    }
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired => f.write_str("not heard of in its time"),
            Self::Banned(reason) => write!(f, "banned: {reason}"),
            Self::Private => f.write_str("private networks are listed no longer"),
            Self::Unlisted => f.write_str("followed masters list it no longer"),
        }
    }
}

/// One of the caller's sockets; the caller gives out the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketId(pub u8);

/// What was received and answered since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Datagrams received.
    pub received: u64,
    /// Of those, ones that meant nothing.
    pub meaningless: u64,
    /// Heartbeats of all kinds.
    pub heartbeats: u64,
    /// Registrations that proved their address and were taken, renewals included.
    pub registrations: u64,
    /// Registrations that proved their address and were refused.
    pub refusals: u64,
    /// Replies and joins whose challenge was missing, old or another's.
    pub wrong_challenges: u64,
    /// List requests.
    pub list_requests: u64,
    /// Of those, answered with a cookie.
    pub cookies: u64,
    /// Of those, answered with a list.
    pub lists: u64,
    /// Of those, answered from the budget for clients that know no cookies.
    pub legacy_lists: u64,
    /// Requests left without answer because a budget was spent or a request too short.
    pub unanswered: u64,
    /// List requests for which the registry was not looked through, since that would have made others
    /// wait: answered as last time, or not at all.
    pub scans_refused: u64,
    /// Registrations over HTTP, proven or not.
    pub claims: u64,
    /// Registered servers asked whether they are still there.
    pub checks: u64,
    /// Bytes received from addresses that had proven nothing.
    pub unproven_bytes_in: u64,
    /// Bytes sent to them.
    pub unproven_bytes_out: u64,
}

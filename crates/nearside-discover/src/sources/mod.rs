//! Where lists come from: master servers, spoken to by small engines with one socket each, and list
//! files. A new kind of master is one more file here that implements [`Source`].

mod file;
mod merge;
mod origins;
mod quake3;
mod steam;

use std::time::Duration;

use nearside_types::Moment;
use nearside_wire::list::{ListPacket, OriginForm};

use crate::planner::Listed;

pub use file::{ListFileError, ListLineFault, parse_list_file};
pub use merge::{ListPolicy, MergeCounts, MergedList, Reach};
pub use origins::{OriginFault, OriginFileError, OriginLookup, OriginTable};
pub use quake3::{Quake3Query, Quake3Source};
pub use steam::{SteamQuery, SteamSource};

/// What a source wants.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceOutput {
    /// Send this to the master, always from the same socket: masters page by source port.
    Transmit(Vec<u8>),
    /// More servers.
    Servers(Vec<Listed>),
    /// Nothing until this moment or the next datagram.
    Wait(Moment),
    /// The list is at its end, or as far as it will come.
    Done(SourceReport),
}

/// How a source fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceReport {
    /// Servers it gave, duplicates included.
    pub servers: usize,
    /// Requests sent.
    pub requests: u32,
    /// Replies that were understood.
    pub replies: u32,
    /// Replies that were not.
    pub malformed: u32,
    /// The form of origin it gave.
    pub origin: Option<OriginForm>,
    /// How whole the list is.
    pub completeness: Completeness,
}

impl SourceReport {
    /// Nothing asked yet.
    const fn start() -> Self {
        Self {
            servers: 0,
            requests: 0,
            replies: 0,
            malformed: 0,
            origin: None,
            completeness: Completeness::Silent,
        }
    }
}

/// How whole a list is. "Throttled" is never shown as "no servers".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// The master marked its end.
    Whole,
    /// It broke off: lost packets, or a master that limits its guests.
    Truncated,
    /// The master never answered.
    Silent,
}

/// An engine that asks one master for its list.
pub trait Source: Send {
    /// Takes a datagram from the master's address.
    fn handle_datagram(&mut self, now: Moment, payload: &[u8]);

    /// Takes note that the network says nothing listens at the master's address.
    fn handle_unreachable(&mut self);

    /// The next thing to do. Call it again until it waits or is done.
    fn poll_output(&mut self, now: Moment) -> SourceOutput;
}

/// How long a request waits for its answer, doubled each time.
const FIRST_TIMEOUT: Duration = Duration::from_millis(1500);

/// How often a request is sent before it is given up; one that asks for origins is sent again
/// plainly before long, since some masters answer unknown words with silence.
const fn max_requests(origin: Option<OriginForm>) -> u32 {
    match origin {
        Some(_) => 2,
        None => 3,
    }
}

/// How often one page is asked again because the master wants its cookie back.
const MAX_COOKIES: u32 = 3;

/// What happened to the question for origins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OriginAnswer {
    /// The reply has them.
    Given,
    /// A plain master: ask again plainly.
    NotUnderstood,
}

/// A reply to a question for AS markers starts with a marker; anything else, an empty list too,
/// comes from a master that does not know the extension.
fn markers_given(packet: &ListPacket) -> OriginAnswer {
    if packet.starts_with_marker() {
        OriginAnswer::Given
    } else {
        OriginAnswer::NotUnderstood
    }
}

use std::net::SocketAddr;

use nearside_detour::ClientId;
use nearside_detour::path::{Reason, Route};
use nearside_types::Rtt;
use serde::Serialize;

use crate::link::{Comparison, Counts, PathView};
use crate::relay;

use super::LinkId;

/// All that a face shows of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeView {
    /// Its number.
    pub id: ClientId,
    /// Its key.
    pub key: String,
    /// The directory it uses.
    pub directory: Option<SocketAddr>,
    /// Whether that one has taken it in and answers.
    pub joined: bool,
    /// Where it is seen from outside.
    pub observed: Option<SocketAddr>,
    /// Where it sees us in the other address family.
    pub observed_other: Option<SocketAddr>,
    /// Whether its NAT gives every peer another port.
    pub symmetric_nat: bool,
    /// Neighbours it measures.
    pub neighbours: usize,
    /// What it carries for others.
    pub relay: Option<RelayView>,
    /// Its links.
    pub links: Vec<LinkView>,
    /// What becomes of games on this machine. The node knows nothing of them; who drives it fills this in.
    pub games: Option<GamesView>,
}

/// How games on this machine reach their server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GamesView {
    /// The game server.
    pub game: SocketAddr,
    /// Flows that its side has answered by the link: sealed for good.
    pub sealed: usize,
    /// Flows that go plainly, as without us.
    pub plain: usize,
    /// Flows that nobody has answered yet.
    pub waiting: usize,
    /// Whether a new flow would go plainly.
    pub goes_plainly: bool,
}

/// What a node carries for others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RelayView {
    /// Sessions whose game goes through it.
    pub sessions: usize,
    /// Sessions that have a way through it, most of them only to measure it.
    pub measured: usize,
    /// Whether it has more to carry than it can.
    pub overloaded: bool,
    /// What it did.
    pub counts: relay::Counts,
}

/// Another path was taken.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SwitchView {
    /// How long ago, in seconds.
    pub ago_s: f64,
    /// The old path.
    pub from: Route,
    /// The new one.
    pub to: Route,
    /// Why.
    pub reason: Reason,
    /// What was expected of it, in microseconds.
    pub expected_gain_us: Option<i64>,
}

/// One link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkView {
    /// Its number.
    pub link: LinkId,
    /// The other end's key.
    pub peer: String,
    /// Whether this side chooses the path.
    pub leads: bool,
    /// Whether the handshake had to go through a relay.
    pub through_relay: bool,
    /// Its paths, the one in use first.
    pub paths: Vec<PathView>,
    /// What the direct path took before any relay was tried; in microseconds where it is written out.
    #[serde(rename = "before_us")]
    pub before: Option<Rtt>,
    /// The last times another path was taken, the latest first.
    pub switches: Vec<SwitchView>,
    /// What the path in use saves over the direct one, in microseconds.
    pub gain_us: Option<i64>,
    /// What went over it.
    pub counts: Counts,
    /// The comparison on live traffic, if one was made.
    pub comparison: Option<Comparison>,
}

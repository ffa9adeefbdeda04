use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Delay;

/// What happens to a session. The JSON form, one object a line, is its log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// Somebody wants to play.
    Join {
        /// Their name.
        client: String,
        /// Milliseconds to each server by name; a server that is missing or null cannot be used.
        latencies_ms: BTreeMap<String, Option<f64>>,
    },
    /// Somebody stops playing.
    Leave {
        /// Their name.
        client: String,
    },
    /// The way of a client to a server has changed.
    Latency {
        /// The client.
        client: String,
        /// The server.
        server: String,
        /// Milliseconds; null when it cannot be used any more.
        ms: Option<f64>,
    },
    /// Several ways of a client have changed, judged together.
    Latencies {
        /// The client.
        client: String,
        /// Milliseconds by server; null where it cannot be used any more. Others stay as they are.
        latencies_ms: BTreeMap<String, Option<f64>>,
    },
    /// The way between two servers has changed, in both directions.
    ServerLatency {
        /// One server.
        one: String,
        /// The other.
        other: String,
        /// Milliseconds; null when there is no way any more.
        ms: Option<f64>,
    },
    /// A server fails or is taken away.
    ServerDown {
        /// Which.
        server: String,
    },
    /// A server is back.
    ServerUp {
        /// Which.
        server: String,
    },
    /// The bound changes.
    Bound {
        /// The new one.
        ms: f64,
    },
    /// Players may be moved to save servers.
    Consolidate {
        /// Players that may be moved at most.
        max_moves: usize,
    },
}

/// One player's change of server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Move {
    /// The player.
    pub client: String,
    /// Where they were; `None` for somebody new or without a seat.
    pub from: Option<String>,
    /// Where they are now; `None` for somebody who has lost their seat.
    pub to: Option<String>,
}

/// How an event went.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Settlement {
    /// Everybody has a seat, the bound and the loads hold.
    Kept,
    /// Nothing has changed.
    Refused {
        /// Why.
        reason: Reason,
    },
    /// It had to be taken, and the bound does not hold for everybody: somebody waits for a seat, or the
    /// session is slower than it should be.
    Unmet {
        /// Why.
        reason: Reason,
    },
}

/// Why a session cannot do what it should.
#[derive(Debug, Clone, PartialEq, Error, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// The name is taken.
    #[error("`{client}` is in the session already")]
    Present {
        /// The name.
        client: String,
    },
    /// Nobody has that name.
    #[error("`{client}` is not in the session")]
    Absent {
        /// The name.
        client: String,
    },
    /// A name is empty, or cannot be shown.
    #[error("a client needs a name without control characters")]
    Nameless,
    /// There is no such server.
    #[error("there is no server `{server}`")]
    NoServer {
        /// The name.
        server: String,
    },
    /// The server is in that state already.
    #[error("server `{server}` is {state} already")]
    Already {
        /// The server.
        server: String,
        /// `up` or `down`.
        state: &'static str,
    },
    /// A number is not a delay.
    #[error("{ms} is not a delay (write milliseconds from 0 to 1e9, or null)")]
    BadDelay {
        /// The number.
        ms: f64,
    },
    /// These players cannot be together within the bound.
    #[error("{} cannot be together within the bound", .clients.join(", "))]
    Impossible {
        /// Their names; none could be left out.
        clients: Vec<String>,
        /// The smallest delay at which they could.
        #[serde(rename = "possible_from_ms")]
        delay: Option<Delay>,
    },
    /// Nothing was found within the steps that an event may take.
    #[error("no allocation was found within the session's step limit")]
    GaveUp,
}

/// What an event has done, and how the session is afterwards.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Events taken so far, this one included; a refused one is not.
    pub number: u64,
    /// How it went.
    #[serde(flatten)]
    pub settlement: Settlement,
    /// Who moved.
    pub moves: Vec<Move>,
    /// Players in the session, waiting ones too.
    pub clients: usize,
    /// Servers in use.
    pub servers_used: usize,
    /// The session delay; `None` while nobody has a seat.
    pub delay_ms: Option<Delay>,
    /// The bound.
    pub bound_ms: Delay,
    /// Players without a seat.
    pub waiting: Vec<String>,
}

impl Report {
    /// Whether nothing has changed.
    pub fn is_refused(&self) -> bool {
        matches!(self.settlement, Settlement::Refused { .. })
    }

    /// Whether the bound and the loads hold and everybody has a seat.
    pub fn is_kept(&self) -> bool {
        self.settlement == Settlement::Kept
    }
}

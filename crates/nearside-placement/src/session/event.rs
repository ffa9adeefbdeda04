use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use crate::Delay;
use crate::numbers::{millis, millis_or_null, whole_number};

/// What happens to a session. The JSON form, one object a line, is its log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// Somebody wants to play.
    Join {
        /// Their name.
        client: String,
        /// Milliseconds to each server by name; a server that is missing or null cannot be used.
        #[serde(deserialize_with = "latencies_by_server")]
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
        #[serde(default, deserialize_with = "millis_or_null")]
        ms: Option<f64>,
    },
    /// Several ways of a client have changed, judged together.
    Latencies {
        /// The client.
        client: String,
        /// Milliseconds by server; null where it cannot be used any more. Others stay as they are.
        #[serde(deserialize_with = "latencies_by_server")]
        latencies_ms: BTreeMap<String, Option<f64>>,
    },
    /// The way between two servers has changed. Sets both directions, also where the set-up has
    /// different ones.
    ServerLatency {
        /// One server.
        one: String,
        /// The other.
        other: String,
        /// Milliseconds; null when there is no way any more.
        #[serde(default, deserialize_with = "millis_or_null")]
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
        #[serde(deserialize_with = "millis")]
        ms: f64,
    },
    /// Players may be moved to save servers.
    Consolidate {
        /// Players that may be moved at most.
        #[serde(deserialize_with = "whole_number")]
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
    /// A way from a server to itself, which has no length to be changed.
    #[error("`{server}` is one server: a way between servers needs two")]
    OneServer {
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
    #[error("{of}: {ms} is not a delay (write milliseconds from 0 to 1e9, or null)")]
    BadDelay {
        /// What it should be the delay of: `anna to fra`.
        of: String,
        /// The number.
        ms: f64,
    },
    /// There are more players than places on all servers that are up. No bound helps, and nobody in
    /// particular is in the way.
    #[error("{} more than the {} of all servers that are up", number_of_players(*.clients), number_of_places(*.places))]
    Full {
        /// Players there would be.
        clients: usize,
        /// Places there are.
        places: usize,
    },
    /// These players cannot be together within the bound.
    #[error("{} cannot be together within the bound", .clients.join(", "))]
    Impossible {
        /// Their names; none could be left out, as far as the steps of an event allow to say.
        clients: Vec<String>,
        /// The smallest delay at which they could.
        #[serde(rename = "possible_from_ms")]
        delay: Option<Delay>,
    },
    /// Nothing was found within the steps that an event may take.
    #[error("no allocation was found within the session's step limit")]
    GaveUp,
}

fn number_of_players(number: usize) -> String {
    match number {
        1 => "1 player is".to_owned(),
        _ => format!("{number} players are"),
    }
}

fn number_of_places(number: usize) -> String {
    format!("{number} place{}", if number == 1 { "" } else { "s" })
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

/// Reads `{server: ms}`; a server that is there twice is a mistake, whichever was meant.
///
/// # Errors
/// Names the server that is there twice, or whose number is none.
pub fn latencies_by_server<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Option<f64>>, D::Error> {
    deserializer.deserialize_map(ByServer)
}

struct ByServer;

/// Milliseconds, or null.
#[derive(Deserialize)]
struct Cell(#[serde(deserialize_with = "millis_or_null")] Option<f64>);

impl<'de> Visitor<'de> for ByServer {
    type Value = BTreeMap<String, Option<f64>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("milliseconds by server")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut known = BTreeMap::new();
        while let Some(server) = map.next_key::<String>()? {
            let shown = server.escape_debug().to_string();
            let named = |error| A::Error::custom(format_args!("`{shown}`: {error}"));
            let Cell(ms) = map.next_value().map_err(named)?;
            if known.insert(server, ms).is_some() {
                return Err(A::Error::custom(format_args!("`{shown}` is there twice")));
            }
        }
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_player_and_one_place_are_told_as_one() {
        let told = |clients, places| Reason::Full { clients, places }.to_string();
        assert!(told(1, 0).starts_with("1 player is more than the 0 places of"));
        assert!(told(2, 1).starts_with("2 players are more than the 1 place of"));
    }
}

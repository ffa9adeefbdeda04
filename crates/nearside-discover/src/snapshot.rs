//! The one view that every face renders: rows and a summary, under the names of the JSON contract
//! (`docs/browse.md`).

use nearside_types::{Country, ServerAddr};
use serde::{Deserialize, Serialize};

use crate::planner::{Activity, StopReason, Verdict};

/// One server that was found, or a favourite that was not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Where it answers.
    pub addr: ServerAddr,
    /// Round-trip time in milliseconds; `null` when it did not answer.
    pub rtt_ms: Option<f64>,
    /// Origin AS.
    pub asn: Option<u32>,
    /// Country of the address.
    pub country: Option<Country>,
    /// The server's name, safe to print, colour codes removed.
    pub name: Option<String>,
    /// The map being played.
    pub map: Option<String>,
    /// The game or mod.
    pub game: Option<String>,
    /// Players, bots included.
    pub players: Option<u32>,
    /// Bots among them.
    pub bots: Option<u32>,
    /// Places for players.
    pub max_players: Option<u32>,
    /// Whether a password is needed.
    pub password: Option<bool>,
    /// RTT samples taken.
    pub samples: u32,
    /// Whether `rtt_ms` comes from a reply that can be attributed to one request.
    pub clean: bool,
}

/// What discovery did and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// The planner's name.
    pub planner: String,
    /// Servers that could be probed.
    pub listed: usize,
    /// Servers probed.
    pub probed: usize,
    /// Servers that answered.
    pub answered: usize,
    /// Of those, the ones below the RTT the planner stops at.
    pub playable: usize,
    /// Why it stopped; `null` while it runs.
    pub stopped: Option<StopReason>,
    /// Why the planner thought that it had enough, if that is why it stopped.
    pub verdict: Option<Verdict>,
    /// Playable servers the planner expects to have missed, if it can tell.
    pub expected_missed: Option<f64>,
    /// Servers it expects to be better than the best it looked for, if it can tell.
    pub expected_better: Option<f64>,
    /// Request datagrams sent, retries and challenge legs included.
    pub probes_sent: u64,
    /// Bytes sent, IP and UDP headers included.
    pub bytes_sent: u64,
    /// Bytes received, headers included.
    pub bytes_received: u64,
    /// Flows made in routers on the way: pairs of a local and a remote port.
    pub flows: u64,
    /// How long it took.
    pub seconds: f64,
    /// What probing every listed server would have cost at the same loss and pace.
    pub full_scan: FullScan,
}

/// An estimate of what a full scan would have cost, extrapolated from this run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FullScan {
    /// Request datagrams.
    pub probes: u64,
    /// Bytes both ways.
    pub bytes: u64,
    /// Time.
    pub seconds: f64,
}

/// Rows and summary: the whole result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The servers.
    pub servers: Vec<Row>,
    /// What it cost.
    pub summary: Summary,
}

/// A cheap view for the progress line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// What the planner is doing.
    pub activity: Activity,
    /// Servers known so far.
    pub listed: usize,
    /// Servers probed so far.
    pub probed: usize,
    /// Servers pending now.
    pub pending: usize,
    /// Servers that answered.
    pub answered: usize,
    /// Of those, the playable ones.
    pub playable: usize,
    /// Datagrams sent.
    pub probes_sent: u64,
    /// Playable servers the planner expects among those not probed, if it can tell.
    pub expected_missed: Option<f64>,
    /// Servers it expects to be better than the best found, if it can tell.
    pub expected_better: Option<f64>,
    /// Time since the start.
    pub seconds: f64,
}

impl Progress {
    /// That of a run of which nothing is known yet.
    pub const fn beginning() -> Self {
        Self {
            activity: Activity::Listing,
            listed: 0,
            probed: 0,
            pending: 0,
            answered: 0,
            playable: 0,
            probes_sent: 0,
            expected_missed: None,
            expected_better: None,
            seconds: 0.0,
        }
    }
}

//! Settings of the prober.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::pacer::Pace;
use super::record::MAX_TRIES;
use crate::filter::Filters;

/// What the servers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Valve's A2S queries.
    A2s,
    /// The Quake 3 family's `getinfo`.
    Quake3,
}

/// Settings of the prober; the defaults suit a home line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProberConfig {
    /// What the servers speak.
    pub protocol: Protocol,
    /// How fast datagrams go out.
    pub pace: Pace,
    /// How long each try waits, so also how many tries there are: 1 to 3. A reply that comes later
    /// is still taken, and measured from its own try.
    pub timeouts: Vec<Duration>,
    /// Servers that may be pending at once: bounds memory here and flow state in routers.
    pub max_pending: usize,
    /// The least time between first requests to one address.
    pub address_gap: Duration,
    /// Where to stop in any case.
    pub limit: Limit,
    /// Which servers the user wants: a planner that looks for the best looks among those.
    #[serde(default)]
    pub wanted: Filters,
    /// Seed of nonces and draws.
    pub seed: u64,
}

/// Limits the user may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limit {
    /// Datagrams sent.
    pub probes: Option<u64>,
    /// Time since the start.
    pub time: Option<Duration>,
}

impl ProberConfig {
    /// Three tries of a second each at Steam's DSL pace (140/s), four probes a second to an address.
    pub fn new(protocol: Protocol, seed: u64) -> Self {
        Self {
            protocol,
            pace: Pace::default(),
            timeouts: vec![Duration::from_secs(1); MAX_TRIES],
            max_pending: 4096,
            address_gap: Duration::from_millis(250),
            limit: Limit::default(),
            wanted: Filters::default(),
            seed,
        }
    }

    /// Tries for each server: one for each timeout, at least one, at most three.
    pub(crate) fn tries(&self) -> usize {
        self.timeouts.len().clamp(1, MAX_TRIES)
    }

    pub(crate) fn usable_timeouts(&self) -> Vec<Duration> {
        let mut timeouts = self.timeouts.clone();
        timeouts.resize(self.tries(), Duration::from_secs(1));
        timeouts
    }
}

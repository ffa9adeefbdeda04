use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::{ClientConfig, PathConfig};

use crate::crypto::PublicKey;
use crate::messages::Capacity;

/// A directory and the key it has to prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectoryAddress {
    /// Its first port.
    pub address: SocketAddr,
    /// The same port in the other address family, if it has one: a player seen in both can be reached in
    /// both.
    pub other: Option<SocketAddr>,
    /// Its key.
    pub key: PublicKey,
}

impl DirectoryAddress {
    /// The same directory, called in the other address family.
    fn turned(self) -> Option<Self> {
        let address = self.other?;
        let other = Some(self.address);
        Some(Self {
            address,
            other,
            ..self
        })
    }

    /// Ways to call these directories: each in its first family, then each in the other.
    pub(super) fn all_ways(directories: &[Self]) -> Vec<Self> {
        let turned = directories.iter().filter_map(|one| one.turned());
        directories.iter().copied().chain(turned).collect()
    }

    /// Whether a datagram from there may be its.
    pub(super) fn is_at(&self, from: SocketAddr) -> bool {
        let other = self.other.map(|other| other.ip());
        from.ip() == self.address.ip() || Some(from.ip()) == other
    }
}

/// How a player's node behaves.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// Directories that share their state; the next is tried when one is silent.
    pub directories: Vec<DirectoryAddress>,
    /// The operator's word that we may join, where one is needed.
    pub token: Option<String>,
    /// What we carry for others. Default nothing.
    pub relaying: Option<Capacity>,
    /// Our addresses inside our own network.
    pub local: Vec<SocketAddr>,
    /// The port of the game server we stand beside.
    pub exposes: Option<u16>,
    /// Game servers elsewhere that we give a way out to. Default none.
    pub exits: Vec<SocketAddr>,
    /// Whether others may be introduced to us, rather than we to them alone. Default yes.
    pub accepts: bool,
    /// Whether relays are asked for at all. Default yes.
    pub detours: bool,
    /// K of the paper. Default 8.
    pub candidates: u8,
    /// Sockets to try the direct path from, the known one included. Default 4.
    pub source_ports: u8,
    /// How neighbours are measured and reported.
    pub client: ClientConfig,
    /// When which path is taken.
    pub path: PathConfig,
    /// How often the directory hears a word so that our NAT stays open. Default 15 s.
    pub keep_alive: Duration,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            directories: Vec::new(),
            token: None,
            relaying: None,
            local: Vec::new(),
            exposes: None,
            exits: Vec::new(),
            accepts: true,
            detours: true,
            candidates: 8,
            source_ports: 4,
            // Most players stay for an hour, not for the paper's nine: legs have to become quiet sooner.
            client: ClientConfig {
                shortest_interval: Duration::from_secs(20),
                longest_interval: Duration::from_secs(2_048),
                growth: 4,
                ..ClientConfig::default()
            },
            // A candidate that is not in use is measured often enough to keep its NATs open.
            path: PathConfig {
                cold_interval: Duration::from_secs(15),
                ..PathConfig::default()
            },
            keep_alive: Duration::from_secs(15),
        }
    }
}

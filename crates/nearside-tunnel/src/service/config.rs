use std::collections::BTreeMap;
use std::time::Duration;

use nearside_types::PrefixLengths;

/// How a directory treats its clients. What things cost is measured by `tests/measures.rs`, on
/// 2026-11-16 on two busy cores.
#[derive(Debug, Clone)]
pub struct ServiceConfig {
    /// Who may do what.
    pub admission: Admission,
    /// The number of the second UDP port, for clients to find out about their NAT. Default none.
    pub second_port: Option<u16>,
    /// Clients that may be joined. Default 100,000; each takes up to 51 kB with 32 legs, measured when
    /// 20,000 join at once and all notices of that moment are held.
    pub most_clients: usize,
    /// Clients that may be joined from one prefix. Default 256: enough for a dormitory behind one
    /// address, and few enough that one house is not the directory.
    pub most_per_prefix: usize,
    /// Connections of those who have not joined (yet); the oldest go first. Default 4,096.
    pub most_unjoined: usize,
    /// The same, from one prefix. Default 64.
    pub most_unjoined_per_prefix: usize,
    /// The prefixes that count as one. Default /24 and /48.
    pub prefixes: PrefixLengths,
    /// Handshakes answered each second. Default 1,000: 43 % of one core, at 433 µs each.
    pub handshakes: u32,
    /// The same, for one prefix. Default 50.
    pub handshakes_per_prefix: u32,
    /// Requests of one client each second. Default 20, and twice that at once.
    pub requests: u32,
    /// Sessions that one client may begin. Default 64; the oldest are forgotten.
    pub most_sessions: usize,
    /// Relays offered to one request at most. Default 16.
    pub most_relays: u8,
    /// How long a ticket may be shown for the first time. Default 45 s.
    pub ticket_life: Duration,
    /// Packets each second that a ticket is good for. Default 200.
    pub ticket_packets: u16,
    /// Kilobits each second that a ticket is good for. Default 512.
    pub ticket_kilobits: u16,
    /// Complaints of so many prefixes, and a relay is not offered for a while. Default 3.
    pub complaints: usize,
    /// For how long complaints count, and a relay is not offered. Default 5 minutes.
    pub complaint_life: Duration,
    /// Legs that the directory studies again each second. Default 1,000: with all else that a second
    /// brings, 8 ms of work at 20,000 clients.
    pub study: usize,
}

impl Default for ServiceConfig {
    fn default() -> Self {
        Self {
            admission: Admission::default(),
            second_port: None,
            most_clients: 100_000,
            most_per_prefix: 256,
            most_unjoined: 4_096,
            most_unjoined_per_prefix: 64,
            prefixes: PrefixLengths { v4: 24, v6: 48 },
            handshakes: 1_000,
            handshakes_per_prefix: 50,
            requests: 20,
            most_sessions: 64,
            most_relays: 16,
            ticket_life: Duration::from_secs(45),
            ticket_packets: 200,
            ticket_kilobits: 512,
            complaints: 3,
            complaint_life: Duration::from_secs(5 * 60),
            study: 1_000,
        }
    }
}

/// Who may join, and what they may be.
#[derive(Debug, Clone)]
pub struct Admission {
    /// What somebody without a token may; `None` lets nobody in without one. Default: join and relay.
    pub open: Option<Rights>,
    /// What the holders of tokens may.
    pub tokens: BTreeMap<String, Rights>,
}

impl Default for Admission {
    fn default() -> Self {
        Self {
            open: Some(Rights {
                relay: true,
                exit: false,
            }),
            tokens: BTreeMap::new(),
        }
    }
}

impl Admission {
    /// What somebody with this token, or none, may; `None`: not even join. A token that is not known is
    /// worth no more than none.
    pub fn rights(&self, token: Option<&str>) -> Option<Rights> {
        let known = token.and_then(|token| self.tokens.get(token));
        known.copied().or(self.open)
    }
}

/// What a client may, beside joining.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rights {
    /// Carry the sessions of others.
    pub relay: bool,
    /// Be the way out to game servers elsewhere: it sees what players send there, so an operator says
    /// whom players may trust with that.
    pub exit: bool,
}

//! What all neighbours announced: for each its prefixes and their origin AS. A lost neighbour's
//! routes stay, marked stale, until it is back and done or their time is over.

use std::net::IpAddr;
use std::time::Duration;

use nearside_types::{Asn, Moment, Prefix, PrefixLengths};

use super::merge::{Candidate, Merge};
use super::nlri::Family;
use super::peer_table::{Key, PeerTable, prefix_v4, prefix_v6};
use super::sweep::Sweep;
use super::update::Update;
use crate::{AsnClass, AsnRule, Cleaned, RangeTable};

/// What is kept, how much and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RibConfig {
    /// Longer prefixes are ignored. Default /24 and /48, the longest that networks exchange; touch it
    /// for a feed of internal routes.
    pub longest: PrefixLengths,
    /// Which origins count. Default [`AsnRule::PublicOnly`]; [`AsnRule::Any`] is for laboratories.
    pub asns: AsnRule,
    /// Prefixes one neighbour may announce, both families together. Default 2,000,000, about twice
    /// the Internet of 2026; a million takes some 20 MB.
    pub prefix_limit: usize,
    /// How long a lost neighbour's routes stay. Default one hour: routes of hosters live for months,
    /// while an empty table helps nobody.
    pub stale_time: Duration,
}

impl Default for RibConfig {
    fn default() -> Self {
        Self {
            longest: PrefixLengths { v4: 24, v6: 48 },
            asns: AsnRule::PublicOnly,
            prefix_limit: 2_000_000,
            stale_time: Duration::from_secs(60 * 60),
        }
    }
}

/// One of the [`Rib`]'s neighbours, numbered from 0 in the order they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub usize);

/// A neighbour announced more prefixes than it may; what came before the limit is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixLimitReached;

/// A prefix and who originates it, over all neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The announced network.
    pub prefix: Prefix,
    /// The origin; the lowest number when there are several.
    pub origin: Asn,
    /// Whether neighbours disagree about the origin.
    pub multi_origin: bool,
    /// Whether only lost neighbours still vouch for it.
    pub stale: bool,
}

/// Prefix to origin AS for each neighbour, and the sum of it all.
///
/// Default routes, prefixes longer than configured, and origins that cannot be on the Internet
/// ([`AsnClass`]) are never kept; announcing one replaces what the neighbour said before.
#[derive(Debug, Default)]
pub struct Rib {
    config: RibConfig,
    tables: Vec<PeerTable>,
    version: u64,
}

impl Rib {
    /// An empty table.
    pub fn new(config: RibConfig) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// Makes room for one more neighbour.
    pub fn add_peer(&mut self) -> PeerId {
        self.tables.push(PeerTable::default());
        PeerId(self.tables.len() - 1)
    }

    /// Takes over an UPDATE of `peer`.
    pub fn apply(&mut self, peer: PeerId, update: &Update) -> Result<(), PrefixLimitReached> {
        for prefix in &update.withdrawn {
            self.remove(peer, *prefix);
        }
        for prefix in &update.announced {
            match update.origin {
                Some(origin) => self.announce(peer, *prefix, Candidate::single(origin))?,
                None => self.remove(peer, *prefix),
            }
        }
        Ok(())
    }

    /// Puts in one route; what may not be kept takes away what was there.
    pub(crate) fn announce(
        &mut self,
        peer: PeerId,
        prefix: Prefix,
        origin: Candidate,
    ) -> Result<(), PrefixLimitReached> {
        if !self.is_wanted(prefix) || !self.is_origin(origin.asn) {
            self.remove(peer, prefix);
            return Ok(());
        }
        let limit = self.config.prefix_limit;
        let table = &mut self.tables[peer.0];
        if table.len() >= limit && !table.contains(prefix) {
            return Err(PrefixLimitReached);
        }
        self.version += u64::from(table.insert(prefix, origin));
        Ok(())
    }

    fn remove(&mut self, peer: PeerId, prefix: Prefix) {
        self.version += u64::from(self.tables[peer.0].remove(prefix));
    }

    fn is_wanted(&self, prefix: Prefix) -> bool {
        let longest = match Family::of(prefix) {
            Family::V4 => self.config.longest.v4,
            Family::V6 => self.config.longest.v6,
        };
        (1..=longest).contains(&prefix.length())
    }

    fn is_origin(&self, asn: Asn) -> bool {
        match self.config.asns {
            AsnRule::PublicOnly => AsnClass::of(asn) == AsnClass::Public,
            AsnRule::Any => asn != Asn(0),
        }
    }

    /// The session with `peer` is lost: its routes stay, stale, for the configured time.
    pub fn mark_stale(&mut self, peer: PeerId, now: Moment) {
        let until = now + self.config.stale_time;
        self.tables[peer.0].lose_session(until);
        self.version += 1;
    }

    /// Makes all that `peer` has said so far weaker than what anybody says from now on, for good.
    pub(crate) fn let_others_win(&mut self, peer: PeerId) {
        self.tables[peer.0].begin_generation();
        self.version += 1;
    }

    /// `peer` has announced all it has of `family`: what is still stale is gone for good.
    pub fn sweep(&mut self, peer: PeerId, family: Family) {
        self.version += u64::from(self.tables[peer.0].sweep(family));
    }

    /// Drops stale routes whose time is over.
    pub fn expire(&mut self, now: Moment) {
        for table in &mut self.tables {
            self.version += u64::from(table.expire(now));
        }
    }

    /// When [`Rib::expire`] has something to do next.
    pub fn next_expiry(&self) -> Option<Moment> {
        self.tables.iter().filter_map(PeerTable::next_expiry).min()
    }

    /// Changes with the content; equal numbers mean that nothing has changed.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many prefixes `peer` has here, stale ones included.
    pub fn peer_len(&self, peer: PeerId) -> usize {
        self.tables[peer.0].len()
    }

    /// Every prefix once, in order: IPv4 before IPv6, by network, shorter before longer.
    ///
    /// Fresh routes win over stale ones; among equals the lowest origin is kept and the route marked.
    pub fn routes(&self) -> impl Iterator<Item = Route> + '_ {
        let v4 = self.tables.iter().map(PeerTable::iter_v4);
        let v6 = self.tables.iter().map(PeerTable::iter_v6);
        Merge::new(v4, prefix_v4).chain(Merge::new(v6, prefix_v6))
    }

    /// All routes as a table for look-ups, and what had to be decided for it. A million routes take
    /// some 40 ms and, far apart as they may lie, 16 MB.
    pub fn to_table(&self) -> (RangeTable, Cleaned) {
        let mut v4 = Sweep::new();
        let mut v6 = Sweep::new();
        let mut cleaned = Cleaned::default();
        for route in self.routes() {
            match Key::from(route.prefix) {
                Key::V4((network, length)) => v4.enter(network, length, route.origin),
                Key::V6((network, length)) => v6.enter(network, length, route.origin),
            }
            cleaned.taken += 1;
            cleaned.multi_origin += usize::from(route.multi_origin);
        }
        let table = RangeTable {
            v4: v4.finish(),
            v6: v6.finish(),
        };
        (table, cleaned)
    }

    /// The longest prefix around an address, over all neighbours.
    pub fn lookup(&self, ip: IpAddr) -> Option<Route> {
        let found = self.tables.iter().filter_map(|table| table.lookup(ip));
        found.reduce(
            |best, next| match best.prefix.length().cmp(&next.prefix.length()) {
                std::cmp::Ordering::Less => next,
                std::cmp::Ordering::Equal => best.joined(next),
                std::cmp::Ordering::Greater => best,
            },
        )
    }
}

impl Route {
    fn joined(self, other: Self) -> Self {
        let candidate = Candidate::from(self).joined(Candidate::from(other));
        candidate.route(self.prefix)
    }
}

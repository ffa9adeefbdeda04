//! What all neighbours announced: for each its prefixes and their origin AS. A lost neighbour's
//! routes stay, marked stale, until it is back and done or their time is over.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use nearside_types::{Asn, Moment, Origin, Prefix, PrefixLengths};
use prefix_trie::PrefixMap;

use super::merge::{Candidate, Merge};
use super::nlri::Family;
use super::update::Update;
use crate::{AsnClass, AsnRule, Cleaned, RangeTable, Rules, TableBuilder};

/// What is kept, how much and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RibConfig {
    /// Longer prefixes are ignored. Default /24 and /48, the longest that networks exchange; touch it
    /// for a feed of internal routes.
    pub longest: PrefixLengths,
    /// Which origins count. Default [`AsnRule::PublicOnly`]; [`AsnRule::Any`] is for laboratories.
    pub asns: AsnRule,
    /// Prefixes one neighbour may announce, both families together. Default 2,000,000, about twice
    /// the Internet of 2026; a million takes some 15 MB.
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
    tables: Vec<Table>,
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
        self.tables.push(Table::default());
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
        self.tables[peer.0].begin_generation(until);
        self.version += 1;
    }

    /// Makes all that `peer` has said so far weaker than what anybody says from now on, for good.
    pub(crate) fn let_others_win(&mut self, peer: PeerId) {
        let table = &mut self.tables[peer.0];
        table.generation = table.generation.wrapping_add(1);
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
        let first = |table: &Table| table.lost.front().map(|lost| lost.until);
        self.tables.iter().filter_map(first).min()
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
        let v4 = self
            .tables
            .iter()
            .map(|table| (table.v4.iter(), table.generation));
        let v6 = self
            .tables
            .iter()
            .map(|table| (table.v6.iter(), table.generation));
        Merge::new(v4, prefix_v4).chain(Merge::new(v6, prefix_v6))
    }

    /// All routes as a table for look-ups, and what had to be decided for it.
    pub fn to_table(&self) -> (RangeTable, Cleaned) {
        let mut builder = TableBuilder::new(Rules {
            asns: self.config.asns,
            longest: None,
        });
        for route in self.routes() {
            let origin = Origin {
                asn: Some(route.origin),
                country: None,
            };
            builder.add_prefix(route.prefix, origin);
        }
        builder.finish()
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

type V4Key = (u32, u8);
type V6Key = (u128, u8);

/// Either kind of key, made from a [`Prefix`].
enum Key {
    V4(V4Key),
    V6(V6Key),
}

impl From<Prefix> for Key {
    fn from(prefix: Prefix) -> Self {
        match prefix.network() {
            IpAddr::V4(network) => Self::V4((network.to_bits(), prefix.length())),
            IpAddr::V6(network) => Self::V6((network.to_bits(), prefix.length())),
        }
    }
}

fn prefix_v4((network, length): V4Key) -> Prefix {
    Prefix::new(Ipv4Addr::from_bits(network).into(), length)
}

fn prefix_v6((network, length): V6Key) -> Prefix {
    Prefix::new(Ipv6Addr::from_bits(network).into(), length)
}

/// What one neighbour said about one prefix, in eight octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    asn: Asn,
    generation: u16,
    several: bool,
}

impl Entry {
    pub(super) fn candidate(self, generation: u16) -> Candidate {
        Candidate {
            asn: self.asn,
            several: self.several,
            stale: self.generation != generation,
        }
    }
}

/// Sessions that were lost, and how long their routes may stay.
#[derive(Debug, Clone, Copy)]
struct Lost {
    /// The last of them.
    newest: u16,
    until: Moment,
}

/// Losses this close share the first one's end, so that a flapping neighbour cannot make the list
/// long.
const SAME_LOSS: Duration = Duration::from_secs(60);

/// The routes of one neighbour. Each session has a generation number: routes of an earlier one are
/// stale, so that a loss costs nothing and a re-announced route becomes fresh by itself.
#[derive(Debug, Default)]
struct Table {
    v4: PrefixMap<V4Key, Entry>,
    v6: PrefixMap<V6Key, Entry>,
    generation: u16,
    /// Oldest first.
    lost: VecDeque<Lost>,
}

impl Table {
    fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    fn contains(&self, prefix: Prefix) -> bool {
        match Key::from(prefix) {
            Key::V4(key) => self.v4.contains_key(&key),
            Key::V6(key) => self.v6.contains_key(&key),
        }
    }

    /// Whether this changed anything.
    fn insert(&mut self, prefix: Prefix, origin: Candidate) -> bool {
        let entry = Entry {
            asn: origin.asn,
            generation: self.generation,
            several: origin.several,
        };
        let before = match Key::from(prefix) {
            Key::V4(key) => self.v4.insert(key, entry),
            Key::V6(key) => self.v6.insert(key, entry),
        };
        before != Some(entry)
    }

    fn remove(&mut self, prefix: Prefix) -> bool {
        let before = match Key::from(prefix) {
            Key::V4(key) => self.v4.remove(&key),
            Key::V6(key) => self.v6.remove(&key),
        };
        before.is_some()
    }

    fn begin_generation(&mut self, until: Moment) {
        let newest = self.generation;
        match self.lost.back_mut() {
            Some(last) if until - last.until < SAME_LOSS => last.newest = newest,
            _ => self.lost.push_back(Lost { newest, until }),
        }
        self.generation = newest.wrapping_add(1);
    }

    fn sweep(&mut self, family: Family) -> bool {
        let before = self.len();
        let generation = self.generation;
        match family {
            Family::V4 => self.v4.retain(|_, entry| entry.generation == generation),
            Family::V6 => self.v6.retain(|_, entry| entry.generation == generation),
        }
        self.len() != before
    }

    fn expire(&mut self, now: Moment) -> bool {
        let before = self.len();
        while let Some(lost) = self.lost.front().copied().filter(|lost| lost.until <= now) {
            self.lost.pop_front();
            // Generations may wrap, their distance to the present one does not.
            let age = |generation: u16| self.generation.wrapping_sub(generation);
            let stays = |entry: &Entry| age(entry.generation) < age(lost.newest);
            self.v4.retain(|_, entry| stays(entry));
            self.v6.retain(|_, entry| stays(entry));
        }
        self.len() != before
    }

    fn lookup(&self, ip: IpAddr) -> Option<Route> {
        let (prefix, entry) = match ip.to_canonical() {
            IpAddr::V4(ip) => self
                .v4
                .get_lpm(&(ip.to_bits(), 32))
                .map(|(key, entry)| (prefix_v4(key), entry)),
            IpAddr::V6(ip) => self
                .v6
                .get_lpm(&(ip.to_bits(), 128))
                .map(|(key, entry)| (prefix_v6(key), entry)),
        }?;
        Some(entry.candidate(self.generation).route(prefix))
    }
}

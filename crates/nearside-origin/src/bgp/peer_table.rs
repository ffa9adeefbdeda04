//! The routes of one neighbour, fresh and stale.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use nearside_types::{Moment, Prefix};
use prefix_trie::PrefixMap;

use super::entry::{Entry, Generation, Numbers};
use super::merge::Candidate;
use super::nlri::Family;
use super::rib::Route;

pub(super) type V4Key = (u32, u8);
pub(super) type V6Key = (u128, u8);

/// Either kind of key, made from a [`Prefix`].
pub(super) enum Key {
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

pub(super) fn prefix_v4((network, length): V4Key) -> Prefix {
    Prefix::new(Ipv4Addr::from_bits(network).into(), length)
}

pub(super) fn prefix_v6((network, length): V6Key) -> Prefix {
    Prefix::new(Ipv6Addr::from_bits(network).into(), length)
}

/// Sessions that were lost, and how long their routes may stay.
#[derive(Debug, Clone, Copy)]
struct Lost {
    /// The last of them.
    newest: Generation,
    until: Moment,
}

/// Losses this close share the first one's end, so that a flapping neighbour cannot make the list
/// long.
const SAME_LOSS: Duration = Duration::from_secs(60);

/// Each session has a generation number: routes of an earlier one are stale, so that a loss costs
/// nothing and a re-announced route becomes fresh by itself.
#[derive(Debug, Default)]
pub(super) struct PeerTable {
    v4: PrefixMap<V4Key, Entry>,
    v6: PrefixMap<V6Key, Entry>,
    numbers: Numbers,
    generation: Generation,
    /// No route is of an earlier generation.
    oldest: Generation,
    /// Oldest first.
    lost: VecDeque<Lost>,
}

impl PeerTable {
    pub(super) fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    pub(super) fn contains(&self, prefix: Prefix) -> bool {
        match Key::from(prefix) {
            Key::V4(key) => self.v4.contains_key(&key),
            Key::V6(key) => self.v6.contains_key(&key),
        }
    }

    /// Whether this changed anything.
    pub(super) fn insert(&mut self, prefix: Prefix, origin: Candidate) -> bool {
        let Some(entry) = self.numbers.pack(origin, self.generation) else {
            return self.remove(prefix);
        };
        let before = match Key::from(prefix) {
            Key::V4(key) => self.v4.insert(key, entry),
            Key::V6(key) => self.v6.insert(key, entry),
        };
        before != Some(entry)
    }

    /// Whether this changed anything.
    pub(super) fn remove(&mut self, prefix: Prefix) -> bool {
        let before = match Key::from(prefix) {
            Key::V4(key) => self.v4.remove(&key),
            Key::V6(key) => self.v6.remove(&key),
        };
        before.is_some()
    }

    /// The session is over: its routes are stale from now on, and may stay until then.
    pub(super) fn lose_session(&mut self, until: Moment) {
        let newest = self.generation;
        match self.lost.back_mut() {
            Some(last) if until - last.until < SAME_LOSS => last.newest = newest,
            _ => self.lost.push_back(Lost { newest, until }),
        }
        self.begin_generation();
    }

    /// Routes so far are stale, for good. Should the numbers of generations run out, the oldest
    /// routes go before their time: a thousand sessions within an hour are nothing to rely on.
    pub(super) fn begin_generation(&mut self) {
        self.generation = self.generation.next();
        if self.oldest.age(self.generation) == Generation::COUNT - 1 {
            let newest = self
                .lost
                .pop_front()
                .map_or(self.oldest, |lost| lost.newest);
            self.forget_until(newest);
        }
    }

    /// The first announcement of a family is complete: what is stale is gone. Whether this changed
    /// anything.
    pub(super) fn sweep(&mut self, family: Family) -> bool {
        let before = self.len();
        let generation = self.generation;
        let is_fresh = |entry: &Entry| entry.generation() == generation;
        match family {
            Family::V4 => self.v4.retain(|_, entry| is_fresh(entry)),
            Family::V6 => self.v6.retain(|_, entry| is_fresh(entry)),
        }
        self.len() != before
    }

    /// Drops routes whose time is over. Whether this changed anything.
    pub(super) fn expire(&mut self, now: Moment) -> bool {
        let before = self.len();
        while let Some(lost) = self.lost.front().copied().filter(|lost| lost.until <= now) {
            self.lost.pop_front();
            self.forget_until(lost.newest);
        }
        self.len() != before
    }

    /// When [`PeerTable::expire`] has something to do next.
    pub(super) fn next_expiry(&self) -> Option<Moment> {
        self.lost.front().map(|lost| lost.until)
    }

    /// Drops routes of `newest` and of the generations before it.
    fn forget_until(&mut self, newest: Generation) {
        let now = self.generation;
        let stays = |entry: &Entry| entry.generation().age(now) < newest.age(now);
        self.v4.retain(|_, entry| stays(entry));
        self.v6.retain(|_, entry| stays(entry));
        self.oldest = newest.next();
    }

    pub(super) fn lookup(&self, ip: IpAddr) -> Option<Route> {
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
        Some(self.candidate(*entry).route(prefix))
    }

    fn candidate(&self, entry: Entry) -> Candidate {
        self.numbers.unpack(entry, self.generation)
    }

    /// Routes of IPv4 in order.
    pub(super) fn iter_v4(&self) -> impl Iterator<Item = (V4Key, Candidate)> + '_ {
        let routes = self.v4.iter();
        routes.map(|(key, entry)| (key, self.candidate(*entry)))
    }

    /// Routes of IPv6 in order.
    pub(super) fn iter_v6(&self) -> impl Iterator<Item = (V6Key, Candidate)> + '_ {
        let routes = self.v6.iter();
        routes.map(|(key, entry)| (key, self.candidate(*entry)))
    }
}

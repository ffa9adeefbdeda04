//! Connections by their numbers, and how many of them strangers may hold.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use nearside_detour::ClientId;
use nearside_types::{Moment, Prefix};

use super::config::ServiceConfig;
use super::whereabouts::Place;
use crate::crypto::{Chance, Keys};

/// The keys of one handshake.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) id: ClientId,
    pub(super) keys: Keys,
    /// Where the hello came from.
    pub(super) place: Place,
    prefix: Prefix,
    /// Whether a sealed packet has come. Until then somebody may have sent an old hello of the client
    /// again, so that nothing the client has may suffer from it.
    pub(super) proven: bool,
    joined: bool,
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Links {
    by_index: BTreeMap<u32, Link>,
    /// Those of strangers, the oldest in front; some may have joined or be gone by now.
    strangers: VecDeque<(Moment, u32)>,
    /// How many strangers there are, altogether and from each prefix.
    total: usize,
    by_prefix: BTreeMap<Prefix, usize>,
}

/// Within this time a stranger joins, or is forgotten.
const STRANGER_LIFE: Duration = Duration::from_secs(20);

impl Links {
    pub(super) fn len(&self) -> usize {
        self.by_index.len()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Link> {
        self.by_index.get_mut(&index)
    }

    /// A number that nobody has, and nobody can guess.
    pub(super) fn free_index(&self, chance: &mut Chance) -> u32 {
        loop {
            let index = u32::from_be_bytes(chance.bytes());
            if index != 0 && !self.by_index.contains_key(&index) {
                return index;
            }
        }
    }

    /// Whether a prefix may begin one more connection.
    pub(super) fn has_room(&self, prefix: Prefix, config: &ServiceConfig) -> bool {
        let held = self.by_prefix.get(&prefix).copied().unwrap_or(0);
        held < config.most_unjoined_per_prefix
    }

    /// Takes in the connection of a stranger.
    pub(super) fn insert(&mut self, now: Moment, index: u32, (keys, place, prefix): NewLink) {
        let link = Link {
            id: keys.peer.id(),
            keys,
            place,
            prefix,
            proven: false,
            joined: false,
        };
        self.by_index.insert(index, link);
        self.strangers.push_back((now, index));
        self.total += 1;
        *self.by_prefix.entry(prefix).or_default() += 1;
    }

    /// Its client is no stranger.
    pub(super) fn set_joined(&mut self, index: u32) {
        let link = self.by_index.get_mut(&index);
        if let Some(link) = link.filter(|link| !link.joined) {
            link.joined = true;
            let prefix = link.prefix;
            self.uncount(prefix);
        }
    }

    pub(super) fn remove(&mut self, index: u32) {
        if let Some(link) = self.by_index.remove(&index)
            && !link.joined
        {
            self.uncount(link.prefix);
        }
    }

    /// Removes a stranger's connection that is too old, or one of too many: call it until there is
    /// none.
    pub(super) fn pop_stranger(&mut self, now: Moment, most: usize) -> Option<(u32, ClientId)> {
        while let Some((since, index)) = self.strangers.front().copied() {
            let stranger = self.by_index.get(&index).filter(|link| !link.joined);
            let id = stranger.map(|link| link.id);
            if id.is_some() && self.total <= most && now.since(since) <= STRANGER_LIFE {
                return None;
            }
            self.strangers.pop_front();
            if let Some(id) = id {
                self.remove(index);
                return Some((index, id));
            }
        }
        None
    }

    fn uncount(&mut self, prefix: Prefix) {
        self.total -= 1;
        if let Some(held) = self.by_prefix.get_mut(&prefix) {
            *held -= 1;
            if *held == 0 {
                self.by_prefix.remove(&prefix);
            }
        }
    }
}

/// Keys, where the hello came from, and its prefix.
pub(super) type NewLink = (Keys, Place, Prefix);

/// How many handshakes are answered within the current second.
#[derive(Debug, Default)]
pub(super) struct Gate {
    second: u64,
    total: u32,
    by_prefix: BTreeMap<Prefix, u32>,
}

impl Gate {
    /// Whether there is time for one more handshake; if so, it is counted. A prefix has a share of its
    /// own, so that one house cannot lock everybody else out.
    pub(super) fn admits(&mut self, now: Moment, prefix: Prefix, config: &ServiceConfig) -> bool {
        let second = now.since_epoch().as_secs();
        if second != self.second {
            *self = Self {
                second,
                ..Self::default()
            };
        }
        let own = self.by_prefix.get(&prefix).copied().unwrap_or(0);
        let admitted = self.total < config.handshakes && own < config.handshakes_per_prefix;
        if admitted {
            self.total += 1;
            self.by_prefix.insert(prefix, own + 1);
        }
        admitted
    }
}

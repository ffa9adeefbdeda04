//! What a restart must not lose, as changes for a store.

use std::collections::BTreeMap;

use nearside_detour::{ClientId, directory};
use nearside_types::Moment;
use serde::{Deserialize, Serialize};

use super::card::Card;
use crate::messages::Tell;

/// One thing that happened, for a store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// To the clients, their legs and relays.
    Directory(directory::Change),
    /// Two were introduced.
    Met {
        /// The session.
        session: u64,
        /// Who they are.
        pair: Pair,
    },
    /// A session is over.
    Parted {
        /// The session.
        session: u64,
    },
    /// What a client is like, for directories that share the store.
    Shown {
        /// Who.
        id: ClientId,
        /// What it is like.
        card: Box<Card>,
    },
    /// Something for a client of another directory: not to be kept.
    Letter {
        /// Who.
        to: ClientId,
        /// What it is to be told.
        tell: Box<Tell>,
        /// When it was written.
        at: Moment,
    },
}

impl Change {
    /// When it happened, where that is known: for other clocks.
    pub fn at_mut(&mut self) -> Option<&mut Moment> {
        use directory::Change as C;
        match self {
            Self::Directory(
                C::Joined { at, .. }
                | C::Altered { at, .. }
                | C::Heard { at, .. }
                | C::Measured { at, .. },
            )
            | Self::Letter { at, .. } => Some(at),
            Self::Met { pair, .. } => Some(&mut pair.since),
            Self::Directory(_) | Self::Parted { .. } | Self::Shown { .. } => None,
        }
    }

    /// The same; what is said to happen later happens now.
    pub(super) fn not_after(&self, now: Moment) -> Self {
        let mut change = self.clone();
        if let Some(at) = change.at_mut() {
            *at = (*at).min(now);
        }
        change
    }
}

/// The two ends of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Who asked for it, leads it, and alone learns of relays.
    pub source: ClientId,
    /// The other.
    pub target: ClientId,
    /// When they were introduced.
    pub since: Moment,
}

impl Pair {
    pub(super) fn key(&self) -> directory::SessionKey {
        directory::SessionKey {
            source: self.source,
            target: self.target,
        }
    }
}

/// Everything that a restart must not lose. Connections are not among it: their keys live as long as the
/// process, and clients that hear nothing shake hands again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// Clients, their legs, and which relays are in use.
    pub directory: directory::State,
    /// Sessions by their numbers.
    pub sessions: BTreeMap<u64, Pair>,
    /// What clients are like, where several directories share a store.
    pub cards: BTreeMap<ClientId, Card>,
}

impl State {
    /// Takes what lies in the future for now: the clock was set back since, or others' is ahead. Who is
    /// heard in an hour would not be missed before that.
    pub(super) fn not_after(&mut self, now: Moment) {
        let mut changes = Vec::new();
        for (_, member) in self.directory.members() {
            let id = member.client.id;
            if member.heard > now {
                changes.push(directory::Change::Heard { id, at: now });
            }
            let ahead = member.measured.iter().filter(|leg| leg.at > now);
            changes.extend(ahead.filter_map(|leg| {
                let to = self.directory.member(leg.to)?.client.id;
                let (from, rtt, at) = (id, leg.rtt, now);
                Some(directory::Change::Measured { from, to, rtt, at })
            }));
        }
        for change in &changes {
            self.directory.apply(change);
        }
        for pair in self.sessions.values_mut() {
            pair.since = pair.since.min(now);
        }
    }

    /// Makes a change.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Directory(change) => {
                if let directory::Change::Left { id } = change {
                    self.cards.remove(id);
                }
                self.directory.apply(change);
            }
            Change::Met { session, pair } => {
                self.sessions.insert(*session, *pair);
            }
            Change::Parted { session } => {
                self.sessions.remove(session);
            }
            Change::Shown { id, card } => {
                self.cards.insert(*id, Card::clone(card));
            }
            Change::Letter { .. } => {}
        }
    }
}

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::ClientId;
use nearside_types::Moment;

use super::clock::Budget;
use super::whereabouts::Whereabouts;
use crate::crypto::PublicKey;
use crate::messages::{Capacity, Join, Tell};

/// Somebody who has proven to hold a key, joined or not.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) key: PublicKey,
    /// The number of its connection.
    pub(super) link: u32,
    pub(super) whereabouts: Whereabouts,
    pub(super) joined: Option<Joined>,
    pub(super) budget: Budget,
    pub(super) heard: Moment,
    /// It did not confirm what it was told, and said nothing else since.
    pub(super) silent: bool,
    /// The last answers, in case they got lost.
    answered: VecDeque<Answered>,
    /// What it was told unasked and has not confirmed.
    pub(super) untold: BTreeMap<u32, Untold>,
    /// Whom it was told to measure.
    pub(super) named: BTreeSet<ClientId>,
    /// With whom it ended sessions that it led, the last first.
    left: VecDeque<(ClientId, Moment)>,
}

/// What a client said of itself when it joined.
#[derive(Debug, Clone)]
pub(super) struct Joined {
    pub(super) capacity: Option<Capacity>,
    pub(super) local: Vec<SocketAddr>,
    pub(super) exposes: Option<u16>,
    pub(super) exits: Vec<SocketAddr>,
    pub(super) overloaded: bool,
}

#[derive(Debug)]
struct Answered {
    number: u32,
    tell: Tell,
    at: Moment,
}

/// A notice on its way.
#[derive(Debug)]
pub(super) struct Untold {
    pub(super) tell: Tell,
    pub(super) sent: u8,
    pub(super) next: Moment,
}

/// A request is repeated within this time, or not at all.
const ANSWER_LIFE: Duration = Duration::from_secs(5);
/// Answers kept of one client.
const MOST_ANSWERS: usize = 16;
/// Peers remembered as left.
const MOST_LEFT: usize = 8;
/// For how long: what was wrong with one may be mended by then.
const LEFT_LIFE: Duration = Duration::from_secs(60);
/// Neighbours remembered as named.
const MOST_NAMED: usize = 256;
/// Addresses inside its own network that a client may name.
const MOST_LOCAL: usize = 4;
/// Game servers that a client may give a way out to.
const MOST_EXITS: usize = 64;

impl Client {
    pub(super) fn new(
        key: PublicKey,
        link: u32,
        whereabouts: Whereabouts,
        (now, requests): (Moment, u32),
    ) -> Self {
        Self {
            key,
            link,
            whereabouts,
            joined: None,
            budget: Budget::new(now, requests),
            heard: now,
            silent: false,
            left: VecDeque::new(),
            answered: VecDeque::new(),
            untold: BTreeMap::new(),
            named: BTreeSet::new(),
        }
    }

    /// The client shook hands anew. What it was asked or told before is the business of the past.
    pub(super) fn reconnect(&mut self, link: u32, whereabouts: Whereabouts) -> u32 {
        self.answered.clear();
        self.untold.clear();
        self.whereabouts = whereabouts;
        std::mem::replace(&mut self.link, link)
    }

    /// What was answered to a request, if it was answered a moment ago.
    pub(super) fn answer_to(&self, now: Moment, number: u32) -> Option<Tell> {
        let fresh = |a: &&Answered| a.number == number && now.since(a.at) < ANSWER_LIFE;
        Some(self.answered.iter().find(fresh)?.tell.clone())
    }

    pub(super) fn remember(&mut self, at: Moment, number: u32, tell: Tell) {
        self.answered.truncate(MOST_ANSWERS - 1);
        self.answered.push_front(Answered { number, tell, at });
    }

    pub(super) fn forget_answers(&mut self, now: Moment) {
        self.answered.retain(|a| now.since(a.at) < ANSWER_LIFE);
    }

    /// A session that it led with a peer is over, or never began.
    pub(super) fn leave(&mut self, now: Moment, peer: ClientId) {
        self.left.retain(|(other, _)| *other != peer);
        self.left.truncate(MOST_LEFT - 1);
        self.left.push_front((peer, now));
    }

    pub(super) fn has_left(&self, now: Moment, peer: ClientId) -> bool {
        let mut left = self.left.iter();
        left.any(|(other, at)| *other == peer && now.since(*at) < LEFT_LIFE)
    }

    pub(super) fn name(&mut self, neighbour: ClientId) {
        if self.named.len() >= MOST_NAMED {
            self.named.pop_first();
        }
        self.named.insert(neighbour);
    }
}

impl Joined {
    pub(super) fn new(join: Join) -> Self {
        let (mut local, mut exits) = (join.local, join.exits);
        local.truncate(MOST_LOCAL);
        exits.truncate(MOST_EXITS);
        Self {
            capacity: join.relaying,
            local,
            exposes: join.exposes,
            exits,
            overloaded: false,
        }
    }
}

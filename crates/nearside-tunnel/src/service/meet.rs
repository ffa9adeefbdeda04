//! Who stands beside a game server, and how two players find each other.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::ClientId;
use nearside_types::{Moment, Prefix};

use super::card::Card;
use super::join::is_local;
use super::state::Pair;
use super::whereabouts::Nat;
use super::{Change, Event, Service};
use crate::crypto::PublicKey;
use crate::messages::{Found, Introduction, Refusal, RelayOffer, Tell};

impl Service {
    /// Registers a session on behalf of two players and introduces them; gives the session's number. For
    /// lobbies, which never see the relays: those go to `source` alone.
    ///
    /// # Errors
    /// If one of them is not connected, to this directory or another that shares its store, or both are
    /// one.
    pub fn register_session(
        &mut self,
        now: Moment,
        source: ClientId,
        target: ClientId,
    ) -> Result<u64, Refusal> {
        self.clock = self.clock.at(now);
        let introduction = self.introduce(source, target)?;
        let session = introduction.session;
        self.tell(source, Tell::Introduce(introduction));
        self.collect_changes();
        Ok(session)
    }

    /// Who leads to a server: one who answers, whom the asker has not just left; one beside it rather
    /// than a way out; the first who said so.
    pub(super) fn find(&self, asker: ClientId, server: SocketAddr) -> Result<Tell, Refusal> {
        let doubt = |(id, is_exit): &(ClientId, bool)| {
            let left = self.has_left(asker, *id);
            (self.is_silent(*id), left, *is_exit)
        };
        let best = self.beside.of(server).min_by_key(doubt);
        let (id, is_exit) = best.ok_or(Refusal::Unknown)?;
        let peer = self.card(id).ok_or(Refusal::Unknown)?.key;
        Ok(Tell::Found(Found { peer, is_exit }))
    }

    /// Whether a client does not answer, as far as is known here.
    fn is_silent(&self, id: ClientId) -> bool {
        let now = self.clock.now;
        if let Some(client) = self.clients.get(&id) {
            return client.silent || now.since(client.heard) >= KEEP_ALIVES;
        }
        // Of keep-alives with another directory nothing is known, of reports there is.
        let state = self.directory.state();
        let member = state.node(id).and_then(|node| state.member(node));
        let quiet = member.is_none_or(|member| now.since(member.heard) >= REPORTS);
        quiet || self.cards.get(&id).is_some_and(|card| card.silent)
    }

    /// Whether one client ended a session with another a moment ago, or never reached it. That counts for
    /// what it is told alone: nobody can talk others out of a peer.
    fn has_left(&self, asker: ClientId, peer: ClientId) -> bool {
        let asker = self.clients.get(&asker);
        asker.is_some_and(|asker| asker.has_left(self.clock.now, peer))
    }

    pub(super) fn connect(&mut self, id: ClientId, peer: PublicKey) -> Result<Tell, Refusal> {
        self.introduce(id, peer.id()).map(Tell::Introduce)
    }

    /// No direct path was found, or it was lost: the same two once more, with a relay or without.
    pub(super) fn again(
        &mut self,
        id: ClientId,
        session: u64,
        relay: bool,
    ) -> Result<Tell, Refusal> {
        let pair = self.sessions.get(session).ok_or(Refusal::Unknown)?;
        if pair.source != id {
            return Err(Refusal::Unknown);
        }
        let known = Some((session, relay));
        let introduction = self.introduce_in(known, pair.source, pair.target)?;
        Ok(Tell::Introduce(introduction))
    }

    /// Tells the target of the source, and gives what the source is to be told of the target.
    fn introduce(&mut self, source: ClientId, target: ClientId) -> Result<Introduction, Refusal> {
        self.introduce_in(None, source, target)
    }

    /// The same for a new session, or for a known one, with a relay or without.
    fn introduce_in(
        &mut self,
        known: Option<(u64, bool)>,
        source: ClientId,
        target: ClientId,
    ) -> Result<Introduction, Refusal> {
        let (Some(one), Some(other)) = (self.card(source), self.card(target)) else {
            return Err(Refusal::Unknown);
        };
        if source == target {
            return Err(Refusal::Unknown);
        }
        let hopeless = is_hopeless(&one, &other);
        let (to_source, to_target) = (
            (other.key, addresses(&one, &other)),
            (one.key, addresses(&other, &one)),
        );
        let (session, relay) = known.unwrap_or_else(|| (self.begin(source, target), hopeless));
        let through = match relay {
            true => self.go_between(session),
            false => None,
        };
        let (ours, theirs) = through.map(RelayOffer::into_both).unzip();
        let pass = self.chance.bytes();
        let introduction = |(peer, addresses), leads, through| Introduction {
            session,
            peer,
            addresses,
            pass,
            leads,
            through,
        };
        let told = introduction(to_target, false, theirs);
        self.tell(target, Tell::Introduce(told));
        self.counts.introduced += 1;
        self.event(Event::Introduced {
            session,
            source,
            target,
        });
        Ok(introduction(to_source, true, ours))
    }

    /// A new session, in place of one between the same two.
    fn begin(&mut self, source: ClientId, target: ClientId) -> u64 {
        let pair = Pair {
            source,
            target,
            since: self.clock.now,
        };
        for old in self.sessions.replaced_by(&pair, self.config.most_sessions) {
            self.end_session(old);
        }
        let session = self.sessions.free_number(|| self.chance.number());
        self.sessions.insert(session, pair);
        self.changes.push_back(Change::Met { session, pair });
        session
    }

    pub(super) fn end_sessions_of(&mut self, id: ClientId) {
        for session in self.sessions.of(id) {
            self.end_session(session);
        }
    }

    /// One of the two says that their session is over; both do, as a rule.
    pub(super) fn part(&mut self, id: ClientId, session: u64) -> Tell {
        let pair = self.sessions.get(session);
        if let Some(pair) = pair.filter(|pair| [pair.source, pair.target].contains(&id)) {
            let leader = self.clients.get_mut(&id).filter(|_| pair.source == id);
            if let Some(leader) = leader {
                leader.leave(self.clock.now, pair.target);
            }
            self.end_session(session);
        }
        Tell::Done
    }

    fn end_session(&mut self, session: u64) {
        if let Some(pair) = self.sessions.remove(session) {
            self.directory.release(pair.key());
            self.changes.push_back(Change::Parted { session });
        }
    }

    /// Notes which servers a client leads to, from where it is now.
    pub(super) fn stand_beside(&mut self, id: ClientId) {
        let Some(client) = self.clients.get(&id) else {
            return;
        };
        let place = client.whereabouts.main();
        let prefix = self.prefix(place);
        if let Some(joined) = &client.joined {
            let (exposes, exits) = (joined.exposes, &joined.exits);
            self.beside.add(id, place.address, exposes, exits);
            self.crowd.add(id, prefix);
        }
    }
}

/// Keep-alives come every 15 s: two may get lost, and the third be on its way.
const KEEP_ALIVES: Duration = Duration::from_secs(35);
/// A report comes every 120 s at least, and is repeated for some seconds if need be.
const REPORTS: Duration = Duration::from_secs(150);

/// Whether no direct path can be found: nobody knows the ports of either one beforehand. IPv6 has no
/// such NATs.
fn is_hopeless(one: &Card, other: &Card) -> bool {
    let both = [one, other];
    let sees_six = |card: &&Card| card.addresses().iter().any(SocketAddr::is_ipv6);
    let symmetric = |card: &&Card| card.nat == Nat::Symmetric;
    both.iter().all(symmetric) && !both.iter().all(sees_six)
}

/// Where `other` may be reached by `one`, the best first: IPv6 needs no NAT; addresses inside a network
/// are for those who share one.
fn addresses(one: &Card, other: &Card) -> Vec<SocketAddr> {
    let mut all = other.addresses();
    all.retain(|address| one.towards(*address).is_some());
    if all.is_empty() {
        all = other.addresses();
    }
    if one.main.ip() == other.main.ip() {
        let new = other.local.iter().filter(|address| is_local(address));
        let new: Vec<SocketAddr> = new.filter(|a| !all.contains(a)).copied().collect();
        all.extend(new);
    }
    all
}

/// Sessions by their numbers, and by their ends.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_number: BTreeMap<u64, Session>,
    by_end: BTreeMap<ClientId, BTreeSet<u64>>,
}

#[derive(Debug)]
struct Session {
    pair: Pair,
    /// The relays that it was offered in this life of the process.
    offered: BTreeSet<ClientId>,
}

impl Sessions {
    pub(super) fn restored(pairs: BTreeMap<u64, Pair>) -> Self {
        let mut sessions = Self::default();
        for (number, pair) in pairs {
            sessions.insert(number, pair);
        }
        sessions
    }

    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Pair)> {
        let all = self.by_number.iter();
        all.map(|(number, session)| (*number, &session.pair))
    }

    pub(super) fn get(&self, number: u64) -> Option<Pair> {
        Some(self.by_number.get(&number)?.pair)
    }

    pub(super) fn offer(&mut self, number: u64, relay: ClientId) {
        if let Some(session) = self.by_number.get_mut(&number) {
            session.offered.insert(relay);
        }
    }

    /// Whether a session may have come to know a relay by us.
    pub(super) fn was_offered(&self, number: u64, relay: ClientId) -> bool {
        let session = self.by_number.get(&number);
        session.is_some_and(|session| session.offered.contains(&relay))
    }

    fn free_number(&self, mut number: impl FnMut() -> u64) -> u64 {
        loop {
            let number = number();
            if number != 0 && !self.by_number.contains_key(&number) {
                return number;
            }
        }
    }

    pub(super) fn insert(&mut self, number: u64, pair: Pair) {
        let offered = BTreeSet::new();
        self.by_number.insert(number, Session { pair, offered });
        for end in [pair.source, pair.target] {
            self.by_end.entry(end).or_default().insert(number);
        }
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Pair> {
        let pair = self.by_number.remove(&number)?.pair;
        for end in [pair.source, pair.target] {
            if let Some(of_end) = self.by_end.get_mut(&end) {
                of_end.remove(&number);
                if of_end.is_empty() {
                    self.by_end.remove(&end);
                }
            }
        }
        Some(pair)
    }

    fn of(&self, id: ClientId) -> Vec<u64> {
        let numbers = self.by_end.get(&id);
        numbers.map_or(Vec::new(), |all| all.iter().copied().collect())
    }

    /// Those that end when a new one begins: of the same two, or the oldest of one who has too many.
    fn replaced_by(&self, new: &Pair, most: usize) -> Vec<u64> {
        let own = self.of(new.source).into_iter();
        let own = own.filter_map(|number| Some((self.get(number)?, number)));
        let begun = own.filter(|(pair, _)| pair.source == new.source);
        let (same, mut others): (Vec<_>, Vec<_>) =
            begun.partition(|(pair, _)| pair.target == new.target);
        others.sort_by_key(|(pair, number)| (pair.since, *number));
        let excess = (others.len() + 1).saturating_sub(most);
        let old = others.into_iter().take(excess);
        same.into_iter()
            .chain(old)
            .map(|(_, number)| number)
            .collect()
    }
}

/// Who stands beside which game server, and who gives a way out to which.
#[derive(Debug, Default)]
pub(super) struct Beside {
    exposed: BTreeMap<SocketAddr, Vec<ClientId>>,
    exits: BTreeMap<SocketAddr, Vec<ClientId>>,
    /// Where each client is noted.
    noted: BTreeMap<ClientId, Noted>,
}

#[derive(Debug, PartialEq, Eq)]
struct Noted {
    exposed: Option<SocketAddr>,
    exits: Vec<SocketAddr>,
}

impl Beside {
    /// Everybody who leads to a server, and whether as a way out: those beside it first, each in the order
    /// in which they said so.
    fn of(&self, server: SocketAddr) -> impl Iterator<Item = (ClientId, bool)> {
        let all = move |map: &BTreeMap<SocketAddr, Vec<ClientId>>, is_exit| {
            let ids = map.get(&server).cloned().unwrap_or_default();
            ids.into_iter().map(move |id| (id, is_exit))
        };
        all(&self.exposed, false).chain(all(&self.exits, true))
    }

    /// `exposes` is a port of the address it is seen at, `exits` lie elsewhere. Who says the same as before
    /// keeps its place.
    pub(super) fn add(
        &mut self,
        id: ClientId,
        at: SocketAddr,
        exposes: Option<u16>,
        exits: &[SocketAddr],
    ) {
        let exposed = exposes.map(|port| SocketAddr::new(at.ip(), port));
        let noted = Noted {
            exposed,
            exits: exits.to_vec(),
        };
        if self.noted.get(&id) == Some(&noted) {
            return;
        }
        self.remove(id);
        for server in exits {
            self.exits.entry(*server).or_default().push(id);
        }
        if let Some(server) = exposed {
            self.exposed.entry(server).or_default().push(id);
        }
        if exposed.is_some() || !exits.is_empty() {
            self.noted.insert(id, noted);
        }
    }

    pub(super) fn remove(&mut self, id: ClientId) {
        let Some(noted) = self.noted.remove(&id) else {
            return;
        };
        for server in noted.exits.into_iter().chain(noted.exposed) {
            for map in [&mut self.exposed, &mut self.exits] {
                if let Some(all) = map.get_mut(&server) {
                    all.retain(|other| *other != id);
                    if all.is_empty() {
                        map.remove(&server);
                    }
                }
            }
        }
    }
}

/// How many clients each prefix has.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    prefixes: BTreeMap<ClientId, Prefix>,
    counts: BTreeMap<Prefix, usize>,
}

impl Crowd {
    pub(super) fn of(&self, prefix: Prefix) -> usize {
        self.counts.get(&prefix).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, id: ClientId, prefix: Prefix) {
        self.remove(id);
        self.prefixes.insert(id, prefix);
        *self.counts.entry(prefix).or_default() += 1;
    }

    pub(super) fn remove(&mut self, id: ClientId) {
        let Some(prefix) = self.prefixes.remove(&id) else {
            return;
        };
        if let Some(count) = self.counts.get_mut(&prefix) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&prefix);
            }
        }
    }
}

//! Several directories of one identity that share a store: what they show each other of their clients,
//! and how one has something told to a client that is connected to another.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::ClientId;
use nearside_detour::directory::{self, Member};
use nearside_types::Moment;
use serde::{Deserialize, Serialize};

use super::client::Client;
use super::whereabouts::Nat;
use super::{Change, Service, State};
use crate::crypto::PublicKey;
use crate::messages::Tell;

/// A client, as far as others need to know it to be introduced to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Its key.
    pub key: PublicKey,
    /// Where it is seen.
    pub main: SocketAddr,
    /// Where it is seen in the other address family.
    pub other: Option<SocketAddr>,
    /// What its NAT does.
    pub nat: Nat,
    /// Its addresses inside its own network.
    pub local: Vec<SocketAddr>,
    /// The port of the game server it stands beside.
    pub exposes: Option<u16>,
    /// Game servers that it gives a way out to.
    pub exits: Vec<SocketAddr>,
    /// Whether it has more to carry than it can.
    pub overloaded: bool,
    /// Whether it does not answer.
    pub silent: bool,
}

/// A letter that is older is of no use to anybody: meetings are given up after twelve seconds, and the
/// clocks of two machines may differ by some.
const LETTER_LIFE: Duration = Duration::from_secs(30);

impl Card {
    /// `None` before the client has joined.
    pub(super) fn of(client: &Client) -> Option<Self> {
        let joined = client.joined.as_ref()?;
        Some(Self {
            key: client.key,
            main: client.whereabouts.main().address,
            other: client.whereabouts.other(),
            nat: client.whereabouts.nat(),
            local: joined.local.clone(),
            exposes: joined.exposes,
            exits: joined.exits.clone(),
            overloaded: joined.overloaded,
            silent: client.silent,
        })
    }

    fn all(&self) -> impl Iterator<Item = SocketAddr> {
        [Some(self.main), self.other].into_iter().flatten()
    }

    /// Its address in the same family as another one, if it has one.
    pub(super) fn towards(&self, other: SocketAddr) -> Option<SocketAddr> {
        self.all()
            .find(|address| address.is_ipv4() == other.is_ipv4())
    }

    /// All proven addresses, IPv6 first.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let (four, mut six): (Vec<_>, Vec<_>) = self.all().partition(SocketAddr::is_ipv4);
        six.extend(four);
        six
    }
}

impl Service {
    /// Tells others who share the store what they need to know of clients, and takes their clients for as
    /// good as its own. Without, changes are for the next life of this directory alone.
    #[must_use]
    pub fn with_others(mut self) -> Self {
        self.shared = true;
        self
    }

    /// A client that has joined, here or at another directory.
    pub(super) fn card(&self, id: ClientId) -> Option<Card> {
        match self.clients.get(&id) {
            Some(client) => Card::of(client),
            None => self.cards.get(&id).cloned(),
        }
    }

    /// Whether a client can be told something, here or through another directory.
    pub(super) fn reaches(&self, id: ClientId) -> bool {
        self.clients.contains_key(&id) || self.cards.contains_key(&id)
    }

    /// Shows others what is true of a client of ours now.
    pub(super) fn show(&mut self, id: ClientId) {
        let card = self.clients.get(&id).and_then(Card::of);
        if let Some(card) = card.filter(|_| self.shared) {
            // Behind what happened to the client, or nobody would know whom it is about.
            self.collect_changes();
            let card = Box::new(card);
            self.changes.push_back(Change::Shown { id, card });
        }
    }

    /// Has another directory tell something to its client.
    pub(super) fn post(&mut self, to: ClientId, tell: Tell) {
        if self.shared && self.cards.contains_key(&to) {
            let (tell, at) = (Box::new(tell), self.clock.now);
            self.changes.push_back(Change::Letter { to, tell, at });
            self.counts.posted += 1;
        }
    }

    pub(super) fn hear_card(&mut self, id: ClientId, card: &Card) {
        // What we see of a client that is here is newer.
        if self.clients.contains_key(&id) || self.directory.state().node(id).is_none() {
            return;
        }
        self.beside.add(id, card.main, card.exposes, &card.exits);
        self.cards.insert(id, card.clone());
        self.directory.set_paused(id, self.is_paused(id));
    }

    /// Another directory has something for a client that may be one of ours.
    pub(super) fn deliver(&mut self, to: ClientId, tell: &Tell, at: Moment) {
        let here = self.clients.get(&to);
        let here = here.is_some_and(|client| client.joined.is_some());
        if !here || self.clock.now.since(at) > LETTER_LIFE {
            return;
        }
        if let Tell::Relays { session, relays } = tell {
            // The client will say here that it uses them.
            for offer in relays {
                self.sessions.offer(*session, offer.ours.relay);
            }
        }
        self.counts.delivered += 1;
        self.tell(to, tell.clone());
    }

    /// Takes in all that the store holds, after what others wrote was missed. Whoever is connected here is
    /// known best here; of all others the store is right.
    pub fn catch_up(&mut self, now: Moment, mut state: State) {
        state.not_after(now);
        let state = &state;
        self.clock = self.clock.at(now);
        self.collect_changes();
        self.let_go_of_those_elsewhere(state);
        let own: BTreeSet<ClientId> = self.clients.keys().copied().collect();
        self.catch_up_with_clients(state, &own);
        self.catch_up_with_sessions(state, &own);
        for (id, card) in &state.cards {
            self.hear_card(*id, card);
        }
        for id in own {
            if state.directory.node(id).is_none() {
                self.alter(id);
            }
        }
        self.collect_changes();
    }

    /// One that another directory has heard since we did is there.
    fn let_go_of_those_elsewhere(&mut self, state: &State) {
        for (_, member) in state.directory.members() {
            let id = member.client.id;
            let client = self.clients.get(&id);
            if client.is_some_and(|client| client.heard < member.heard) {
                self.let_go(id);
            }
        }
    }

    fn catch_up_with_clients(&mut self, state: &State, own: &BTreeSet<ClientId>) {
        let known = self.directory.state().members();
        let known = known.map(|(_, member)| member.client.id);
        let gone = known.filter(|id| !own.contains(id) && state.directory.node(*id).is_none());
        for id in gone.collect::<Vec<_>>() {
            self.hear_of_client(&directory::Change::Left { id });
        }
        let others = || {
            let members = state.directory.members().map(|(_, member)| member);
            members.filter(|member| !own.contains(&member.client.id))
        };
        for member in others() {
            self.catch_up_with(member);
        }
        for member in others() {
            let from = member.client.id;
            for leg in &member.measured {
                let Some(to) = state.directory.member(leg.to) else {
                    continue;
                };
                let (to, rtt, at) = (to.client.id, leg.rtt, leg.at);
                let measured = directory::Change::Measured { from, to, rtt, at };
                self.directory.hear(&measured);
            }
        }
    }

    fn catch_up_with(&mut self, member: &Member) {
        let (client, at) = (member.client.clone(), member.heard);
        let id = client.id;
        // To join would forget the legs that others measured.
        let change = match self.directory.state().node(id) {
            Some(_) => directory::Change::Altered { client, at },
            None => directory::Change::Joined { client, at },
        };
        self.hear_of_client(&change);
        if let Some(coordinate) = member.coordinate.clone() {
            let placed = directory::Change::Placed { id, coordinate };
            self.directory.hear(&placed);
        }
    }

    fn catch_up_with_sessions(&mut self, state: &State, own: &BTreeSet<ClientId>) {
        for (session, pair) in &state.sessions {
            if self.sessions.get(*session).is_none() {
                self.sessions.insert(*session, *pair);
            }
        }
        let over = self.sessions.iter().filter(|(session, pair)| {
            let ours = own.contains(&pair.source) || own.contains(&pair.target);
            !ours && !state.sessions.contains_key(session)
        });
        for session in over.map(|(session, _)| session).collect::<Vec<_>>() {
            self.sessions.remove(session);
        }
        let relayed: Vec<_> = self.directory.state().sessions().collect();
        for (session, _) in relayed {
            if !own.contains(&session.source) && state.directory.relay_of(session).is_none() {
                let released = directory::Change::Released { session };
                self.directory.hear(&released);
            }
        }
        for (session, relay) in state.directory.sessions() {
            if !own.contains(&session.source) {
                let engaged = directory::Change::Engaged { session, relay };
                self.directory.hear(&engaged);
            }
        }
    }
}

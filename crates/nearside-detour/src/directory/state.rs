//! What the directory knows, as one plain structure that only changes by [`Change`]s: kept in a store,
//! they rebuild it after a restart or on another machine.

use std::collections::{BTreeMap, BTreeSet};

use nearside_coords::{Coordinate, Node};
use nearside_types::{Moment, Origin, Rtt, ServerAddr};
use serde::{Deserialize, Serialize};

use crate::ids::ClientId;

/// One thing that happened to the directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A client joined, or joined again from elsewhere.
    Joined {
        /// Who it is.
        client: Newcomer,
        /// When.
        at: Moment,
    },
    /// A client is seen elsewhere, or relays differently; what it measured stays.
    Altered {
        /// What is true of it now.
        client: Newcomer,
        /// When.
        at: Moment,
    },
    /// A client left or fell silent.
    Left {
        /// Who.
        id: ClientId,
    },
    /// A client said something, if only that it is there.
    Heard {
        /// Who.
        id: ClientId,
        /// When.
        at: Moment,
    },
    /// A client moved in the coordinate space.
    Placed {
        /// Who.
        id: ClientId,
        /// Where to.
        coordinate: Coordinate,
    },
    /// A client measured a neighbour.
    Measured {
        /// Who measured.
        from: ClientId,
        /// Whom.
        to: ClientId,
        /// How far.
        rtt: Rtt,
        /// When it was reported.
        at: Moment,
    },
    /// What a client measured is too old to be believed.
    Forgotten {
        /// Who measured.
        from: ClientId,
        /// Whom.
        to: ClientId,
    },
    /// A session began to use a relay.
    Engaged {
        /// The session's ends.
        session: SessionKey,
        /// The relay.
        relay: ClientId,
    },
    /// A session uses no relay any more.
    Released {
        /// The session's ends.
        session: SessionKey,
    },
}

/// A session by its two ends, the one that asked for a detour first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionKey {
    /// Who asked.
    pub source: ClientId,
    /// Whom it plays with.
    pub target: ClientId,
}

impl SessionKey {
    /// Before all others, for ranges.
    const FIRST: Self = Self {
        source: ClientId(0),
        target: ClientId(0),
    };

    const fn involves(self, relay: ClientId) -> [ClientId; 3] {
        [self.source, self.target, relay]
    }
}

/// What a client says when it joins, and what the directory sees of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Newcomer {
    /// Who it is.
    pub id: ClientId,
    /// Where it is seen from outside.
    pub address: ServerAddr,
    /// Where that address comes from.
    pub origin: Origin,
    /// Whether it carries others' sessions.
    pub relaying: Relaying,
}

/// Whether a client carries the sessions of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relaying {
    /// Not at all: it does not want to, or is behind a NAT that gives every peer another port.
    No,
    /// As many as the directory thinks right.
    Yes,
    /// So many, if the directory does not think that too many.
    AtMost(u16),
}

/// A client and what it has reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// What it said of itself.
    pub client: Newcomer,
    /// When it was heard last.
    pub heard: Moment,
    /// Where it says it is.
    pub coordinate: Option<Coordinate>,
    /// What it measured, in the order of the other ends' places.
    pub measured: Vec<Measured>,
    /// Who measured it, in order: so that one who leaves is forgotten without asking everybody.
    pub measured_by: Vec<Node>,
    /// Sessions it carries as a relay.
    pub carries: u16,
}

/// One leg as one end of it reported it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The other end.
    pub to: Node,
    /// How far.
    pub rtt: Rtt,
    /// When it was reported.
    pub at: Moment,
}

/// Everything the directory must not lose.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    places: Vec<Option<Member>>,
    free: Vec<Node>,
    by_id: BTreeMap<ClientId, Node>,
    sessions: BTreeMap<SessionKey, ClientId>,
    /// The sessions that end when a client leaves: its own, and those it carries.
    involved: BTreeSet<(ClientId, SessionKey)>,
}

impl State {
    /// Clients that are joined.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether nobody is joined.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Places in the tables, taken or free.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// The place of a client.
    pub fn node(&self, id: ClientId) -> Option<Node> {
        self.by_id.get(&id).copied()
    }

    /// Who has a place.
    pub fn member(&self, node: Node) -> Option<&Member> {
        self.places.get(node.index())?.as_ref()
    }

    /// All members with their places, in order.
    pub fn members(&self) -> impl Iterator<Item = (Node, &Member)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(index, member)| Some((Node::at(index), member.as_ref()?)))
    }

    /// The relay a session uses.
    pub fn relay_of(&self, session: SessionKey) -> Option<ClientId> {
        self.sessions.get(&session).copied()
    }

    /// Sessions on relays, in order.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionKey, ClientId)> {
        self.sessions.iter().map(|(key, relay)| (*key, *relay))
    }

    /// What an end measured of a leg.
    pub fn measured(&self, from: Node, to: Node) -> Option<Measured> {
        let measured = &self.member(from)?.measured;
        let at = measured.binary_search_by_key(&to, |leg| leg.to).ok()?;
        Some(measured[at])
    }

    /// Makes a change; one about somebody who is not joined changes nothing.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Joined { client, at } => self.join(client, *at),
            Change::Altered { client, at } => {
                if let Some(member) = self.of(client.id) {
                    member.client = client.clone();
                    member.heard = *at;
                }
            }
            Change::Left { id } => self.leave(*id),
            Change::Heard { id, at } => {
                if let Some(member) = self.of(*id) {
                    member.heard = *at;
                }
            }
            Change::Placed { id, coordinate } => {
                if let Some(member) = self.of(*id) {
                    member.coordinate = Some(coordinate.clone());
                }
            }
            Change::Measured { from, to, rtt, at } => self.measure(*from, *to, *rtt, *at),
            Change::Forgotten { from, to } => self.forget_leg(*from, *to),
            Change::Engaged { session, relay } => self.engage(*session, *relay),
            Change::Released { session } => self.release(*session),
        }
    }

    fn of(&mut self, id: ClientId) -> Option<&mut Member> {
        let node = *self.by_id.get(&id)?;
        self.places[node.index()].as_mut()
    }

    fn join(&mut self, client: &Newcomer, at: Moment) {
        self.leave(client.id);
        let member = Member {
            client: client.clone(),
            heard: at,
            coordinate: None,
            measured: Vec::new(),
            measured_by: Vec::new(),
            carries: 0,
        };
        let node = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            Node::at(self.places.len() - 1)
        });
        self.places[node.index()] = Some(member);
        self.by_id.insert(client.id, node);
    }

    fn leave(&mut self, id: ClientId) {
        let Some(node) = self.by_id.remove(&id) else {
            return;
        };
        if let Some(member) = self.places[node.index()].take() {
            self.free.push(node);
            self.forget_legs(node, &member);
        }
        let from_first = self.involved.range((id, SessionKey::FIRST)..);
        let of_client = from_first.take_while(|(client, _)| *client == id);
        let ended: Vec<SessionKey> = of_client.map(|(_, session)| *session).collect();
        for session in ended {
            self.release(session);
        }
    }

    fn forget_legs(&mut self, node: Node, member: &Member) {
        for by in &member.measured_by {
            if let Some(other) = self.places[by.index()].as_mut() {
                other.measured.retain(|leg| leg.to != node);
            }
        }
        for leg in &member.measured {
            if let Some(other) = self.places[leg.to.index()].as_mut() {
                other.measured_by.retain(|by| *by != node);
            }
        }
    }

    fn measure(&mut self, from: ClientId, to: ClientId, rtt: Rtt, at: Moment) {
        let (Some(by), Some(to)) = (self.node(from), self.node(to)) else {
            return;
        };
        let new = Measured { to, rtt, at };
        let Some(member) = self.places[by.index()].as_mut() else {
            return;
        };
        match member.measured.binary_search_by_key(&to, |leg| leg.to) {
            Ok(known) => member.measured[known] = new,
            Err(place) => member.measured.insert(place, new),
        }
        let Some(other) = self.places[to.index()].as_mut() else {
            return;
        };
        if let Err(place) = other.measured_by.binary_search(&by) {
            other.measured_by.insert(place, by);
        }
    }

    fn forget_leg(&mut self, from: ClientId, to: ClientId) {
        let (Some(by), Some(to)) = (self.node(from), self.node(to)) else {
            return;
        };
        if let Some(member) = self.places[by.index()].as_mut() {
            member.measured.retain(|leg| leg.to != to);
        }
        if let Some(other) = self.places[to.index()].as_mut() {
            other.measured_by.retain(|node| *node != by);
        }
    }

    fn engage(&mut self, session: SessionKey, relay: ClientId) {
        self.release(session);
        if let Some(member) = self.of(relay) {
            member.carries = member.carries.saturating_add(1);
            self.sessions.insert(session, relay);
            self.involved
                .extend(session.involves(relay).map(|client| (client, session)));
        }
    }

    fn release(&mut self, session: SessionKey) {
        let Some(relay) = self.sessions.remove(&session) else {
            return;
        };
        for client in session.involves(relay) {
            self.involved.remove(&(client, session));
        }
        if let Some(member) = self.of(relay) {
            member.carries = member.carries.saturating_sub(1);
        }
    }
}

//! The paper's server: its coordinate module keeps what clients report, its detour search module
//! answers which relays might shorten a path.

mod choice;
mod config;
mod ranking;
mod state;
mod trust;
mod witness;

use std::collections::VecDeque;

use nearside_coords::{
    Buckets, Coordinate, CoordinateMap, Edges, Factorisation, Leg, MeasuredElse, Node, Seeding,
};
use nearside_types::{Moment, Rtt, ServerAddr};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ids::ClientId;

pub use config::{DirectoryConfig, Ranking, Trust};
pub use state::{Change, Measured, Member, Newcomer, Relaying, SessionKey, State};
pub use trust::Doubt;

use trust::{Belief, Standing, Usual};

/// What a newcomer is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Welcome {
    /// Whom to measure.
    pub neighbours: Vec<Peer>,
    /// Where others of its AS or country are, as a place to start from.
    pub start: Option<Coordinate>,
}

/// Another client, as far as one needs to know it to measure it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Who it is.
    pub id: ClientId,
    /// Where to send to.
    pub address: ServerAddr,
}

/// What a client reports: only what changed by more than Δx and Δd.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Report {
    /// Where it is, if it moved.
    pub coordinate: Option<Coordinate>,
    /// The legs it measured anew.
    pub legs: Vec<(ClientId, Rtt)>,
}

/// A relay that might shorten the path, with what speaks for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The relay.
    pub relay: Peer,
    /// From the source to the relay, and from the relay to the target; `None` where a ranking that
    /// needs only one of them had nothing for the other.
    pub legs: [Option<Leg>; 2],
}

impl Candidate {
    /// What the path may take: both legs, without what the relay itself adds.
    pub fn expected(&self) -> Option<Rtt> {
        let [first, second] = self.legs;
        let micros = first?
            .rtt()
            .as_micros()
            .checked_add(second?.rtt().as_micros());
        micros.map(Rtt::from_micros)
    }
}

/// Why there is no answer to a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LookupError {
    /// One of the ends is not joined; it may have been silent for too long.
    #[error("{0} is not joined (join again)")]
    NotJoined(ClientId),
    /// A path to oneself.
    #[error("{0} asked for a path to itself")]
    SamePlace(ClientId),
}

/// Why a relay was not engaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EngageError {
    /// Somebody involved is not joined.
    #[error("{0} is not joined")]
    NotJoined(ClientId),
    /// A path by way of one of its ends is no detour.
    #[error("{0} is an end of the session, not a relay between its ends")]
    OwnEnd(ClientId),
    /// It carries as many sessions as it can (or does not relay at all).
    #[error("{relay} already carries {carries} sessions")]
    Full {
        /// The relay.
        relay: ClientId,
        /// How many it carries.
        carries: u16,
    },
}

/// The directory: clients [`join`](Self::join), [`report`](Self::report) and
/// [`look up`](Self::lookup) relays.
///
/// Its lasting part is [`State`]; every call that changes it leaves [`Change`]s to be drained by
/// [`take_changes`](Self::take_changes), and [`restored`](Self::restored) begins from a state. Models
/// are learnt again from the state. The caller should [`study`](Self::study) when there is time, and
/// [`expire`](Self::expire) every few seconds.
#[derive(Debug)]
pub struct Directory {
    config: DirectoryConfig,
    state: State,
    changes: VecDeque<Change>,
    /// What is believed of legs, in both directions.
    edges: Edges,
    map: CoordinateMap,
    factors: Factorisation,
    buckets: Buckets,
    seeding: Seeding,
    standing: Vec<Standing>,
    /// As of the last round of judgements.
    usual: Usual,
    /// A coordinate that jumped, until it is said again.
    jumped: Vec<Option<Coordinate>>,
    /// Where the replay of edges goes on.
    studied: usize,
    /// Whose factors are put in their bucket next.
    filed: usize,
    /// Where the search for old legs goes on.
    swept: usize,
    random: ChaCha8Rng,
}

impl Directory {
    /// An empty directory.
    pub fn new(config: DirectoryConfig, seed: u64) -> Self {
        Self::restored(config, State::default(), seed)
    }

    /// A directory that goes on from a state, with models learnt anew from its edges.
    pub fn restored(config: DirectoryConfig, state: State, seed: u64) -> Self {
        let mut directory = Self {
            changes: VecDeque::new(),
            edges: Edges::default(),
            map: CoordinateMap::new(config.dimensions),
            factors: Factorisation::new(config.factors.clone(), seed),
            buckets: Buckets::new(config.bucket),
            seeding: Seeding::new(config.dimensions),
            standing: Vec::new(),
            usual: Usual::default(),
            jumped: Vec::new(),
            studied: 0,
            filed: 0,
            swept: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
            state,
            config,
        };
        directory.learn_state();
        directory
    }

    /// What the directory knows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// How it behaves.
    pub fn config(&self) -> &DirectoryConfig {
        &self.config
    }

    /// Sets [`DirectoryConfig::shortlist`] anew: more is nearer to a look at all, less is quicker.
    pub fn set_shortlist(&mut self, shortlist: usize) {
        self.config.shortlist = shortlist;
    }

    /// The changes since the last call, oldest first, for a store.
    pub fn take_changes(&mut self) -> impl Iterator<Item = Change> {
        self.changes.drain(..)
    }

    /// Lets a client in and names its neighbours; one that is in already starts anew.
    pub fn join(&mut self, now: Moment, client: Newcomer) -> Welcome {
        let start = self.seeding.start(client.origin);
        let own = client.id;
        self.forget(own);
        self.record(Change::Joined { client, at: now });
        self.make_room();
        if let Some(node) = self.state.node(own) {
            self.standing[node.index()].seen = self.is_witnessed(node);
        }
        Welcome {
            neighbours: self.neighbours(own),
            start,
        }
    }

    /// Lets a client in that may have been here before: after a restart on either side, what it measured
    /// and what others measured of it still holds. Somebody new just [joins](Self::join).
    pub fn join_again(&mut self, now: Moment, client: Newcomer) -> Welcome {
        let own = client.id;
        if !self.alter(now, client.clone()) {
            return self.join(now, client);
        }
        let node = self.state.node(own);
        let member = node.and_then(|node| self.state.member(node));
        Welcome {
            start: member.and_then(|member| member.coordinate.clone()),
            neighbours: self.neighbours(own),
        }
    }

    /// A client is seen elsewhere, or relays differently: says whether it is joined at all. Unlike a new
    /// [`join`](Self::join), this forgets nothing.
    pub fn alter(&mut self, now: Moment, client: Newcomer) -> bool {
        let joined = self.state.node(client.id).is_some();
        if joined {
            self.record(Change::Altered { client, at: now });
        }
        joined
    }

    /// Sets whether a relay is offered at all, whatever speaks for it: one that is overloaded or fails
    /// its users is not. Not part of the [`State`]; who joins anew is offered again.
    pub fn set_paused(&mut self, id: ClientId, paused: bool) {
        if let Some(node) = self.state.node(id) {
            self.standing[node.index()].paused = paused;
        }
    }

    /// Takes in a change that another directory made to the state they share. It is not among the
    /// [changes](Self::take_changes) of this one.
    pub fn hear(&mut self, change: &Change) {
        let own = self.changes.len();
        match change {
            Change::Joined { client, at } => {
                self.join(*at, client.clone());
            }
            Change::Left { id } => self.leave(*id),
            Change::Placed { id, coordinate } => {
                // Whoever made the change has judged it; a second opinion would let the two differ.
                let node = self.state.node(*id);
                let fits = coordinate.dimensions() == self.config.dimensions;
                if let Some(node) = node.filter(|_| fits) {
                    self.put_at(*id, node, coordinate.clone());
                }
            }
            Change::Measured { from, to, rtt, at } => {
                self.measure(*at, *from, *to, *rtt);
            }
            Change::Forgotten { from, to } => {
                if let (Some(from), Some(to)) = (self.state.node(*from), self.state.node(*to)) {
                    self.forget_leg(from, to);
                }
            }
            Change::Altered { .. }
            | Change::Heard { .. }
            | Change::Engaged { .. }
            | Change::Released { .. } => self.record(change.clone()),
        }
        self.changes.truncate(own);
    }

    /// A client says goodbye.
    pub fn leave(&mut self, id: ClientId) {
        if self.state.node(id).is_some() {
            self.forget(id);
            self.record(Change::Left { id });
        }
    }

    /// Forgets clients that have been silent for too long, and names them; of legs that nobody has
    /// confirmed for long, it looks through a part at each call.
    pub fn expire(&mut self, now: Moment) -> Vec<ClientId> {
        let silent = |member: &Member| now.since(member.heard) > self.config.silence;
        let members = self.state.members();
        let gone: Vec<ClientId> = members
            .filter(|(_, member)| silent(member))
            .map(|(_, member)| member.client.id)
            .collect();
        for id in &gone {
            self.leave(*id);
        }
        self.forget_old_legs(now);
        gone
    }

    fn forget_old_legs(&mut self, now: Moment) {
        let places = self.state.places();
        for _ in 0..places.div_ceil(SWEEP) {
            self.swept = (self.swept + 1) % places;
            let node = Node::at(self.swept);
            let Some(member) = self.state.member(node) else {
                continue;
            };
            let old = |leg: &&Measured| now.since(leg.at) > self.config.edge_life;
            let old: Vec<Node> = member.measured.iter().filter(old).map(|l| l.to).collect();
            for to in old {
                self.forget_leg(node, to);
            }
        }
    }

    fn forget_leg(&mut self, node: Node, other: Node) {
        let id = |node| self.state.member(node).map(|member| member.client.id);
        let (Some(from), Some(to)) = (id(node), id(other)) else {
            return;
        };
        self.count(node, other, -1);
        self.record(Change::Forgotten { from, to });
        self.count(node, other, 1);
        self.settle(node, other);
    }

    /// Takes in what a client measured, and says what of it was not believed.
    ///
    /// # Errors
    /// If the client is not joined.
    pub fn report(
        &mut self,
        now: Moment,
        from: ClientId,
        report: Report,
    ) -> Result<Vec<Doubt>, LookupError> {
        let node = self.known(from)?;
        self.record(Change::Heard { id: from, at: now });
        let mut doubts = Vec::new();
        let most = self.config.neighbours * 2;
        let mut dropped = report.legs.len().saturating_sub(most);
        for (to, rtt) in report.legs.into_iter().take(most) {
            match self.has_room(node, to, most) {
                true => doubts.extend(self.measure(now, from, to, rtt)),
                false => dropped += 1,
            }
        }
        if dropped > 0 {
            doubts.push(Doubt::TooMany { dropped });
        }
        // After the legs, which the coordinate is compared with.
        if let Some(coordinate) = report.coordinate {
            doubts.extend(self.place(from, node, coordinate));
        }
        Ok(doubts)
    }

    /// Whether a client may report this leg: one it reported before, or one more.
    fn has_room(&self, node: Node, to: ClientId, most: usize) -> bool {
        let legs = self.state.member(node).map_or(0, |m| m.measured.len());
        let other = self.state.node(to);
        legs < most || other.is_some_and(|other| self.state.measured(node, other).is_some())
    }

    /// Shows the factors so many known legs again, and judges clients by their witnesses in between. A
    /// thousand take about three milliseconds; some sixty rounds over all legs, and one from time to
    /// time after that, teach all there is.
    pub fn study(&mut self, legs: usize) {
        let places = self.state.places();
        if places == 0 {
            return;
        }
        for round in 0..legs {
            if round % REFILE == 0 {
                self.filed = (self.filed + 1) % places;
                if self.filed == 0 {
                    self.usual = Usual::of(&self.standing);
                }
                let node = Node::at(self.filed);
                self.judge(node);
                self.buckets.file(node, &self.factors);
            }
            self.studied = (self.studied + 1) % places;
            let node = Node::at(self.studied);
            let known = self.edges.of(node);
            if !known.is_empty() {
                let (to, rtt) = known[self.random.random_range(0..known.len())];
                self.teach(node, to, rtt);
            }
        }
    }

    /// The `k` most promising relays between two clients, the best first, for the ears of `source`
    /// only: who knows a client's relays can attack them (section 4 of the paper).
    ///
    /// # Errors
    /// If an end is not joined, or both are one.
    pub fn lookup(
        &mut self,
        source: ClientId,
        target: ClientId,
        k: usize,
    ) -> Result<Vec<Candidate>, LookupError> {
        if source == target {
            return Err(LookupError::SamePlace(source));
        }
        let (s, t) = (self.known(source)?, self.known(target)?);
        let relays = self.choose_among_more(s, t, k);
        Ok(relays
            .iter()
            .map(|relay| self.candidate(s, *relay, t))
            .collect())
    }

    /// A session begins to use a relay, in place of another.
    ///
    /// # Errors
    /// If the relay cannot take it; the session then keeps what it had.
    pub fn engage(&mut self, session: SessionKey, relay: ClientId) -> Result<(), EngageError> {
        let joined = |id| self.state.node(id).ok_or(EngageError::NotJoined(id));
        joined(session.source)?;
        joined(session.target)?;
        let node = joined(relay)?;
        if relay == session.source || relay == session.target {
            return Err(EngageError::OwnEnd(relay));
        }
        let carries = self.state.member(node).map_or(0, |member| member.carries);
        let already = self.state.relay_of(session) == Some(relay);
        if !already && carries >= self.room(node) {
            return Err(EngageError::Full { relay, carries });
        }
        self.record(Change::Engaged { session, relay });
        Ok(())
    }

    /// A session needs no relay any more.
    pub fn release(&mut self, session: SessionKey) {
        if self.state.relay_of(session).is_some() {
            self.record(Change::Released { session });
        }
    }

    /// What the directory believes of a leg.
    pub fn leg(&self, a: ClientId, b: ClientId) -> Option<Leg> {
        let (a, b) = (self.state.node(a)?, self.state.node(b)?);
        self.legs().leg(a, b)
    }

    /// Whether what a client reports is taken for lies at present, so that it is not offered as a relay.
    pub fn is_distrusted(&self, id: ClientId) -> bool {
        let node = self.state.node(id);
        node.is_some_and(|node| self.standing[node.index()].is_bad(self.usual))
    }

    fn legs(&self) -> MeasuredElse<'_, Factorisation> {
        MeasuredElse {
            edges: &self.edges,
            estimator: &self.factors,
        }
    }

    fn candidate(&self, s: Node, relay: Node, t: Node) -> Candidate {
        let member = self.state.member(relay).expect("only members are ranked");
        let legs = match self.config.ranking {
            Ranking::Likelihood | Ranking::CoordinateSums => {
                let legs = MeasuredElse {
                    edges: &self.edges,
                    estimator: &self.map,
                };
                [legs.leg(s, relay), legs.leg(relay, t)]
            }
            _ => [self.legs().leg(s, relay), self.legs().leg(relay, t)],
        };
        Candidate {
            relay: peer(member),
            legs,
        }
    }

    fn known(&self, id: ClientId) -> Result<Node, LookupError> {
        self.state.node(id).ok_or(LookupError::NotJoined(id))
    }

    fn record(&mut self, change: Change) {
        self.state.apply(&change);
        self.changes.push_back(change);
    }

    /// The sessions a relay may carry.
    fn room(&self, node: Node) -> u16 {
        let most = self.config.most_sessions_per_relay;
        match self.state.member(node).map(|member| member.client.relaying) {
            Some(Relaying::Yes) => self.config.sessions_per_relay,
            Some(Relaying::AtMost(own)) => own.min(most),
            Some(Relaying::No) | None => 0,
        }
    }

    fn place(&mut self, id: ClientId, node: Node, new: Coordinate) -> Option<Doubt> {
        let old = self.state.member(node)?.coordinate.as_ref();
        if new.dimensions() != self.config.dimensions {
            return Some(Doubt::WrongSpace);
        }
        let by = old.map(|old| new.moved_since(old)).unwrap_or_default();
        let said_before = self.jumped[node.index()].take();
        let repeated = said_before
            .as_ref()
            .is_some_and(|before| new.moved_since(before) <= self.config.longest_jump);
        let doubted = self.config.trust == Trust::Weighed && !repeated;
        if by > self.config.longest_jump && doubted {
            self.jumped[node.index()] = Some(new);
            return Some(Doubt::Jump { by });
        }
        self.put_at(id, node, new)
    }

    /// A client is there now; whether what it measured contradicts that.
    fn put_at(&mut self, id: ClientId, node: Node, coordinate: Coordinate) -> Option<Doubt> {
        self.jumped[node.index()] = None;
        self.put_on_map(node, &coordinate);
        self.record(Change::Placed { id, coordinate });
        self.is_misplaced(node).then(|| {
            self.map.forget(node);
            Doubt::Misplaced
        })
    }

    fn put_on_map(&mut self, node: Node, coordinate: &Coordinate) {
        // Dimensions are checked before anything gets into the state.
        let _ = self.map.place(node, coordinate);
        let Some(member) = self.state.member(node) else {
            return;
        };
        let (origin, standing) = (member.client.origin, self.standing[node.index()]);
        if !standing.taught && self.may_teach(node) {
            self.standing[node.index()].taught = self.seeding.learn(origin, coordinate);
        }
    }

    /// Whether newcomers of a client's network may start from where it says it is: others have seen it,
    /// and nothing speaks against it.
    fn may_teach(&self, node: Node) -> bool {
        let standing = self.standing[node.index()];
        let trusted = (standing.seen || self.is_witnessed(node)) && !standing.is_bad(self.usual);
        !self.is_misplaced(node) && (trusted || self.config.trust != Trust::Weighed)
    }

    fn measure(&mut self, at: Moment, from: ClientId, to: ClientId, rtt: Rtt) -> Option<Doubt> {
        let node = self.state.node(from)?;
        let Some(other) = self.state.node(to).filter(|other| *other != node) else {
            return Some(Doubt::Nobody { to });
        };
        if !trust::is_possible(rtt) {
            return Some(Doubt::Impossible { to, rtt });
        }
        self.count(node, other, -1);
        self.record(Change::Measured { from, to, rtt, at });
        self.count(node, other, 1);
        self.believe(node, other);
        if !self.standing[other.index()].seen && self.is_witnessed(other) {
            self.judge(other);
        }
        let theirs = self.state.measured(other, node)?.rtt;
        let disputed = matches!(self.belief(node, other), Some(Belief::Disputed(_)));
        disputed.then_some(Doubt::Disagreement {
            to,
            rtt,
            other: theirs,
        })
    }

    /// What both ends together make of a leg.
    fn belief(&self, a: Node, b: Node) -> Option<Belief> {
        let said = |from, to| self.state.measured(from, to).map(|leg| leg.rtt);
        Belief::new(&self.config, said(a, b), said(b, a))
    }

    fn believe(&mut self, a: Node, b: Node) {
        if let Some(rtt) = self.settle(a, b) {
            self.teach(a, b, rtt);
            for node in [a, b] {
                if self.factors.samples(node) <= 1 {
                    self.buckets.file(node, &self.factors);
                }
            }
        }
    }

    fn count(&mut self, a: Node, b: Node, by: i32) {
        if let Some(belief) = self.belief(a, b) {
            self.standing[a.index()].count(belief, by);
            self.standing[b.index()].count(belief, by);
        }
    }

    /// Takes a client out of everything that was learnt, before it leaves the state.
    fn forget(&mut self, id: ClientId) {
        let Some(node) = self.state.node(id) else {
            return;
        };
        let others: Vec<Node> = self.edges.of(node).iter().map(|(to, _)| *to).collect();
        for other in others {
            self.count(node, other, -1);
        }
        self.edges.forget(node);
        self.map.forget(node);
        self.factors.forget(node);
        self.buckets.forget(node);
        self.standing[node.index()] = Standing::default();
        self.jumped[node.index()] = None;
    }

    fn make_room(&mut self) {
        let places = self.state.places();
        self.standing.resize(places, Standing::default());
        self.jumped.resize(places, None);
    }

    fn learn_state(&mut self) {
        self.make_room();
        let members: Vec<Node> = self.state.members().map(|(node, _)| node).collect();
        for node in &members {
            self.standing[node.index()].seen = self.is_witnessed(*node);
        }
        for node in &members {
            self.learn_legs(*node);
        }
        for node in members {
            let member = self.state.member(node);
            if let Some(coordinate) = member.and_then(|m| m.coordinate.clone()) {
                self.put_on_map(node, &coordinate);
            }
        }
    }

    fn learn_legs(&mut self, node: Node) {
        let measured = self.state.member(node).map_or(&[][..], |m| &m.measured);
        let to: Vec<Node> = measured.iter().map(|leg| leg.to).collect();
        for other in to {
            // A leg that both ends know is met twice and counted once.
            if node < other || self.state.measured(other, node).is_none() {
                self.count(node, other, 1);
                self.believe(node, other);
            }
        }
    }
}

/// Legs studied for each client that is judged and filed anew: that takes as long as learning a hundred
/// legs, and vectors move slowly.
const REFILE: usize = 64;
/// Calls of [`Directory::expire`] that look at every leg once.
const SWEEP: usize = 32;

fn peer(member: &Member) -> Peer {
    Peer {
        id: member.client.id,
        address: member.client.address,
    }
}

#[cfg(test)]
mod tests;

//! The directory over UDP: lets clients in, tells them whom to measure, introduces players, and names
//! relays with tickets. Whoever has not proven to receive at an address gets no more bytes there than
//! came from it, and nobody but the one who leads a session learns its relays.

mod anew;
mod ask;
mod card;
mod client;
mod clock;
mod config;
mod hello;
mod join;
mod links;
mod meet;
mod notice;
mod offer;
mod state;
mod view;
mod whereabouts;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use nearside_detour::{ClientId, Directory, DirectoryConfig};
use nearside_types::{Moment, Origin};
use nearside_wire::detour::Frame;

use crate::crypto::{Chance, Cookies, Identity, PublicKey};
use crate::messages::Tell;

pub use card::Card;
pub use config::{Admission, Rights, ServiceConfig};
pub use state::{Change, Pair, State};
pub use view::{ClientView, Counts, Event, SessionView};
pub use whereabouts::Nat;

use anew::Calls;
use client::Client;
use clock::Clock;
use links::{Gate, Links};
use meet::{Beside, Crowd, Sessions};
use offer::Blame;
use whereabouts::Place;

/// What a directory wants its caller to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send these bytes.
    Send {
        /// From which of its ports.
        port: usize,
        /// Where to.
        to: SocketAddr,
        /// What.
        bytes: Vec<u8>,
    },
    /// Something happened.
    Event(Event),
}

/// A directory with its clients.
///
/// The caller hands in datagrams by [`handle_datagram`](Self::handle_datagram) and calls
/// [`handle_time`](Self::handle_time) whenever [`next_time`](Self::next_time) has come; after each it
/// polls [`poll_output`](Self::poll_output) until there is nothing more, and keeps what
/// [`take_changes`](Self::take_changes) gives. For a state that outlives the process, moments must go on
/// from one process to the next: count them since 1970, too.
pub struct Service {
    config: ServiceConfig,
    identity: Identity,
    chance: Chance,
    cookies: Cookies,
    gate: Gate,
    clock: Clock,
    directory: Directory,
    links: Links,
    clients: BTreeMap<ClientId, Client>,
    /// Clients of other directories.
    cards: BTreeMap<ClientId, Card>,
    /// Whether there may be others.
    shared: bool,
    sessions: Sessions,
    beside: Beside,
    crowd: Crowd,
    blame: Blame,
    calls: Calls,
    /// When which notice is to be sent again.
    repeats: BTreeSet<(Moment, ClientId, u32)>,
    next_tick: Moment,
    origin_of: Box<dyn Fn(IpAddr) -> Origin + Send>,
    outputs: VecDeque<Output>,
    changes: VecDeque<Change>,
    counts: Counts,
}

/// Old things are looked for so often.
const TICK: Duration = Duration::from_secs(1);

impl Service {
    /// An empty directory. `chance` makes its keys: from a secret seed, where it matters.
    pub fn new(
        config: ServiceConfig,
        identity: Identity,
        directory: DirectoryConfig,
        chance: Chance,
        now: Moment,
        wall: Duration,
    ) -> Self {
        let state = State::default();
        Self::restored(config, identity, directory, state, chance, now, wall)
    }

    /// A directory that goes on from a state: its clients are known, though not connected until they
    /// shake hands again.
    pub fn restored(
        config: ServiceConfig,
        identity: Identity,
        directory: DirectoryConfig,
        mut state: State,
        mut chance: Chance,
        now: Moment,
        wall: Duration,
    ) -> Self {
        state.not_after(now);
        let mut service = Self {
            directory: Directory::restored(directory, state.directory, chance.number()),
            cookies: Cookies::new(chance.bytes()),
            clock: Clock { now, wall },
            config,
            identity,
            chance,
            gate: Gate::default(),
            links: Links::default(),
            clients: BTreeMap::new(),
            cards: BTreeMap::new(),
            shared: false,
            sessions: Sessions::restored(state.sessions),
            beside: Beside::default(),
            crowd: Crowd::default(),
            blame: Blame::default(),
            calls: Calls::default(),
            repeats: BTreeSet::new(),
            next_tick: now + TICK,
            origin_of: Box::new(|_| Origin::default()),
            outputs: VecDeque::new(),
            changes: VecDeque::new(),
            counts: Counts::default(),
        };
        service.count_crowd();
        service.prepare_calls();
        for (id, card) in &state.cards {
            service.hear_card(*id, card);
        }
        service
    }

    fn prepare_calls(&mut self) {
        let members = self.directory.state().members();
        let mut ids = members.map(|(_, member)| member.client.id).peekable();
        if ids.peek().is_some() {
            self.next_tick = self.clock.now;
        }
        self.calls = Calls::to(ids);
    }

    fn count_crowd(&mut self) {
        let members = self.directory.state().members();
        for (_, member) in members {
            let address = member.client.address;
            let prefix = address.prefix(self.config.prefixes);
            self.crowd.add(member.client.id, prefix);
        }
    }

    /// Looks up where addresses come from by `origin_of`; without, nobody's origin is known.
    #[must_use]
    pub fn with_origins(mut self, origin_of: impl Fn(IpAddr) -> Origin + Send + 'static) -> Self {
        self.origin_of = Box::new(origin_of);
        self
    }

    /// Takes another configuration; who is in stays in.
    pub fn set_config(&mut self, config: ServiceConfig) {
        self.config = config;
    }

    /// Its key, which clients must know beforehand.
    pub fn public(&self) -> PublicKey {
        self.identity.public()
    }

    /// Takes a datagram that came to one of the two ports, 0 or 1.
    pub fn handle_datagram(
        &mut self,
        now: Moment,
        wall: Duration,
        port: usize,
        from: SocketAddr,
        bytes: &[u8],
    ) {
        self.clock = Clock { now, wall };
        self.counts.datagrams += 1;
        self.counts.bytes_in += bytes.len() as u64;
        let address = SocketAddr::new(from.ip().to_canonical(), from.port());
        let place = Place {
            port: port.min(1),
            address,
        };
        match Frame::parse(bytes) {
            Ok(_) if address.port() == 0 => self.counts.strange += 1,
            Ok(Frame::Hello { index, pass, noise }) => self.hello(place, index, pass, noise),
            Ok(Frame::Sealed { to, counter, body }) => self.sealed(place, to, counter, body),
            _ => self.counts.strange += 1,
        }
        self.collect_changes();
    }

    /// Does what is due.
    pub fn handle_time(&mut self, now: Moment, wall: Duration) {
        self.clock = Clock { now, wall };
        self.repeat_notices();
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            self.tick();
        }
        self.collect_changes();
    }

    /// Tells everybody who is joined, once, that the directory ends: they look for it again, and running
    /// sessions go on meanwhile.
    pub fn say_goodbye(&mut self) {
        let joined = self
            .clients
            .iter()
            .filter(|(_, client)| client.joined.is_some());
        let ids: Vec<ClientId> = joined.map(|(id, _)| *id).collect();
        for id in ids {
            self.tell_once(id, Tell::Rejoin);
        }
    }

    /// When [`handle_time`](Self::handle_time) is due.
    pub fn next_time(&self) -> Moment {
        let repeat = self.repeats.first().map(|(at, ..)| *at);
        repeat.map_or(self.next_tick, |at| at.min(self.next_tick))
    }

    /// What to do next, if anything.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// What has changed since the last call, for a store.
    pub fn take_changes(&mut self) -> impl Iterator<Item = Change> {
        self.changes.drain(..)
    }

    /// Takes in what another directory did that shares the store, and the identity, with this one. Its
    /// clients are known here, introduced, measured by others and offered as relays; who shakes hands
    /// there is let go here.
    pub fn hear(&mut self, now: Moment, change: &Change) {
        self.clock = self.clock.at(now);
        match &change.not_after(now) {
            Change::Directory(change) => self.hear_of_client(change),
            Change::Met { session, pair } => self.sessions.insert(*session, *pair),
            Change::Parted { session } => drop(self.sessions.remove(*session)),
            Change::Shown { id, card } => self.hear_card(*id, card),
            Change::Letter { to, tell, at } => self.deliver(*to, tell, *at),
        }
        self.collect_changes();
    }

    /// What it did.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What it knows of its clients and their legs.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Connections, with or without a client that joined.
    pub fn connections(&self) -> usize {
        self.links.len()
    }

    /// Everybody who is joined, in the order of their numbers.
    pub fn clients(&self) -> impl Iterator<Item = ClientView> {
        let members = self.directory.state().members();
        let mut members: Vec<_> = members.map(|(_, member)| member).collect();
        members.sort_by_key(|member| member.client.id);
        members.into_iter().map(|member| {
            let id = member.client.id;
            let card = self.card(id);
            ClientView {
                id,
                key: card.as_ref().map(|card| card.key),
                address: member.client.address.socket(),
                nat: card.map_or(Nat::Unknown, |card| card.nat),
                relays: member.client.relaying != nearside_detour::directory::Relaying::No,
                carries: member.carries,
                paused: self.is_paused(id) || self.directory.is_distrusted(id),
                legs: member.measured.len(),
                silent_for: self.clock.now.since(member.heard),
            }
        })
    }

    /// All sessions, in the order of their numbers.
    pub fn sessions(&self) -> impl Iterator<Item = SessionView> {
        self.sessions.iter().map(|(session, pair)| SessionView {
            session,
            source: pair.source,
            target: pair.target,
            age: self.clock.now.since(pair.since),
            relay: self.directory.state().relay_of(pair.key()),
        })
    }

    fn tick(&mut self) {
        for id in self.directory.expire(self.clock.now) {
            self.depart(id, false);
        }
        self.call_clients();
        self.forget_strangers();
        self.forgive();
        let now = self.clock.now;
        self.clients
            .values_mut()
            .for_each(|c| c.forget_answers(now));
        self.directory.study(self.config.study);
    }

    fn collect_changes(&mut self) {
        let changes = self.directory.take_changes().map(Change::Directory);
        self.changes.extend(changes);
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    fn send(&mut self, place: Place, bytes: Vec<u8>) {
        self.counts.sent += 1;
        self.counts.bytes_out += bytes.len() as u64;
        self.outputs.push_back(Output::Send {
            port: place.port,
            to: place.address,
            bytes,
        });
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("identity", &self.identity)
            .field("clients", &self.clients.len())
            .field("sessions", &self.sessions.len())
            .finish_non_exhaustive()
    }
}

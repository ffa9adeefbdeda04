//! All neighbours at once: takes their connections and bytes, keeps the [`Rib`] and says when a new
//! table is worth publishing. The shell that drives it only moves bytes.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use nearside_types::{Asn, Moment};
use thiserror::Error;

use super::attributes::Malformed;
use super::nlri::Family;
use super::notification::Notification;
use super::rib::{PeerId, Rib, RibConfig};
use super::session::{CloseReason, Established, Event, Output, Session, SessionConfig};
use super::update::Update;

/// A router that may connect: others are turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbour {
    /// Where it connects from.
    pub addr: IpAddr,
    /// The AS it must be in.
    pub asn: Asn,
}

/// Who we are, who may speak to us and what is kept.
#[derive(Debug, Clone)]
pub struct CollectorConfig {
    /// Our AS; one for private use is right where no other was assigned. Default AS 64512.
    pub local_asn: Asn,
    /// Our BGP identifier, different from every neighbour's. Default 127.0.0.179.
    pub router_id: Ipv4Addr,
    /// See [`SessionConfig::hold_time`].
    pub hold_time: u16,
    /// In the order of their [`PeerId`]s.
    pub neighbours: Vec<Neighbour>,
    /// What is kept of their routes.
    pub rib: RibConfig,
    /// Least time between two publications; five times as much while a neighbour's first table pours
    /// in. Default one second: a full table takes a tenth of a second to turn into ranges.
    pub publish_interval: Duration,
}

impl CollectorConfig {
    /// Sensible settings for these neighbours.
    pub fn new(neighbours: Vec<Neighbour>) -> Self {
        Self {
            local_asn: Asn(64_512),
            router_id: Ipv4Addr::new(127, 0, 0, 179),
            hold_time: SessionConfig::HOLD_TIME,
            neighbours,
            rib: RibConfig::default(),
            publish_interval: Duration::from_secs(1),
        }
    }

    fn check(&self) -> Result<(), CollectorError> {
        if matches!(self.hold_time, 1 | 2) {
            return Err(CollectorError::HoldTime(self.hold_time));
        }
        if self.router_id.is_unspecified() {
            return Err(CollectorError::RouterId);
        }
        if self.neighbours.is_empty() {
            return Err(CollectorError::NoNeighbours);
        }
        let mut addrs: Vec<IpAddr> = self.neighbours.iter().map(Neighbour::canonical).collect();
        addrs.sort_unstable();
        match addrs.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(CollectorError::TwiceTheSame(pair[0])),
            None => Ok(()),
        }
    }
}

impl Neighbour {
    fn canonical(&self) -> IpAddr {
        self.addr.to_canonical()
    }
}

/// Why a configuration cannot work.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub enum CollectorError {
    /// RFC 4271 forbids hold times of one and two seconds.
    #[error("a hold time of {0} s is not allowed (0 for none, or at least 3; 240 is usual)")]
    HoldTime(u16),
    /// 0.0.0.0 is not an identifier.
    #[error("the router id must not be 0.0.0.0 (any other address will do)")]
    RouterId,
    /// Nobody could ever connect.
    #[error("no BGP neighbour is configured (give at least one address and AS)")]
    NoNeighbours,
    /// Sessions are told apart by address.
    #[error("neighbour {0} is configured twice (keep one of the two)")]
    TwiceTheSame(IpAddr),
}

/// Why a connection is turned away.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[error("{0} is not a configured neighbour")]
pub struct Refusal(pub IpAddr);

/// What the collector wants from its shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectorOutput {
    /// Write these octets to the neighbour's connection.
    Send {
        /// Whose connection.
        peer: PeerId,
        /// What to write.
        bytes: Vec<u8>,
    },
    /// Shut the neighbour's connection, once everything before is written. Not said of connections
    /// that the shell reported as gone.
    Close {
        /// Whose connection.
        peer: PeerId,
    },
    /// Something happened that an operator may want to see.
    Event {
        /// With whom.
        peer: PeerId,
        /// What.
        event: PeerEvent,
    },
    /// [`Collector::rib`] has changed and the last publication is long enough ago.
    Publish,
    /// Nothing to do before this moment, or before something arrives.
    Wait(Option<Moment>),
}

/// What happens with one neighbour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerEvent {
    /// The session is up; routes follow.
    Established(Established),
    /// The neighbour has announced all it has.
    Loaded {
        /// How many prefixes are kept of it.
        prefixes: usize,
    },
    /// An announcement was broken; its routes are taken as withdrawn.
    Malformed(Malformed),
    /// The session is over; its routes stay for a while.
    Closed(CloseReason),
}

/// Sessions with all neighbours and their common table, without socket and clock.
///
/// After every `handle_` call drain [`Collector::poll_output`] until it says
/// [`CollectorOutput::Wait`]. A neighbour has one connection: when a second one comes, the first is
/// dead and may be dropped without a word.
#[derive(Debug)]
pub struct Collector {
    config: CollectorConfig,
    peers: Vec<Peer>,
    rib: Rib,
    outputs: VecDeque<CollectorOutput>,
    published: u64,
    published_at: Option<Moment>,
}

#[derive(Debug, Default)]
struct Peer {
    session: Option<Session>,
    session_wait: Option<Moment>,
    /// What was agreed, once the session is up.
    established: Option<Established>,
    /// Families whose first announcement is not complete.
    loading: Vec<Family>,
    /// When silence means that the first announcement is complete, for neighbours that never say so.
    quiet_at: Option<Moment>,
}

/// GoBGP without graceful restart sends no End-of-RIB, and its full table comes without pauses.
const QUIET: Duration = Duration::from_secs(10);

/// A first table with more changes than this since the last publication is a large one. It comes
/// within seconds to minutes, and what is published before its end is old before long.
const FLOOD: u64 = 10_000;

impl Peer {
    /// Moves the moment of quiet behind the update that just came. It is the first update that sets
    /// it: GoBGP may think for a minute and a half before that one.
    fn expect_quiet(&mut self, now: Moment) {
        let promised = self
            .established
            .as_ref()
            .is_none_or(|agreed| agreed.sends_end_of_rib);
        let waiting = !self.loading.is_empty() && !promised;
        self.quiet_at = waiting.then(|| now + QUIET);
    }
}

impl Collector {
    /// A collector that waits for its neighbours.
    pub fn new(config: CollectorConfig) -> Result<Self, CollectorError> {
        config.check()?;
        let mut rib = Rib::new(config.rib.clone());
        let peers = config.neighbours.iter().map(|_| {
            rib.add_peer();
            Peer::default()
        });
        Ok(Self {
            peers: peers.collect(),
            rib,
            config,
            outputs: VecDeque::new(),
            published: 0,
            published_at: None,
        })
    }

    /// Somebody connected. Its connection replaces an earlier one of the same neighbour: a router that
    /// calls again has lost the old session, whatever our timer says (RFC 4724 section 4.2).
    pub fn handle_connection(&mut self, now: Moment, from: IpAddr) -> Result<PeerId, Refusal> {
        let is_from = |neighbour: &Neighbour| neighbour.canonical() == from.to_canonical();
        let found = self.config.neighbours.iter().position(is_from);
        let peer = PeerId(found.ok_or(Refusal(from))?);
        self.handle_disconnect(now, peer);
        let session = Session::new(self.session_config(peer), now);
        self.peers[peer.0].session = Some(session);
        self.settle(now, peer);
        Ok(peer)
    }

    fn session_config(&self, peer: PeerId) -> SessionConfig {
        SessionConfig {
            local_asn: self.config.local_asn,
            router_id: self.config.router_id,
            peer_asn: self.config.neighbours[peer.0].asn,
            hold_time: self.config.hold_time,
        }
    }

    /// Bytes came on the connection of `peer`.
    pub fn handle_bytes(&mut self, now: Moment, peer: PeerId, bytes: &[u8]) {
        self.with_session(now, peer, |session| session.handle_bytes(now, bytes));
    }

    /// The connection of `peer` is gone. Does nothing when there is none.
    pub fn handle_disconnect(&mut self, now: Moment, peer: PeerId) {
        self.with_session(now, peer, Session::handle_disconnect);
    }

    /// The moment of [`CollectorOutput::Wait`] has come.
    pub fn handle_timeout(&mut self, now: Moment) {
        for peer in self.peer_ids() {
            self.with_session(now, peer, |session| session.handle_timeout(now));
            if self.peers[peer.0].quiet_at.is_some_and(|at| at <= now) {
                self.finish_loading(peer);
            }
        }
        self.rib.expire(now);
        self.publish_when_due(now);
    }

    /// Ends all sessions with a word to each neighbour.
    pub fn shut_down(&mut self, now: Moment) {
        for peer in self.peer_ids() {
            self.with_session(now, peer, |session| session.close(Notification::SHUTDOWN));
        }
    }

    /// What to do next; call until it says [`CollectorOutput::Wait`].
    pub fn poll_output(&mut self) -> CollectorOutput {
        self.outputs
            .pop_front()
            .unwrap_or_else(|| CollectorOutput::Wait(self.next_moment()))
    }

    /// The table as it is now.
    pub fn rib(&self) -> &Rib {
        &self.rib
    }

    /// The neighbours, in the order of their [`PeerId`]s.
    pub fn neighbours(&self) -> &[Neighbour] {
        &self.config.neighbours
    }

    /// Whether the session with `peer` is up.
    pub fn is_established(&self, peer: PeerId) -> bool {
        let session = self.peers[peer.0].session.as_ref();
        session.is_some_and(Session::is_established)
    }

    fn peer_ids(&self) -> impl Iterator<Item = PeerId> + use<> {
        (0..self.peers.len()).map(PeerId)
    }

    fn with_session(&mut self, now: Moment, peer: PeerId, act: impl FnOnce(&mut Session)) {
        if let Some(session) = &mut self.peers[peer.0].session {
            act(session);
            self.settle(now, peer);
        }
    }

    /// Carries out what the session wants, then looks whether there is something to publish.
    fn settle(&mut self, now: Moment, peer: PeerId) {
        while let Some(session) = &mut self.peers[peer.0].session {
            match session.poll_output() {
                Output::Send(bytes) => self.push(CollectorOutput::Send { peer, bytes }),
                Output::Event(event) => self.handle_event(now, peer, event),
                Output::Wait(until) => {
                    self.peers[peer.0].session_wait = until;
                    break;
                }
            }
        }
        self.publish_when_due(now);
    }

    fn handle_event(&mut self, now: Moment, peer: PeerId, event: Event) {
        match event {
            Event::Established(established) => self.begin_loading(peer, established),
            Event::Update(update) => self.apply(now, peer, &update),
            Event::EndOfRib(family) => self.finish_family(peer, family),
            Event::Closed { reason } => self.end_session(now, peer, reason),
        }
    }

    fn begin_loading(&mut self, peer: PeerId, established: Established) {
        self.peers[peer.0].loading = established.families.clone();
        self.peers[peer.0].established = Some(established.clone());
        self.tell(peer, PeerEvent::Established(established));
    }

    fn apply(&mut self, now: Moment, peer: PeerId, update: &Update) {
        if let Some(malformed) = update.malformed {
            self.tell(peer, PeerEvent::Malformed(malformed));
        }
        if self.rib.apply(peer, update).is_err()
            && let Some(session) = &mut self.peers[peer.0].session
        {
            session.close(Notification::PREFIX_LIMIT);
        }
        self.peers[peer.0].expect_quiet(now);
    }

    fn finish_family(&mut self, peer: PeerId, family: Family) {
        self.rib.sweep(peer, family);
        let loading = &mut self.peers[peer.0].loading;
        let was_loading = !loading.is_empty();
        loading.retain(|still| *still != family);
        if was_loading && loading.is_empty() {
            self.finish_loading(peer);
        }
    }

    fn finish_loading(&mut self, peer: PeerId) {
        let this = &mut self.peers[peer.0];
        this.quiet_at = None;
        for family in std::mem::take(&mut this.loading) {
            self.rib.sweep(peer, family);
        }
        let prefixes = self.rib.peer_len(peer);
        self.tell(peer, PeerEvent::Loaded { prefixes });
    }

    fn end_session(&mut self, now: Moment, peer: PeerId, reason: CloseReason) {
        let ended = std::mem::take(&mut self.peers[peer.0]);
        if ended.established.is_some() {
            self.rib.mark_stale(peer, now);
        }
        if reason != CloseReason::Disconnected {
            self.push(CollectorOutput::Close { peer });
        }
        self.tell(peer, PeerEvent::Closed(reason));
    }

    fn publish_when_due(&mut self, now: Moment) {
        if self.publication_due().is_some_and(|due| due <= now) {
            self.published = self.rib.version();
            self.published_at = Some(now);
            self.push(CollectorOutput::Publish);
        }
    }

    /// When the table may be published; `None` while nothing has changed.
    fn publication_due(&self) -> Option<Moment> {
        let changes = self.rib.version() - self.published;
        let is_loading = self.peers.iter().any(|peer| !peer.loading.is_empty());
        let patience = if is_loading && changes > FLOOD { 5 } else { 1 };
        let interval = self.config.publish_interval * patience;
        let due = self.published_at.map_or(Moment::EPOCH, |at| at + interval);
        (changes > 0).then_some(due)
    }

    fn next_moment(&self) -> Option<Moment> {
        let peers = self.peers.iter();
        let deadlines = peers.flat_map(|peer| [peer.session_wait, peer.quiet_at]);
        deadlines
            .chain([self.rib.next_expiry()])
            .chain([self.publication_due()])
            .flatten()
            .min()
    }

    fn tell(&mut self, peer: PeerId, event: PeerEvent) {
        self.push(CollectorOutput::Event { peer, event });
    }

    fn push(&mut self, output: CollectorOutput) {
        self.outputs.push_back(output);
    }
}

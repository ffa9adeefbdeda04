//! One player: its line to the directory, the neighbours it measures, the sessions of others that it
//! carries, and its own links to peers. All of it over one UDP socket, so that the address the directory
//! sees is the one that peers need.

mod config;
mod desk;
mod load;
mod meeting;
mod neighbours;
mod notices;
mod peers;
mod places;
mod view;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use nearside_coords::Coordinate;
use nearside_detour::ClientId;
use nearside_detour::client::Client;
use nearside_types::Moment;
use nearside_wire::detour::{Carry, CarryFlags, Frame, Kind, SEALED_HEADER};

use crate::crypto::{Chance, Identity, PingKey, PublicKey};
use crate::link::{self, Outgoing};
use crate::messages::{Ask, Found, Refusal};
use crate::relay::{self, Relay};
pub use config::{DirectoryAddress, NodeConfig};
use desk::Desk;
use load::Load;
use neighbours::{Neighbours, pong};
pub use peers::LinkId;
use peers::Peers;
pub use view::{GamesView, LinkView, NodeView, RelayView, SwitchView};

/// What a node wants its caller to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send this.
    Send(Outgoing),
    /// Something happened.
    Event(Event),
}

/// What may happen to a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The directory took us in; we are seen at this address.
    Joined(SocketAddr),
    /// The directory refuses what we asked for.
    Refused(Refusal),
    /// The directory has not answered for some time; links go on.
    DirectoryLost,
    /// Our NAT gives every peer another port: we are no relay.
    SymmetricNat,
    /// Who stands beside a game server; `None`: nobody.
    Found(SocketAddr, Option<Found>),
    /// A link is there.
    Connected {
        /// Its number.
        link: LinkId,
        /// Who the other end is.
        peer: PublicKey,
        /// Whether we asked for it.
        leads: bool,
        /// Whether the handshake had to go through a relay.
        through_relay: bool,
    },
    /// A peer could not be reached.
    Unreachable(PublicKey),
    /// A packet of the game came.
    Delivered {
        /// The link.
        link: LinkId,
        /// Which of the other end's local addresses it belongs to.
        flow: u16,
        /// The packet.
        payload: Vec<u8>,
    },
    /// Something happened to a link.
    Link(LinkId, link::Event),
}

/// A datagram that came.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// On which of the sockets: 0 is the one everybody knows.
    pub port: u8,
    /// From where.
    pub from: SocketAddr,
    /// When the kernel took it.
    pub received: Moment,
    /// What it says; scratch space afterwards.
    pub bytes: &'a mut Vec<u8>,
}

/// See the module.
#[derive(Debug)]
pub struct Node {
    config: NodeConfig,
    own: Identity,
    chance: Chance,
    desk: Desk,
    joined: Option<Joined>,
    neighbours: Neighbours,
    relay: Option<Relay>,
    load: Load,
    peers: Peers,
    lost: bool,
    out: VecDeque<Output>,
}

/// What the directory's welcome brought.
#[derive(Debug)]
struct Joined {
    client: Client,
    observed: SocketAddr,
    second_port: Option<u16>,
    /// What the second port of the directory saw.
    observed_second: Option<SocketAddr>,
    /// Where it sees us in the other address family.
    observed_other: Option<SocketAddr>,
    ping_key: PingKey,
    /// Time since 1970 at a moment of ours, by the directory's clock.
    wall: (Duration, Moment),
    at: Moment,
}

/// Fewer neighbours than this, and the node joins again for new ones.
const FEW_NEIGHBOURS: usize = 4;
const REJOIN_INTERVAL: Duration = Duration::from_secs(120);
/// The directory counts as lost when it was not heard for so long although it was asked.
const LOST: Duration = Duration::from_secs(10);

impl Node {
    /// A node that begins to call its directory.
    pub fn new(config: NodeConfig, own: Identity, chance: Chance, now: Moment) -> Self {
        let relay = config
            .relaying
            .map(|capacity| Relay::new(own.id(), capacity, now));
        Self {
            desk: Desk::new(&config.directories, config.keep_alive, now),
            joined: None,
            neighbours: Neighbours::default(),
            relay,
            load: Load::new(now),
            peers: Peers::new(&config),
            lost: false,
            out: VecDeque::new(),
            config,
            own,
            chance,
        }
    }

    /// Who it is.
    pub fn id(&self) -> ClientId {
        self.own.id()
    }

    /// Its key.
    pub fn key(&self) -> PublicKey {
        self.own.public()
    }

    /// Where it is by its own measurements, once it has joined.
    pub fn coordinate(&self) -> Option<&Coordinate> {
        Some(self.joined.as_ref()?.client.coordinate())
    }

    /// Whether the directory has taken it in.
    pub fn is_joined(&self) -> bool {
        self.joined.is_some()
    }

    /// Asks the directory who stands beside a game server; [`Event::Found`] is the answer.
    pub fn find(&mut self, now: Moment, game: SocketAddr) {
        self.desk.ask(now, Ask::Find(game));
    }

    /// Asks for a link to a peer; [`Event::Connected`] or [`Event::Unreachable`] is the answer.
    pub fn connect(&mut self, now: Moment, peer: PublicKey) {
        self.desk.ask(now, Ask::Connect(peer));
    }

    /// Sends a packet of the game.
    pub fn send(&mut self, now: Moment, link: LinkId, flow: u16, payload: &[u8]) {
        if let Some(link) = self.peers.link(link) {
            link.send(now, flow, payload);
        }
        self.drain_links(now);
    }

    /// Sends it on the direct path whatever else there is; `false` if there is none.
    pub fn send_direct(&mut self, now: Moment, link: LinkId, flow: u16, payload: &[u8]) -> bool {
        let link = self.peers.link(link);
        let sent = link.is_some_and(|link| link.send_direct(now, flow, payload));
        self.drain_links(now);
        sent
    }

    /// Whether nothing comes by a link at present, on any path.
    pub fn is_silent(&self, link: LinkId) -> bool {
        self.peers.is_silent(link)
    }

    /// Names the game server that packets of a flow go to; `None`: the one beside the peer.
    pub fn open_flow(&mut self, now: Moment, link: LinkId, flow: u16, to: Option<SocketAddr>) {
        self.talk(now, link, &crate::messages::Talk::Flow { flow, to });
    }

    /// Refuses the packets of a flow.
    pub fn refuse_flow(&mut self, now: Moment, link: LinkId, flow: u16) {
        self.talk(now, link, &crate::messages::Talk::NoFlow { flow });
    }

    fn talk(&mut self, now: Moment, link: LinkId, talk: &crate::messages::Talk) {
        if let Some(link) = self.peers.link(link) {
            link.talk(now, talk);
            link.handle_time(now);
        }
        self.drain_links(now);
    }

    /// The game says that updates come late.
    pub fn report_lag(&mut self, now: Moment, link: LinkId) {
        if let Some(link) = self.peers.link(link) {
            link.report_lag(now);
        }
        self.drain_links(now);
    }

    /// Compares paths on live traffic: see [`link::Link::set_comparison`].
    pub fn set_comparison(&mut self, now: Moment, link: LinkId, on: bool) {
        if let Some(link) = self.peers.link(link) {
            link.set_comparison(now, on);
        }
    }

    /// Ends a link.
    pub fn close(&mut self, now: Moment, link: LinkId) {
        if let Some(session) = self.hang_up(now, link) {
            self.desk.ask(now, Ask::Part(session));
        }
        self.poll_desk(now);
    }

    /// Ends a link, and gives the session that is over by that.
    fn hang_up(&mut self, now: Moment, link: LinkId) -> Option<u64> {
        if let Some(link) = self.peers.link(link) {
            link.close(now);
        }
        self.drain_links(now);
        self.peers.remove(link)
    }

    /// Says goodbye to everybody.
    pub fn leave(&mut self, now: Moment) {
        // To leave ends all sessions.
        for link in self.peers.ids() {
            self.hang_up(now, link);
        }
        self.desk.ask(now, Ask::Leave);
        self.handle_time(now);
    }

    /// Turns a frame that is carried for others into what is to be sent, in place and at once:
    /// everything else is left as it is.
    pub fn forward(
        &mut self,
        now: Moment,
        from: SocketAddr,
        received: Moment,
        bytes: &mut Vec<u8>,
    ) -> Forward {
        let ours = match Kind::of(bytes) {
            Some(Kind::Open) => true,
            Some(Kind::Carry) => bytes
                .get(1)
                .is_some_and(|flags| !CarryFlags(*flags).has(CarryFlags::FROM_RELAY)),
            _ => false,
        };
        if !ours {
            return Forward::NotForRelay;
        }
        let wall = self.wall(now);
        let Some((relay, wall)) = self.relay.as_mut().zip(wall) else {
            return Forward::Dropped;
        };
        let arrival = relay::Arrival {
            from,
            received,
            now,
            wall,
        };
        match relay.handle(arrival, bytes) {
            Some(to) => Forward::Send(to),
            None => Forward::Dropped,
        }
    }

    /// Time since 1970 by the directory's clock.
    fn wall(&self, now: Moment) -> Option<Duration> {
        let (wall, at) = self.joined.as_ref()?.wall;
        Some(wall + now.since(at))
    }

    /// A datagram came.
    pub fn handle_datagram(&mut self, now: Moment, incoming: Incoming<'_>) {
        let Incoming {
            port,
            from,
            received,
            bytes,
        } = incoming;
        match self.forward(now, from, received, bytes) {
            Forward::Send(to) => {
                let bytes = bytes.clone();
                let outgoing = Outgoing { port: 0, to, bytes };
                self.out.push_back(Output::Send(outgoing));
                return;
            }
            Forward::Dropped => return,
            Forward::NotForRelay => {}
        }
        let at = link::Arrival {
            route: nearside_detour::path::Route::Direct,
            from,
            port,
            received,
            residence: Duration::ZERO,
        };
        self.handle_frame(now, at, bytes);
        self.drain_links(now);
        self.poll_desk(now);
    }

    fn handle_frame(&mut self, now: Moment, at: link::Arrival, bytes: &mut [u8]) {
        match Frame::parse(bytes) {
            Ok(Frame::Sealed { to, counter, .. }) => {
                let body = &mut bytes[SEALED_HEADER..];
                if self.desk.is_ours(to) {
                    let word = self.desk.handle_sealed(now, counter, body);
                    self.handle_word(now, at.from, word);
                } else {
                    self.peers.handle_sealed(now, at, to, counter, body);
                }
            }
            Ok(Frame::Carry(carry)) => self.handle_carried(now, at, carry),
            Ok(Frame::Opened { hop, tag }) => self.peers.handle_opened(now, hop, tag),
            Ok(Frame::Refused { hop, tag }) => self.peers.handle_refused(now, hop, tag),
            Ok(Frame::Retry { to, pass }) => self.desk.handle_retry(now, to, pass),
            Ok(Frame::Answer { to, noise }) => {
                if self.desk.is_ours(to) {
                    let word = self.desk.handle_answer(now, to, noise);
                    self.handle_word(now, at.from, word);
                } else {
                    self.peers.handle_answer(now, at, to, noise);
                }
            }
            Ok(Frame::Hello { index, pass, noise }) => {
                let (own, chance) = (&self.own, &mut self.chance);
                self.peers
                    .handle_hello(now, at, (index, pass, noise), own, chance);
            }
            Ok(Frame::Punch { pass }) => self.peers.handle_punch(now, at.from, pass),
            Ok(Frame::Anew { wall_ms, tag }) => self.handle_anew(now, at.from, wall_ms, tag),
            Ok(Frame::Ping { from, nonce, tag }) => self.answer_ping(at, (from, nonce, tag)),
            Ok(Frame::Pong { nonce, tag, place }) => {
                let pong = self.neighbours.handle_pong(at.received, nonce, tag, place);
                if let Some(((id, place, rtt), joined)) = pong.zip(self.joined.as_mut()) {
                    // One that is not believed still shows that the neighbour is there.
                    let _ = joined.client.handle_reply(now, id, &place, rtt);
                }
            }
            Ok(Frame::Open { .. }) | Err(_) => {}
        }
    }

    /// A frame from a relay: what is inside is handled as if it had come by itself, by that path.
    fn handle_carried(&mut self, now: Moment, at: link::Arrival, carry: Carry<'_>) {
        let Some(route) = self.peers.route_of(&carry) else {
            return;
        };
        let nanos = u64::from(carry.residence) * nearside_wire::detour::RESIDENCE_UNIT_NS;
        let at = link::Arrival {
            route,
            residence: Duration::from_nanos(nanos),
            ..at
        };
        // A relay's frame inside a relay's frame would be a loop.
        if Kind::of(carry.inner) != Some(Kind::Carry) {
            self.handle_frame(now, at, &mut carry.inner.to_vec());
        }
    }

    fn answer_ping(&mut self, at: link::Arrival, ping: (u64, u64, u64)) {
        let Some(joined) = &self.joined else {
            return;
        };
        if let Some(bytes) = pong(joined.ping_key, &joined.client, ping) {
            self.out.push_back(Output::Send(Outgoing {
                port: at.port,
                to: at.from,
                bytes,
            }));
        }
    }

    /// Does what is due.
    pub fn handle_time(&mut self, now: Moment) {
        if let Some(relay) = &mut self.relay {
            relay.sweep(now);
        }
        self.poll_client(now);
        self.tell_load(now);
        self.poll_desk(now);
        let (own, chance) = (&self.own, &mut self.chance);
        self.peers.handle_time(now, own, chance);
        self.drain_links(now);
        self.poll_desk(now);
    }

    fn poll_desk(&mut self, now: Moment) {
        while let Some(outgoing) = self.desk.poll(now, &self.own, &mut self.chance) {
            self.out.push_back(Output::Send(outgoing));
        }
        let silent = self.joined.is_some() && now.since(self.desk.heard()) >= LOST;
        if silent && !self.desk.is_up() && !self.lost {
            self.lost = true;
            self.out.push_back(Output::Event(Event::DirectoryLost));
        }
    }

    /// Takes what links have to say.
    fn drain_links(&mut self, now: Moment) {
        while let Some(word) = self.peers.poll(now) {
            match word {
                peers::Word::Send(outgoing) => self.out.push_back(Output::Send(outgoing)),
                peers::Word::Event(event) => self.out.push_back(Output::Event(event)),
                peers::Word::Ask(ask) => self.desk.ask(now, ask),
                peers::Word::Sign => self.desk.sign(now),
                peers::Word::Suspect(relay) => {
                    if let Some(joined) = &mut self.joined {
                        joined.client.handle_suspicion(now, relay);
                    }
                }
            }
        }
    }

    /// What to do, until there is nothing.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// When [`handle_time`](Self::handle_time) is due at the latest.
    pub fn next_time(&self, now: Moment) -> Moment {
        let client = self.joined.as_ref().map(|joined| joined.client.next_time());
        let times = [
            Some(self.desk.next_time()),
            client,
            self.neighbours.next_time(),
            self.peers.next_time(),
            self.next_load(now),
        ];
        let next = times.into_iter().flatten().min();
        next.unwrap_or(now + Duration::from_secs(1)).max(now)
    }

    /// All that a face shows.
    pub fn view(&self, now: Moment) -> NodeView {
        let relay = self.relay.as_ref().map(|relay| RelayView {
            sessions: relay.carried(now),
            measured: relay.sessions(),
            overloaded: relay.is_overloaded(now),
            counts: relay.counts(),
        });
        NodeView {
            id: self.own.id(),
            key: self.own.public().to_string(),
            directory: self.desk.directory(),
            joined: self.joined.is_some() && self.desk.is_up(),
            observed: self.joined.as_ref().map(|joined| joined.observed),
            observed_other: self
                .joined
                .as_ref()
                .and_then(|joined| joined.observed_other),
            symmetric_nat: self.joined.as_ref().is_some_and(Joined::is_symmetric),
            neighbours: self
                .joined
                .as_ref()
                .map_or(0, |joined| joined.client.neighbours()),
            relay,
            links: self.peers.views(now),
            games: None,
        }
    }
}

impl Joined {
    fn is_symmetric(&self) -> bool {
        self.observed_second
            .is_some_and(|second| second != self.observed)
    }
}

/// What became of a frame that might be for the relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forward {
    /// It is now what has to be sent there.
    Send(SocketAddr),
    /// Nothing is sent.
    Dropped,
    /// It is for the node itself.
    NotForRelay,
}

/// A relay opens its NAT for so many players at once.
const MOST_PUNCHES: usize = 8;

//! The loop: one plain thread, blocking in one place, that moves datagrams between sockets and the
//! node. What is only relayed is copied once, and rewritten there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use nearside_net::{
    IcmpErrors, MonotonicClock, NetError, Outbox, PortConfig, RecvBuffers, Stop, UdpPort,
    sharpen_timers,
};
use nearside_tunnel::crypto::{Chance, PublicKey};
use nearside_tunnel::link::{self, Outgoing};
use nearside_tunnel::messages::Talk;
use nearside_tunnel::node::{Event, Forward, Incoming, LinkId, Node, NodeConfig, NodeView, Output};
use nearside_types::Moment;

use crate::games::{Beside, Games, Proxy, Stream, Take};
use crate::home;
use crate::order::{Happening, Order, Told, WhyPlain};
use crate::ports::{Ports, Use};
use crate::settings::{Role, Settings};

/// The thread's state.
#[derive(Debug)]
pub(crate) struct Driver {
    node: Node,
    games: Games,
    ports: Ports,
    clock: MonotonicClock,
    stop: Stop,
    orders: Receiver<Order>,
    told: Told,
    buffers: Box<RecvBuffers>,
    outbox: Outbox,
    /// The socket that what is in the outbox leaves by; what one batch brings about leaves together.
    outbox_place: Option<usize>,
    /// The frame that is being relayed: the only copy of it.
    scratch: Vec<u8>,
    came: Vec<Came>,
    /// Memory of datagrams that were handled, for those to come.
    spare: Vec<Vec<u8>>,
    /// When the node wants to be turned, as it said before the last sleep.
    due: Moment,
    next_sweep: Moment,
}

/// A datagram that is not for the relay.
#[derive(Debug)]
struct Came {
    from: SocketAddr,
    received: Moment,
    bytes: Vec<u8>,
}

const SWEEP: Duration = Duration::from_secs(1);

impl Driver {
    pub(crate) fn new(
        settings: Settings,
        clock: MonotonicClock,
        stop: Stop,
        bell: UdpPort,
        orders: Receiver<Order>,
        told: Told,
    ) -> Result<Self, NetError> {
        let mut ports = Ports::new(&stop)?;
        ports.add(Use::Bell, bell)?;
        open_world(&mut ports, &settings, &clock)?;
        let now = clock.now();
        let mut chance = Chance::from_seed(settings.seed);
        let first_flow = chance.number() as u16;
        let games = open_games(&mut ports, settings.role, first_flow, &clock)?;
        // A proxy seeks its peer; who only joins has nothing to say to anybody.
        let accepts = matches!(games, Games::Library | Games::Beside(_));
        let mut config = NodeConfig {
            accepts: settings.node.accepts && accepts,
            ..settings.node
        };
        if config.local.is_empty() {
            config.local = home::addresses(&config.directories, |to| {
                ports.world(0, to).map(UdpPort::local_addr)
            });
        }
        Ok(Self {
            node: Node::new(config, settings.identity, chance, now),
            games,
            ports,
            clock,
            stop,
            orders,
            told,
            buffers: Box::default(),
            outbox: Outbox::default(),
            outbox_place: None,
            scratch: Vec::new(),
            came: Vec::new(),
            spare: Vec::new(),
            due: now,
            next_sweep: now + SWEEP,
        })
    }

    /// Where the socket that everybody knows is.
    pub(crate) fn address(&self) -> SocketAddr {
        let port = self.ports.of(Use::World(0));
        port.map_or((Ipv4Addr::UNSPECIFIED, 0).into(), UdpPort::local_addr)
    }

    /// Where games connect to.
    pub(crate) fn listens_at(&self) -> Option<SocketAddr> {
        self.ports.of(Use::Listen).map(UdpPort::local_addr)
    }

    pub(crate) fn run(mut self) {
        sharpen_timers();
        let ended = self.turn_until_stopped();
        self.say_goodbye();
        let why = ended.err().map(|error| error.to_string());
        self.told.tell(Happening::Ended(why));
    }

    fn turn_until_stopped(&mut self) -> Result<(), NetError> {
        let mut ready = Vec::new();
        loop {
            let now = self.clock.now();
            if self.due <= now {
                self.node.handle_time(now);
            }
            self.sweep(now);
            self.drain(now);
            self.send_posted();
            self.due = self.node.next_time(now);
            let until = self.due.min(self.next_sweep);
            let (stop, clock) = (&self.stop, &self.clock);
            self.ports.wait(stop, until, clock, &mut ready)?;
            if self.stop.is_stopped() {
                return Ok(());
            }
            for name in &ready {
                if let Some(place) = self.ports.named(*name) {
                    self.receive(place)?;
                }
            }
        }
    }

    fn say_goodbye(&mut self) {
        let now = self.clock.now();
        self.node.leave(now);
        // Then they are with the kernel; nobody's answer is waited for.
        self.drain(now);
        self.send_posted();
    }

    /// Takes everything that waits at a socket.
    fn receive(&mut self, index: usize) -> Result<(), NetError> {
        let Some(slot) = self.ports.at(index) else {
            return Ok(());
        };
        let usage = slot.usage;
        for _ in 0..MOST_BATCHES {
            let Some(slot) = self.ports.at(index).filter(|slot| slot.usage == usage) else {
                return Ok(());
            };
            let (node, outbox) = (&mut self.node, &mut self.outbox);
            let (came, clock) = (&mut self.came, &self.clock);
            let (scratch, spare) = (&mut self.scratch, &mut self.spare);
            let is_world = usage == Use::World(0);
            let count = slot.port.recv_batch(&mut self.buffers, clock, |datagram| {
                let now = clock.now();
                let received = datagram.received.moment().unwrap_or(now);
                let from = datagram.from;
                if is_world {
                    scratch.clear();
                    scratch.extend_from_slice(datagram.payload);
                    match node.forward(now, from, received, scratch) {
                        Forward::Send(to) => return outbox.push(to, scratch, None),
                        Forward::Dropped => return,
                        Forward::NotForRelay => {}
                    }
                }
                let mut bytes = spare.pop().unwrap_or_default();
                bytes.extend_from_slice(datagram.payload);
                came.push(Came {
                    from,
                    received,
                    bytes,
                });
            })?;
            slot.port.send_all(&mut self.outbox);
            self.handle_came(usage);
            // One call less for each packet that comes alone: nothing more was waiting.
            if count < RecvBuffers::BATCH {
                break;
            }
        }
        Ok(())
    }

    fn handle_came(&mut self, usage: Use) {
        let mut all = std::mem::take(&mut self.came);
        for mut came in all.drain(..) {
            let now = self.clock.now();
            match usage {
                Use::Bell => self.obey(now),
                Use::World(port) => self.hear_world(now, port, &mut came),
                Use::Listen => self.hear_game(now, &came),
                Use::Plain(flow) => self.hear_plainly(flow, &came),
                Use::Beside(guest, flow) => self.hear_server(now, (guest, flow), &came),
            }
            self.drain(now);
            self.keep_memory(came.bytes);
        }
        self.came = all;
        self.send_posted();
    }

    /// For the next datagram: a game's are small and come one by one.
    fn keep_memory(&mut self, mut bytes: Vec<u8>) {
        if self.spare.len() < RecvBuffers::BATCH && bytes.capacity() <= MOST_SPARE_BYTES {
            bytes.clear();
            self.spare.push(bytes);
        }
    }

    /// Puts a datagram into the outbox. Lost, it is lost like any other: the node repeats what matters.
    fn post(&mut self, place: Option<usize>, to: SocketAddr, payload: &[u8]) {
        let Some(place) = place else {
            return;
        };
        if self.outbox_place != Some(place) {
            self.send_posted();
            self.outbox_place = Some(place);
        }
        self.outbox.push(to, payload, None);
    }

    /// Sends what is in the outbox.
    fn send_posted(&mut self) {
        let place = self.outbox_place.take();
        if let Some(slot) = place.and_then(|place| self.ports.at(place)) {
            slot.port.send_all(&mut self.outbox);
        }
    }

    fn hear_world(&mut self, now: Moment, port: u8, came: &mut Came) {
        let incoming = Incoming {
            port,
            from: came.from,
            received: came.received,
            bytes: &mut came.bytes,
        };
        self.node.handle_datagram(now, incoming);
    }

    /// A packet of a game on this machine.
    fn hear_game(&mut self, now: Moment, came: &Came) {
        let Games::Proxy(proxy) = &mut self.games else {
            return;
        };
        match proxy.take(now, came.from, &came.bytes) {
            Take::Link { link, flow, name } => {
                let to = proxy.destination();
                if name {
                    self.node.open_flow(now, link, flow, to);
                }
                self.node.send(now, link, flow, &came.bytes);
            }
            Take::Plain(flow) => self.send_plainly(flow, &came.bytes),
            Take::Held | Take::Dropped => {}
        }
    }

    /// Without us in between: from a socket of its own, straight to the server.
    fn send_plainly(&mut self, flow: u16, payload: &[u8]) {
        let Games::Proxy(proxy) = &self.games else {
            return;
        };
        let (game, usage) = (proxy.game, Use::Plain(flow));
        if self.ports.of(usage).is_none() {
            // One that cannot be had is a lost packet; the next one tries again.
            let Ok(()) = self.open(usage, any_address(game)) else {
                return;
            };
        }
        self.post(self.ports.place(usage), game, payload);
    }

    /// Opens a socket for one game.
    fn open(&mut self, usage: Use, at: SocketAddr) -> Result<(), NetError> {
        let port = UdpPort::bind(quiet(at), &self.clock)?;
        self.ports.add(usage, port)
    }

    /// The server answers a plain flow.
    fn hear_plainly(&mut self, flow: u16, came: &Came) {
        let Games::Proxy(proxy) = &self.games else {
            return;
        };
        if came.from == proxy.game {
            self.tell_game(flow, &came.bytes);
        }
    }

    fn tell_game(&mut self, flow: u16, payload: &[u8]) {
        let Games::Proxy(proxy) = &self.games else {
            return;
        };
        if let Some(to) = proxy.address(flow) {
            self.post(self.ports.place(Use::Listen), to, payload);
        }
    }

    /// The server speaks to a player elsewhere.
    fn hear_server(&mut self, now: Moment, stream: Stream, came: &Came) {
        let Games::Beside(beside) = &self.games else {
            return;
        };
        if beside.accepts(stream, came.from)
            && let Some(link) = beside.link(stream)
        {
            self.node.send(now, link, stream.1, &came.bytes);
        }
    }

    /// A player elsewhere speaks to the server.
    fn tell_server(&mut self, now: Moment, (link, flow): (LinkId, u16), payload: &[u8]) {
        let Games::Beside(beside) = &mut self.games else {
            return;
        };
        let Some(stream) = beside.stream(link, flow) else {
            return;
        };
        match beside.destination(now, stream) {
            Some(to) => self.post_to_server(stream, to, payload),
            None => beside.hold(now, stream, payload),
        }
    }

    /// From the socket of this player, which is opened for its first packet.
    fn post_to_server(&mut self, stream: Stream, to: SocketAddr, payload: &[u8]) {
        let usage = Use::Beside(stream.0, stream.1);
        if self.ports.of(usage).is_none() {
            let Ok(()) = self.open(usage, any_address(to)) else {
                return;
            };
        }
        self.post(self.ports.place(usage), to, payload);
    }

    fn view(&self, now: Moment) -> NodeView {
        let games = match &self.games {
            Games::Proxy(proxy) => Some(proxy.view()),
            _ => None,
        };
        NodeView {
            games,
            ..self.node.view(now)
        }
    }

    fn obey(&mut self, now: Moment) {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Connect(peer) => self.node.connect(now, peer),
                Order::Find(game) => self.node.find(now, game),
                Order::Send(link, payload) => self.node.send(now, link, 0, &payload),
                Order::SendDirect(link, payload) => {
                    if !self.node.send_direct(now, link, 0, &payload) {
                        self.told.tell(Happening::NotSent { link });
                    }
                }
                Order::ReportLag(link) => self.node.report_lag(now, link),
                Order::Compare(link, on) => self.node.set_comparison(now, link, on),
                Order::Close(link) => self.node.close(now, link),
                // Who asked may have lost patience.
                Order::View(answer) => drop(answer.send(self.view(now))),
            }
        }
        self.node.handle_time(now);
    }

    /// Does what the node wants.
    fn drain(&mut self, now: Moment) {
        while let Some(output) = self.node.poll_output() {
            match output {
                Output::Send(Outgoing { port, to, bytes }) => {
                    self.post(self.ports.place_in_world(port, to), to, &bytes);
                }
                Output::Event(event) => self.happens(now, event),
            }
        }
    }

    fn happens(&mut self, now: Moment, event: Event) {
        match event {
            Event::Delivered {
                link,
                flow,
                payload,
            } => self.delivered(now, (link, flow), payload),
            // Whom a lobby or the directory sends unasked does not come between a game and its server.
            Event::Connected { link, peer, .. } if !self.wants(peer) => self.node.close(now, link),
            event => {
                self.react(now, &event);
                self.tell(event);
            }
        }
    }

    /// Whether a link to a peer is of use: a proxy has one to its server alone.
    fn wants(&self, peer: PublicKey) -> bool {
        match &self.games {
            Games::Proxy(proxy) => proxy.seeks(peer),
            _ => true,
        }
    }

    fn delivered(&mut self, now: Moment, stream: (LinkId, u16), payload: Vec<u8>) {
        match &mut self.games {
            // Nobody but the peer beside the server speaks to the game.
            Games::Proxy(proxy) if proxy.link() == Some(stream.0) => {
                proxy.answered(now, stream.1);
                self.tell_game(stream.1, &payload);
            }
            Games::Proxy(_) => {}
            Games::Beside(_) => self.tell_server(now, stream, &payload),
            Games::Library => {
                let link = stream.0;
                self.told.tell(Happening::Delivered { link, payload });
            }
            Games::None => {}
        }
    }

    /// What an event means for games.
    fn react(&mut self, now: Moment, event: &Event) {
        match (&mut self.games, event) {
            (Games::Proxy(proxy), Event::Joined(_)) if proxy.link().is_none() => {
                let game = proxy.game;
                self.node.find(now, game);
            }
            (Games::Proxy(proxy), Event::Found(game, found)) if *game == proxy.game => {
                match found {
                    Some(found) if proxy.seek(found) => self.node.connect(now, found.peer),
                    None if proxy.link().is_none() => {
                        self.go_plainly(now, WhyPlain::NobodyThere);
                    }
                    _ => {}
                }
            }
            (Games::Proxy(proxy), Event::Unreachable(peer)) => {
                let (game, is_sought) = (proxy.game, proxy.misses(*peer));
                if is_sought && proxy.link().is_none() {
                    self.go_plainly(now, WhyPlain::Unreachable);
                    // The directory knows by now that it was not reached, and may know another.
                    self.node.find(now, game);
                }
            }
            (Games::Proxy(proxy), Event::Refused(_)) if proxy.link().is_none() => {
                self.go_plainly(now, WhyPlain::DirectoryRefuses);
            }
            (Games::Proxy(proxy), Event::Link(link, link::Event::Talk(Talk::NoFlow { flow })))
                if proxy.link() == Some(*link) =>
            {
                let (game, why) = (proxy.game, WhyPlain::Refused);
                if proxy.refused(*flow) {
                    self.told.tell(Happening::Plain { game, why });
                }
            }
            (Games::Proxy(proxy), Event::Link(link, link::Event::PeerSilent))
                if proxy.link() == Some(*link) =>
            {
                proxy.falls_silent(now);
            }
            (
                Games::Proxy(proxy),
                Event::Connected {
                    link,
                    peer,
                    leads: true,
                    ..
                },
            ) => {
                let (link, before) = (*link, proxy.link());
                let held = proxy.linked(link, *peer);
                let to = proxy.destination();
                for (flow, payload) in held {
                    if proxy.wants_name(now, flow) {
                        self.node.open_flow(now, link, flow, to);
                    }
                    self.node.send(now, link, flow, &payload);
                }
                // One that fell silent, while another was sought.
                if let Some(before) = before {
                    self.node.close(now, before);
                }
            }
            (Games::Proxy(proxy), Event::Link(link, link::Event::Closed))
                if proxy.link() == Some(*link) =>
            {
                proxy.lost(now);
                let game = proxy.game;
                self.node.find(now, game);
            }
            (
                Games::Beside(beside),
                Event::Connected {
                    link, peer, leads, ..
                },
            ) => beside.arrives(*link, *peer, *leads),
            (Games::Beside(beside), Event::Link(link, link::Event::Closed)) => {
                beside.leaves(now, *link);
            }
            (Games::Beside(_), Event::Link(link, link::Event::Talk(Talk::Flow { flow, to }))) => {
                self.open_stream(now, (*link, *flow), *to);
            }
            _ => {}
        }
    }

    /// A player elsewhere names where its packets go. It alone is told if they may not: a packet without
    /// a name says nothing, since its name may be late.
    fn open_stream(&mut self, now: Moment, (link, flow): (LinkId, u16), to: Option<SocketAddr>) {
        let Games::Beside(beside) = &mut self.games else {
            return;
        };
        let stream = beside.stream(link, flow);
        match stream.filter(|stream| beside.open(now, *stream, to)) {
            Some(stream) => {
                for payload in beside.take_held(stream) {
                    self.tell_server(now, (link, flow), &payload);
                }
            }
            None => self.node.refuse_flow(now, link, flow),
        }
    }

    /// What was held for a link goes plainly.
    fn go_plainly(&mut self, now: Moment, why: WhyPlain) {
        let Games::Proxy(proxy) = &mut self.games else {
            return;
        };
        let game = proxy.game;
        for (flow, payload) in proxy.give_up(now) {
            self.send_plainly(flow, &payload);
        }
        self.told.tell(Happening::Plain { game, why });
    }

    fn tell(&self, event: Event) {
        let happening = match event {
            Event::Joined(at) => Happening::Joined(at),
            Event::Refused(refusal) => Happening::Refused(refusal),
            Event::DirectoryLost => Happening::DirectoryLost,
            Event::SymmetricNat => Happening::SymmetricNat,
            Event::Found(game, found) => Happening::Found {
                game,
                peer: found.map(|found| found.peer),
            },
            Event::Connected {
                link,
                peer,
                leads,
                through_relay,
            } => Happening::Connected {
                link,
                peer,
                leads,
                through_relay,
            },
            Event::Unreachable(peer) => Happening::Unreachable(peer),
            Event::Link(link, event) => Happening::Link(link, event),
            Event::Delivered { .. } => return,
        };
        self.told.tell(happening);
    }

    /// Closes what nobody uses, and looks whether packets have waited too long.
    fn sweep(&mut self, now: Moment) {
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP;
        match &mut self.games {
            Games::Proxy(proxy) => {
                proxy.sweep(now);
                if proxy.link().is_some_and(|link| !self.node.is_silent(link)) {
                    proxy.is_heard();
                }
                let tired = proxy.is_tired(now);
                let search = proxy.wants_search(now) || proxy.wants_look(now);
                let game = proxy.game;
                if tired {
                    self.go_plainly(now, WhyPlain::NoAnswer);
                }
                if search {
                    self.node.find(now, game);
                }
            }
            Games::Beside(beside) => beside.sweep(now),
            Games::None | Games::Library => {}
        }
        // Places in the row change below.
        self.send_posted();
        let games = &self.games;
        self.ports.retain(|usage| match (usage, games) {
            (Use::Plain(flow), Games::Proxy(proxy)) => proxy.is_plain(flow),
            (Use::Beside(guest, flow), Games::Beside(beside)) => beside.is_known((guest, flow)),
            _ => true,
        });
    }
}

/// How often a busy socket is read before others have their turn.
const MOST_BATCHES: usize = 16;
/// What is kept of a datagram's memory; larger ones are rare.
const MOST_SPARE_BYTES: usize = 2_048;

/// The sockets to the world: the one everybody knows, its like for IPv6, and some to try the direct path
/// from.
fn open_world(
    ports: &mut Ports,
    settings: &Settings,
    clock: &MonotonicClock,
) -> Result<(), NetError> {
    let first = UdpPort::bind(known(settings.listen), clock)?;
    ports.add(Use::World(0), first)?;
    let six = settings.listen_v6.and_then(|six| {
        let port = UdpPort::bind(known(six), clock).ok()?;
        ports.add(Use::World(0), port).ok()?;
        Some(six)
    });
    for number in 1..settings.node.source_ports {
        for family in [Some(settings.listen), six].into_iter().flatten() {
            let any = SocketAddr::new(family.ip(), 0);
            let port = UdpPort::bind(quiet(any), clock)?;
            ports.add(Use::World(number), port)?;
        }
    }
    Ok(())
}

fn open_games(
    ports: &mut Ports,
    role: Role,
    first_flow: u16,
    clock: &MonotonicClock,
) -> Result<Games, NetError> {
    Ok(match role {
        Role::Join => Games::None,
        Role::Library => Games::Library,
        Role::Proxy { listen, game } => {
            ports.add(Use::Listen, UdpPort::bind(quiet(listen), clock)?)?;
            Games::Proxy(Proxy::new(game, first_flow, clock.now()))
        }
        Role::Expose { game, exits } => Games::Beside(Beside::new(game, exits)),
    })
}

/// The socket that everybody knows. ICMP errors, which anybody can forge, say nothing that silence does
/// not say.
fn known(addr: SocketAddr) -> PortConfig {
    PortConfig {
        icmp_errors: IcmpErrors::Ignore,
        ..PortConfig::at(addr)
    }
}

/// A socket that does not care for ICMP errors, and has modest buffers: one game's packets.
fn quiet(addr: SocketAddr) -> PortConfig {
    PortConfig {
        icmp_errors: IcmpErrors::Ignore,
        buffer_bytes: 1 << 18,
        ..PortConfig::at(addr)
    }
}

/// Any address of the family; on this machine if the other is.
fn any_address(to: SocketAddr) -> SocketAddr {
    let ip: IpAddr = match (to.ip(), to.ip().is_loopback()) {
        (IpAddr::V4(_), true) => Ipv4Addr::LOCALHOST.into(),
        (IpAddr::V4(_), false) => Ipv4Addr::UNSPECIFIED.into(),
        (IpAddr::V6(_), true) => Ipv6Addr::LOCALHOST.into(),
        (IpAddr::V6(_), false) => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(ip, 0)
}

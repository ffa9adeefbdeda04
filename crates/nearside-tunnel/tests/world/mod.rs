//! An Internet in one process and in virtual time: nodes, a directory, and links between them that take
//! what the test says. Every datagram is really encoded, sealed and decoded.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use nearside_detour::DirectoryConfig;
use nearside_tunnel::crypto::{Chance, Identity, PublicKey};
use nearside_tunnel::link::Outgoing;
use nearside_tunnel::node::{DirectoryAddress, Event, Incoming, Node, NodeConfig, Output};
use nearside_tunnel::service::{self, Service, ServiceConfig};
use nearside_types::Moment;

/// Somebody on the network: a player by number, or the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    Player(usize),
    Directory,
}

pub struct World {
    pub now: Moment,
    pub service: Option<Service>,
    pub nodes: Vec<Option<Node>>,
    /// One-way time of a packet; `None` loses it.
    #[allow(clippy::type_complexity)]
    pub carry: Box<dyn FnMut(Moment, Who, Who, u16) -> Option<Duration>>,
    pub events: Vec<(Moment, usize, Event)>,
    /// Datagrams that nodes sent, by their first byte.
    pub sent: BTreeMap<u8, u64>,
    directory: DirectoryAddress,
    queue: BinaryHeap<Reverse<Packet>>,
    timers: BinaryHeap<Reverse<(Moment, usize)>>,
    order: u64,
    seed: u64,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    at: Moment,
    order: u64,
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

const WALL: Duration = Duration::from_secs(1_800_000_000);
const FIRST_PORT: u16 = 4_000;
const DIRECTORY_PORTS: [u16; 2] = [4_800, 4_801];

fn directory_address(port: usize) -> SocketAddr {
    (Ipv4Addr::new(203, 0, 113, 1), DIRECTORY_PORTS[port]).into()
}

/// Every player in a prefix of its own, as in the wild.
pub fn address(player: usize) -> SocketAddr {
    let [high, low] = u16::try_from(player).unwrap().to_be_bytes();
    (Ipv4Addr::new(100, 64 + high, low, 7), FIRST_PORT).into()
}

fn who(at: SocketAddr) -> Option<Who> {
    let SocketAddr::V4(v4) = at else { return None };
    match v4.ip().octets() {
        [203, 0, 113, 1] => Some(Who::Directory),
        [100, high, low, 7] => {
            let player = u16::from_be_bytes([high.checked_sub(64)?, low]);
            Some(Who::Player(player.into()))
        }
        _ => None,
    }
}

impl World {
    pub fn new(
        seed: u64,
        carry: impl FnMut(Moment, Who, Who, u16) -> Option<Duration> + 'static,
    ) -> Self {
        let mut chance = Chance::from_number(seed);
        let identity = Identity::generate(&mut chance);
        let key = identity.public();
        let now = Moment::EPOCH + Duration::from_secs(100);
        let config = ServiceConfig {
            second_port: Some(DIRECTORY_PORTS[1]),
            ..ServiceConfig::default()
        };
        let directory = DirectoryConfig::default();
        let service = Service::new(config, identity, directory, chance, now, WALL);
        Self {
            now,
            service: Some(service),
            nodes: Vec::new(),
            carry: Box::new(carry),
            events: Vec::new(),
            sent: BTreeMap::new(),
            directory: DirectoryAddress {
                address: directory_address(0),
                other: None,
                key,
            },
            queue: BinaryHeap::new(),
            timers: BinaryHeap::new(),
            order: 0,
            seed,
        }
    }

    /// A player with a number of its own joins the network.
    pub fn add(&mut self, config: NodeConfig) -> usize {
        self.nodes.push(None);
        let player = self.nodes.len() - 1;
        self.start(player, config, player as u64);
        player
    }

    /// Starts a player, perhaps again with another identity.
    pub fn start(&mut self, player: usize, config: NodeConfig, name: u64) {
        let mut chance = Chance::from_number(self.seed.wrapping_mul(1_000_003) + name + 1);
        let own = Identity::generate(&mut chance);
        self.start_as(player, config, own, chance);
    }

    /// Starts a player's next process, under the key it has; what was under way is forgotten.
    pub fn restart(&mut self, player: usize, config: NodeConfig) {
        let mut chance = Chance::from_number(self.seed.wrapping_mul(1_000_003) + player as u64 + 1);
        let own = Identity::generate(&mut chance);
        let chance = Chance::from_number(self.now.since_epoch().as_nanos() as u64);
        self.start_as(player, config, own, chance);
    }

    fn start_as(&mut self, player: usize, config: NodeConfig, own: Identity, chance: Chance) {
        let config = NodeConfig {
            directories: vec![self.directory],
            ..config
        };
        self.nodes[player] = Some(Node::new(config, own, chance, self.now));
        self.timers.push(Reverse((self.now, player)));
    }

    /// Does something with the directory, and what follows of it.
    pub fn with_directory(&mut self, act: impl FnOnce(&mut Service)) {
        if let Some(service) = &mut self.service {
            act(service);
        }
        self.drain_service();
    }

    /// The directory's time since 1970.
    pub fn wall(&self) -> Duration {
        WALL + self.now.since_epoch()
    }

    pub fn key(&self, player: usize) -> PublicKey {
        self.nodes[player].as_ref().unwrap().key()
    }

    /// Does something with a node, and what follows of it.
    pub fn with<T>(&mut self, player: usize, act: impl FnOnce(&mut Node, Moment) -> T) -> T {
        let now = self.now;
        let node = self.nodes[player].as_mut().unwrap();
        let result = act(node, now);
        self.drain(player);
        result
    }

    fn drain(&mut self, player: usize) {
        let Some(node) = self.nodes[player].as_mut() else {
            return;
        };
        let mut out = Vec::new();
        while let Some(output) = node.poll_output() {
            match output {
                Output::Send(outgoing) => out.push(outgoing),
                Output::Event(event) => self.events.push((self.now, player, event)),
            }
        }
        let next = node
            .next_time(self.now)
            .max(self.now + Duration::from_micros(10));
        self.timers.push(Reverse((next, player)));
        for Outgoing { port, to, bytes } in out {
            *self.sent.entry(bytes[0]).or_default() += 1;
            let mut from = address(player);
            from.set_port(FIRST_PORT + u16::from(port));
            self.post(from, to, bytes);
        }
    }

    fn drain_service(&mut self) {
        let Some(service) = &mut self.service else {
            return;
        };
        let mut out = Vec::new();
        while let Some(output) = service.poll_output() {
            if let service::Output::Send { port, to, bytes } = output {
                out.push((port, to, bytes));
            }
        }
        service.take_changes().for_each(drop);
        for (port, to, bytes) in out {
            self.post(directory_address(port), to, bytes);
        }
    }

    fn post(&mut self, from: SocketAddr, to: SocketAddr, bytes: Vec<u8>) {
        let Some((sender, receiver)) = who(from).zip(who(to)) else {
            return;
        };
        let port = from.port() - FIRST_PORT;
        if let Some(takes) = (self.carry)(self.now, sender, receiver, port) {
            self.order += 1;
            self.queue.push(Reverse(Packet {
                at: self.now + takes,
                order: self.order,
                from,
                to,
                bytes,
            }));
        }
    }

    /// Lets time pass.
    pub fn run(&mut self, until: Moment) {
        loop {
            let packet = self.queue.peek().map(|Reverse(packet)| packet.at);
            let timer = self.timers.peek().map(|Reverse((at, _))| *at);
            let service = self.service.as_ref().map(Service::next_time);
            let next = [packet, timer, service].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= until) else {
                break;
            };
            self.now = self.now.max(next);
            if service == Some(next) {
                let now = self.now;
                if let Some(service) = &mut self.service {
                    service.handle_time(now, WALL + now.since_epoch());
                }
                self.drain_service();
            } else if packet == Some(next) {
                let Reverse(packet) = self.queue.pop().unwrap();
                self.deliver(packet);
            } else {
                let Reverse((_, player)) = self.timers.pop().unwrap();
                self.wake(player);
            }
        }
        self.now = until;
    }

    pub fn run_for(&mut self, time: Duration) {
        self.run(self.now + time);
    }

    fn wake(&mut self, player: usize) {
        let now = self.now;
        let Some(node) = self.nodes[player].as_mut() else {
            return;
        };
        // Timers that were replaced by others are still in the heap.
        if node.next_time(now) <= now {
            node.handle_time(now);
            self.drain(player);
        }
    }

    fn deliver(&mut self, packet: Packet) {
        let Packet {
            from,
            to,
            mut bytes,
            ..
        } = packet;
        let now = self.now;
        match who(to) {
            Some(Who::Directory) => {
                let port = usize::from(to.port() == DIRECTORY_PORTS[1]);
                if let Some(service) = &mut self.service {
                    let wall = WALL + now.since_epoch();
                    service.handle_datagram(now, wall, port, from, &bytes);
                }
                self.drain_service();
            }
            Some(Who::Player(player)) => {
                let port = u8::try_from(to.port() - FIRST_PORT).unwrap();
                let Some(Some(node)) = self.nodes.get_mut(player) else {
                    return;
                };
                let incoming = Incoming {
                    port,
                    from,
                    received: now,
                    bytes: &mut bytes,
                };
                node.handle_datagram(now, incoming);
                self.drain(player);
            }
            None => {}
        }
    }
}

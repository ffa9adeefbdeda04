//! Nodes with their directory, a network that does as it pleases, and strangers who send anything.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use nearside_detour::DirectoryConfig;
use nearside_types::Moment;
use nearside_wire::detour::SAFE_BYTES;

use super::frames;
use crate::crypto::{Chance, Identity};
use crate::messages::Capacity;
use crate::node::{DirectoryAddress, Event, Incoming, LinkId, Node, NodeConfig, Output};
use crate::service::{self, Service, ServiceConfig};

/// Any sequence of datagrams that come, are lost, come twice, late, damaged or from strangers, leaves nodes
/// that send strangers no more than came from them, whose datagrams are safe, and who have a time to look
/// after themselves.
pub fn node(bytes: &[u8]) {
    let mut stage = Stage::new();
    stage.settle();
    for step in bytes.chunks_exact(6) {
        stage.act([step[0], step[1], step[2], step[3], step[4], step[5]]);
    }
}

const NODES: usize = 3;
const MOST_UNDER_WAY: usize = 200;

struct Stage {
    service: Service,
    nodes: Vec<Node>,
    links: BTreeMap<usize, LinkId>,
    under_way: Vec<Datagram>,
    chance: Chance,
    now: Moment,
    /// Bytes that came from strangers, less those that went there.
    strangers: BTreeMap<IpAddr, usize>,
}

#[derive(Clone)]
struct Datagram {
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

fn directory(port: usize) -> SocketAddr {
    ([203, 0, 113, 1], if port == 0 { 4_800 } else { 4_801 }).into()
}

fn address(node: usize) -> SocketAddr {
    ([198, 18, node as u8, 1], 4_000).into()
}

fn stranger(number: u8) -> SocketAddr {
    ([192, 0, 2, number % 4], 53).into()
}

impl Stage {
    fn new() -> Self {
        let mut chance = Chance::from_number(0);
        let now = Moment::EPOCH + Duration::from_secs(1_000);
        let identity = Identity::generate(&mut chance);
        let at = DirectoryAddress {
            address: directory(0),
            other: None,
            key: identity.public(),
        };
        let config = ServiceConfig {
            second_port: Some(directory(1).port()),
            ..ServiceConfig::default()
        };
        let (known, wall) = (DirectoryConfig::default(), now.since_epoch());
        let service = Service::new(config, identity, known, chance.clone(), now, wall);
        let node = |number: u64| {
            let mut chance = Chance::from_number(1 + number);
            let config = NodeConfig {
                directories: vec![at],
                relaying: Some(Capacity {
                    sessions: 2,
                    packets: 100,
                    kilobits: 100,
                }),
                ..NodeConfig::default()
            };
            Node::new(config, Identity::generate(&mut chance), chance, now)
        };
        Self {
            service,
            nodes: (0..NODES as u64).map(node).collect(),
            links: BTreeMap::new(),
            under_way: Vec::new(),
            chance,
            now,
            strangers: BTreeMap::new(),
        }
    }

    /// Everybody joins, and two are linked.
    fn settle(&mut self) {
        self.run(10);
        let peer = self.nodes[1].key();
        self.nodes[0].connect(self.now, peer);
        self.run(10);
        assert!(self.nodes.iter().all(Node::is_joined), "an honest world");
        assert!(self.links.contains_key(&0) && self.links.contains_key(&1));
    }

    /// A tenth of a second again and again, in which everything arrives.
    fn run(&mut self, times: usize) {
        for _ in 0..times {
            self.pass(Duration::from_millis(100));
            while !self.under_way.is_empty() {
                let datagram = self.under_way.remove(0);
                self.deliver(datagram);
            }
        }
    }

    fn act(&mut self, [what, a, b, c, d, e]: [u8; 6]) {
        let who = usize::from(a) % NODES;
        match what % 8 {
            0 | 1 => self.deliver_one(b, c.is_multiple_of(4), None),
            2 => self.deliver_one(b, false, Some(c)),
            3 if !self.under_way.is_empty() => {
                self.under_way.remove(usize::from(b) % self.under_way.len());
            }
            4 => {
                let bytes = frames::any(&mut self.chance, b, c, d);
                self.inject(who, e, bytes);
            }
            5 => {
                // What one node or the directory said, told to another by somebody else.
                let heard = self.under_way.get(usize::from(b)).cloned();
                let bytes = heard.map_or(Vec::new(), |heard| frames::damaged(&heard.bytes, c));
                self.inject(who, e, bytes);
            }
            6 => self.use_link(who, b, c),
            _ => self.pass(Duration::from_millis(u64::from(b) * u64::from(c & 15))),
        }
        self.drain();
        for node in &self.nodes {
            assert!(node.view(self.now).links.len() <= NODES * 2, "bounded");
            let next = node.next_time(self.now);
            assert!(next < self.now + Duration::from_secs(3_600));
        }
    }

    fn use_link(&mut self, who: usize, b: u8, c: u8) {
        let (now, peer) = (self.now, self.nodes[usize::from(c) % NODES].key());
        let link = self.links.get(&who).copied().unwrap_or(LinkId(b.into()));
        let node = &mut self.nodes[who];
        match b % 8 {
            0 => node.connect(now, peer),
            1 => node.close(now, link),
            2 => node.report_lag(now, link),
            3 => node.find(now, stranger(c)),
            _ => node.send(now, link, c.into(), &[c; 40]),
        }
    }

    /// From a stranger, or in the name of the directory or a node.
    fn inject(&mut self, who: usize, from: u8, bytes: Vec<u8>) {
        let from = match from % 4 {
            0 => directory(usize::from(from / 128)),
            1 => address(usize::from(from / 4) % NODES),
            _ => {
                let from = stranger(from / 4);
                *self.strangers.entry(from.ip()).or_default() += bytes.len();
                from
            }
        };
        let to = address(who);
        self.deliver(Datagram { from, to, bytes });
    }

    fn deliver_one(&mut self, which: u8, keep: bool, damage: Option<u8>) {
        if self.under_way.is_empty() {
            return;
        }
        let at = usize::from(which) % self.under_way.len();
        let mut datagram = match keep {
            true => self.under_way[at].clone(),
            false => self.under_way.remove(at),
        };
        if let Some(damage) = damage {
            datagram.bytes = frames::damaged(&datagram.bytes, damage);
        }
        self.deliver(datagram);
    }

    fn deliver(&mut self, datagram: Datagram) {
        let Datagram {
            from,
            to,
            mut bytes,
        } = datagram;
        let now = self.now;
        if to.ip() == directory(0).ip() {
            let port = usize::from(to == directory(1));
            let wall = now.since_epoch();
            self.service.handle_datagram(now, wall, port, from, &bytes);
        } else if let Some(node) = (0..NODES).find(|node| address(*node).ip() == to.ip()) {
            let port = (to.port() - address(node).port()) as u8;
            let incoming = Incoming {
                port,
                from,
                received: now,
                bytes: &mut bytes,
            };
            self.nodes[node].handle_datagram(now, incoming);
        }
        self.drain();
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        let wall = self.now.since_epoch();
        self.service.handle_time(self.now, wall);
        for node in &mut self.nodes {
            node.handle_time(self.now);
        }
        self.drain();
    }

    fn drain(&mut self) {
        let mut out = Vec::new();
        while let Some(output) = self.service.poll_output() {
            if let service::Output::Send { port, to, bytes } = output {
                let from = directory(port);
                out.push(Datagram { from, to, bytes });
            }
        }
        for (number, node) in self.nodes.iter_mut().enumerate() {
            while let Some(output) = node.poll_output() {
                match output {
                    Output::Send(sent) => {
                        let mut from = address(number);
                        from.set_port(from.port() + u16::from(sent.port));
                        let (to, bytes) = (sent.to, sent.bytes);
                        out.push(Datagram { from, to, bytes });
                    }
                    Output::Event(Event::Connected { link, .. }) => {
                        self.links.insert(number, link);
                    }
                    Output::Event(_) => {}
                }
            }
        }
        for datagram in out {
            assert!(datagram.bytes.len() <= SAFE_BYTES);
            if let Some(left) = self.strangers.get_mut(&datagram.to.ip()) {
                let length = datagram.bytes.len();
                let rest = left.checked_sub(length);
                *left = rest.expect("strangers get no more than came from them");
            } else if self.under_way.len() < MOST_UNDER_WAY {
                self.under_way.push(datagram);
            }
        }
    }
}

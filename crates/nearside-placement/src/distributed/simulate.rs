//! A whole session in virtual time: nodes, and a network that delays, loses, doubles and reorders
//! their messages.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use nearside_types::Moment;
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{ClientNode, ClusterConfig, Committed, Message, NodeEvent, NodeId, Output, ServerNode};
use crate::solver::Counts;
use crate::{ClientId, Delay, Instance, ServerId};

/// How bad the network is, and who fails.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkConfig {
    /// Share of messages that are lost.
    pub loss: f64,
    /// Share of messages that come twice.
    pub duplicates: f64,
    /// Up to this much is added to each message's delay, evenly; more than the gap between two
    /// messages reorders them.
    pub jitter: Duration,
    /// Who crashes, and when.
    pub crashes: Vec<Crash>,
    /// Seed of all this.
    pub seed: u64,
    /// Gives up after this much virtual time.
    pub patience: Duration,
}

impl NetworkConfig {
    /// A network without faults.
    pub const fn perfect() -> Self {
        Self {
            loss: 0.0,
            duplicates: 0.0,
            jitter: Duration::ZERO,
            crashes: Vec::new(),
            seed: 0,
            patience: Duration::from_secs(3600),
        }
    }
}

/// A node stops for good, or comes back with an empty memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crash {
    /// Who.
    pub node: NodeId,
    /// When, from the start.
    pub at: Duration,
    /// When it starts again.
    pub back: Option<Duration>,
}

/// How a simulated session went.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedRun {
    /// What everybody who lives has committed last; `None` if nobody could, or time ran out.
    pub committed: Option<Committed>,
    /// Whether the last epoch found the bound unmet.
    pub bound_unmet: bool,
    /// Whether the session came to rest: somebody leads, and everybody who lives takes part.
    pub settled: bool,
    /// Every commit of every node, in order.
    pub commits: Vec<(NodeId, Committed)>,
    /// Messages sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Virtual time from the start to rest.
    pub elapsed: Duration,
    /// What the last epoch took.
    pub counts: Counts,
}

/// Runs an instance's clients and servers as nodes until the session is at rest.
pub fn simulate(
    instance: &Instance,
    config: ClusterConfig,
    network: &NetworkConfig,
) -> SimulatedRun {
    let mut world = World::new(instance, config, network);
    while let Some(Reverse(entry)) = world.queue.pop() {
        if entry.at.since_epoch() > network.patience {
            break;
        }
        world.now = entry.at;
        world.happen(entry.what);
        if world.is_at_rest() {
            break;
        }
    }
    world.report()
}

/// Something that will happen; ordered by time, then by the order in which it was put down.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Moment,
    number: u64,
    what: What,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Arrive {
        to: NodeId,
        from: NodeId,
        bytes: Vec<u8>,
    },
    Wake(NodeId),
    Crash(NodeId),
    Restart(NodeId),
}

enum Node {
    Client(Box<ClientNode>),
    Server(Box<ServerNode>),
}

struct World<'w> {
    instance: &'w Instance,
    config: ClusterConfig,
    network: &'w NetworkConfig,
    now: Moment,
    rng: ChaCha8Rng,
    queue: BinaryHeap<Reverse<Entry>>,
    numbers: u64,
    /// Clients, then servers; `None` for the dead.
    nodes: Vec<Option<Node>>,
    /// When each wants to be woken; an earlier alarm that is still in the queue rings in vain.
    alarms: Vec<Moment>,
    /// Crashes and restarts still to come.
    faults: usize,
    commits: Vec<(NodeId, Committed)>,
    unmet: bool,
    messages: u64,
    bytes: u64,
}

impl<'w> World<'w> {
    fn new(instance: &'w Instance, config: ClusterConfig, network: &'w NetworkConfig) -> Self {
        let mut world = Self {
            instance,
            config,
            network,
            now: Moment::EPOCH,
            rng: ChaCha8Rng::seed_from_u64(network.seed),
            queue: BinaryHeap::new(),
            numbers: 0,
            nodes: Vec::new(),
            alarms: Vec::new(),
            faults: 0,
            commits: Vec::new(),
            unmet: false,
            messages: 0,
            bytes: 0,
        };
        for node in world.everybody() {
            let born = world.birth(node);
            world.nodes.push(Some(born));
            world.alarms.push(Moment::EPOCH);
            world.schedule(Duration::ZERO, What::Wake(node));
        }
        for crash in &network.crashes {
            world.schedule(crash.at, What::Crash(crash.node));
            world.faults += 1;
            if let Some(back) = crash.back {
                world.schedule(back, What::Restart(crash.node));
                world.faults += 1;
            }
        }
        world
    }

    fn everybody(&self) -> Vec<NodeId> {
        let clients = (0..self.config.clients).map(NodeId::Client);
        clients
            .chain((0..self.config.servers).map(NodeId::Server))
            .collect()
    }

    fn birth(&self, node: NodeId) -> Node {
        match node {
            NodeId::Client(client) => {
                let row = self.instance.access_row(ClientId::new(usize::from(client)));
                Node::Client(Box::new(ClientNode::new(client, self.config, row.to_vec())))
            }
            NodeId::Server(server) => {
                let id = ServerId::new(usize::from(server));
                let others = self.instance.server_ids();
                let row = others
                    .map(|other| self.instance.separation(id, other))
                    .collect();
                let capacity = self.instance.servers()[id.index()].capacity;
                let node = ServerNode::new(server, self.config, row, capacity, self.now);
                Node::Server(Box::new(node))
            }
        }
    }

    fn place(&self, node: NodeId) -> usize {
        match node {
            NodeId::Client(client) => usize::from(client),
            NodeId::Server(server) => usize::from(self.config.clients) + usize::from(server),
        }
    }

    fn schedule(&mut self, after: Duration, what: What) {
        self.numbers += 1;
        self.queue.push(Reverse(Entry {
            at: self.now + after,
            number: self.numbers,
            what,
        }));
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Arrive { to, from, bytes } => self.arrive(to, from, &bytes),
            What::Wake(node) if self.alarms[self.place(node)] == self.now => self.wake(node),
            What::Wake(_) => {}
            What::Crash(node) => {
                let place = self.place(node);
                self.nodes[place] = None;
                self.faults -= 1;
            }
            What::Restart(node) => {
                let place = self.place(node);
                self.nodes[place] = Some(self.birth(node));
                self.faults -= 1;
                self.wake(node);
            }
        }
    }

    fn arrive(&mut self, to: NodeId, from: NodeId, bytes: &[u8]) {
        let (now, place) = (self.now, self.place(to));
        let message = Message::decode(bytes).expect("we read what we write");
        match &mut self.nodes[place] {
            Some(Node::Client(client)) => client.handle_message(now, from, message),
            Some(Node::Server(server)) => server.handle_message(now, from, message),
            None => return,
        }
        self.drain(to);
    }

    fn wake(&mut self, node: NodeId) {
        let (now, place) = (self.now, self.place(node));
        match &mut self.nodes[place] {
            Some(Node::Client(client)) => client.handle_timeout(now),
            Some(Node::Server(server)) => server.handle_timeout(now),
            None => return,
        }
        self.drain(node);
    }

    /// Takes a node's outputs until it wants to wait.
    fn drain(&mut self, node: NodeId) {
        let (now, place) = (self.now, self.place(node));
        loop {
            let output = match &mut self.nodes[place] {
                Some(Node::Client(client)) => client.poll_output(now),
                Some(Node::Server(server)) => server.poll_output(now),
                None => return,
            };
            match output {
                Output::Send { to, message } => self.send(node, to, &message),
                Output::Event(event) => self.note(node, event),
                Output::Wait(until) => {
                    let after = until.since(now).max(Duration::from_micros(1));
                    return self.set_alarm(node, after);
                }
            }
        }
    }

    fn set_alarm(&mut self, node: NodeId, after: Duration) {
        let (place, at) = (self.place(node), self.now + after);
        if self.alarms[place] != at {
            self.alarms[place] = at;
            self.schedule(after, What::Wake(node));
        }
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: &Message) {
        let bytes = message.encode();
        self.messages += 1;
        self.bytes += bytes.len() as u64;
        let copies = 1 + usize::from(self.rng.random_bool(self.network.duplicates));
        for _ in 0..copies {
            if self.rng.random_bool(self.network.loss) {
                continue;
            }
            let jitter = self.network.jitter.mul_f64(self.rng.random::<f64>());
            let after = self.path(from, to) + jitter;
            let bytes = bytes.clone();
            self.schedule(after, What::Arrive { to, from, bytes });
        }
    }

    /// How long a message travels: as far as the nodes are apart.
    fn path(&self, from: NodeId, to: NodeId) -> Duration {
        let delay = match (from, to) {
            (NodeId::Client(client), NodeId::Server(server))
            | (NodeId::Server(server), NodeId::Client(client)) => {
                let client = ClientId::new(usize::from(client));
                self.instance
                    .access(client, ServerId::new(usize::from(server)))
            }
            (NodeId::Server(one), NodeId::Server(other)) => {
                let [one, other] = [one, other].map(|id| ServerId::new(usize::from(id)));
                self.instance.separation(one, other)
            }
            (NodeId::Client(_), NodeId::Client(_)) => Delay::ZERO,
        };
        // Control messages get through even where the game cannot be played.
        let millis = if delay.is_usable() {
            delay.as_millis()
        } else {
            100.0
        };
        Duration::from_secs_f64(millis / 1e3)
    }

    fn note(&mut self, node: NodeId, event: NodeEvent) {
        match event {
            NodeEvent::Committed(committed) => self.commits.push((node, committed)),
            NodeEvent::BoundUnmet(_) => self.unmet = true,
            NodeEvent::Leads(_) => self.unmet = false,
            NodeEvent::Epoch(_) | NodeEvent::Settled { .. } => {}
        }
    }

    /// Nobody will fail any more, and a leader has settled with exactly those who live.
    fn is_at_rest(&self) -> bool {
        self.faults == 0 && self.leader().is_some()
    }

    fn leader(&self) -> Option<&ServerNode> {
        let alive: Vec<bool> = self.nodes.iter().map(Option::is_some).collect();
        let (clients, servers) = alive.split_at(usize::from(self.config.clients));
        self.nodes.iter().flatten().find_map(|node| match node {
            Node::Server(server) if server.is_settled_with(clients, servers) => Some(&**server),
            _ => None,
        })
    }

    fn report(self) -> SimulatedRun {
        let leader = self.leader();
        let committed = leader.filter(|_| !self.unmet);
        let committed = committed.and_then(|leader| leader.committed().cloned());
        SimulatedRun {
            committed,
            bound_unmet: self.unmet,
            settled: leader.is_some(),
            counts: leader.and_then(ServerNode::counts).unwrap_or_default(),
            elapsed: self.now.since_epoch(),
            messages: self.messages,
            bytes: self.bytes,
            commits: self.commits,
        }
    }
}

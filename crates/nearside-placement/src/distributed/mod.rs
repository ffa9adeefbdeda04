//! The paper's algorithm as it is meant to run: clients and servers that exchange messages, no one
//! knowing all distances. A client knows its own distances to servers, a server its own to other
//! servers.
//!
//! One *epoch* is one run of the algorithm (ZIZO-Sr-C, sections 3.2 and 3.3 of the paper):
//!
//! ```text
//! initiator  ── Census ──▶ everybody        who is there?
//! servers    ── Match ───▶ servers          a tournament: the core is whose farthest client is nearest
//! core leads ── Turn ────▶ client           step 1, then zoom in, zoom out, one client after the other
//! client     ── Probe ───▶ next server      would the bound hold with me?
//! server     ── Fetch ───▶ leader           the virtual state, unless its copy is fresh
//! server     ── Propose ─▶ leader           it would, at version v: taken only if v is still current
//! leader     ── Prepare, Commit ▶ everybody all move at once
//! ```
//!
//! Versions keep the promise: a move that was judged on an older state than the present one is sent
//! back to be judged again, so moves judged side by side cannot break the bound together. With one
//! turn at a time the result is that of [`crate::solver::Zizo`] for the same order of clients.
//!
//! Messages may be lost, doubled and reordered: requests are repeated until answered, and answers can
//! be repeated without harm. Nodes may crash: the leader listens for everybody's heartbeat and starts
//! a new epoch without the dead; servers listen for the leader's and the lowest one starts a new epoch
//! if it falls silent. Nothing is moved before the commit, so an epoch that ends early leaves no trace.
//!
//! Drive a node like any engine here: hand it messages and moments, poll it for messages to send,
//! events, and when it wants to be woken.

mod client;
mod codec;
mod message;
mod node;
mod outbox;
mod server;
mod simulate;

pub use client::ClientNode;
pub use codec::DecodeError;
pub use message::{Epoch, Message, NodeId};
pub use node::{Node, Rough, Roughness};
pub use server::ServerNode;
pub use simulate::{Crash, NetworkConfig, SimulatedRun, simulate};

use std::time::Duration;

use nearside_types::Moment;
use thiserror::Error;

use crate::{Allocation, ClientId, Delay, Instance, ServerId};

/// What all nodes of a session have to agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterConfig {
    /// Clients, from 0.
    pub clients: u16,
    /// Servers, from 0.
    pub servers: u16,
    /// What the network may take: the bound without processing.
    pub limit: Delay,
    /// Clients that may have their turn at the same time. One gives the library's result; more are
    /// faster and as safe, but the order of moves is then chance.
    pub window: usize,
    /// How often a leader shows that it lives, and asks whether others do.
    pub beat: Duration,
    /// Who is silent for so long is taken for dead. Long enough for twenty beats, as lost messages
    /// are no deaths.
    pub silence: Duration,
    /// How long a request waits for its answer before it is repeated; each repetition waits longer.
    pub retry: Duration,
}

impl ClusterConfig {
    /// For the clients and servers of an instance.
    ///
    /// # Errors
    /// When there are more than 16 bits can number.
    pub fn of(instance: &Instance, bound: Delay) -> Result<Self, TooMany> {
        let number = |nodes: usize| {
            u16::try_from(nodes)
                .ok()
                .filter(|&number| number < u16::MAX)
        };
        let clients = number(instance.clients().len()).ok_or(TooMany)?;
        let servers = number(instance.servers().len()).ok_or(TooMany)?;
        Ok(Self::new(clients, servers, instance.network_budget(bound)))
    }

    /// One turn at a time, beats every 100 ms, death after 2 s.
    pub const fn new(clients: u16, servers: u16, limit: Delay) -> Self {
        Self {
            clients,
            servers,
            limit,
            window: 1,
            beat: Duration::from_millis(100),
            silence: Duration::from_secs(2),
            retry: Duration::from_millis(60),
        }
    }
}

/// More nodes than a distributed session can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a distributed session has at most 65,534 clients and as many servers")]
pub struct TooMany;

/// What a node wants from its driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send this.
    Send {
        /// To whom.
        to: NodeId,
        /// What.
        message: Message,
    },
    /// This happened.
    Event(NodeEvent),
    /// Nothing to do before this moment, unless a message comes.
    Wait(Moment),
}

/// What a driver may want to know.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeEvent {
    /// A new epoch has begun for this node.
    Epoch(Epoch),
    /// This server is the core and leads the session.
    Leads(Epoch),
    /// The commit has reached this node: these are the seats now.
    Committed(Committed),
    /// The leader found that step 1 violates the bound, or that somebody has no seat; nobody moves.
    BoundUnmet(Epoch),
    /// The epoch that this server leads has come to its end: all who take part have moved, or nobody
    /// will.
    Settled {
        /// Which.
        epoch: Epoch,
        /// Which clients take part.
        clients: Vec<bool>,
        /// Which servers take part.
        servers: Vec<bool>,
    },
}

/// What everybody has moved to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The epoch that decided it.
    pub epoch: Epoch,
    /// The server of each client that takes part; `None` for one that does not.
    pub contacts: Vec<Option<ServerId>>,
}

/// The node that plays a part of an instance.
pub fn node_of(
    instance: &Instance,
    config: ClusterConfig,
    id: NodeId,
    now: Moment,
) -> Box<dyn Node + Send> {
    match id {
        NodeId::Client(client) => {
            let row = instance.access_row(ClientId::new(usize::from(client)));
            Box::new(ClientNode::new(client, config, row.to_vec()))
        }
        NodeId::Server(server) => {
            let id = ServerId::new(usize::from(server));
            let others = instance.server_ids();
            let row = others.map(|other| instance.separation(id, other)).collect();
            let capacity = instance.servers()[id.index()].capacity;
            Box::new(ServerNode::new(server, config, row, capacity, now))
        }
    }
}

impl Committed {
    /// The allocation, if every client takes part.
    pub fn allocation(&self) -> Option<Allocation> {
        let contacts: Option<Vec<ServerId>> = self.contacts.iter().copied().collect();
        contacts.map(Allocation::new)
    }
}

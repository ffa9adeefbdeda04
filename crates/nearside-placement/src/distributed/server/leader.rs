//! The core leads: it keeps the virtual state, gives clients their turns, and has everybody move at
//! once in the end.

use std::collections::{BTreeMap, VecDeque};

use nearside_types::Moment;

use super::seats::VirtualSeats;
use crate::Delay;
use crate::distributed::message::{Act, Body, Decision, Epoch, NodeId, Phase, Probe, Roll, Turn};
use crate::distributed::outbox::{Outbox, Subject};
use crate::distributed::{ClusterConfig, NodeEvent};
use crate::solver::Counts;

/// The leader of an epoch.
#[derive(Debug)]
pub(super) struct Leader {
    epoch: Epoch,
    config: ClusterConfig,
    pub(super) roll: Roll,
    stage: Stage,
    seats: VirtualSeats,
    places: Vec<Option<u32>>,
    /// Clients that have not had their turn in this round.
    queue: VecDeque<u16>,
    open: BTreeMap<u32, OpenTurn>,
    last_turn: u32,
    moved: bool,
    holds: bool,
    /// When it began to lead.
    pub(super) since: Moment,
    pub(super) next_beat: Moment,
    /// When each node was last heard of: clients, then servers.
    pub(super) heard: Vec<Moment>,
    counts: Counts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Beginning,
    Turns(Phase),
    Checking,
    Preparing,
    Committing,
    Settled,
}

#[derive(Debug, Clone, Copy)]
struct OpenTurn {
    client: u16,
    /// The server its move was taken for.
    taken: Option<u16>,
}

impl Leader {
    pub(super) fn new(epoch: Epoch, config: ClusterConfig, roll: Roll, now: Moment) -> Self {
        let (clients, servers) = (roll.clients.len(), roll.servers.len());
        Self {
            epoch,
            config,
            roll,
            stage: Stage::Beginning,
            seats: VirtualSeats::new(clients, servers),
            places: vec![None; servers],
            queue: VecDeque::new(),
            open: BTreeMap::new(),
            last_turn: 0,
            moved: false,
            holds: true,
            since: now,
            next_beat: now,
            heard: vec![now; clients + servers],
            counts: Counts::default(),
        }
    }

    /// What the epoch has taken so far.
    pub(super) const fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether the epoch has come to its end, one way or the other.
    pub(super) fn is_settled(&self) -> bool {
        self.stage == Stage::Settled
    }

    fn clients(&self) -> Vec<u16> {
        let clients = (0u16..).zip(&self.roll.clients);
        clients
            .filter(|(_, here)| **here)
            .map(|(client, _)| client)
            .collect()
    }

    fn servers(&self) -> Vec<u16> {
        let servers = (0u16..).zip(&self.roll.servers);
        servers
            .filter(|(_, here)| **here)
            .map(|(server, _)| server)
            .collect()
    }

    fn members(&self) -> Vec<NodeId> {
        let clients = self.clients().into_iter().map(NodeId::Client);
        clients
            .chain(self.servers().into_iter().map(NodeId::Server))
            .collect()
    }

    /// Tells everybody who leads, and clients how far servers are from the core.
    pub(super) fn begin(&mut self, now: Moment, separations: &[Delay], outbox: &mut Outbox) {
        let known = self.roll.servers.iter().zip(separations);
        let to_core: Vec<Option<Delay>> =
            known.map(|(here, &apart)| here.then_some(apart)).collect();
        for member in self.members() {
            let row = match member {
                NodeId::Client(_) => to_core.clone(),
                NodeId::Server(_) => Vec::new(),
            };
            outbox.request(now, Subject::Begin, member, self.epoch, Body::Begin(row));
        }
    }

    /// Answers and questions of members.
    pub(super) fn handle(&mut self, now: Moment, from: NodeId, body: &Body, outbox: &mut Outbox) {
        match *body {
            Body::Began { places } => self.count_begun(now, from, places, outbox),
            Body::TurnDone { turn, act } => self.end_turn(now, from, turn, act, outbox),
            Body::Fetch { .. } => outbox.send(from, self.epoch, Body::State(self.seats.snapshot())),
            Body::Propose { probe } => self.decide(from, probe, outbox),
            Body::Checked { version, holds } => self.take_check(now, from, version, holds, outbox),
            Body::Prepared => self.count_prepared(now, from, outbox),
            Body::CommitDone => {
                let last = outbox.settle(from, Subject::Commit) && !outbox.awaits(Subject::Commit);
                if last && self.stage == Stage::Committing {
                    self.settle(outbox);
                }
            }
            Body::UnmetDone => drop(outbox.settle(from, Subject::Unmet)),
            _ => {}
        }
    }

    fn count_begun(&mut self, now: Moment, from: NodeId, places: Option<u32>, outbox: &mut Outbox) {
        if !outbox.settle(from, Subject::Begin) {
            return;
        }
        if let NodeId::Server(server) = from {
            self.places[usize::from(server)] = places;
        }
        if !outbox.awaits(Subject::Begin) && self.stage == Stage::Beginning {
            self.start_round(now, Phase::Seat, outbox);
        }
    }

    fn start_round(&mut self, now: Moment, phase: Phase, outbox: &mut Outbox) {
        self.stage = Stage::Turns(phase);
        self.queue = self.clients().into();
        self.moved = false;
        self.counts.rounds += u64::from(phase != Phase::Seat);
        self.give_turns(now, phase, outbox);
    }

    /// As many turns at a time as the window allows.
    fn give_turns(&mut self, now: Moment, phase: Phase, outbox: &mut Outbox) {
        while self.open.len() < self.config.window.max(1) {
            let Some(client) = self.queue.pop_front() else {
                break;
            };
            self.last_turn += 1;
            let turn = Turn {
                number: self.last_turn,
                phase,
                version: self.seats.version(),
                present: self.seats.contact(client),
                in_use: self.seats.in_use(),
                full: self.full(),
            };
            let taken = None;
            self.open.insert(self.last_turn, OpenTurn { client, taken });
            let to = NodeId::Client(client);
            outbox.request(now, Subject::Turn, to, self.epoch, Body::Turn(turn));
        }
        if self.open.is_empty() {
            self.end_round(now, phase, outbox);
        }
    }

    fn full(&self) -> Vec<bool> {
        let full = |(server, places): (usize, &Option<u32>)| {
            places.is_some_and(|places| self.seats.load(server) >= places as usize)
        };
        self.places.iter().enumerate().map(full).collect()
    }

    fn end_turn(&mut self, now: Moment, from: NodeId, turn: u32, act: Act, outbox: &mut Outbox) {
        let Some(open) = self.open.get(&turn).copied() else {
            return;
        };
        if from != NodeId::Client(open.client) {
            return;
        }
        let Stage::Turns(phase) = self.stage else {
            return;
        };
        self.open.remove(&turn);
        outbox.settle(from, Subject::Turn);
        match act {
            Act::Pass if phase == Phase::Seat => return self.give_up(now, outbox),
            Act::Sit { server, distance } => self.sit(open.client, server, distance),
            Act::Stay | Act::Go => self.counts.probes += 1,
            Act::Pass => {}
        }
        self.give_turns(now, phase, outbox);
    }

    /// Step 1. With several turns at once the place may be gone: then the client has another turn.
    fn sit(&mut self, client: u16, server: u16, distance: Delay) {
        let free = self.full().get(usize::from(server)) == Some(&false);
        if free && self.roll.servers.get(usize::from(server)) == Some(&true) {
            self.counts.probes += 1;
            self.seats.seat(client, server, distance);
        } else {
            self.queue.push_front(client);
        }
    }

    /// A move that was judged on the present state becomes part of it; others are judged again.
    fn decide(&mut self, from: NodeId, probe: Probe, outbox: &mut Outbox) {
        let (NodeId::Server(server), Some(open)) = (from, self.open.get_mut(&probe.turn)) else {
            return;
        };
        let current = probe.version == self.seats.version();
        let decision = match open.taken {
            Some(taken) if taken == server => Decision::Taken,
            Some(_) => return,
            None if open.client != probe.client => return,
            None if current => {
                open.taken = Some(server);
                self.moved = true;
                self.counts.migrations += 1;
                self.seats.seat(probe.client, server, probe.distance);
                Decision::Taken
            }
            None => Decision::Stale {
                version: self.seats.version(),
            },
        };
        let turn = probe.turn;
        outbox.send(from, self.epoch, Body::Decision { turn, decision });
    }

    fn end_round(&mut self, now: Moment, phase: Phase, outbox: &mut Outbox) {
        match (phase, self.moved) {
            (Phase::Seat, _) => self.check(now, outbox),
            (phase, true) => self.start_round(now, phase, outbox),
            (Phase::ZoomIn, false) => self.start_round(now, Phase::ZoomOut, outbox),
            (Phase::ZoomOut, false) => self.prepare(now, outbox),
        }
    }

    /// Does step 1 keep the bound? Each server in use knows its own part of the answer.
    fn check(&mut self, now: Moment, outbox: &mut Outbox) {
        self.stage = Stage::Checking;
        let version = self.seats.version();
        for (server, _) in (0u16..).zip(self.seats.in_use()).filter(|(_, used)| *used) {
            let to = NodeId::Server(server);
            outbox.request(now, Subject::Check, to, self.epoch, Body::Check { version });
        }
    }

    fn take_check(
        &mut self,
        now: Moment,
        from: NodeId,
        version: u32,
        holds: bool,
        outbox: &mut Outbox,
    ) {
        let awaited = self.stage == Stage::Checking && version == self.seats.version();
        if !awaited || !outbox.settle(from, Subject::Check) {
            return;
        }
        self.holds &= holds;
        if outbox.awaits(Subject::Check) {
            return;
        }
        match self.holds {
            true => self.start_round(now, Phase::ZoomIn, outbox),
            false => self.give_up(now, outbox),
        }
    }

    /// "Note the violation": nobody moves.
    fn give_up(&mut self, now: Moment, outbox: &mut Outbox) {
        self.open.clear();
        self.queue.clear();
        outbox.event(NodeEvent::BoundUnmet(self.epoch));
        self.settle(outbox);
        for member in self.members() {
            outbox.request(now, Subject::Unmet, member, self.epoch, Body::Unmet);
        }
    }

    fn settle(&mut self, outbox: &mut Outbox) {
        self.stage = Stage::Settled;
        outbox.event(NodeEvent::Settled {
            epoch: self.epoch,
            clients: self.roll.clients.clone(),
            servers: self.roll.servers.clone(),
        });
    }

    fn prepare(&mut self, now: Moment, outbox: &mut Outbox) {
        self.stage = Stage::Preparing;
        let contacts = self.seats.contacts().to_vec();
        for member in self.members() {
            let contacts = contacts.clone();
            let body = Body::Prepare { contacts };
            outbox.request(now, Subject::Prepare, member, self.epoch, body);
        }
    }

    fn count_prepared(&mut self, now: Moment, from: NodeId, outbox: &mut Outbox) {
        let last = outbox.settle(from, Subject::Prepare) && !outbox.awaits(Subject::Prepare);
        if last && self.stage == Stage::Preparing {
            self.stage = Stage::Committing;
            for member in self.members() {
                outbox.request(now, Subject::Commit, member, self.epoch, Body::Commit);
            }
        }
    }
}

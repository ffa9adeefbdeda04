//! A server of the session: one of many in the tournament, judge of moves to itself, perhaps the one
//! that begins an epoch, perhaps the core that leads it.

mod census;
mod judge;
mod leader;
mod pulse;
mod seats;
mod tournament;

use nearside_types::Moment;

use super::client::committed;
use super::message::{Body, Epoch, Message, NodeId, Roll};
use super::outbox::{Outbox, Subject};
use super::{ClusterConfig, Committed, NodeEvent, Output};
use crate::Delay;
use crate::solver::Counts;
use census::Census;
use judge::Judge;
use leader::Leader;
use tournament::Tournament;

/// A server node.
#[derive(Debug)]
pub struct ServerNode {
    id: u16,
    config: ClusterConfig,
    /// Delays to all servers, the worse direction.
    separations: Vec<Delay>,
    /// Places; `None` for any number.
    capacity: Option<u32>,
    epoch: Epoch,
    /// When a leader was last heard of.
    heard: Moment,
    tournament: Option<Tournament>,
    judge: Judge,
    census: Option<Census>,
    leader: Option<Leader>,
    prepared: Committed,
    committed: Committed,
    outbox: Outbox,
}

impl ServerNode {
    /// A server that knows its delays to all servers.
    pub fn new(
        id: u16,
        config: ClusterConfig,
        separations: Vec<Delay>,
        capacity: Option<u32>,
        now: Moment,
    ) -> Self {
        let nothing = Committed {
            epoch: Epoch::NONE,
            contacts: Vec::new(),
        };
        Self {
            id,
            config,
            separations,
            capacity,
            epoch: Epoch::NONE,
            heard: now,
            tournament: None,
            judge: Judge::default(),
            census: None,
            leader: None,
            prepared: nothing.clone(),
            committed: nothing,
            outbox: Outbox::new(config.retry),
        }
    }

    /// Whether this server is the core and leads the session.
    pub fn leads(&self) -> bool {
        self.leader.is_some()
    }

    /// What the epoch has taken so far, if this server leads it.
    pub fn counts(&self) -> Option<Counts> {
        self.leader.as_ref().map(Leader::counts)
    }

    /// The last commit that has reached this server.
    pub fn committed(&self) -> Option<&Committed> {
        (self.committed.epoch != Epoch::NONE).then_some(&self.committed)
    }

    /// Whether this server leads an epoch that has come to its end, with exactly these taking part.
    pub(super) fn is_settled_with(&self, clients: &[bool], servers: &[bool]) -> bool {
        self.leader.as_ref().is_some_and(|leader| {
            leader.is_settled() && leader.roll.clients == clients && leader.roll.servers == servers
        })
    }

    const fn me(&self) -> NodeId {
        NodeId::Server(self.id)
    }

    /// Takes a message. Messages of earlier epochs are ignored.
    pub fn handle_message(&mut self, now: Moment, from: NodeId, message: Message) {
        if message.epoch < self.epoch || !self.knows(from) {
            return;
        }
        if message.epoch > self.epoch {
            self.enter(now, message.epoch);
        }
        self.note_life(now, from);
        if self.judge.is_led_by(from) {
            self.heard = now;
        }
        match message.body {
            Body::Beat => {
                self.heard = now;
                self.reply(from, Body::Alive);
            }
            Body::Census => {
                self.heard = now;
                self.answer_census(from);
            }
            Body::Here {
                prepared,
                committed,
            } => self.count_in(now, from, prepared, committed),
            Body::Settle { committed } => self.settle_old_commit(from, committed),
            Body::Distance(distance) => self.learn_distance(now, from, distance),
            Body::Match(bracket) => self.enter_bracket(now, from, bracket),
            Body::Winner { server, farthest } => self.take_winner(now, from, server, farthest),
            Body::Lead(roll) => self.take_lead(now, from, roll),
            Body::Leading => self.hand_over(now, from),
            Body::Begin(_) => {
                self.heard = now;
                self.judge.meet(from);
                let places = self.capacity;
                self.reply(from, Body::Began { places });
            }
            Body::Probe(probe) => self.take_probe(now, from, probe),
            Body::State(seats) => self.take_state(now, from, seats),
            Body::Decision { turn, decision } => self.take_decision(now, from, turn, decision),
            Body::Check { version } => self.take_check(now, from, version),
            Body::Prepare { contacts } => {
                self.prepared = committed(self.epoch, &contacts);
                self.reply(from, Body::Prepared);
            }
            Body::Commit if self.prepared.epoch == self.epoch => {
                self.commit();
                self.reply(from, Body::CommitDone);
            }
            Body::Unmet => self.reply(from, Body::UnmetDone),
            Body::CommitDone => {
                self.outbox.settle(from, Subject::Settle);
                self.lead(now, from, &Body::CommitDone);
            }
            body => self.lead(now, from, &body),
        }
    }

    /// Whether a node is one of this session: other numbers come from nowhere we know.
    fn knows(&self, node: NodeId) -> bool {
        match node {
            NodeId::Client(client) => client < self.config.clients,
            NodeId::Server(server) => server < self.config.servers,
        }
    }

    /// Answers of clients and servers to whoever leads.
    fn lead(&mut self, now: Moment, from: NodeId, body: &Body) {
        if let Some(leader) = &mut self.leader {
            leader.handle(now, from, body, &mut self.outbox);
        }
    }

    /// Repeats what was not answered, shows life, and looks whether others do.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.outbox.repeat_due(now);
        self.beat(now);
        self.watch(now);
    }

    /// What to do next.
    pub fn poll_output(&mut self, now: Moment) -> Output {
        while let Some(output) = self.outbox.pop() {
            match output {
                // What one tells oneself needs no network.
                Output::Send { to, message } if to == self.me() => {
                    self.handle_message(now, to, message);
                }
                output => return output,
            }
        }
        Output::Wait(self.next_timeout())
    }

    fn next_timeout(&self) -> Moment {
        let repeat = self.outbox.next_repeat();
        let pulse = self.next_pulse();
        repeat.map_or(pulse, |repeat| repeat.min(pulse))
    }

    /// Everything of an earlier epoch is void, but for what was prepared and committed.
    fn enter(&mut self, now: Moment, epoch: Epoch) {
        self.epoch = epoch;
        self.heard = now;
        self.tournament = None;
        self.judge = Judge::default();
        self.census = None;
        self.leader = None;
        self.outbox.forget();
        self.outbox.event(NodeEvent::Epoch(epoch));
    }

    fn reply(&mut self, to: NodeId, body: Body) {
        self.outbox.send(to, self.epoch, body);
    }

    fn answer_census(&mut self, from: NodeId) {
        let body = Body::Here {
            prepared: self.prepared.epoch,
            committed: self.committed.epoch,
        };
        self.reply(from, body);
    }

    /// Somebody has made a commit that we have only prepared, and its leader is gone.
    fn settle_old_commit(&mut self, from: NodeId, committed: Epoch) {
        if self.prepared.epoch == committed {
            self.commit();
        }
        self.reply(from, Body::CommitDone);
    }

    fn commit(&mut self) {
        if self.committed != self.prepared {
            self.committed = self.prepared.clone();
            let event = NodeEvent::Committed(self.committed.clone());
            self.outbox.event(event);
        }
    }

    fn take_lead(&mut self, now: Moment, from: NodeId, roll: Roll) {
        let whole = roll.clients.len() == usize::from(self.config.clients)
            && roll.servers.len() == usize::from(self.config.servers);
        if self.leader.is_none() && whole {
            self.outbox.event(NodeEvent::Leads(self.epoch));
            let mut leader = Leader::new(self.epoch, self.config, roll, now);
            leader.begin(now, &self.separations, &mut self.outbox);
            self.leader = Some(leader);
        }
        self.reply(from, Body::Leading);
    }
}

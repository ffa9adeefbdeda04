use nearside_types::Moment;

use super::message::{Act, Body, Epoch, Message, NodeId, Phase, Probe, Turn};
use super::outbox::{Outbox, Subject};
use super::{ClusterConfig, Committed, NodeEvent, Output};
use crate::{Delay, ServerId};

/// A client of the session: knows how far servers are from it, chooses where to probe, and moves when
/// everybody does.
#[derive(Debug)]
pub struct ClientNode {
    id: u16,
    distances: Vec<Delay>,
    config: ClusterConfig,
    epoch: Epoch,
    /// How far servers are from the core; `None` for those that are not in this epoch.
    to_core: Vec<Option<Delay>>,
    turn: Option<MyTurn>,
    prepared: Committed,
    committed: Committed,
    outbox: Outbox,
}

/// A turn that this client has been given.
#[derive(Debug, Clone, Copy)]
struct MyTurn {
    number: u32,
    leader: NodeId,
    /// What it did; `None` while a probe is out.
    act: Option<Act>,
}

impl ClientNode {
    /// A client that has measured its distance to each server.
    pub fn new(id: u16, config: ClusterConfig, distances: Vec<Delay>) -> Self {
        let nothing = Committed {
            epoch: Epoch::NONE,
            contacts: Vec::new(),
        };
        Self {
            id,
            distances,
            config,
            epoch: Epoch::NONE,
            to_core: Vec::new(),
            turn: None,
            prepared: nothing.clone(),
            committed: nothing,
            outbox: Outbox::new(config.retry),
        }
    }

    /// Where this client plays, since the last commit.
    pub fn contact(&self) -> Option<ServerId> {
        *self.committed.contacts.get(usize::from(self.id))?
    }

    /// Takes a message. Messages of earlier epochs are ignored.
    pub fn handle_message(&mut self, now: Moment, from: NodeId, message: Message) {
        if message.epoch < self.epoch {
            return;
        }
        if message.epoch > self.epoch {
            self.enter(message.epoch);
        }
        match message.body {
            Body::Beat => self.reply(from, Body::Alive),
            Body::Census => self.reply(
                from,
                Body::Here {
                    prepared: self.prepared.epoch,
                    committed: self.committed.epoch,
                },
            ),
            Body::Settle { committed } => {
                if self.prepared.epoch == committed {
                    self.commit();
                }
                self.reply(from, Body::CommitDone);
            }
            Body::Ask => self.answer_distance(from),
            Body::Begin(to_core) => {
                self.to_core = to_core;
                self.reply(from, Body::Began { places: None });
            }
            Body::Turn(turn) => self.take_turn(now, from, &turn),
            Body::Answer { turn, accepted } => self.take_answer(from, turn, accepted),
            Body::Prepare { contacts } => {
                self.prepared = committed(self.epoch, &contacts);
                self.reply(from, Body::Prepared);
            }
            Body::Commit if self.prepared.epoch == self.epoch => {
                self.commit();
                self.reply(from, Body::CommitDone);
            }
            Body::Unmet => self.reply(from, Body::UnmetDone),
            _ => {}
        }
    }

    /// Repeats what was not answered.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.outbox.repeat_due(now);
    }

    /// What to do next.
    pub fn poll_output(&mut self, now: Moment) -> Output {
        let idle = || Output::Wait(now + self.config.silence);
        self.outbox
            .pop()
            .or_else(|| self.outbox.next_repeat().map(Output::Wait))
            .unwrap_or_else(idle)
    }

    fn enter(&mut self, epoch: Epoch) {
        self.epoch = epoch;
        self.turn = None;
        self.to_core.clear();
        self.outbox.forget();
        self.outbox.event(NodeEvent::Epoch(epoch));
    }

    fn reply(&mut self, to: NodeId, body: Body) {
        self.outbox.send(to, self.epoch, body);
    }

    fn answer_distance(&mut self, from: NodeId) {
        let NodeId::Server(server) = from else { return };
        if let Some(&distance) = self.distances.get(usize::from(server)) {
            self.reply(from, Body::Distance(distance));
        }
    }

    /// A turn may come twice: then the answer is repeated, or the probe that is out decides.
    fn take_turn(&mut self, now: Moment, leader: NodeId, turn: &Turn) {
        match self.turn {
            Some(mine) if mine.number > turn.number => return,
            Some(mine) if mine.number == turn.number => {
                if let Some(act) = mine.act {
                    self.tell(mine, act);
                }
                return;
            }
            _ => {}
        }
        let known = |server: u16| usize::from(server) < self.distances.len();
        if turn.present.is_some_and(|present| !known(present)) {
            return;
        }
        let mine = MyTurn {
            number: turn.number,
            leader,
            act: None,
        };
        self.turn = Some(mine);
        match (self.next_server(turn), turn.phase) {
            (None, _) => self.finish(Act::Pass),
            (Some(server), Phase::Seat) => self.finish(Act::Sit {
                server,
                distance: self.distances[usize::from(server)],
            }),
            (Some(server), _) => self.probe(now, turn, server),
        }
    }

    fn probe(&mut self, now: Moment, turn: &Turn, server: u16) {
        let probe = Body::Probe(Probe {
            turn: turn.number,
            phase: turn.phase,
            version: turn.version,
            client: self.id,
            distance: self.distances[usize::from(server)],
        });
        let server = NodeId::Server(server);
        self.outbox
            .request(now, Subject::Probe, server, self.epoch, probe);
    }

    fn take_answer(&mut self, from: NodeId, turn: u32, accepted: bool) {
        let current = self.turn.is_some_and(|mine| mine.number == turn);
        if current && self.outbox.settle(from, Subject::Probe) {
            self.finish(if accepted { Act::Go } else { Act::Stay });
        }
    }

    fn finish(&mut self, act: Act) {
        if let Some(mine) = &mut self.turn {
            mine.act = Some(act);
            let mine = *mine;
            self.tell(mine, act);
        }
    }

    fn tell(&mut self, mine: MyTurn, act: Act) {
        let turn = mine.number;
        self.reply(mine.leader, Body::TurnDone { turn, act });
    }

    /// Steps 1, 3 and 4 of the paper, seen from one client; the same rules as the library's.
    fn next_server(&self, turn: &Turn) -> Option<u16> {
        let here = turn.present.map(usize::from);
        let is = |set: &[bool], server: usize| set.get(server).copied().unwrap_or(false);
        let possible = (0..self.distances.len())
            .filter(|&server| self.core_distance(server).is_some())
            .filter(|&server| self.distances[server].is_usable() && !is(&turn.full, server));
        let chosen = match (turn.phase, here) {
            (Phase::Seat, _) => possible.min_by_key(|&server| (self.distances[server], server)),
            (_, None) => None,
            (Phase::ZoomIn, Some(here)) => possible
                .filter(|&server| self.distances[server] > self.distances[here])
                .filter(|&server| self.core_distance(server) < self.core_distance(here))
                .min_by_key(|&server| (self.distances[server], server)),
            (Phase::ZoomOut, Some(here)) => possible
                .filter(|&server| is(&turn.in_use, server))
                .filter(|&server| self.distances[server] < self.distances[here])
                .min_by_key(|&server| (std::cmp::Reverse(self.distances[server]), server)),
        };
        chosen.and_then(|server| u16::try_from(server).ok())
    }

    fn core_distance(&self, server: usize) -> Option<Delay> {
        self.to_core.get(server).copied().flatten()
    }

    fn commit(&mut self) {
        if self.committed != self.prepared {
            self.committed = self.prepared.clone();
            let event = NodeEvent::Committed(self.committed.clone());
            self.outbox.event(event);
        }
    }
}

/// Seats as messages write them.
pub(super) fn committed(epoch: Epoch, contacts: &[Option<u16>]) -> Committed {
    let server = |contact: &Option<u16>| contact.map(|server| ServerId::new(usize::from(server)));
    Committed {
        epoch,
        contacts: contacts.iter().map(server).collect(),
    }
}

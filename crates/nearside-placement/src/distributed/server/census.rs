//! The beginning of an epoch: who is there? The server that asks is the initiator; it hands the lead
//! to the core once the tournament has found it.

use nearside_types::Moment;

use super::ServerNode;
use super::tournament::levels;
use crate::distributed::message::{Body, Bracket, Epoch, NodeId, Roll};
use crate::distributed::outbox::Subject;

/// What an initiator knows.
#[derive(Debug)]
pub(super) struct Census {
    pub(super) roll: Roll,
    /// Until when answers are waited for.
    deadline: Moment,
    pub(super) next_beat: Moment,
    /// When each member was last heard of: clients, then servers.
    pub(super) heard: Vec<Moment>,
    /// Nodes that have prepared a commit, with its epoch, and the latest that anybody has made.
    prepared: Vec<(NodeId, Epoch)>,
    committed: Epoch,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Counting,
    Tournament,
    HandingOver,
}

impl ServerNode {
    /// Begins a new epoch with a census of everybody.
    pub(super) fn initiate(&mut self, now: Moment) {
        let epoch = Epoch {
            number: self.epoch.number.saturating_add(1),
            initiator: self.id,
        };
        self.enter(now, epoch);
        let (clients, servers) = (self.config.clients, self.config.servers);
        let everybody = (0..clients)
            .map(NodeId::Client)
            .chain((0..servers).map(NodeId::Server));
        for node in everybody {
            self.outbox
                .request(now, Subject::Census, node, epoch, Body::Census);
        }
        self.census = Some(Census {
            roll: Roll {
                clients: vec![false; usize::from(clients)],
                servers: vec![false; usize::from(servers)],
            },
            deadline: now + self.config.silence,
            next_beat: now + self.config.beat,
            heard: vec![now; usize::from(clients) + usize::from(servers)],
            prepared: Vec::new(),
            committed: Epoch::NONE,
            stage: Stage::Counting,
        });
    }

    pub(super) fn count_in(
        &mut self,
        now: Moment,
        from: NodeId,
        prepared: Epoch,
        committed: Epoch,
    ) {
        let Some(census) = &mut self.census else {
            return;
        };
        if !self.outbox.settle(from, Subject::Census) {
            return;
        }
        match from {
            NodeId::Client(client) => census.roll.clients[usize::from(client)] = true,
            NodeId::Server(server) => census.roll.servers[usize::from(server)] = true,
        }
        census.committed = census.committed.max(committed);
        if prepared > committed {
            census.prepared.push((from, prepared));
        }
        if !self.outbox.awaits(Subject::Census) {
            self.close_census(now);
        }
    }

    /// The deadline of the census, if one is on.
    pub(super) fn census_deadline(&self) -> Option<Moment> {
        let census = self.census.as_ref()?;
        (census.stage == Stage::Counting).then_some(census.deadline)
    }

    /// Everybody has answered, or has had the time to: the tournament begins.
    pub(super) fn close_census(&mut self, now: Moment) {
        let Some(census) = &mut self.census else {
            return;
        };
        if census.stage != Stage::Counting {
            return;
        }
        census.stage = Stage::Tournament;
        for node in census.absent() {
            self.outbox.settle(node, Subject::Census);
        }
        // Half of a commit must not stay undone: whoever prepared what another has made, makes it.
        let done = census.committed;
        for (node, _) in census.prepared.iter().filter(|(_, epoch)| *epoch == done) {
            let body = Body::Settle { committed: done };
            self.outbox
                .request(now, Subject::Settle, *node, self.epoch, body);
        }
        if census.roll.clients.contains(&true) {
            let bracket = Bracket {
                level: levels(&census.roll),
                roll: census.roll.clone(),
                first: 0,
            };
            self.enter_bracket(now, self.me(), bracket);
        }
    }

    /// The tournament is over: the core is to lead.
    pub(super) fn crown(&mut self, now: Moment, core: u16) {
        let Some(census) = &mut self.census else {
            return;
        };
        if census.stage == Stage::Tournament {
            census.stage = Stage::HandingOver;
            let lead = Body::Lead(census.roll.clone());
            let core = NodeId::Server(core);
            self.outbox
                .request(now, Subject::Lead, core, self.epoch, lead);
        }
    }

    /// The core leads; the initiator is a server like any other from now on.
    pub(super) fn hand_over(&mut self, from: NodeId) {
        if self.outbox.settle(from, Subject::Lead) {
            self.census = None;
        }
    }
}

impl Census {
    fn absent(&self) -> Vec<NodeId> {
        let clients = (0u16..).map(NodeId::Client).zip(&self.roll.clients);
        let servers = (0u16..).map(NodeId::Server).zip(&self.roll.servers);
        let absent = clients.chain(servers).filter(|(_, here)| !**here);
        absent.map(|(node, _)| node).collect()
    }
}

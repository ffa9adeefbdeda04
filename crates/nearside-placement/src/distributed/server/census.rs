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

    /// The core leads; the initiator is a server like any other from now on. Its patience with the
    /// core begins here: a census that has waited for the dead has used up what began with the epoch.
    pub(super) fn hand_over(&mut self, now: Moment, from: NodeId) {
        if self.outbox.settle(from, Subject::Lead) {
            self.census = None;
            self.heard = now;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delay;
    use crate::distributed::message::Message;
    use crate::distributed::{ClusterConfig, Output};

    const EPOCH: Epoch = Epoch {
        number: 1,
        initiator: 0,
    };
    const PLAYER: NodeId = NodeId::Client(0);
    const CORE: NodeId = NodeId::Server(1);

    /// Server 0 of three, of which the last is dead.
    fn initiator(config: ClusterConfig) -> ServerNode {
        ServerNode::new(0, config, vec![Delay::ZERO; 3], None, Moment::EPOCH)
    }

    fn hear(server: &mut ServerNode, now: Moment, from: NodeId, body: Body) {
        let message = Message { epoch: EPOCH, body };
        server.handle_message(now, from, message);
        say(server, now);
    }

    /// What the server sends until it wants to wait.
    fn say(server: &mut ServerNode, now: Moment) -> Vec<(NodeId, Body)> {
        let mut said = Vec::new();
        loop {
            match server.poll_output(now) {
                Output::Send { to, message } => said.push((to, message.body)),
                Output::Event(_) => {}
                Output::Wait(_) => return said,
            }
        }
    }

    #[test]
    fn an_initiator_that_has_waited_for_the_dead_lets_the_core_lead() {
        let config = ClusterConfig::new(1, 3, Delay::LONGEST);
        let mut server = initiator(config);
        let here = Body::Here {
            prepared: Epoch::NONE,
            committed: Epoch::NONE,
        };
        server.handle_timeout(Moment::EPOCH);
        for member in [PLAYER, CORE] {
            hear(&mut server, Moment::EPOCH, member, here.clone());
        }
        let later = Moment::EPOCH + config.silence / 2;
        for member in [PLAYER, CORE] {
            hear(&mut server, later, member, Body::Alive);
        }
        let now = Moment::EPOCH + config.silence;
        server.handle_timeout(now);
        say(&mut server, now);
        let far = Delay::from_millis(9.0).unwrap();
        hear(&mut server, now, PLAYER, Body::Distance(far));
        let winner = Body::Winner {
            server: 1,
            farthest: Delay::ZERO,
        };
        hear(&mut server, now, CORE, winner);
        hear(&mut server, now, CORE, Body::Leading);
        assert!(server.census.is_none(), "the core leads");

        let patience = config.silence - config.beat;
        server.handle_timeout(now + patience);
        assert_eq!(server.epoch, EPOCH);
        let turn = Body::Begin(Vec::new());
        hear(&mut server, now + patience, CORE, turn);
        server.handle_timeout(now + patience * 2);
        assert_eq!(
            server.epoch, EPOCH,
            "any word of the core shows that it lives"
        );
        server.handle_timeout(now + patience * 4);
        assert_ne!(server.epoch, EPOCH, "silence does not");
    }
}

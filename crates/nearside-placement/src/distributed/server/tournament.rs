//! The tournament for the core (step 2 of the paper, after Thaler and Ravishankar): servers play in
//! pairs, whose farthest client is nearest goes on, log₂ of their number rounds.
//!
//! Servers of the epoch stand in a row, the initiator first. A server that is given `2^level` places of
//! the row from its own on gives away the upper half, then the upper half of what is left, and so on,
//! and keeps its own place; the winner among what it gets back and itself is its answer.

use nearside_types::Moment;

use super::ServerNode;
use crate::Delay;
use crate::distributed::message::{Body, Bracket, NodeId, Roll};
use crate::distributed::outbox::Subject;

/// One server's part of the tournament.
#[derive(Debug)]
pub(super) struct Tournament {
    parent: NodeId,
    bracket: Bracket,
    /// Distances of clients, as far as they have told; `None` also for those who take no part.
    distances: Vec<Option<Delay>>,
    /// Servers that were sent a bracket and have not answered.
    playing: usize,
    best: Option<(Delay, u16)>,
    winner: Option<(Delay, u16)>,
}

/// The row in which servers of an epoch stand.
fn row(roll: &Roll, initiator: u16) -> Vec<u16> {
    let members = (0u16..).zip(&roll.servers).filter(|(_, here)| **here);
    let others = members.map(|(server, _)| server);
    let others = others.filter(|&server| server != initiator);
    std::iter::once(initiator).chain(others).collect()
}

/// How often the row can be halved.
pub(super) fn levels(roll: &Roll) -> u8 {
    let servers = roll.servers.iter().filter(|here| **here).count().max(1);
    servers.next_power_of_two().trailing_zeros() as u8
}

impl ServerNode {
    /// A part of the tournament is ours: ask our clients, pass on the halves.
    pub(super) fn enter_bracket(&mut self, now: Moment, parent: NodeId, bracket: Bracket) {
        if let Some(tournament) = &self.tournament {
            if tournament.bracket == bracket {
                self.tell_winner();
            }
            return;
        }
        let row = row(&bracket.roll, self.epoch.initiator);
        let mine = row.get(usize::from(bracket.first)) == Some(&self.id);
        if !mine
            || bracket.roll.clients.len() != usize::from(self.config.clients)
            || bracket.level > 16
        {
            return;
        }
        for (client, _) in (0u16..)
            .zip(&bracket.roll.clients)
            .filter(|(_, here)| **here)
        {
            let client = NodeId::Client(client);
            self.outbox
                .request(now, Subject::Distance, client, self.epoch, Body::Ask);
        }
        let mut playing = 0;
        for level in 0..bracket.level {
            let first = u32::from(bracket.first) + (1 << level);
            let Some(&rival) = row.get(first as usize) else {
                continue;
            };
            playing += 1;
            let half = Body::Match(Bracket {
                roll: bracket.roll.clone(),
                first: first as u16,
                level,
            });
            let rival = NodeId::Server(rival);
            self.outbox
                .request(now, Subject::Match, rival, self.epoch, half);
        }
        self.tournament = Some(Tournament {
            parent,
            distances: vec![None; bracket.roll.clients.len()],
            bracket,
            playing,
            best: None,
            winner: None,
        });
    }

    pub(super) fn learn_distance(&mut self, now: Moment, from: NodeId, distance: Delay) {
        let NodeId::Client(client) = from else { return };
        let awaited = self.outbox.settle(from, Subject::Distance);
        if let Some(tournament) = self.tournament.as_mut().filter(|_| awaited) {
            tournament.distances[usize::from(client)] = Some(distance);
            self.conclude(now);
        }
    }

    pub(super) fn take_winner(&mut self, now: Moment, from: NodeId, server: u16, farthest: Delay) {
        let awaited = self.outbox.settle(from, Subject::Match);
        if let Some(tournament) = self.tournament.as_mut().filter(|_| awaited) {
            tournament.playing -= 1;
            tournament.offer(farthest, server);
            self.conclude(now);
        }
    }

    /// Once all clients and all rivals have answered, our winner goes up, or is the core.
    fn conclude(&mut self, now: Moment) {
        let id = self.id;
        let Some(tournament) = &mut self.tournament else {
            return;
        };
        let Some(farthest) = tournament.farthest().filter(|_| tournament.playing == 0) else {
            return;
        };
        tournament.offer(farthest, id);
        tournament.winner = tournament.best;
        self.tell_winner();
        let over = self.tournament.as_ref().and_then(|tournament| {
            let ours = tournament.parent == NodeId::Server(id);
            tournament.winner.filter(|_| ours)
        });
        if let Some((_, core)) = over {
            self.crown(now, core);
        }
    }

    fn tell_winner(&mut self) {
        let Some(tournament) = &self.tournament else {
            return;
        };
        let parent = tournament.parent;
        if let Some((farthest, server)) = tournament.winner.filter(|_| parent != self.me()) {
            self.reply(parent, Body::Winner { server, farthest });
        }
    }
}

impl Tournament {
    /// Ties go to the lower server, as in the library.
    fn offer(&mut self, farthest: Delay, server: u16) {
        let rival = (farthest, server);
        self.best = Some(self.best.map_or(rival, |best| best.min(rival)));
    }

    /// The distance of our farthest client, once all have told.
    fn farthest(&self) -> Option<Delay> {
        let clients = self.bracket.roll.clients.iter().zip(&self.distances);
        let told = clients.filter(|(here, _)| **here).map(|(_, told)| *told);
        told.collect::<Option<Vec<Delay>>>()?.into_iter().max()
    }
}

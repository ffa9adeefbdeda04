//! Who lives: leaders and initiators show that they do and ask others; servers begin a new epoch when
//! nobody leads, leaders when somebody has died or come back.

use std::time::Duration;

use nearside_types::Moment;

use super::ServerNode;
use crate::distributed::message::{Body, Epoch, NodeId, Roll};

impl ServerNode {
    fn everybody(&self) -> impl Iterator<Item = NodeId> + use<> {
        let clients = (0..self.config.clients).map(NodeId::Client);
        clients.chain((0..self.config.servers).map(NodeId::Server))
    }

    /// A node's place in lists of clients and servers.
    fn place(&self, node: NodeId) -> usize {
        match node {
            NodeId::Client(client) => usize::from(client),
            NodeId::Server(server) => usize::from(self.config.clients) + usize::from(server),
        }
    }

    /// When each node was last heard of, and who is on the roll; for leaders and initiators.
    fn books(&self) -> Option<(&[Moment], &Roll)> {
        match (&self.leader, &self.census) {
            (Some(leader), _) => Some((&leader.heard, &leader.roll)),
            (None, Some(census)) => Some((&census.heard, &census.roll)),
            (None, None) => None,
        }
    }

    pub(super) fn note_life(&mut self, now: Moment, from: NodeId) {
        let place = self.place(from);
        if let Some(leader) = &mut self.leader {
            leader.heard[place] = now;
        }
        if let Some(census) = &mut self.census {
            census.heard[place] = now;
        }
    }

    fn next_beat(&self) -> Option<Moment> {
        let leader = self.leader.as_ref().map(|leader| leader.next_beat);
        leader.or(self.census.as_ref().map(|census| census.next_beat))
    }

    /// Beats go to everybody, also to those who are not in the epoch: they may be back.
    pub(super) fn beat(&mut self, now: Moment) {
        if self.next_beat().is_none_or(|next| next > now) {
            return;
        }
        let me = self.me();
        for node in self.everybody().filter(|&node| node != me) {
            self.outbox.send(node, self.epoch, Body::Beat);
        }
        let next = now + self.config.beat;
        if let Some(leader) = &mut self.leader {
            leader.next_beat = next;
        }
        if let Some(census) = &mut self.census {
            census.next_beat = next;
        }
    }

    /// Looks whether an epoch has to begin.
    pub(super) fn watch(&mut self, now: Moment) {
        if self
            .census_deadline()
            .is_some_and(|deadline| deadline <= now)
        {
            self.close_census(now);
        }
        let due = match self.next_death() {
            Some(death) => death <= now || self.somebody_is_back(now),
            None => self.orphaned_at() <= now,
        };
        if due && self.census_deadline().is_none() {
            self.initiate(now);
        }
    }

    /// When the first member on the roll will count as dead unless it is heard of. Without anybody on
    /// the roll there is nothing to lead: try again after a while.
    fn next_death(&self) -> Option<Moment> {
        let (heard, roll) = self.books()?;
        let members = roll.clients.iter().chain(&roll.servers).zip(heard);
        let me = self.place(self.me());
        let others = members.enumerate().filter(|&(place, _)| place != me);
        let silent = others
            .filter(|(_, (here, _))| **here)
            .map(|(_, (_, heard))| *heard);
        let first = silent.min().unwrap_or(self.heard);
        Some(first + self.config.silence)
    }

    /// Somebody who is not in the epoch answers beats. What is under way is finished first.
    fn somebody_is_back(&self, now: Moment) -> bool {
        let Some(leader) = self.leader.as_ref().filter(|leader| leader.is_settled()) else {
            return false;
        };
        let on_roll = leader.roll.clients.iter().chain(&leader.roll.servers);
        let recently = |heard: Moment| now.since(heard) < self.config.beat * 2;
        let mut absent = on_roll.zip(&leader.heard).filter(|(here, _)| !**here);
        absent.any(|(_, &heard)| recently(heard) && heard > leader.since)
    }

    /// When this server begins an epoch if it hears of no leader: lower servers sooner, so that they
    /// do not all begin at once.
    fn orphaned_at(&self) -> Moment {
        let head_start = self.config.beat * 2 * u32::from(self.id);
        let patience = match self.epoch {
            Epoch::NONE => Duration::ZERO,
            _ => self.config.silence,
        };
        self.heard + patience + head_start
    }

    /// The next moment at which one of these things may be due.
    pub(super) fn next_pulse(&self) -> Moment {
        let waits = [
            self.next_beat(),
            self.census_deadline(),
            Some(self.next_death().unwrap_or_else(|| self.orphaned_at())),
        ];
        let next = waits.into_iter().flatten().min();
        next.expect("there is always a death or a silence to wait for")
    }
}

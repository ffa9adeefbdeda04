//! Judging moves to this server, on a copy of the virtual state: "a server that has been probed by a
//! client runs a simulation on synchronization delay computation and maintains a virtual state"
//! (section 3.3 of the paper).

use std::collections::BTreeMap;

use nearside_types::Moment;

use super::ServerNode;
use crate::Delay;
use crate::distributed::message::{Body, Decision, InUse, NodeId, Phase, Probe, Seats};
use crate::distributed::outbox::Subject;

/// The copy of the virtual state, and what waits for a fresher one.
#[derive(Debug, Default)]
pub(super) struct Judge {
    leader: Option<NodeId>,
    seats: Option<Seats>,
    /// The latest probe of each client, and its answer once there is one.
    probes: BTreeMap<u16, (Probe, Option<bool>)>,
    /// A version whose delay the leader wants to know.
    check: Option<u32>,
}

impl Judge {
    /// This one leads.
    pub(super) fn meet(&mut self, leader: NodeId) {
        self.leader = Some(leader);
    }

    /// Whether this one is known to lead.
    pub(super) fn is_led_by(&self, node: NodeId) -> bool {
        self.leader == Some(node)
    }

    /// The copy, if it is no older than this.
    fn seats_from(&self, version: u32) -> Option<&Seats> {
        self.seats.as_ref().filter(|seats| seats.version >= version)
    }
}

impl ServerNode {
    pub(super) fn take_probe(&mut self, now: Moment, from: NodeId, probe: Probe) {
        if from != NodeId::Client(probe.client) {
            return;
        }
        match self.judge.probes.get(&probe.client) {
            Some((known, _)) if known.turn > probe.turn => return,
            Some((known, answer)) if known.turn == probe.turn => {
                if let Some(accepted) = *answer {
                    self.answer(probe, accepted);
                }
                return;
            }
            _ => {}
        }
        self.judge.probes.insert(probe.client, (probe, None));
        self.consider(now, probe);
    }

    /// Judges a probe, or fetches the state it needs first.
    fn consider(&mut self, now: Moment, probe: Probe) {
        let Some(seats) = self.judge.seats_from(probe.version) else {
            return self.fetch(now, probe.version);
        };
        if !self.would_hold(seats, probe) {
            return self.answer(probe, false);
        }
        let judged = Probe {
            version: seats.version,
            ..probe
        };
        if let Some(leader) = self.judge.leader {
            let subject = Subject::Propose(probe.turn);
            let body = Body::Propose { probe: judged };
            self.outbox.request(now, subject, leader, self.epoch, body);
        }
    }

    /// The probe itself, with r_j + d(j,k) + r_k ≤ Δ for this server and every other in use.
    fn would_hold(&self, seats: &Seats, probe: Probe) -> bool {
        let limit = self.config.limit;
        let ours = seats.in_use.iter().find(|other| other.server == self.id);
        let load = ours.map_or(0, |ours| u32::from(ours.load));
        let has_place = self.capacity.is_none_or(|places| load < places);
        let radius = ours.map_or(probe.distance, |ours| ours.radius.max(probe.distance));
        let fits = |other: &InUse| {
            let apart = self.separation(other.server);
            let left = other.radius_without(probe.client);
            other.server == self.id || left.is_none_or(|r| radius + apart + r <= limit)
        };
        // Zooming out is for servers in use; this one may have emptied since the client chose it.
        let welcome = ours.is_some() || probe.phase == Phase::ZoomIn;
        welcome && has_place && radius + radius <= limit && seats.in_use.iter().all(fits)
    }

    fn separation(&self, server: u16) -> Delay {
        let known = self.separations.get(usize::from(server));
        known.copied().unwrap_or(Delay::UNREACHABLE)
    }

    fn answer(&mut self, probe: Probe, accepted: bool) {
        if let Some((_, answer)) = self.judge.probes.get_mut(&probe.client) {
            *answer = Some(accepted);
        }
        let turn = probe.turn;
        let client = NodeId::Client(probe.client);
        self.reply(client, Body::Answer { turn, accepted });
    }

    pub(super) fn take_decision(
        &mut self,
        now: Moment,
        from: NodeId,
        turn: u32,
        decision: Decision,
    ) {
        if !self.outbox.settle(from, Subject::Propose(turn)) {
            return;
        }
        let mut probes = self.judge.probes.values();
        let Some(&(probe, None)) = probes.find(|(probe, _)| probe.turn == turn) else {
            return;
        };
        match decision {
            Decision::Taken => self.answer(probe, true),
            Decision::Stale { version } => self.consider(now, Probe { version, ..probe }),
        }
    }

    fn fetch(&mut self, now: Moment, version: u32) {
        if let Some(leader) = self.judge.leader {
            let body = Body::Fetch { version };
            self.outbox
                .request(now, Subject::State, leader, self.epoch, body);
        }
    }

    pub(super) fn take_state(&mut self, now: Moment, from: NodeId, seats: Seats) {
        self.outbox.settle(from, Subject::State);
        let fresher = self.judge.seats_from(seats.version).is_none();
        if fresher {
            self.judge.seats = Some(seats);
        }
        let open: Vec<Probe> = self
            .judge
            .probes
            .values()
            .filter(|(_, answer)| answer.is_none())
            .map(|(probe, _)| *probe)
            .collect();
        for probe in open {
            if !self.outbox.is_open(from, Subject::Propose(probe.turn)) {
                self.consider(now, probe);
            }
        }
        if let Some(version) = self.judge.check {
            self.take_check(now, from, version);
        }
    }

    /// Does the bound hold, as far as paths end at this server?
    pub(super) fn take_check(&mut self, now: Moment, from: NodeId, version: u32) {
        let Some(seats) = self.judge.seats_from(version) else {
            self.judge.check = Some(version);
            return self.fetch(now, version);
        };
        let ours = seats.in_use.iter().find(|other| other.server == self.id);
        let limit = self.config.limit;
        let holds = ours.is_none_or(|ours| {
            let path = |other: &InUse| ours.radius + self.separation(other.server) + other.radius;
            seats.in_use.iter().all(|other| path(other) <= limit)
        });
        self.judge.check = None;
        self.reply(from, Body::Checked { version, holds });
    }
}

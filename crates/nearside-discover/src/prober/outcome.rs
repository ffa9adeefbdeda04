//! What became of a server: told to the planner once, and to the user.

use nearside_types::Rtt;

use super::io::Event;
use super::record::State;
use super::{Limit, Prober, Protocol};
use crate::planner::{Outcome, Sample, ServerId, StopReason};

impl Prober {
    pub(super) fn settle(&mut self, server: ServerId, outcome: Outcome) {
        let record = &mut self.records[server.index()];
        debug_assert_eq!(record.state, State::Pending);
        record.state = match outcome {
            Outcome::Answered(_) => State::Answered,
            Outcome::Silent => State::Silent,
            Outcome::Down => State::Down,
        };
        if self.config.protocol == Protocol::A2s && !self.pieces.is_empty() {
            self.pieces.retain(|&(owner, _), _| owner != server);
        }
        self.pending -= 1;
        if self.favourites_pending > 0 {
            self.favourites_pending -= 1;
        }
        let event = match outcome {
            Outcome::Answered(rtt) => {
                self.count_answer(rtt);
                Event::Answered(server)
            }
            Outcome::Silent | Outcome::Down => Event::Unanswered(server),
        };
        self.events.push_back(event);
        let matches = self.config.wanted.want_all() || self.is_wanted(server);
        self.planner.observe(Sample {
            server,
            outcome,
            matches,
        });
        self.planner_waits = false;
    }

    fn is_wanted(&self, server: ServerId) -> bool {
        let wanted = &self.config.wanted;
        wanted.matches_at_any_distance(&self.row(server))
    }

    pub(super) fn count_answer(&mut self, rtt: Rtt) {
        self.tally.answered += 1;
        if rtt < self.rtt_stop {
            self.tally.playable += 1;
        }
    }

    /// No try was answered in full. A server that got as far as a challenge is alive and measured.
    pub(super) fn give_up(&mut self, server: ServerId) {
        let outcome = match self.records[server.index()].samples.rtt() {
            Some(rtt) => Outcome::Answered(rtt),
            None => Outcome::Silent,
        };
        self.settle(server, outcome);
    }

    pub(super) fn finish(&mut self, reason: StopReason) {
        if self.ended.is_none() {
            self.stopping = Some(reason);
            self.ended = Some(self.now);
            self.planner.cut_short();
        }
    }

    pub(super) fn check_limits(&mut self) {
        let Limit { probes, time } = self.config.limit;
        let over_time = time.is_some_and(|most| self.now - self.started >= most);
        let over_probes = probes.is_some_and(|most| self.tally.probes_sent >= most);
        let drained = self.draining_until.is_some_and(|until| until <= self.now);
        if over_time || drained {
            self.finish(StopReason::Limit);
        } else if over_probes && self.draining_until.is_none() {
            // Nothing more is sent, but what was sent may still be answered.
            self.stopping = Some(StopReason::Limit);
            self.draining_until = Some(self.now + self.config.usable_timeouts()[0]);
        }
    }
}

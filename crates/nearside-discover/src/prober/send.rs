//! What is sent next: delayed sends, retries, new servers, each within pace and courtesy.

use std::cmp::Reverse;

use nearside_types::Moment;
use rand::Rng;

use super::exchange;
use super::io::{Output, PortId};
use super::record::State;
use super::rounds::Due;
use super::{ListState, Prober, wire_bytes};
use crate::planner::{Next, ServerId};

/// A send that waits for its moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Delayed {
    at: Moment,
    /// Keeps equal moments in order.
    order: u64,
    server: ServerId,
    what: Send,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Send {
    /// A new try.
    Try,
    /// The second leg of a try, with the server's challenge.
    Leg { attempt: u8 },
}

/// The phase favourites are probed in; planners count theirs from 0.
const FAVOURITE_PHASE: u32 = u32::MAX;

impl Prober {
    /// What may be sent now, oldest obligations first: delayed sends, retries, new servers; and
    /// retries again, since a phase that found no new server lets its rounds go on; and new servers
    /// again, since a planner that hears of an overdue one may go on elsewhere.
    pub(super) fn next_transmit(&mut self) -> Option<Output> {
        if self.draining_until.is_some() {
            return None;
        }
        self.next_delayed()
            .or_else(|| self.next_retry())
            .or_else(|| self.next_new())
            .or_else(|| self.next_retry())
            .or_else(|| self.next_new())
    }

    fn next_delayed(&mut self) -> Option<Output> {
        while let Some(&Reverse(head)) = self.delayed.peek() {
            if head.at > self.now || !self.pacer.is_ready(self.now) {
                return None;
            }
            self.delayed.pop();
            if let Some(transmit) = self.send_delayed(head) {
                return Some(transmit);
            }
        }
        None
    }

    fn send_delayed(&mut self, delayed: Delayed) -> Option<Output> {
        let server = delayed.server;
        let record = &self.records[server.index()];
        if record.is_settled() {
            // A reply to an earlier try made this one needless.
            if delayed.what == Send::Try {
                self.rounds.dropped(record.stretch, record.tries_sent + 1);
            }
            return None;
        }
        let allowed = record.recent.next_allowed();
        if allowed > self.now {
            self.delay(allowed, server, delayed.what);
            return None;
        }
        Some(match delayed.what {
            Send::Try => self.transmit_try(server),
            Send::Leg { attempt } => self.transmit(server, attempt),
        })
    }

    fn next_retry(&mut self) -> Option<Output> {
        loop {
            let may_send = self.pacer.is_ready(self.now);
            let records = &self.records;
            let settled = |server: ServerId| records[server.index()].is_settled();
            match self.rounds.due(self.now, may_send, settled)? {
                Due::GiveUp(server) => self.give_up(server),
                Due::Retry(server) => {
                    self.note_overdue(server);
                    if let Some(transmit) = self.start_try(server) {
                        return Some(transmit);
                    }
                }
            }
        }
    }

    /// The planner need not wait for all tries to learn that a server is slow to answer.
    fn note_overdue(&mut self, server: ServerId) {
        if self.records[server.index()].tries_sent == 1 {
            self.planner.overdue(server);
            self.planner_waits = false;
        }
    }

    fn next_new(&mut self) -> Option<Output> {
        while self.may_start_new() {
            let (server, phase) = self.choose()?;
            let record = &mut self.records[server.index()];
            record.state = State::Pending;
            record.chosen = Some(self.now);
            record.stretch = self.rounds.add(phase);
            if phase == FAVOURITE_PHASE && self.favourites.is_empty() {
                // The last favourite: nobody else will let its rounds go on.
                self.rounds.close();
            }
            self.tally.probed += 1;
            self.pending += 1;
            if let Some(transmit) = self.start_try(server) {
                return Some(transmit);
            }
        }
        if self.pending >= self.config.max_pending {
            // Full: the rounds of what is pending must go on, or nothing ever would.
            self.rounds.close();
        }
        None
    }

    fn may_start_new(&self) -> bool {
        self.stopping.is_none()
            && self.pacer.is_ready(self.now)
            && self.pending < self.config.max_pending
    }

    /// The next server: favourites first, then what the planner wants.
    fn choose(&mut self) -> Option<(ServerId, u32)> {
        while let Some(server) = self.favourites.pop_front() {
            if self.records[server.index()].state == State::Unprobed {
                self.favourites_pending += 1;
                return Some((server, FAVOURITE_PHASE));
            }
        }
        if self.favourites_pending > 0 {
            self.rounds.close();
            return None;
        }
        if self.planner_waits {
            return None;
        }
        if self.list == ListState::Whole {
            self.list = ListState::Told;
            self.planner.list_complete();
        }
        match self.planner.next() {
            Next::Probe { server, phase } => Some((server, phase)),
            Next::Wait => {
                self.planner_waits = true;
                self.rounds.close();
                None
            }
            Next::Done(reason) => {
                self.stopping = Some(reason);
                self.rounds.close();
                None
            }
        }
    }

    /// Sends a try, or sets it down for when the server and its address may be asked again.
    fn start_try(&mut self, server: ServerId) -> Option<Output> {
        let record = &mut self.records[server.index()];
        let allowed = record.recent.next_allowed().max(self.now);
        let slot = self.gaps.reserve(record.listed.addr.ip(), allowed);
        if slot > self.now {
            self.delay(slot, server, Send::Try);
            return None;
        }
        Some(self.transmit_try(server))
    }

    pub(super) fn delay(&mut self, at: Moment, server: ServerId, what: Send) {
        self.delayed_order += 1;
        self.delayed.push(Reverse(Delayed {
            at,
            order: self.delayed_order,
            server,
            what,
        }));
    }

    fn transmit_try(&mut self, server: ServerId) -> Output {
        let nonce = self.rng.next_u64();
        let record = &mut self.records[server.index()];
        let attempt = record.tries_sent;
        record.tries_sent += 1;
        record.tries[attempt].nonce = nonce;
        let (stretch, try_number) = (record.stretch, record.tries_sent);
        self.rounds.sent(stretch, server, try_number, self.now);
        self.tally.flows += 1;
        self.transmit(server, attempt as u8)
    }

    fn transmit(&mut self, server: ServerId, attempt: u8) -> Output {
        let record = &mut self.records[server.index()];
        let to = record.listed.addr.socket();
        let nonce = record.tries[usize::from(attempt)].nonce;
        let payload = exchange::request(self.config.protocol, record.challenge, nonce);
        record.tries[usize::from(attempt)].sent(self.now, record.challenge);
        record.recent.record(self.now);
        self.pacer.charge(self.now);
        self.tally.probes_sent += 1;
        self.tally.bytes_sent += wire_bytes(to, payload.len());
        Output::Transmit {
            port: PortId {
                ipv6: to.is_ipv6(),
                attempt,
            },
            to,
            payload,
        }
    }

    pub(super) fn next_wake_up(&mut self) -> Option<Moment> {
        let records = &self.records;
        let settled = |server: ServerId| records[server.index()].is_settled();
        let ready = self.pacer.ready_at();
        let delayed = self.delayed.peek().map(|Reverse(head)| head.at.max(ready));
        let round = self.rounds.next_due(settled);
        let wants_new = self.stopping.is_none()
            && self.pending < self.config.max_pending
            && (!self.planner_waits || !self.favourites.is_empty())
            && (self.favourites_pending == 0 || !self.favourites.is_empty());
        let new = wants_new.then(|| self.pacer.ready_at());
        let limit = self.config.limit.time.map(|most| self.started + most);
        if self.draining_until.is_some() {
            return [self.draining_until, limit].into_iter().flatten().min();
        }
        // A retry that is due already only waits for the pace.
        let round = round.map(|at| {
            if at <= self.now {
                self.pacer.ready_at()
            } else {
                at
            }
        });
        [delayed, round, new, limit].into_iter().flatten().min()
    }
}

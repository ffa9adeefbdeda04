//! Replies and errors: who sent them, which try they answer, what they measure.

use std::borrow::Cow;
use std::net::SocketAddr;

use nearside_types::{Listed, Moment, Rtt, ServerAddr};
use nearside_wire::a2s::{Assembled, Challenge, Reassembler};

use super::exchange::{self, Reply, ServerInfo};
use super::io::{Event, PortId};
use super::record::{self, ChallengeVerdict, LegSample, Record, State};
use super::send::Send;
use super::{Prober, Protocol, wire_bytes};
use crate::planner::{Outcome, ServerId};

/// A split reply that is being put together.
#[derive(Debug)]
pub(super) struct Pieces {
    reassembler: Reassembler,
    /// The first fragment's arrival: that is when the server had answered.
    first_received: Option<Moment>,
}

impl Prober {
    pub(super) fn handle_listed(&mut self, servers: &[Listed]) {
        for listed in servers {
            let id = ServerId::from_index(self.records.len());
            let previous = self.by_addr.insert(listed.addr, id);
            debug_assert!(previous.is_none(), "{} was listed twice", listed.addr);
            self.records.push(Record::new(*listed));
        }
        self.planner.servers_listed(servers);
        self.planner_waits = false;
    }

    pub(super) fn handle_datagram(
        &mut self,
        port: PortId,
        from: SocketAddr,
        received: Option<Moment>,
        payload: &[u8],
    ) {
        let asked = ServerAddr::from_socket(from)
            .and_then(|addr| self.by_addr.get(&addr).copied())
            .filter(|id| self.was_asked(*id, port.attempt));
        let Some(server) = asked else {
            self.oddities.unsolicited += 1;
            return;
        };
        self.tally.bytes_received += wire_bytes(from, payload.len());
        if received.is_none() {
            self.oddities.unstamped += 1;
        }
        let Some((message, received)) = self.assemble(server, port.attempt, received, payload)
        else {
            return;
        };
        let nonce = self.records[server.index()].tries[usize::from(port.attempt)].nonce;
        match exchange::interpret(self.config.protocol, &message, nonce) {
            Ok(reply) => self.handle_reply(server, port.attempt, received, reply),
            Err(_) => self.oddities.malformed += 1,
        }
    }

    fn was_asked(&self, server: ServerId, attempt: u8) -> bool {
        self.records[server.index()]
            .tries
            .get(usize::from(attempt))
            .is_some_and(record::Try::was_sent)
    }

    /// Puts split replies together; a single datagram passes through.
    fn assemble<'a>(
        &mut self,
        server: ServerId,
        attempt: u8,
        received: Option<Moment>,
        payload: &'a [u8],
    ) -> Option<(Cow<'a, [u8]>, Option<Moment>)> {
        const SPLIT: [u8; 4] = [0xFE, 0xFF, 0xFF, 0xFF];
        let is_split = self.config.protocol == Protocol::A2s && payload.starts_with(&SPLIT);
        if !is_split {
            return Some((payload.into(), received));
        }
        let pieces = self
            .pieces
            .entry((server, attempt))
            .or_insert_with(|| Pieces {
                reassembler: Reassembler::new(),
                first_received: received,
            });
        match pieces.reassembler.push(payload) {
            Ok(Assembled::Whole(message)) => {
                let first = pieces.first_received;
                self.pieces.remove(&(server, attempt));
                Some((message.into(), first))
            }
            Ok(Assembled::Pending) => None,
            Err(_) => {
                self.oddities.malformed += 1;
                None
            }
        }
    }

    fn handle_reply(
        &mut self,
        server: ServerId,
        attempt: u8,
        received: Option<Moment>,
        reply: Reply,
    ) {
        match reply {
            Reply::Challenge(challenge) => {
                self.handle_challenge(server, attempt, received, challenge);
            }
            Reply::Info(info) => self.handle_info(server, attempt, received, info),
            Reply::Forged => self.oddities.wrong_challenge += 1,
            Reply::Other => self.oddities.unsolicited += 1,
        }
    }

    fn handle_challenge(
        &mut self,
        server: ServerId,
        attempt: u8,
        received: Option<Moment>,
        challenge: Challenge,
    ) {
        let record = &mut self.records[server.index()];
        let verdict = record.tries[usize::from(attempt)].challenged(challenge, received);
        let ChallengeVerdict::Answer(sample) = verdict else {
            self.oddities.duplicates += 1;
            return;
        };
        record.challenge = Some(challenge);
        if let Some(sample) = sample {
            record.samples.add(sample);
        }
        if !record.is_settled() {
            let at = record.recent.next_allowed().max(self.now);
            self.delay(at, server, Send::Leg { attempt });
        }
    }

    fn handle_info(
        &mut self,
        server: ServerId,
        attempt: u8,
        received: Option<Moment>,
        info: Box<ServerInfo>,
    ) {
        let record = &mut self.records[server.index()];
        let Some(sample) = record.tries[usize::from(attempt)].answered(received) else {
            self.oddities.duplicates += 1;
            return;
        };
        record.info = Some(info);
        self.take_sample(server, sample);
    }

    /// An answer with a sample settles a server; without one (no trustworthy stamp) the next try
    /// has to measure.
    fn take_sample(&mut self, server: ServerId, sample: Option<LegSample>) {
        let record = &mut self.records[server.index()];
        let before = record.samples.rtt();
        if let Some(sample) = sample {
            record.samples.add(sample);
        }
        let Some(rtt) = record.samples.rtt() else {
            return;
        };
        match record.state {
            State::Pending => self.settle(server, Outcome::Answered(rtt)),
            State::Silent | State::Down => self.revive(server, rtt),
            // A second try's answer: the row may have got better.
            State::Answered if rtt < self.rtt_stop && before >= Some(self.rtt_stop) => {
                self.tally.playable += 1;
            }
            State::Answered | State::Unprobed => {}
        }
    }

    /// A reply after the last timeout: the planner was told of silence, the user still gets the row.
    fn revive(&mut self, server: ServerId, rtt: Rtt) {
        self.oddities.late += 1;
        self.records[server.index()].state = State::Answered;
        self.count_answer(rtt);
        self.events.push_back(Event::Answered(server));
    }

    pub(super) fn handle_unreachable(&mut self, to: SocketAddr) {
        let server = ServerAddr::from_socket(to).and_then(|addr| self.by_addr.get(&addr).copied());
        if let Some(server) = server
            && self.records[server.index()].state == State::Pending
            && self.records[server.index()].tries_sent > 0
        {
            self.settle(server, Outcome::Down);
        }
    }
}

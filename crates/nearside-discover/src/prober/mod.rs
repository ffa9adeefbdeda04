//! The probe engine: sends the planner's probes at the set pace, retries in rounds, matches replies
//! to tries, and measures.
//!
//! # Driving it
//!
//! 1. Feed [`Input`]s with [`Prober::handle_input`] as they happen.
//! 2. Call [`Prober::poll_output`] until it says [`Output::Wait`] or [`Output::Finished`]; send
//!    every [`Output::Transmit`] at once, since its try is timed from the `now` of that call.
//! 3. Sleep until the moment it names or the next input.
//!
//! Every try has a socket of its own ([`PortId`]), because an A2S reply carries no nonce: the
//! socket it comes in on tells which try it answers, so a retry never inflates an RTT.

mod config;
mod courtesy;
pub(crate) mod exchange;
mod pacer;
mod record;
mod rounds;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::SocketAddr;

use nearside_types::{Moment, Rtt, ServerAddr};
use nearside_wire::a2s::{Assembled, Challenge, Reassembler};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use self::courtesy::AddressGaps;
use self::exchange::Reply;
use self::pacer::Pacer;
use self::record::{ChallengeVerdict, LegSample, Record, State};
use self::rounds::{Due, Rounds};
use crate::planner::{
    Listed, Next, Outcome, PlanReport, Planner, PlannerConfig, Sample, ServerId, StopReason,
};
use crate::snapshot::{FullScan, Progress, Row, Snapshot, Summary};

pub use config::{Limit, ProberConfig, Protocol};
pub use exchange::ServerInfo;
pub use pacer::{Pace, ParsePaceError};
pub use record::MAX_TRIES;

/// A socket the shell keeps for the prober: one for each address family and try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PortId {
    /// The address family.
    pub ipv6: bool,
    /// The try, from 0.
    pub attempt: u8,
}

impl PortId {
    /// Every port a prober may name.
    pub fn all() -> impl Iterator<Item = Self> {
        [false, true]
            .into_iter()
            .flat_map(|ipv6| (0..MAX_TRIES as u8).map(move |attempt| Self { ipv6, attempt }))
    }

    /// A place for this port in an array of all of them.
    pub const fn index(self) -> usize {
        self.attempt as usize + if self.ipv6 { MAX_TRIES } else { 0 }
    }
}

/// What happens to the prober.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Input<'a> {
    /// More of the list: unique, probeable servers that were not listed before.
    Listed(&'a [Listed]),
    /// Servers of the list to probe before all others.
    Favourites(&'a [ServerId]),
    /// The list is whole.
    ListComplete,
    /// A datagram arrived.
    Datagram {
        /// The socket it came in on.
        port: PortId,
        /// Who sent it.
        from: SocketAddr,
        /// When the kernel received it, `None` if the stamp cannot be trusted (the clock was
        /// stepped meanwhile): then nothing is measured from it.
        received: Option<Moment>,
        /// Its bytes.
        payload: &'a [u8],
    },
    /// The network said that a datagram sent to this address cannot be delivered.
    Unreachable {
        /// Where it was sent.
        to: SocketAddr,
    },
    /// The user wants to stop now.
    Interrupt,
}

/// What the prober wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send this now.
    Transmit {
        /// From this socket.
        port: PortId,
        /// To this address.
        to: SocketAddr,
        /// These bytes.
        payload: Vec<u8>,
    },
    /// Something became known.
    Event(Event),
    /// Nothing until this moment, or until the next input if there is none.
    Wait(Option<Moment>),
    /// Done: the summary is final.
    Finished,
}

/// Something that became known about a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It answered; its row is complete.
    Answered(ServerId),
    /// It did not answer, or nothing listens there.
    Unanswered(ServerId),
}

/// Counters that tell of trouble on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Oddities {
    /// Datagrams from addresses nobody asked, or on sockets they were not asked on.
    pub unsolicited: u64,
    /// Replies that came twice.
    pub duplicates: u64,
    /// Replies that do not parse.
    pub malformed: u64,
    /// Quake 3 replies whose challenge is not the one that was sent: forged or stale.
    pub wrong_challenge: u64,
    /// Replies whose receive stamp could not be trusted.
    pub unstamped: u64,
    /// Replies that came after the last try was given up, kept all the same.
    pub late: u64,
}

/// A send that waits for its moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Delayed {
    at: Moment,
    /// Keeps equal moments in order.
    order: u64,
    server: ServerId,
    what: Send,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Send {
    /// A new try.
    Try,
    /// The second leg of a try, with the server's challenge.
    Leg { attempt: u8 },
}

/// A split reply that is being put together.
#[derive(Debug)]
struct Pieces {
    reassembler: Reassembler,
    /// The first fragment's arrival: that is when the server had answered.
    first_received: Option<Moment>,
}

/// The probe engine. See the module for how to drive it.
#[derive(Debug)]
pub struct Prober {
    config: ProberConfig,
    planner: Box<dyn Planner>,
    rtt_stop: Rtt,
    rng: ChaCha8Rng,
    records: Vec<Record>,
    by_addr: HashMap<ServerAddr, ServerId>,
    favourites: VecDeque<ServerId>,
    favourites_pending: usize,
    pacer: Pacer,
    gaps: AddressGaps,
    rounds: Rounds,
    delayed: BinaryHeap<Reverse<Delayed>>,
    delayed_order: u64,
    pieces: HashMap<(ServerId, u8), Pieces>,
    events: VecDeque<Event>,
    pending: usize,
    /// The planner has nothing to say until it learns something.
    planner_waits: bool,
    stopping: Option<StopReason>,
    started: Moment,
    ended: Option<Moment>,
    now: Moment,
    tally: Tally,
    oddities: Oddities,
}

/// What was done so far.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    probed: usize,
    answered: usize,
    playable: usize,
    probes_sent: u64,
    bytes_sent: u64,
    bytes_received: u64,
    flows: u64,
}

/// The phase favourites are probed in; planners count theirs from 0.
const FAVOURITE_PHASE: u32 = u32::MAX;

impl Prober {
    /// An engine for one run that starts at `now`.
    pub fn new(config: ProberConfig, planner: &PlannerConfig, now: Moment) -> Self {
        Self {
            planner: planner.build(config.seed),
            rtt_stop: planner.clusters.rtt_stop,
            rng: ChaCha8Rng::seed_from_u64(config.seed ^ 0x6e6f_6e63_6573),
            records: Vec::new(),
            by_addr: HashMap::new(),
            favourites: VecDeque::new(),
            favourites_pending: 0,
            pacer: Pacer::new(config.pace),
            gaps: AddressGaps::new(config.address_gap),
            rounds: Rounds::new(config.usable_timeouts()),
            delayed: BinaryHeap::new(),
            delayed_order: 0,
            pieces: HashMap::new(),
            events: VecDeque::new(),
            pending: 0,
            planner_waits: false,
            stopping: None,
            started: now,
            ended: None,
            now,
            tally: Tally::default(),
            oddities: Oddities::default(),
            config,
        }
    }

    /// Takes in what happened at `now`.
    pub fn handle_input(&mut self, now: Moment, input: Input<'_>) {
        self.now = self.now.max(now);
        match input {
            Input::Listed(servers) => self.handle_listed(servers),
            Input::Favourites(ids) => self.favourites.extend(ids),
            Input::ListComplete => {
                self.planner.list_complete();
                self.planner_waits = false;
            }
            Input::Datagram {
                port,
                from,
                received,
                payload,
            } => self.handle_datagram(port, from, received, payload),
            Input::Unreachable { to } => self.handle_unreachable(to),
            Input::Interrupt => self.finish(StopReason::Interrupted),
        }
    }

    /// The next thing to do. Call it again until it waits or is finished.
    pub fn poll_output(&mut self, now: Moment) -> Output {
        self.now = self.now.max(now);
        if let Some(event) = self.events.pop_front() {
            return Output::Event(event);
        }
        if self.ended.is_some() {
            return Output::Finished;
        }
        self.check_limits();
        if self.ended.is_some() {
            return Output::Finished;
        }
        if let Some(transmit) = self.next_transmit() {
            return transmit;
        }
        // Giving up on servers makes events.
        if let Some(event) = self.events.pop_front() {
            return Output::Event(event);
        }
        if let Some(reason) = self.stopping
            && self.pending == 0
        {
            self.finish(reason);
            return Output::Finished;
        }
        Output::Wait(self.next_wake_up())
    }

    // ---- input -------------------------------------------------------------------------------

    fn handle_listed(&mut self, servers: &[Listed]) {
        for listed in servers {
            let id = ServerId::from_index(self.records.len());
            let previous = self.by_addr.insert(listed.addr, id);
            debug_assert!(previous.is_none(), "{} was listed twice", listed.addr);
            self.records.push(Record::new(*listed));
        }
        self.planner.servers_listed(servers);
        self.planner_waits = false;
    }

    fn handle_datagram(
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
    ) -> Option<(std::borrow::Cow<'a, [u8]>, Option<Moment>)> {
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

    fn handle_unreachable(&mut self, to: SocketAddr) {
        let server = ServerAddr::from_socket(to).and_then(|addr| self.by_addr.get(&addr).copied());
        if let Some(server) = server
            && self.records[server.index()].state == State::Pending
            && self.records[server.index()].tries_sent > 0
        {
            self.settle(server, Outcome::Down);
        }
    }

    // ---- outcomes ----------------------------------------------------------------------------

    fn settle(&mut self, server: ServerId, outcome: Outcome) {
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
        self.planner.observe(Sample { server, outcome });
        self.planner_waits = false;
    }

    fn count_answer(&mut self, rtt: Rtt) {
        self.tally.answered += 1;
        if rtt < self.rtt_stop {
            self.tally.playable += 1;
        }
    }

    /// No try was answered in full. A server that got as far as a challenge is alive and measured.
    fn give_up(&mut self, server: ServerId) {
        let outcome = match self.records[server.index()].samples.rtt() {
            Some(rtt) => Outcome::Answered(rtt),
            None => Outcome::Silent,
        };
        self.settle(server, outcome);
    }

    fn finish(&mut self, reason: StopReason) {
        if self.ended.is_none() {
            self.stopping = Some(reason);
            self.ended = Some(self.now);
        }
    }

    fn check_limits(&mut self) {
        let Limit { probes, time } = self.config.limit;
        let over_probes = probes.is_some_and(|most| self.tally.probes_sent >= most);
        let over_time = time.is_some_and(|most| self.now - self.started >= most);
        if over_time || over_probes {
            self.finish(StopReason::Limit);
        }
    }

    // ---- sending -----------------------------------------------------------------------------

    /// What may be sent now, oldest obligations first: delayed sends, retries, new servers; and
    /// retries again, since a phase that found no new server lets its rounds go on.
    fn next_transmit(&mut self) -> Option<Output> {
        self.next_delayed()
            .or_else(|| self.next_retry())
            .or_else(|| self.next_new())
            .or_else(|| self.next_retry())
    }

    fn next_delayed(&mut self) -> Option<Output> {
        while let Some(&Reverse(head)) = self.delayed.peek() {
            // Legs answer a server that waits for them; they are charged to the pace, not held by it.
            let held = head.what == Send::Try && !self.pacer.is_ready(self.now);
            if head.at > self.now || held {
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
                    if let Some(transmit) = self.start_try(server) {
                        return Some(transmit);
                    }
                }
            }
        }
    }

    fn next_new(&mut self) -> Option<Output> {
        while self.may_start_new() {
            let (server, phase) = self.choose()?;
            let record = &mut self.records[server.index()];
            record.state = State::Pending;
            record.stretch = self.rounds.add(phase);
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

    fn delay(&mut self, at: Moment, server: ServerId, what: Send) {
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

    fn next_wake_up(&mut self) -> Option<Moment> {
        let records = &self.records;
        let settled = |server: ServerId| records[server.index()].is_settled();
        let delayed = self.delayed.peek().map(|Reverse(head)| match head.what {
            Send::Leg { .. } => head.at,
            Send::Try => head.at.max(self.pacer.ready_at()),
        });
        let round = self.rounds.next_due(settled);
        let wants_new = self.stopping.is_none()
            && self.pending < self.config.max_pending
            && (!self.planner_waits || !self.favourites.is_empty())
            && (self.favourites_pending == 0 || !self.favourites.is_empty());
        let new = wants_new.then(|| self.pacer.ready_at());
        let limit = self.config.limit.time.map(|most| self.started + most);
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

    // ---- reading -----------------------------------------------------------------------------

    /// Servers pending now.
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// Trouble seen on the wire.
    pub fn oddities(&self) -> Oddities {
        self.oddities
    }

    /// What the planner says of its work.
    pub fn plan(&self) -> PlanReport {
        self.planner.report()
    }

    /// The server's list entry.
    pub fn listed(&self, server: ServerId) -> Listed {
        self.records[server.index()].listed
    }

    /// A server's row, whatever its state.
    pub fn row(&self, server: ServerId) -> Row {
        let record = &self.records[server.index()];
        let info = record.info.as_deref().cloned().unwrap_or_default();
        let answered = record.state == State::Answered;
        let rtt = record.samples.rtt().filter(|_| answered);
        Row {
            addr: record.listed.addr,
            rtt_ms: rtt.map(Rtt::as_millis_f64),
            asn: record.listed.origin.asn.map(|asn| asn.0),
            country: record.listed.origin.country,
            name: info.name.map(String::from),
            map: info.map.map(String::from),
            game: info.game.map(String::from),
            players: info.players,
            bots: info.bots,
            max_players: info.max_players,
            password: info.password,
            samples: record.samples.count,
            clean: answered && record.samples.is_clean(),
        }
    }

    /// How far it is.
    pub fn progress(&self, now: Moment) -> Progress {
        Progress {
            activity: self.planner.report().activity,
            listed: self.records.len(),
            probed: self.tally.probed,
            pending: self.pending,
            answered: self.tally.answered,
            playable: self.tally.playable,
            probes_sent: self.tally.probes_sent,
            seconds: (now - self.started).as_secs_f64(),
        }
    }

    /// What it did and what it cost, so far or in the end.
    pub fn summary(&self) -> Summary {
        let end = self.ended.unwrap_or(self.now);
        let seconds = (end - self.started).as_secs_f64();
        Summary {
            planner: self.planner.name().to_owned(),
            listed: self.records.len(),
            probed: self.tally.probed,
            answered: self.tally.answered,
            playable: self.tally.playable,
            stopped: self.ended.and(self.stopping),
            expected_missed: None,
            probes_sent: self.tally.probes_sent,
            bytes_sent: self.tally.bytes_sent,
            bytes_received: self.tally.bytes_received,
            flows: self.tally.flows,
            seconds,
            full_scan: self.full_scan(seconds),
        }
    }

    /// Probing everything costs as much per server as what was probed did.
    fn full_scan(&self, seconds: f64) -> FullScan {
        let factor = self.records.len() as f64 / self.tally.probed.max(1) as f64;
        let probes = self.tally.probes_sent as f64 * factor;
        let bytes = (self.tally.bytes_sent + self.tally.bytes_received) as f64 * factor;
        let rest = probes - self.tally.probes_sent as f64;
        let more_seconds = match self.config.pace {
            Pace::PerSecond(rate) => rest / rate,
            Pace::Unlimited => seconds * (factor - 1.0),
        };
        FullScan {
            probes: probes.round() as u64,
            bytes: bytes.round() as u64,
            seconds: seconds + more_seconds,
        }
    }

    /// Every server that answered, in the order of the list, and the summary.
    pub fn snapshot(&self) -> Snapshot {
        let servers = (0..self.records.len())
            .filter(|&index| self.records[index].state == State::Answered)
            .map(|index| self.row(ServerId::from_index(index)))
            .collect();
        Snapshot {
            servers,
            summary: self.summary(),
        }
    }
}

/// The size of a datagram on the wire: IP and UDP headers and the payload.
pub(crate) fn wire_bytes(peer: SocketAddr, payload: usize) -> u64 {
    let headers = if peer.is_ipv6() { 48 } else { 28 };
    headers + payload as u64
}

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
mod exchange;
mod io;
mod outcome;
mod pacer;
mod receive;
mod record;
mod rounds;
mod send;
mod view;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::SocketAddr;

use nearside_types::{Moment, Rtt, ServerAddr};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use self::courtesy::AddressGaps;
use self::pacer::Pacer;
use self::receive::Pieces;
use self::record::Record;
use self::rounds::Rounds;
use self::send::Delayed;
use crate::planner::{Planner, PlannerConfig, ServerId, StopReason};

pub(crate) use courtesy::RecentSends;

pub use config::{Limit, ProberConfig, Protocol};
pub use exchange::ServerInfo;
pub use io::{Event, Input, Oddities, Output, PortId};
pub use pacer::{Pace, ParsePaceError};
pub use record::MAX_TRIES;

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
    list: ListState,
    stopping: Option<StopReason>,
    /// A limit on probes was reached: nothing more is sent, replies in flight may come until then.
    draining_until: Option<Moment>,
    started: Moment,
    ended: Option<Moment>,
    now: Moment,
    tally: Tally,
    oddities: Oddities,
}

/// How far the list is. The planner is told that it is whole only when favourites are settled, so
/// that it never plans for a server that is being probed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListState {
    Growing,
    Whole,
    Told,
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

impl Prober {
    /// An engine for one run that starts at `now`.
    pub fn new(config: ProberConfig, planner: &PlannerConfig, now: Moment) -> Self {
        Self {
            planner: planner.build(config.seed),
            rtt_stop: planner.rtt_stop(),
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
            list: ListState::Growing,
            stopping: None,
            draining_until: None,
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
            Input::Remembered(memory) => self.planner.remember(memory),
            Input::Favourites(ids) => {
                let listed = self.records.len();
                let known = ids.iter().filter(|id| id.index() < listed);
                self.favourites.extend(known);
            }
            Input::ListComplete => {
                self.list = ListState::Whole;
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
}

/// The size of a datagram on the wire: IP and UDP headers and the payload.
pub(crate) fn wire_bytes(peer: SocketAddr, payload: usize) -> u64 {
    let headers = if peer.is_ipv6() { 48 } else { 28 };
    headers + payload as u64
}

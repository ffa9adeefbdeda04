//! Clients, directory and games in one virtual time: the engines of the live system, driven by a
//! heap of events. Nothing is random but what seeds say, so the same seed gives the same log.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use nearside_coords::Node;
use nearside_detour::client::Output;
use nearside_detour::directory::{Directory, Peer, SessionKey, Welcome};
use nearside_detour::{Client, ClientConfig, ClientId, DirectoryConfig};
use nearside_types::{Moment, Rtt};
use nearside_world::recorded::TraceSample;

use super::journey::Journey;
use super::matrix_mode::{client, newcomer};
use super::network::{Network, Paths};
use super::replay::Replay;
use super::sessions::Session;
use super::settings::{Settings, Way};

/// One run: who looks for detours, how, on which network, for whom.
pub(super) struct Emulation<'a> {
    pub(super) network: &'a Network,
    pub(super) settings: &'a Settings,
    pub(super) way: Way,
    pub(super) sessions: &'a [Session],
    pub(super) length: Duration,
    pub(super) seed: u64,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Log {
    /// For every session with a known path, its players' ways to the host.
    pub(super) sessions: Vec<Vec<Journey>>,
    /// Probes that each client sent to its neighbours.
    pub(super) probes: Vec<u32>,
    /// The same by minute, of all clients together.
    pub(super) probes_by_minute: Vec<u32>,
    /// Reports that the directory got in each minute.
    pub(super) updates: Vec<u32>,
    /// For each client, the sessions it relayed, and the most at a time.
    pub(super) relayed: Vec<Load>,
    /// The same if every path took its best relay.
    pub(super) oracle_relayed: Vec<Load>,
    pub(super) minutes: f64,
}

/// What a client did for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Load {
    pub(super) sessions: u32,
    now: u32,
    pub(super) most: u32,
}

impl Load {
    fn begin(&mut self) {
        self.sessions += 1;
        self.now += 1;
        self.most = self.most.max(self.now);
    }
}

/// Something that will happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A client wanted to be asked again.
    Wake(usize),
    /// A probe came back.
    Reply { to: usize, from: usize, rtt: Rtt },
    /// It did not.
    Silence { to: usize, from: usize },
    /// The directory tidies up and learns.
    Minute,
    /// A game begins.
    Start(usize),
    /// It ends.
    End(usize),
}

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(2);

impl Emulation<'_> {
    /// Runs it to the end.
    pub(super) fn run(&self) -> Log {
        let mut run = Run::new(self);
        run.prepare();
        while let Some((at, event)) = run.next_event() {
            if at.since_epoch() >= self.length {
                break;
            }
            run.happen(at, event);
        }
        run.log
    }

    fn client_config(&self) -> ClientConfig {
        match self.network.is_replayed() {
            true => self.way.replaying_client(self.settings),
            false => self.way.client(self.settings),
        }
    }

    /// A client may report 2 N legs; where a trace says who measured whom, N is what the busiest node
    /// measured.
    fn directory_config(&self) -> DirectoryConfig {
        let usual = self.way.directory(self.settings);
        let busiest = self.network.replay().map_or(0, Replay::most_peers);
        DirectoryConfig {
            neighbours: usual.neighbours.max(busiest),
            ..usual
        }
    }
}

struct Run<'a> {
    plan: &'a Emulation<'a>,
    slices: Vec<Paths>,
    directory: Directory,
    clients: Vec<Client>,
    /// When each client wants to be asked; older wishes in the heap are void.
    wakes: Vec<Moment>,
    events: BinaryHeap<Reverse<(Moment, u64, Event)>>,
    /// What is left of a trace that is replayed: it may have millions of measurements, so it is not
    /// put on the heap.
    recorded: &'a [TraceSample],
    /// Events of one moment happen in the order they were planned.
    planned: u64,
    /// The relays in use, by session.
    in_use: Vec<Vec<(SessionKey, usize)>>,
    /// Those the oracle would use.
    best_in_use: Vec<Vec<usize>>,
    log: Log,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Emulation<'a>) -> Self {
        let nodes = plan.network.nodes();
        let slices = plan.network.slices.iter();
        Self {
            slices: slices
                .map(|slice| Paths::new(slice, plan.settings.overhead))
                .collect(),
            directory: Directory::new(plan.directory_config(), plan.seed),
            clients: Vec::with_capacity(nodes),
            wakes: vec![Moment::EPOCH; nodes],
            events: BinaryHeap::new(),
            planned: 0,
            recorded: plan.network.replay().map_or(&[], Replay::samples),
            in_use: vec![Vec::new(); plan.sessions.len()],
            best_in_use: vec![Vec::new(); plan.sessions.len()],
            log: Log {
                probes: vec![0; nodes],
                relayed: vec![Load::default(); nodes],
                oracle_relayed: vec![Load::default(); nodes],
                probes_by_minute: vec![0; minute_of(plan.length) + 1],
                updates: vec![0; minute_of(plan.length) + 1],
                minutes: plan.length.as_secs_f64() / 60.0,
                ..Log::default()
            },
            plan,
        }
    }

    fn prepare(&mut self) {
        self.join_all();
        for own in 0..self.clients.len() {
            self.ask(Moment::EPOCH, own);
        }
        self.plan_event(Moment::EPOCH + MINUTE, Event::Minute);
        for (place, session) in self.plan.sessions.iter().enumerate() {
            self.plan_event(session.start, Event::Start(place));
        }
    }

    /// Everybody joins; who joined first is welcomed again, so that all know of all.
    fn join_all(&mut self) {
        let nodes = self.plan.network.nodes();
        for own in 0..nodes {
            self.directory.join(Moment::EPOCH, newcomer(own));
        }
        let config = self.plan.client_config();
        for own in 0..nodes {
            let welcome = self.directory.join(Moment::EPOCH, newcomer(own));
            let welcome = self.neighbours_of(own, welcome);
            let seed = self.plan.seed.wrapping_mul(1_000_003) + own as u64;
            let client = Client::new(config.clone(), welcome, seed, Moment::EPOCH);
            self.clients.push(client);
        }
    }

    /// A trace says itself who measured whom.
    fn neighbours_of(&self, own: usize, welcome: Welcome) -> Welcome {
        let Some(replay) = self.plan.network.replay() else {
            return welcome;
        };
        Welcome {
            neighbours: replay.peers(own).iter().copied().map(peer).collect(),
            ..welcome
        }
    }

    /// What happens next: of one moment, what was recorded before what was planned.
    fn next_event(&mut self) -> Option<(Moment, Event)> {
        let planned = self.events.peek().map(|Reverse((at, ..))| *at);
        if let Some((sample, later)) = self.recorded.split_first() {
            let at = Moment::EPOCH + sample.at;
            if planned.is_none_or(|planned| at <= planned) {
                self.recorded = later;
                return Some((at, replayed(sample)));
            }
        }
        let Reverse((at, _, event)) = self.events.pop()?;
        Some((at, event))
    }

    fn plan_event(&mut self, at: Moment, event: Event) {
        self.planned += 1;
        self.events.push(Reverse((at, self.planned, event)));
    }

    fn happen(&mut self, now: Moment, event: Event) {
        match event {
            Event::Wake(own) if self.wakes[own] == now => self.ask(now, own),
            Event::Wake(_) => {}
            Event::Reply { to, from, rtt } => self.reply(now, to, from, rtt),
            Event::Silence { to, from } => {
                self.count_replayed(now, to);
                self.clients[to].handle_silence(now, id(from));
                self.ask(now, to);
            }
            Event::Minute => self.minute(now),
            Event::Start(place) => self.start(now, place),
            Event::End(place) => self.end(place),
        }
    }

    fn reply(&mut self, now: Moment, to: usize, from: usize, rtt: Rtt) {
        self.count_replayed(now, to);
        self.take_back(now, to, from);
        let place = self.clients[from].coordinate().clone();
        // What a client refuses (0 ms, nonsense) it simply does not learn from.
        let _ = self.clients[to].handle_reply(now, id(from), &place, rtt);
        self.ask(now, to);
    }

    /// A client gives up a neighbour that is silent for long; but whoever recorded the trace went on
    /// measuring it, so an answer brings it back.
    fn take_back(&mut self, now: Moment, own: usize, from: usize) {
        if self.plan.network.is_replayed() {
            self.clients[own].handle_neighbour(now, peer(from));
        }
    }

    /// A replayed probe was never asked for, but was sent once.
    fn count_replayed(&mut self, now: Moment, own: usize) {
        if self.plan.network.is_replayed() {
            self.count_probe(now, own);
        }
    }

    fn count_probe(&mut self, now: Moment, own: usize) {
        self.log.probes[own] += 1;
        self.log.probes_by_minute[minute_of(now.since_epoch())] += 1;
    }

    /// Does what a client wants until it wants to wait.
    fn ask(&mut self, now: Moment, own: usize) {
        loop {
            match self.clients[own].poll_output(now) {
                Output::Probe(peer) => self.probe(now, own, &peer),
                Output::Report(report) => {
                    self.log.updates[minute_of(now.since_epoch())] += 1;
                    let told = self.directory.report(now, id(own), report);
                    // Doubts are the directory's own business.
                    let _ = told.expect("everybody has joined and shows signs of life");
                    self.find_witness(now, own);
                }
                Output::Wait(until) => {
                    // A replaying client has nothing to probe and might want to be asked at once.
                    let until = until.max(now + Duration::from_millis(1));
                    self.wakes[own] = until;
                    return self.plan_event(until, Event::Wake(own));
                }
            }
        }
    }

    /// After a report, the live directory names somebody who lacks witnesses; the paper's does not, and a
    /// trace is over.
    fn find_witness(&mut self, now: Moment, own: usize) {
        if self.plan.way == Way::Paper || self.plan.network.is_replayed() {
            return;
        }
        if let Some(peer) = self.directory.whom_to_witness(id(own)) {
            self.clients[own].handle_neighbour(now, peer);
        }
    }

    fn probe(&mut self, now: Moment, own: usize, to: &Peer) {
        if self.plan.network.is_replayed() {
            return;
        }
        self.count_probe(now, own);
        let from = to.id.0 as usize;
        let millis = self.paths(now).direct(own, from);
        let event = match millis.is_finite() {
            true => {
                let rtt = Rtt::from_millis_f64(millis);
                (now + rtt.as_duration(), Event::Reply { to: own, from, rtt })
            }
            false => (now + PATIENCE, Event::Silence { to: own, from }),
        };
        self.plan_event(event.0, event.1);
    }

    /// The truth at a moment.
    fn paths(&self, now: Moment) -> &Paths {
        let share = now.since_epoch().as_secs_f64() / self.plan.length.as_secs_f64();
        let place = (share * self.slices.len() as f64) as usize;
        &self.slices[place.min(self.slices.len() - 1)]
    }

    fn minute(&mut self, now: Moment) {
        self.directory.expire(now);
        if self.plan.way == Way::Ours {
            let members = self.directory.state().members();
            let legs = members.map(|(_, member)| member.measured.len()).sum();
            self.directory.study(legs);
        }
        self.directory.take_changes().for_each(drop);
        self.plan_event(now + MINUTE, Event::Minute);
    }

    fn start(&mut self, now: Moment, place: usize) {
        let session = &self.plan.sessions[place];
        let mut journeys = Vec::with_capacity(session.players.len());
        for player in &session.players {
            journeys.extend(self.travel(now, place, *player, session.host));
        }
        // A session whose paths nobody knows says nothing.
        if !journeys.is_empty() {
            self.log.sessions.push(journeys);
        }
        self.plan_event(session.end, Event::End(place));
    }

    /// One player's way to the host.
    fn travel(&mut self, now: Moment, place: usize, own: usize, host: usize) -> Option<Journey> {
        let paths = self.paths(now);
        if !paths.direct(own, host).is_finite() {
            return None;
        }
        let wanted = self.plan.settings.candidates;
        let found = self.directory.lookup(id(own), id(host), wanted);
        let found = found.expect("both have joined");
        let relays: Vec<usize> = found.iter().map(|c| c.relay.id.0 as usize).collect();
        let paths = self.paths(now).clone_row(own, host);
        let session = &self.plan.sessions[place];
        let journey = match self.plan.way {
            // A pair that is only looked at needs no path session.
            _ if session.end == session.start => Journey::by_the_best(&paths, &relays),
            Way::Paper => Journey::by_the_best(&paths, &relays),
            Way::Ours => {
                let session = SessionKey {
                    source: id(own),
                    target: id(host),
                };
                let directory = &mut self.directory;
                let engage = |relay: usize| directory.engage(session, id(relay)).is_ok();
                Journey::by_session(&paths, &relays, now, engage)
            }
        };
        if let Some(relay) = journey.relay {
            self.carry(place, own, host, relay);
        }
        if let Some(relay) = journey.oracle_relay {
            self.best_in_use[place].push(relay);
            self.log.oracle_relayed[relay].begin();
        }
        Some(journey)
    }

    fn carry(&mut self, place: usize, own: usize, host: usize, relay: usize) {
        let session = SessionKey {
            source: id(own),
            target: id(host),
        };
        self.in_use[place].push((session, relay));
        self.log.relayed[relay].begin();
    }

    fn end(&mut self, place: usize) {
        for (session, relay) in std::mem::take(&mut self.in_use[place]) {
            self.log.relayed[relay].now -= 1;
            self.directory.release(session);
        }
        for relay in std::mem::take(&mut self.best_in_use[place]) {
            self.log.oracle_relayed[relay].now -= 1;
        }
    }
}

const MINUTE: Duration = Duration::from_secs(60);

fn minute_of(time: Duration) -> usize {
    (time.as_secs() / 60) as usize
}

fn replayed(sample: &TraceSample) -> Event {
    let (to, from) = (sample.from, sample.to);
    match sample.rtt {
        Some(rtt) => Event::Reply { to, from, rtt },
        None => Event::Silence { to, from },
    }
}

fn id(node: usize) -> ClientId {
    client(Node::at(node))
}

fn peer(node: usize) -> Peer {
    let newcomer = newcomer(node);
    Peer {
        id: newcomer.id,
        address: newcomer.address,
    }
}

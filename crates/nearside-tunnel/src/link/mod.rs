//! A sealed link between two players over several paths at once. One of the two leads: it measures the
//! paths and chooses; the other answers on the path it was last spoken to.
//!
//! Every packet is sealed once and may go out on two paths: the copies are the same bytes under the
//! same counter, of which the receiver takes the first. While a game is played, both ends say something
//! every 50 ms at least, so that silence on the path in use is noticed within 150 ms.

mod arriving;
mod compare;
mod delay;
mod failover;
mod gaps;
mod hop;
mod inner;
mod measuring;
mod pace;
mod repair;
mod sending;
mod talks;
mod trial;
mod way;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::path::{self, PathSession, Route};
use nearside_detour::{ClientId, PathConfig};
use nearside_types::{Moment, Rtt};
use nearside_wire::detour::SAFE_BYTES;
use serde::Serialize;

use crate::crypto::{Keys, PublicKey};
use crate::messages::Talk;
use crate::vouched::Authority;
use compare::Comparing;
pub use compare::{Arm, Comparison, Verdict};
use gaps::Gaps;
pub use hop::Hop;
pub use inner::{Echo, Inner, NotInner, Probe};
use pace::Pace;
use repair::Repair;
use talks::Talks;
use trial::Trial;
pub use way::Outgoing;
use way::Way;

/// The longest packet of a game that fits under the seal into one safe datagram on the direct path.
pub const LONGEST_PAYLOAD: usize = SAFE_BYTES - 16 - 16 - inner::DATA_HEADER;

/// Both ends say something this often while a game is played.
const BEAT: Duration = Duration::from_millis(50);
/// Two beats lost and some jitter: then the path is silent.
const SILENCE: Duration = Duration::from_millis(150);
/// A game is played while packets of it came or went within this.
const PLAY: Duration = Duration::from_millis(1_500);
/// The path that was left gets copies this long, in case the other end still listens there.
const COPIES: Duration = Duration::from_millis(250);
/// An answer that takes longer counts as lost.
const PATIENCE: Duration = Duration::from_millis(1_000);
/// A link on which nothing came for so long is over.
const DEAD: Duration = Duration::from_secs(30);
/// A share of lost packets that is worth another path.
const LOSSY: f64 = 0.08;
/// The same, over a short stretch: seven of forty.
const MUCH_LOST: f64 = 0.17;
/// What was lost before a switch is told until this long after it.
const SETTLING: Duration = Duration::from_millis(900);

/// What a link wants its caller to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send this.
    Send(Outgoing),
    /// A packet of the game came.
    Deliver {
        /// Which of the other end's local addresses it belongs to.
        flow: u16,
        /// The packet.
        payload: Vec<u8>,
    },
    /// Something happened.
    Event(Event),
}

/// What may happen to a link.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The session took another path, or vetoed a relay.
    Path(path::Event),
    /// The other end said something beside the game.
    Talk(Talk),
    /// The direct path is quicker from another source port.
    SourcePort {
        /// The socket.
        port: u8,
        /// What it saves.
        gain: Rtt,
    },
    /// The direct path was tried from all source ports: now relays may be asked for.
    Settled,
    /// A relay does not answer, or failed.
    RelayFailed {
        /// The relay.
        relay: ClientId,
        /// How.
        fault: crate::messages::Fault,
    },
    /// Nobody answers on the direct path any more.
    DirectLost,
    /// Nothing comes on any path.
    PeerSilent,
    /// The other end ended it, or is gone for good.
    Closed,
}

/// A sealed frame as it came.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// By which path.
    pub route: Route,
    /// From where.
    pub from: SocketAddr,
    /// On which socket.
    pub port: u8,
    /// When the kernel took it.
    pub received: Moment,
    /// How long the relay held it.
    pub residence: Duration,
}

/// See the module.
#[derive(Debug)]
pub struct Link {
    keys: Keys,
    /// By what the side that follows knows its directory's word, and for which session.
    authority: Option<(Authority, u64)>,
    lead: Option<Lead>,
    ways: BTreeMap<Route, Way>,
    /// The path packets go out on.
    sending: Route,
    /// Since when.
    switched: Moment,
    /// Another path that gets the same, until then.
    copies: Option<(Route, Moment)>,
    /// The newest packet that told which path the other end uses.
    newest: Option<u64>,
    played: Option<Play>,
    /// When the other end last said that it plays.
    peer_plays: Option<Moment>,
    gaps: Gaps,
    pace: Pace,
    /// Packets of the game and beats that went out.
    words: u16,
    talks: Talks,
    /// Probes of the direct path in a row that nobody answered.
    direct_missed: u32,
    repair: Option<Repair>,
    heard: Moment,
    was_silent: bool,
    /// When everything was looked after last.
    ticked: Moment,
    /// When the paths want something.
    next_path: Moment,
    counts: Counts,
    out: VecDeque<Output>,
    frame: Vec<u8>,
}

/// The side that chooses.
#[derive(Debug)]
struct Lead {
    paths: PathSession,
    trial: Option<Trial>,
    /// Probes of the trial: which port they left by.
    trial_ports: BTreeMap<u32, u8>,
    sequence: u32,
    trying: Option<Trying>,
    comparing: Option<Comparing>,
}

/// A path that was left in silence, until the next one proves to work.
#[derive(Debug)]
struct Trying {
    left: Route,
    since: Moment,
    tried: Vec<Route>,
}

/// A game under way.
#[derive(Debug, Clone, Copy)]
struct Play {
    since: Moment,
    last: Moment,
}

/// What went over a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Packets of the game sent.
    pub sent: u64,
    /// Packets of the game delivered.
    pub delivered: u64,
    /// Copies that came second, and replays.
    pub seen_before: u64,
    /// Frames that were not sealed by the other end.
    pub forged: u64,
    /// Frames that came directly, but not from where the other end is.
    pub astray: u64,
    /// Packets of the game that were too long for a relay and went directly.
    pub too_long: u64,
    /// Relays the other end named without the word of our directory.
    pub unvouched: u64,
}

/// One path as a face shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathView {
    /// Which.
    pub route: Route,
    /// Where its packets go.
    pub address: SocketAddr,
    /// Whether it is in use.
    pub active: bool,
    /// Whether it can be used.
    pub open: bool,
    /// What it takes, at the ninth of ten samples; in microseconds where it is written out.
    #[serde(rename = "rtt_us")]
    pub rtt: Option<Rtt>,
    /// How much one round trip differs from the next, on average; as above.
    #[serde(rename = "jitter_us")]
    pub jitter: Option<Rtt>,
    /// The share lost lately.
    pub loss: Option<f64>,
    /// What the relay itself takes of it.
    pub relay_us: Option<u64>,
    /// The socket it leaves by.
    pub port: u8,
}

impl Link {
    /// The side that leads, on its direct path to this address or on its only relay.
    pub fn leading(
        keys: Keys,
        first: (Route, Outset),
        config: PathConfig,
        ports: u8,
        now: Moment,
    ) -> Self {
        let (route, outset) = first;
        let is_direct = route == Route::Direct;
        let lead = Lead {
            paths: PathSession::on(route, config, now),
            trial: is_direct.then(|| Trial::new(ports, now)),
            trial_ports: BTreeMap::new(),
            sequence: 0,
            trying: None,
            comparing: None,
        };
        Self::new(keys, Some(lead), route, outset, now)
    }

    /// The side that follows. It goes to those relays that its directory vouches for in this session.
    pub fn following(
        keys: Keys,
        first: (Route, Outset),
        authority: (Authority, u64),
        now: Moment,
    ) -> Self {
        Self {
            authority: Some(authority),
            ..Self::new(keys, None, first.0, first.1, now)
        }
    }

    fn new(keys: Keys, lead: Option<Lead>, route: Route, outset: Outset, now: Moment) -> Self {
        let mut pace = Pace::default();
        let way = match outset {
            Outset::Direct(to) => Way::direct(to, now),
            Outset::Relay(hop) => {
                pace.allow(now, hop.pass());
                Way::hop(hop, 0, now)
            }
        };
        Self {
            keys,
            authority: None,
            lead,
            ways: BTreeMap::from([(route, way)]),
            sending: route,
            switched: now,
            copies: None,
            newest: None,
            played: None,
            peer_plays: None,
            gaps: Gaps::default(),
            pace,
            words: 0,
            talks: Talks::default(),
            direct_missed: 0,
            repair: None,
            heard: now,
            was_silent: false,
            ticked: now,
            next_path: now,
            counts: Counts::default(),
            out: VecDeque::new(),
            frame: Vec::new(),
        }
    }

    /// Who the other end is.
    pub fn peer(&self) -> PublicKey {
        self.keys.peer
    }

    /// Whether this side chooses the path.
    pub fn leads(&self) -> bool {
        self.lead.is_some()
    }

    /// The path in use.
    pub fn active(&self) -> Route {
        self.sending
    }

    /// Whether nothing comes on any path although a game is played.
    pub fn is_without_answer(&self) -> bool {
        self.was_silent
    }

    /// When something came last.
    pub fn heard(&self) -> Moment {
        self.heard
    }

    /// What went over it.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// All paths, the one in use first.
    pub fn paths(&self) -> Vec<PathView> {
        let view = |(route, way): (&Route, &Way)| PathView {
            route: *route,
            address: way.address(),
            active: *route == self.sending,
            open: way.is_open(),
            rtt: self.score(*route),
            jitter: self
                .lead
                .as_ref()
                .and_then(|lead| lead.paths.jitter(*route)),
            loss: way.loss(),
            relay_us: way
                .residence
                .and_then(|held| u64::try_from(held.as_micros()).ok())
                .filter(|_| *route != Route::Direct),
            port: way.port(),
        };
        let mut views: Vec<PathView> = self.ways.iter().map(view).collect();
        views.sort_by_key(|view| (!view.active, view.rtt.is_none(), view.rtt));
        views
    }

    /// What a path takes, by the leader's measurements.
    pub fn score(&self, route: Route) -> Option<Rtt> {
        self.lead.as_ref()?.paths.score(route)
    }

    /// What to send.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// Does what is due.
    pub fn handle_time(&mut self, now: Moment) {
        self.ticked = now;
        self.open_ways(now);
        self.poll_talks(now);
        self.lose_probes(now);
        self.poll_trial(now);
        self.poll_repair(now);
        self.poll_paths(now);
        if self.is_played(now) || self.is_listened_to(now) {
            self.beat(now);
            self.listen(now);
        }
        if now.since(self.heard) >= DEAD {
            self.heard = now;
            self.out.push_back(Output::Event(Event::Closed));
        }
    }

    /// When [`handle_time`](Self::handle_time) is due.
    pub fn next_time(&self) -> Moment {
        let hops = self.ways.values().filter_map(Way::through);
        let opens = hops.filter_map(Hop::next_open).min();
        let probes = self.ways.values().filter_map(Way::oldest_probe).min();
        let times = [
            opens,
            self.talks.next_time(),
            self.repair.as_ref().map(Repair::next_time),
            probes.map(|sent| sent + PATIENCE),
            self.lead
                .as_ref()
                .and_then(|lead| lead.trial.as_ref())
                .map(Trial::next_time),
            (self.is_played(self.ticked) || self.is_listened_to(self.ticked))
                .then(|| self.ticked + BEAT / 2),
            self.lead.is_some().then_some(self.next_path),
        ];
        let next = times.into_iter().flatten().min();
        let over = self.heard + DEAD;
        next.map_or(over, |next| next.min(over))
    }

    /// What the path in use saves over the direct one, in microseconds.
    pub fn gain_us(&self) -> Option<i64> {
        let (direct, active) = (self.score(Route::Direct)?, self.score(self.sending)?);
        Some(i64::from(direct.as_micros()) - i64::from(active.as_micros()))
    }
}

/// The relay of a path.
pub(crate) fn relay_of(route: Route) -> Option<ClientId> {
    match route {
        Route::Direct => None,
        Route::Via(relay) => Some(relay),
    }
}

/// Where a link begins.
#[derive(Debug)]
pub enum Outset {
    /// At this address.
    Direct(SocketAddr),
    /// Through this relay.
    Relay(Hop),
}

/// Paths of one link at most.
const MOST_WAYS: usize = 40;

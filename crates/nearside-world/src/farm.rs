//! How lab servers answer: an engine that gets datagrams and moments and gives replies with delays.
//!
//! The whole delay of a reply is the round-trip time of that exchange, so a client on the same
//! machine, or in virtual time, measures what it would have measured from afar.

mod a2s;
mod config;
mod enemy_territory;
mod limits;
mod persona;
mod weather;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use nearside_types::{Country, Moment, Rtt, ServerAddr};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

pub use config::{ChallengePolicy, FarmConfig, Protocol, RateLimits};
use limits::Limits;
pub use persona::Persona;
pub use weather::Weather;
use weather::busiest_at;

use crate::chance::{OwnKeys, exponential, server_stream};
use crate::cities::country_position;
use crate::fraction::Fraction;
use crate::population::Population;

/// A server of a farm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FarmServer {
    /// Where it answers.
    pub addr: ServerAddr,
    /// The base RTT of the path to it; `None` for one that never answers.
    pub rtt: Option<Rtt>,
    /// The time of day, UTC, at which its networks are busiest.
    pub busiest: Duration,
}

impl FarmServer {
    /// All servers of a population, at the distance they have from the client of a column. They are
    /// busiest in the evening of their country's largest city.
    ///
    /// # Panics
    /// If the population has no such column.
    pub fn seen_from(population: &Population, client: usize) -> Vec<Self> {
        assert!(client < population.clients.len(), "no such client column");
        let mut evenings: BTreeMap<Option<Country>, Duration> = BTreeMap::new();
        let servers = population.servers.iter();
        servers
            .map(|server| {
                let country = server.origin.country;
                let busiest = evenings.entry(country).or_insert_with(|| {
                    let place = country.and_then(country_position);
                    busiest_at(place.map_or(0.0, |place| place.longitude))
                });
                Self {
                    addr: server.addr,
                    rtt: server.rtt[client],
                    busiest: *busiest,
                }
            })
            .collect()
    }
}

/// A datagram to send back to who asked, from the address that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FarmReply {
    /// How long after the request.
    pub delay: Duration,
    /// What it says.
    pub payload: Vec<u8>,
}

/// What became of the requests so far; every request is counted in exactly one of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FarmStats {
    /// Datagrams that came in.
    pub requests: u64,
    /// No server has that address.
    pub no_such_server: u64,
    /// The server never answers anybody.
    pub silent: u64,
    /// Lost on the way there.
    pub request_lost: u64,
    /// Not a request of the protocol.
    pub malformed: u64,
    /// Ignored for asking too often.
    pub limited: u64,
    /// All of the reply lost on the way back.
    pub reply_lost: u64,
    /// Answered, at least in part.
    pub answered: u64,
}

/// Any number of game servers behind one function.
///
/// Chance is drawn for each server and request number from the seed: what a server's third request
/// meets does not depend on how requests to other servers interleave, so real packets and virtual
/// time see the same luck.
#[derive(Debug)]
pub struct Farm {
    config: FarmConfig,
    servers: HashMap<ServerAddr, ServerState, OwnKeys>,
    limits: Limits,
    seed: u64,
    stats: FarmStats,
}

#[derive(Debug, Clone, Copy)]
struct ServerState {
    index: u32,
    rtt: Option<Rtt>,
    busiest: Duration,
    /// Requests so far.
    requests: u32,
}

impl Farm {
    /// A farm of these servers; of several with one address the last counts.
    pub fn new(config: FarmConfig, servers: Vec<FarmServer>, seed: u64) -> Self {
        let state = |(server, index): (FarmServer, u32)| {
            let state = ServerState {
                index,
                rtt: server.rtt,
                busiest: server.busiest,
                requests: 0,
            };
            (server.addr, state)
        };
        Self {
            limits: Limits::new(config.protocol, config.rate_limits),
            servers: servers.into_iter().zip(0..).map(state).collect(),
            config,
            seed,
            stats: FarmStats::default(),
        }
    }

    /// How many servers there are, silent ones included.
    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// Whether there is no server at all.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// What became of the requests so far.
    pub fn stats(&self) -> FarmStats {
        self.stats
    }

    /// A datagram arrived at `now` from `from` for the server at `to`. Replies are appended, in the
    /// order to send those that are due at the same time.
    pub fn handle(
        &mut self,
        now: Moment,
        from: SocketAddr,
        to: SocketAddr,
        payload: &[u8],
        replies: &mut Vec<FarmReply>,
    ) {
        self.stats.requests += 1;
        let before = replies.len();
        let outcome = match self.exchange(now, from, to, payload) {
            Err(outcome) => outcome,
            Ok((datagrams, mut luck)) => {
                luck.deliver(&self.config, datagrams, replies);
                match replies.len() > before {
                    true => Outcome::Answered,
                    false => Outcome::ReplyLost,
                }
            }
        };
        self.stats.count(outcome);
    }

    /// The datagrams a server answers with, and the luck they travel with.
    fn exchange(
        &mut self,
        now: Moment,
        from: SocketAddr,
        to: SocketAddr,
        payload: &[u8],
    ) -> Result<(Vec<Vec<u8>>, Luck), Outcome> {
        let addr = ServerAddr::from_socket(to).ok_or(Outcome::NoSuchServer)?;
        let server = self.servers.get_mut(&addr).ok_or(Outcome::NoSuchServer)?;
        let base = server.rtt.ok_or(Outcome::Silent)?;
        server.requests = server.requests.wrapping_add(1);
        let (index, number) = (server.index, server.requests);
        let weather = &self.config.weather;
        let base = weather.at(now, base.as_duration(), addr, server.busiest, self.seed);
        let mut luck = Luck::new(self.seed, addr, number, base);
        if luck.loses(&self.config) {
            return Err(Outcome::RequestLost);
        }
        let source = from.ip().to_canonical();
        let datagrams = match self.config.protocol {
            Protocol::A2s => a2s::answer(&self.config, self.seed, addr, source, payload),
            Protocol::EnemyTerritory => {
                enemy_territory::answer(&self.config, self.seed, addr, payload)
            }
        };
        let datagrams = datagrams.ok_or(Outcome::Malformed)?;
        match self.limits.admit(now, index, source) {
            true => Ok((datagrams, luck)),
            false => Err(Outcome::Limited),
        }
    }
}

/// What became of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    NoSuchServer,
    Silent,
    RequestLost,
    Malformed,
    Limited,
    ReplyLost,
    Answered,
}

impl FarmStats {
    fn count(&mut self, outcome: Outcome) {
        let counter = match outcome {
            Outcome::NoSuchServer => &mut self.no_such_server,
            Outcome::Silent => &mut self.silent,
            Outcome::RequestLost => &mut self.request_lost,
            Outcome::Malformed => &mut self.malformed,
            Outcome::Limited => &mut self.limited,
            Outcome::ReplyLost => &mut self.reply_lost,
            Outcome::Answered => &mut self.answered,
        };
        *counter += 1;
    }
}

/// What one exchange meets on its way.
struct Luck {
    rng: ChaCha8Rng,
    base: Duration,
}

/// A copy trails its original by an exponential time with this mean: long enough to arrive apart.
const DUPLICATE_LAG_MEAN: Duration = Duration::from_millis(10);

impl Luck {
    fn new(seed: u64, server: ServerAddr, number: u32, base: Duration) -> Self {
        Self {
            rng: server_stream(seed, "exchange", server, number),
            base,
        }
    }

    /// Whether one crossing of the network fails: two crossings fail with the configured loss.
    fn loses(&mut self, config: &FarmConfig) -> bool {
        let one_way = 1.0 - (1.0 - config.loss.get()).sqrt();
        self.rng.random::<f64>() < one_way
    }

    fn happens(&mut self, share: Fraction) -> bool {
        self.rng.random::<f64>() < share.get()
    }

    fn deliver(
        &mut self,
        config: &FarmConfig,
        mut datagrams: Vec<Vec<u8>>,
        replies: &mut Vec<FarmReply>,
    ) {
        let delay = config.noise.sample(self.base, &mut self.rng);
        if self.happens(config.reordered) {
            datagrams.shuffle(&mut self.rng);
        }
        for payload in datagrams {
            if self.loses(config) {
                continue;
            }
            if self.happens(config.duplicates) {
                let lag = exponential(&mut self.rng, DUPLICATE_LAG_MEAN.as_secs_f64());
                replies.push(FarmReply {
                    delay: delay + Duration::from_secs_f64(lag),
                    payload: payload.clone(),
                });
            }
            replies.push(FarmReply { delay, payload });
        }
    }
}

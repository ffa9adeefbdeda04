//! Where a run takes place: whose servers, seen from where, over what kind of network.

use std::borrow::Cow;

use nearside_discover::filter::Filters;
use nearside_discover::prober::{Pace, ProberConfig};
use nearside_types::{Listed, Rtt};
use nearside_world::farm::FarmConfig;
use nearside_world::recorded::RecordedPaths;
use nearside_world::{Fraction, Game, Population, WorldParams, generate, generate_on};
use thiserror::Error;

/// Where populations come from.
#[derive(Debug, Clone)]
pub enum World {
    /// Generated anew for every seed.
    Generated {
        /// What the world is made of.
        params: Box<WorldParams>,
        /// Whose servers.
        game: Game,
        /// How many of them answer; as many as the parameters say by default.
        answering: Option<usize>,
    },
    /// Generated anew for every seed, at distances that were recorded.
    OnRecord {
        /// What the world is made of.
        params: Box<WorldParams>,
        /// Whose servers.
        game: Game,
        /// How many of them answer; as many as the parameters say by default.
        answering: Option<usize>,
        /// How far it is.
        paths: Box<RecordedPaths>,
        /// The nodes to look from, by number.
        clients: Vec<usize>,
    },
    /// Read from a file; seeds then only drive draws and luck.
    Recorded(Population),
}

impl World {
    /// The population for a seed.
    pub fn population(&self, seed: u64) -> Cow<'_, Population> {
        match self {
            Self::Recorded(population) => Cow::Borrowed(population),
            Self::Generated {
                params,
                game,
                answering,
            } => Cow::Owned(generate(params, *game, *answering, seed)),
            Self::OnRecord {
                params,
                game,
                answering,
                paths,
                clients,
            } => Cow::Owned(generate_on(paths, clients, params, *game, *answering, seed)),
        }
    }

    /// The places a client can be at.
    pub fn clients(&self) -> Vec<&str> {
        match self {
            Self::Recorded(population) => population.clients.iter().map(String::as_str).collect(),
            Self::Generated { params, .. } => params.clients().collect(),
            Self::OnRecord { paths, clients, .. } => {
                let names = clients.iter().map(|&node| paths.nodes()[node].as_str());
                names.collect()
            }
        }
    }

    /// A place by its name, however it is spelled in capitals.
    ///
    /// # Errors
    /// If the world does not have it, with those it has.
    pub fn client(&self, name: &str) -> Result<String, UnknownClient> {
        let clients = self.clients();
        let found = clients
            .iter()
            .find(|client| client.eq_ignore_ascii_case(name));
        found
            .map(|&client| client.to_owned())
            .ok_or_else(|| UnknownClient {
                name: name.to_owned(),
                choices: clients.join(", "),
            })
    }
}

/// The world is not seen from there.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("there is no client `{name}` (choose {choices})")]
pub struct UnknownClient {
    name: String,
    choices: String,
}

/// What holds for all runs of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// What the servers speak.
    pub game: Game,
    /// Datagrams a second.
    pub pace: Pace,
    /// Servers nearer than this are playable, and what is farther is not worth a probe.
    pub stop: Rtt,
    /// Only so many of the nearest are wanted; planners that cannot aim at them do as always.
    pub best: Option<usize>,
    /// The user has filters that only this share of the servers passes: all but those are full.
    pub matching: Option<Fraction>,
    /// How servers and paths behave: noise, loss, rate limits.
    pub farm: FarmConfig,
}

impl Conditions {
    /// As the papers had them: 200 ms, the rate of the game's clients, the noise of the hub world
    /// and no loss but that of silent servers.
    pub fn published(game: Game) -> Self {
        Self::with_params(&WorldParams::builtin(), game)
    }

    /// The same with the noise and rate of a generated world; of a recorded one only base RTTs are
    /// known, so it has those of the hub world.
    pub fn of_world(world: &World, game: Game) -> Self {
        match world {
            World::Generated { params, .. } | World::OnRecord { params, .. } => {
                Self::with_params(params, game)
            }
            World::Recorded(_) => Self::published(game),
        }
    }

    fn with_params(params: &WorldParams, game: Game) -> Self {
        Self {
            game,
            pace: Pace::PerSecond(params.probe_rate(game)),
            stop: Rtt::from_micros(200_000),
            best: None,
            matching: None,
            farm: params.farm(game),
        }
    }

    /// How the servers behave, full ones included.
    pub(crate) fn farm(&self) -> FarmConfig {
        FarmConfig {
            free: self.matching.or(self.farm.free),
            ..self.farm.clone()
        }
    }

    pub(crate) fn prober(&self, seed: u64) -> ProberConfig {
        ProberConfig {
            pace: self.pace,
            wanted: Filters {
                not_full: self.matching.is_some(),
                ..Filters::default()
            },
            ..ProberConfig::new(self.game.protocol(), seed)
        }
    }
}

/// One instance: a population seen from one place, under conditions.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The servers as they are.
    pub population: &'a Population,
    /// The same servers as a client learns of them; labels may be wrong.
    pub listed: &'a [Listed],
    /// The client's column in the population.
    pub client: usize,
    /// The network.
    pub conditions: &'a Conditions,
}

impl Scene<'_> {
    /// The base RTT of a server, if it answers.
    pub fn rtt(&self, server: usize) -> Option<Rtt> {
        self.population.servers[server].rtt[self.client]
    }

    /// The base RTT of a server that answers and passes the user's filters in a run with this seed.
    pub fn wanted_rtt(&self, server: usize, seed: u64) -> Option<Rtt> {
        let passes = || {
            let addr = self.population.servers[server].addr;
            self.conditions.farm().persona(addr, seed).has_room()
        };
        let filtered = self.conditions.matching.is_some();
        self.rtt(server).filter(|_| !filtered || passes())
    }

    /// The base RTTs of all those, nearest first.
    pub(crate) fn wanted_rtts(&self, seed: u64) -> Vec<Rtt> {
        let servers = 0..self.population.servers.len();
        let mut rtts: Vec<Rtt> = servers
            .filter_map(|server| self.wanted_rtt(server, seed))
            .collect();
        rtts.sort_unstable();
        rtts
    }

    /// Whether a server answers, and nearer than the stop.
    pub fn is_playable(&self, server: usize) -> bool {
        self.rtt(server)
            .is_some_and(|rtt| rtt < self.conditions.stop)
    }

    /// The playable servers, nearest first; equally near ones in list order.
    pub fn playable(&self) -> Vec<usize> {
        let mut playable: Vec<usize> = (0..self.population.servers.len())
            .filter(|&server| self.is_playable(server))
            .collect();
        playable.sort_by_key(|&server| self.rtt(server));
        playable
    }
}

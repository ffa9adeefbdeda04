//! The matrix mode of the paper's section 6.2: every client gets N neighbours, and P pings to random
//! ones of them take what the matrix says.

use std::net::Ipv4Addr;

use nearside_coords::{
    Coordinate, CoordinateMap, Edges, Factorisation, FactorisationConfig, Neighbour, Node, Vivaldi,
    VivaldiConfig,
};
use nearside_detour::directory::{Newcomer, Ranking, Relaying, Report, Trust};
use nearside_detour::{ClientId, Directory, DirectoryConfig};
use nearside_types::{LatencyMatrix, Moment, Origin, Rtt, ServerAddr};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::network::either_way;

/// How clients measure before they are judged.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixMode {
    /// N: neighbours of each client.
    pub neighbours: usize,
    /// P: pings of each client, to random neighbours.
    pub pings: usize,
    /// Dimensions of coordinates.
    pub dimensions: usize,
}

impl Default for MatrixMode {
    fn default() -> Self {
        Self {
            neighbours: 32,
            pings: 640,
            dimensions: VivaldiConfig::default().dimensions,
        }
    }
}

/// What clients know after their pings.
#[derive(Debug, Clone)]
pub(super) struct Knowledge {
    /// Where each one is.
    pub(super) places: Vec<Coordinate>,
    /// What each one measured.
    pub(super) legs: Vec<Vec<(Node, Rtt)>>,
}

/// Rounds over all legs in which factors have learnt what there is.
const STUDY_ROUNDS: usize = 60;
/// With hundreds of neighbours each, factors have learnt what there is in fewer rounds.
const MOST_STUDIED: usize = 4_000_000;

impl MatrixMode {
    /// Lets the clients measure. The same seed gives the same neighbours, whatever is judged later.
    pub(super) fn run(&self, matrix: &LatencyMatrix, seed: u64) -> Knowledge {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let neighbours = self.draw(matrix, &mut random);
        let config = VivaldiConfig {
            dimensions: self.dimensions,
            ..VivaldiConfig::for_matrices()
        };
        let mut clients: Vec<Vivaldi> = neighbours
            .iter()
            .map(|_| Vivaldi::new(config.clone(), random.random()))
            .collect();
        let mut pinged = vec![Edges::default(); clients.len()];
        for _ in 0..self.pings {
            for (own, peers) in neighbours.iter().enumerate() {
                if peers.is_empty() {
                    continue;
                }
                let (peer, rtt) = peers[random.random_range(0..peers.len())];
                let place = clients[peer.index()].coordinate().clone();
                // A matrix may say 0 ms, which nobody believes.
                let _ = clients[own].observe(Neighbour(u64::from(peer.0)), &place, rtt);
                pinged[own].set(Node::at(own), peer, rtt);
            }
        }
        let legs = pinged.iter().enumerate();
        Knowledge {
            places: clients.iter().map(|c| c.coordinate().clone()).collect(),
            legs: legs
                .map(|(own, legs)| legs.of(Node::at(own)).to_vec())
                .collect(),
        }
    }

    /// N different neighbours for each client, out of those it can reach.
    fn draw(&self, matrix: &LatencyMatrix, random: &mut ChaCha8Rng) -> Vec<Vec<(Node, Rtt)>> {
        let reachable = |own: usize| {
            let others = (0..matrix.nodes()).filter(move |other| *other != own);
            others.filter_map(move |other| Some((Node::at(other), either_way(matrix, own, other)?)))
        };
        let mut draw = |own: usize| {
            let mut left: Vec<(Node, Rtt)> = reachable(own).collect();
            let wanted = self.neighbours.min(left.len());
            let mut drawn = Vec::with_capacity(wanted);
            while drawn.len() < wanted {
                drawn.push(left.swap_remove(random.random_range(0..left.len())));
            }
            drawn
        };
        (0..matrix.nodes()).map(&mut draw).collect()
    }
}

impl Knowledge {
    /// All legs, by whoever measured them.
    pub(super) fn edges(&self) -> Edges {
        let mut edges = Edges::default();
        for (own, legs) in self.legs.iter().enumerate() {
            for (peer, rtt) in legs {
                edges.set(Node::at(own), *peer, *rtt);
            }
        }
        edges
    }

    pub(super) fn map(&self) -> CoordinateMap {
        let dimensions = self.places.first().map_or(1, Coordinate::dimensions);
        let mut map = CoordinateMap::new(dimensions);
        for (index, place) in self.places.iter().enumerate() {
            map.place(Node::at(index), place)
                .expect("all clients live in one space");
        }
        map
    }

    /// What a directory's factors would have learnt from the legs.
    pub(super) fn factors(&self, config: FactorisationConfig, seed: u64) -> Factorisation {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut factors = Factorisation::new(config, seed);
        let all: Vec<_> = self.edges().iter().collect();
        for _ in 0..all.len() * STUDY_ROUNDS {
            let (a, b, rtt) = all[random.random_range(0..all.len())];
            factors.observe(a, b, rtt);
        }
        factors
    }

    /// A directory that was told everything.
    pub(super) fn told(&self, ranking: Ranking, seed: u64) -> Directory {
        let telling = Telling {
            ranking,
            trust: trust(ranking),
            rounds: 1,
        };
        self.told_by(&telling, seed, |_, rtt, _| rtt)
    }

    /// A directory that was told something; `says` turns what a client measured into what it reports in
    /// a round.
    pub(super) fn told_by(
        &self,
        telling: &Telling,
        seed: u64,
        mut says: impl FnMut(Node, Rtt, usize) -> Rtt,
    ) -> Directory {
        let config = DirectoryConfig {
            ranking: telling.ranking,
            trust: telling.trust,
            dimensions: self.places.first().map_or(1, Coordinate::dimensions),
            // What a client measured itself is at most N, and one report holds twice as many.
            neighbours: self.legs.iter().map(Vec::len).max().unwrap_or(0),
            ..DirectoryConfig::default()
        };
        let mut directory = Directory::new(config, seed);
        for index in 0..self.places.len() {
            directory.join(Moment::EPOCH, newcomer(index));
        }
        let legs: usize = self.legs.iter().map(Vec::len).sum();
        let studied = (legs * STUDY_ROUNDS).min(MOST_STUDIED) / telling.rounds;
        for round in 0..telling.rounds {
            self.report(&mut directory, |from, rtt| says(from, rtt, round));
            // Who ranks without factors has nothing to study.
            if uses_factors(telling.ranking) {
                directory.study(studied);
            }
        }
        directory
    }

    /// Everybody reports once.
    fn report(&self, directory: &mut Directory, mut says: impl FnMut(Node, Rtt) -> Rtt) {
        for (index, place) in self.places.iter().enumerate() {
            let legs = self.legs[index].iter();
            let report = Report {
                coordinate: Some(place.clone()),
                legs: legs
                    .map(|(peer, rtt)| (client(*peer), says(Node::at(index), *rtt)))
                    .collect(),
            };
            let told = directory.report(Moment::EPOCH, client(Node::at(index)), report);
            told.expect("everybody has joined");
        }
    }
}

/// How a directory is told, and what it makes of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Telling {
    pub(super) ranking: Ranking,
    pub(super) trust: Trust,
    /// Everybody reports so often, with a part of the study after each.
    pub(super) rounds: usize,
}

const fn uses_factors(ranking: Ranking) -> bool {
    !matches!(ranking, Ranking::Likelihood | Ranking::Random)
}

/// The paper has no defences, and chance needs none; what is ours has them.
pub(super) const fn trust(ranking: Ranking) -> Trust {
    match ranking {
        Ranking::Likelihood | Ranking::Random => Trust::Everybody,
        Ranking::CoordinateSums | Ranking::FactorSums | Ranking::Mixed => Trust::Weighed,
    }
}

/// The client at a place of the matrix.
pub(super) fn client(node: Node) -> ClientId {
    ClientId(u64::from(node.0))
}

/// A client in a /24 of its own: a matrix does not say who is whose neighbour.
pub(super) fn newcomer(index: usize) -> Newcomer {
    let node = Node::at(index);
    let ip = Ipv4Addr::from_bits((node.0 << 8) | 1);
    Newcomer {
        id: client(node),
        address: ServerAddr::new(ip.into(), 9000).expect("the port is not 0"),
        origin: Origin::default(),
        relaying: Relaying::Yes,
    }
}

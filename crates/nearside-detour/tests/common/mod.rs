//! A world of clients around a directory, for experiments.

#[allow(dead_code, reason = "not every test has liars")]
pub(crate) mod attack;

use std::net::Ipv4Addr;

use nearside_coords::worlds::SmallWorld;
use nearside_coords::{Coordinate, Node, VivaldiConfig};
use nearside_detour::directory::{Newcomer, Relaying, Report};
use nearside_detour::{ClientId, Directory, DirectoryConfig};
use nearside_types::{Moment, Origin, Rtt, ServerAddr};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Who reports a leg.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ends {
    /// The one that measured it: nobody can contradict it.
    One,
    #[allow(dead_code, reason = "not every test needs both")]
    /// Both, as when a measurement is answered and the answer acknowledged.
    Both,
}

impl Ends {
    fn of(self, own: Node, peer: Node) -> Vec<(Node, Node)> {
        match self {
            Self::One => vec![(own, peer)],
            Self::Both => vec![(own, peer), (peer, own)],
        }
    }
}

/// What clients report of what they measured.
pub(crate) trait Says {
    /// A leg, in a round of reports.
    fn rtt(&mut self, from: Node, rtt: Rtt, round: u32) -> Rtt;

    /// Where it says it is.
    fn place(&self, from: Node, place: &Coordinate) -> Coordinate;

    /// Whether it is one of many in one prefix.
    fn is_sybil(&self, node: Node) -> bool;
}

/// The truth.
#[allow(dead_code, reason = "not every test needs it")]
pub(crate) struct Honest;

impl Says for Honest {
    fn rtt(&mut self, _: Node, rtt: Rtt, _: u32) -> Rtt {
        rtt
    }

    fn place(&self, _: Node, place: &Coordinate) -> Coordinate {
        place.clone()
    }

    fn is_sybil(&self, _: Node) -> bool {
        false
    }
}

/// A world, and the directory that is told of it.
pub(crate) struct Trial<'a> {
    pub(crate) world: &'a SmallWorld,
    pub(crate) config: DirectoryConfig,
    pub(crate) ends: Ends,
    pub(crate) neighbours: usize,
    pub(crate) seed: u64,
}

/// Reports of everything, each followed by its study.
const ROUNDS: u32 = 8;

impl Trial<'_> {
    /// A directory that has heard everybody for a while.
    pub(crate) fn settle(&self, says: &mut impl Says) -> Directory {
        let world = self.world;
        let mut directory = Directory::new(self.config.clone(), self.seed);
        for node in 0..world.nodes() {
            let sybil = says.is_sybil(Node::at(node));
            directory.join(Moment::EPOCH, newcomer(node, sybil));
        }
        let neighbours = world.neighbours(self.neighbours, self.seed);
        let vivaldi = VivaldiConfig::for_matrices();
        let places = world.settle(&vivaldi, &neighbours, 500, self.seed);
        for round in 0..ROUNDS {
            for (own, peers) in neighbours.iter().enumerate() {
                let place = says.place(Node::at(own), &places[own]);
                self.report(&mut directory, Node::at(own), place, peers, says, round);
            }
            directory.study(world.nodes() * self.neighbours * 8);
        }
        directory
    }

    fn report(
        &self,
        directory: &mut Directory,
        own: Node,
        place: Coordinate,
        peers: &[Node],
        says: &mut impl Says,
        round: u32,
    ) {
        let honest = !says.is_sybil(own);
        // The directory names few neighbours of one prefix.
        let asked = peers
            .iter()
            .filter(|peer| !(honest && says.is_sybil(**peer)));
        let asked: Vec<Node> = asked.copied().collect();
        let mut coordinate = Some(place);
        for (from, to) in asked.iter().flat_map(|peer| self.ends.of(own, *peer)) {
            let rtt = says.rtt(from, self.world.rtt(from, to), round);
            let report = Report {
                coordinate: coordinate.take_if(|_| from == own),
                legs: vec![(id(to), rtt)],
            };
            directory.report(Moment::EPOCH, id(from), report).unwrap();
        }
    }
}

fn newcomer(node: usize, sybil: bool) -> Newcomer {
    let node_bits = u32::try_from(node).unwrap();
    let bits = match sybil {
        true => 0xCB00_7100 | (node_bits % 256),
        false => 0xC612_0000 | node_bits << 8 | 1,
    };
    Newcomer {
        id: ClientId(node as u64),
        address: ServerAddr::new(Ipv4Addr::from_bits(bits).into(), 9000).unwrap(),
        origin: Origin::default(),
        relaying: Relaying::Yes,
    }
}

pub(crate) fn id(node: Node) -> ClientId {
    ClientId(u64::from(node.0))
}

const K: usize = 8;

/// The share of the oracle's gain over pairs that `counts` lets in: what the best of eight candidates
/// saves, against what the best relay of all would.
pub(crate) fn share_of_gain(
    directory: &mut Directory,
    world: &SmallWorld,
    pairs: usize,
    counts: impl Fn(Node) -> bool,
) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let (mut gained, mut possible) = (0.0, 0.0);
    let mut judged = 0;
    while judged < pairs {
        let s = Node::at(random.random_range(0..world.nodes()));
        let t = Node::at(random.random_range(0..world.nodes()));
        if s == t || !counts(s) || !counts(t) {
            continue;
        }
        judged += 1;
        let direct = world.rtt(s, t).as_millis_f64();
        let gain = |relay: Node| {
            let legs = world.rtt(s, relay).as_millis_f64() + world.rtt(relay, t).as_millis_f64();
            (direct - legs - 0.2).max(0.0)
        };
        let found = directory.lookup(id(s), id(t), K).unwrap();
        let best = found
            .iter()
            .map(|candidate| gain(Node(u32::try_from(candidate.relay.id.0).unwrap())));
        gained += best.fold(0.0, f64::max);
        let all = (0..world.nodes()).map(Node::at);
        possible += all
            .filter(|r| *r != s && *r != t)
            .map(gain)
            .fold(0.0, f64::max);
    }
    gained / possible
}

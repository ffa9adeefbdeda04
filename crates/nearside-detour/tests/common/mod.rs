//! A world of clients around a directory, for experiments.

use std::net::Ipv4Addr;

use nearside_coords::worlds::SmallWorld;
use nearside_coords::{Node, VivaldiConfig};
use nearside_detour::directory::{Newcomer, Ranking, Relaying, Report};
use nearside_detour::{ClientId, Directory, DirectoryConfig};
use nearside_types::{Moment, Origin, Rtt, ServerAddr};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) const NEIGHBOURS: usize = 16;

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

/// A directory with everybody of the world in it. `says` turns what a client measured into what it
/// reports.
pub(crate) fn settled(
    world: &SmallWorld,
    ranking: Ranking,
    ends: Ends,
    seed: u64,
    mut says: impl FnMut(Node, Node, Rtt) -> Rtt,
) -> Directory {
    let config = DirectoryConfig {
        ranking,
        ..DirectoryConfig::default()
    };
    let mut directory = Directory::new(config, seed);
    for node in 0..world.nodes() {
        directory.join(Moment::EPOCH, newcomer(node));
    }
    let neighbours = world.neighbours(NEIGHBOURS, seed);
    let places = world.settle(&VivaldiConfig::for_matrices(), &neighbours, 500, seed);
    for (own, peers) in neighbours.iter().enumerate() {
        let own = Node::at(own);
        for (from, to) in peers.iter().flat_map(|peer| ends.of(own, *peer)) {
            let rtt = says(from, to, world.rtt(from, to));
            let report = Report {
                coordinate: Some(places[from.index()].clone()),
                legs: vec![(id(to), rtt)],
            };
            directory.report(Moment::EPOCH, id(from), report).unwrap();
        }
    }
    directory.study(world.nodes() * NEIGHBOURS * 60);
    directory
}

fn newcomer(node: usize) -> Newcomer {
    let bits = 0xC612_0000 | u32::try_from(node).unwrap() << 8 | 1;
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

/// The share of the oracle's gain over pairs that `counts` lets in: what the best of `k` candidates
/// saves, against what the best relay of all would.
pub(crate) fn share_of_gain(
    directory: &mut Directory,
    world: &SmallWorld,
    k: usize,
    counts: impl Fn(Node) -> bool,
) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let (mut gained, mut possible) = (0.0, 0.0);
    let mut pairs = 0;
    while pairs < 300 {
        let s = Node::at(random.random_range(0..world.nodes()));
        let t = Node::at(random.random_range(0..world.nodes()));
        if s == t || !counts(s) || !counts(t) {
            continue;
        }
        pairs += 1;
        let direct = world.rtt(s, t).as_millis_f64();
        let gain = |relay: Node| {
            let legs = world.rtt(s, relay).as_millis_f64() + world.rtt(relay, t).as_millis_f64();
            (direct - legs - 0.2).max(0.0)
        };
        let found = directory.lookup(id(s), id(t), k).unwrap();
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

//! Directories after matrix mode, judged on pairs: what K candidates gain, and what all could.

use nearside_coords::Node;
use nearside_detour::directory::Directory;
use nearside_types::{LatencyMatrix, Rtt};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::matrix_mode::{Knowledge, MatrixMode, client};
use super::network::{Network, Paths};
use super::settings::{Settings, Way};
use crate::experiment::Size;

/// What detours gain over pairs, in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gains {
    /// For each pair, with each number of candidates.
    pub(super) by_k: Vec<Vec<f64>>,
    /// For each pair, with all relays.
    pub(super) oracle: Vec<f64>,
}

impl Gains {
    /// The mean over pairs with the number of candidates at `place`.
    pub(super) fn mean(&self, place: usize) -> f64 {
        super::tables::mean(&self.by_k[place])
    }

    /// The mean over pairs with all relays.
    pub(super) fn oracle_mean(&self) -> f64 {
        super::tables::mean(&self.oracle)
    }

    /// `None` where there is nothing to gain.
    pub(super) fn share(&self, place: usize) -> Option<f64> {
        super::tables::share_of_gain(self.mean(place), self.oracle_mean())
    }
}

/// How clients of these settings measure in matrix mode.
pub(super) fn mode(settings: &Settings) -> MatrixMode {
    MatrixMode {
        neighbours: settings.neighbours,
        pings: settings.pings,
        ..MatrixMode::default()
    }
}

/// What clients know after matrix mode on the first slice.
pub(super) fn knowledge(network: &Network, settings: &Settings, seed: u64) -> Knowledge {
    mode(settings).run(&network.slices[0], seed)
}

/// The directory of one way that was told all of it.
pub(super) fn directory(known: &Knowledge, way: Way, seed: u64) -> Directory {
    known.told(way.ranking(), seed)
}

/// The slice that judges what was chosen on the first: the next, if there is one.
pub(super) fn judge(network: &Network) -> &LatencyMatrix {
    network.slices.get(1).unwrap_or(&network.slices[0])
}

/// What the slice that chooses and the one that judges are called.
pub(super) fn labels(network: &Network) -> [String; 2] {
    let judge = network.slices.len().min(2);
    [1, judge].map(|slice| format!("{}, slice {slice} of these", network.label))
}

/// In words.
pub(super) fn judged_words(network: &Network) -> &'static str {
    match network.slices.len() {
        _ if network.is_replayed() => {
            "The medians of the trace stand for the network, so choices are judged on what they were \
             made on."
        }
        1 => "There is one slice, so choices are judged on what they were made on.",
        _ => "Relays are chosen on the first slice and judged on the second.",
    }
}

/// Pairs judged on a seed: the paper takes 10,000.
pub(super) const fn pairs(size: Size) -> usize {
    match size {
        Size::Full => 10_000,
        Size::Quick => 300,
    }
}

/// Random pairs, the same for everybody who judges on this seed.
pub(super) fn sample(paths: &Paths, count: usize, seed: u64) -> Vec<(usize, usize)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(1);
    (0..count).filter_map(|_| paths.pair(&mut random)).collect()
}

/// What the directory's candidates gain on these pairs.
pub(super) fn gains(
    directory: &mut Directory,
    paths: &Paths,
    pairs: &[(usize, usize)],
    ks: &[usize],
) -> Gains {
    let mut gains = Gains {
        by_k: vec![Vec::with_capacity(pairs.len()); ks.len()],
        oracle: Vec::with_capacity(pairs.len()),
    };
    let most = ks.iter().copied().max().unwrap_or(0);
    for &(s, t) in pairs {
        let direct = paths.direct(s, t);
        let ways = candidates(directory, paths, s, t, most);
        for (of_k, k) in gains.by_k.iter_mut().zip(ks) {
            let best = ways.iter().take(*k).copied().fold(direct, f64::min);
            of_k.push(direct - best);
        }
        gains.oracle.push(direct - paths.oracle(s, t));
    }
    gains
}

/// What each of the directory's candidates takes, in their order.
pub(super) fn candidates(
    directory: &mut Directory,
    paths: &Paths,
    s: usize,
    t: usize,
    k: usize,
) -> Vec<f64> {
    let relays = relays(directory, s, t, k).into_iter();
    relays.map(|relay| paths.via(s, relay, t)).collect()
}

/// The directory's candidates.
pub(super) fn relays(directory: &mut Directory, s: usize, t: usize, k: usize) -> Vec<usize> {
    let id = |node: usize| client(Node::at(node));
    let found = directory.lookup(id(s), id(t), k);
    let found = found.expect("everybody has joined, and pairs are of two");
    let relays = found.iter().map(|candidate| candidate.relay.id.0 as usize);
    relays.collect()
}

/// The judging slice with what a relay adds.
pub(super) fn judging_paths(network: &Network, overhead: Rtt) -> Paths {
    Paths::new(judge(network), overhead)
}

//! The network that an emulation runs on: recorded matrices in a row, a recorded trace, or an invented
//! globe where there is no recording.

use std::sync::Arc;
use std::time::Duration;

use nearside_types::{Country, LatencyMatrix, Rtt};
use nearside_world::recorded::Trace;
use nearside_world::{Position, country_position};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use super::replay::{Replay, SHORTEST};
use crate::experiment::Size;

/// True round-trip times, and when they hold.
#[derive(Debug, Clone)]
pub struct Network {
    /// What readers see: `planetlab.gz, slices 1-6`.
    pub(super) label: String,
    /// In the order of time; each holds for an equal part of an emulation.
    pub(super) slices: Vec<LatencyMatrix>,
    pub(super) pings: Pings,
    /// Whether the numbers of our way were chosen on it, so that what it shows of them is fitted.
    pub(super) chosen_on: bool,
}

/// Where measurements between neighbours come from.
#[derive(Debug, Clone)]
pub(super) enum Pings {
    /// Clients measure on their own schedule what the slices say (matrix mode).
    Scheduled,
    /// A recorded trace is replayed at its own times (ping mode); the slices are its medians.
    Replayed(Replay),
}

/// A recording nobody can play on.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NoNetwork {
    /// A detour needs two ends and a relay.
    #[error("{0} nodes are too few for a detour (three are needed)")]
    TooFew(usize),
    /// Slices of different files.
    #[error("slices of {0} and of {1} nodes (give slices of one file)")]
    DifferentSizes(usize, usize),
    /// Nothing was measured.
    #[error("no pair is known (is the layout right?)")]
    Empty,
}

impl Network {
    /// Recorded matrices, in the order of time.
    ///
    /// # Errors
    /// If they are not of one network of at least three nodes.
    pub fn recorded(label: String, slices: Vec<LatencyMatrix>) -> Result<Self, NoNetwork> {
        let nodes = slices.first().map_or(0, LatencyMatrix::nodes);
        if nodes < 3 {
            return Err(NoNetwork::TooFew(nodes));
        }
        if let Some(other) = slices.iter().find(|slice| slice.nodes() != nodes) {
            return Err(NoNetwork::DifferentSizes(nodes, other.nodes()));
        }
        match slices.iter().all(|slice| slice.known().next().is_none()) {
            true => Err(NoNetwork::Empty),
            false => Ok(Self {
                label,
                chosen_on: slices
                    .iter()
                    .any(|slice| PLANETLAB.contains(&fingerprint(slice))),
                slices,
                pings: Pings::Scheduled,
            }),
        }
    }

    /// A recorded trace, replayed; what it says of pairs is judged by the medians of samples from
    /// 1 ms up (section 6.1).
    ///
    /// # Errors
    /// If it has fewer than three nodes or no answers.
    pub fn replayed(label: String, trace: Trace) -> Result<Self, NoNetwork> {
        let medians = trace.medians(SHORTEST);
        let mut network = Self::recorded(label, vec![medians])?;
        network.pings = Pings::Replayed(Replay::new(network.nodes(), trace.samples));
        Ok(network)
    }

    /// Home computers in random countries of an invented globe: fibres along great circles at half
    /// the speed of light, access links, and every eighth pair on a path that is too long. Rich
    /// enough in detours to show that everything works; it proves nothing about the Internet.
    pub fn generated(nodes: usize, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let countries = positions();
        let homes: Vec<(Position, f64)> = (0..nodes)
            .map(|_| {
                let place = countries[random.random_range(0..countries.len())];
                (place, random.random_range(1.0..15.0))
            })
            .collect();
        let mut matrix = LatencyMatrix::unknown(nodes);
        for a in 0..nodes {
            for b in a + 1..nodes {
                let ((one, access), (other, more)) = (homes[a], homes[b]);
                let straight = one.distance_km(other) * MILLIS_PER_KM + access + more;
                let stretch = match random.random_bool(STRETCHED) {
                    true => random.random_range(1.2..3.0),
                    false => random.random_range(1.0..1.15),
                };
                matrix.set_both(a, b, Some(Rtt::from_millis_f64(straight * stretch)));
            }
        }
        Self {
            label: format!("an invented globe of {nodes} homes"),
            slices: vec![matrix],
            pings: Pings::Scheduled,
            chosen_on: false,
        }
    }

    /// How many clients there are.
    pub fn nodes(&self) -> usize {
        self.slices[0].nodes()
    }

    /// Only these nodes.
    pub(super) fn restricted(&self, nodes: &[usize]) -> Self {
        let pick = |slice: &LatencyMatrix| {
            let mut picked = LatencyMatrix::unknown(nodes.len());
            for (a, from) in nodes.iter().enumerate() {
                for (b, to) in nodes.iter().enumerate().filter(|(b, _)| *b != a) {
                    picked.set(a, b, slice.rtt(*from, *to));
                }
            }
            picked
        };
        Self {
            label: self.label.clone(),
            slices: self.slices.iter().map(pick).collect(),
            pings: self.pings.restricted(nodes),
            chosen_on: self.chosen_on,
        }
    }

    /// The trace that is replayed, if one is: it changes what can be said of slices and neighbours.
    pub(super) fn replay(&self) -> Option<&Replay> {
        match &self.pings {
            Pings::Scheduled => None,
            Pings::Replayed(replay) => Some(replay),
        }
    }

    pub(super) fn is_replayed(&self) -> bool {
        self.replay().is_some()
    }

    /// How long a run lasts that would usually last so long: at its full size, to the end of the trace
    /// (the paper's runs of ping mode last its two weeks).
    pub(super) fn run_length(&self, size: Size, usual: Duration) -> Duration {
        match (self.replay(), size) {
            (Some(replay), Size::Full) => usual.max(replay.span() + LAST_SAMPLE),
            _ => usual,
        }
    }

    /// What a run of this length leaves out of the trace, in words; nothing if that is nothing.
    pub(super) fn left_out_words(&self, length: Duration) -> String {
        let Some((replay, left)) = self
            .replay()
            .map(|replay| (replay, replay.beyond(length)))
            .filter(|(_, left)| *left > 0)
        else {
            return String::new();
        };
        format!(
            " {left} of the trace's {} measurements lie beyond the {:.1} hours of this run and were not \
             replayed.",
            replay.samples().len(),
            length.as_secs_f64() / 3600.0
        )
    }
}

/// Fingerprints of the slices that constants of the ranking, of trust and of reports were chosen on: 1 to
/// 6 of PlanetLab (Zhu et al. 2017), 490 nodes.
const PLANETLAB: [u64; 6] = [
    0xc30c_27c4_0b04_62b6,
    0x7bdd_7cf6_4588_5224,
    0xc68c_9e04_e649_a839,
    0xe3ca_0617_4db0_f3f5,
    0xa5b8_925b_9502_cdea,
    0x8bb0_b5b7_c9e8_93a7,
];

/// FNV-1a over the upper triangle in microseconds: the same in whatever layout a recording comes.
fn fingerprint(slice: &LatencyMatrix) -> u64 {
    let pairs = (0..slice.nodes()).flat_map(|a| (a + 1..slice.nodes()).map(move |b| (a, b)));
    let micros = pairs.map(|(a, b)| either_way(slice, a, b).map_or(u32::MAX, Rtt::as_micros));
    micros.fold(0xcbf2_9ce4_8422_2325, |hash, micros| {
        (hash ^ u64::from(micros)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A run of a trace goes on for so long after the last measurement, so that it is heard of.
const LAST_SAMPLE: Duration = Duration::from_secs(60);

impl Pings {
    /// Only those between these nodes, which are numbered anew.
    fn restricted(&self, nodes: &[usize]) -> Self {
        match self {
            Self::Scheduled => Self::Scheduled,
            Self::Replayed(replay) => Self::Replayed(replay.restricted(nodes)),
        }
    }
}

/// Round trip at half the speed of light.
const MILLIS_PER_KM: f64 = 4.0 / 299.792_458;

/// The share of pairs on a path that is too long.
const STRETCHED: f64 = 0.125;

fn positions() -> Vec<Position> {
    let letters = || b'A'..=b'Z';
    let codes = letters().flat_map(|first| letters().map(move |second| [first, second]));
    codes
        .filter_map(Country::from_bytes)
        .filter_map(country_position)
        .collect()
}

/// What experiments run on.
#[derive(Debug, Clone)]
pub enum Source {
    /// An invented globe, another for every seed.
    Generated,
    /// One recording for all seeds.
    Recorded(Arc<Network>),
}

impl Source {
    pub(super) fn network(&self, size: Size, seed: u64) -> Arc<Network> {
        match (self, size) {
            (Self::Recorded(network), _) => Arc::clone(network),
            (Self::Generated, Size::Full) => Arc::new(Network::generated(150, seed)),
            (Self::Generated, Size::Quick) => Arc::new(Network::generated(40, seed)),
        }
    }

    /// Whether the numbers of our way were chosen on this network.
    pub(super) fn is_chosen_on(&self) -> bool {
        match self {
            Self::Generated => false,
            Self::Recorded(network) => network.chosen_on,
        }
    }

    /// What was fitted to it, in words: what marks columns and figures says the same.
    pub(super) fn evidence_words(&self) -> &'static str {
        match self.is_chosen_on() {
            true => {
                "The numbers of our way were chosen on these slices: its columns, and columns and figures \
                 in which it stands beside others, are marked as fitted. Nothing was chosen for the \
                 paper's way, the direct path and the oracle."
            }
            false => {
                "The numbers of our way were chosen on slices 1 to 6 of PlanetLab (Zhu et al. 2017), and \
                 none of them is here (their contents were compared): nothing is fitted."
            }
        }
    }

    /// What figures were made on, in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Recorded(network) => {
                let how = match network.is_replayed() {
                    true => {
                        " A trace: in time, who measures whom and when is the trace's, not N's; \
                         pairs are judged by its medians."
                    }
                    false => "",
                };
                format!(
                    "Network: {} ({} nodes).{how}",
                    network.label,
                    network.nodes()
                )
            }
            Self::Generated => invented_words("another for every seed"),
        }
    }

    /// The same where all seeds are run on the network of the first.
    pub(super) fn words_of_first(&self, seed: u64) -> String {
        match self {
            Self::Recorded(_) => self.words(),
            Self::Generated => invented_words(&format!("that of seed {seed} for all seeds")),
        }
    }
}

fn invented_words(which: &str) -> String {
    format!(
        "Network: an invented globe, {which}; it was made to have detours and proves nothing about the \
         Internet. Give a recording with `--matrix` or `--trace`."
    )
}

/// What a matrix says of a pair; where it is silent, the way back stands in. One rule for measuring,
/// choosing and judging.
pub(super) fn either_way(matrix: &LatencyMatrix, a: usize, b: usize) -> Option<Rtt> {
    matrix.rtt(a, b).or(matrix.rtt(b, a))
}

/// One slice, laid out for looking at every relay of a path.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    nodes: usize,
    /// Milliseconds, row by row; infinite where nothing is known in either direction.
    millis: Vec<f64>,
    /// What a relay adds to a round trip.
    overhead: f64,
}

impl Paths {
    pub(super) fn new(matrix: &LatencyMatrix, overhead: Rtt) -> Self {
        let nodes = matrix.nodes();
        let cell = |place: usize| {
            let (a, b) = (place / nodes, place % nodes);
            either_way(matrix, a, b).map_or(f64::INFINITY, Rtt::as_millis_f64)
        };
        Self {
            nodes,
            millis: (0..nodes * nodes).map(cell).collect(),
            overhead: overhead.as_millis_f64(),
        }
    }

    pub(super) fn nodes(&self) -> usize {
        self.nodes
    }

    /// As the Internet takes it, in milliseconds; infinite where it is not known.
    pub(super) fn direct(&self, a: usize, b: usize) -> f64 {
        self.millis[a * self.nodes + b]
    }

    /// By way of a relay.
    pub(super) fn via(&self, a: usize, relay: usize, b: usize) -> f64 {
        self.direct(a, relay) + self.direct(relay, b) + self.overhead
    }

    /// What every other client would make of the path as a relay.
    pub(super) fn detours(&self, a: usize, b: usize) -> impl Iterator<Item = f64> + '_ {
        let relays = (0..self.nodes).filter(move |relay| *relay != a && *relay != b);
        relays.map(move |relay| self.via(a, relay, b))
    }

    /// The quickest way there is, by any relay or none.
    pub(super) fn oracle(&self, a: usize, b: usize) -> f64 {
        self.detours(a, b).fold(self.direct(a, b), f64::min)
    }

    /// A random pair whose direct path is known; `None` if none is found in a hundred draws.
    pub(super) fn pair(&self, random: &mut ChaCha8Rng) -> Option<(usize, usize)> {
        let mut draw = || {
            let nodes = 0..self.nodes;
            (
                random.random_range(nodes.clone()),
                random.random_range(nodes),
            )
        };
        let known = |&(a, b): &(usize, usize)| a != b && self.direct(a, b).is_finite();
        (0..100).map(|_| draw()).find(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> LatencyMatrix {
        let mut matrix = LatencyMatrix::unknown(4);
        let ms = |millis: u32| Some(Rtt::from_micros(millis * 1000));
        matrix.set_both(0, 1, ms(100));
        matrix.set_both(0, 2, ms(20));
        matrix.set(1, 2, ms(30));
        matrix
    }

    #[test]
    fn a_relay_costs_its_legs_and_its_overhead() {
        let paths = Paths::new(&line(), Rtt::from_micros(10_000));
        assert_eq!(paths.direct(0, 1), 100.0);
        assert_eq!(paths.via(0, 2, 1), 60.0);
        assert_eq!(paths.oracle(0, 1), 60.0);
        assert_eq!(paths.direct(2, 1), 30.0, "the way back stands in");
        assert!(paths.direct(0, 3).is_infinite());
    }

    #[test]
    fn recordings_that_are_no_network_are_refused() {
        let small = Network::recorded(String::new(), vec![LatencyMatrix::unknown(2)]);
        assert_eq!(small.unwrap_err(), NoNetwork::TooFew(2));
        let empty = Network::recorded(String::new(), vec![LatencyMatrix::unknown(4)]);
        assert_eq!(empty.unwrap_err(), NoNetwork::Empty);
        let slices = vec![line(), LatencyMatrix::unknown(5)];
        let mixed = Network::recorded(String::new(), slices);
        assert_eq!(mixed.unwrap_err(), NoNetwork::DifferentSizes(4, 5));
    }

    #[test]
    fn a_slice_is_known_by_what_it_says_in_whatever_direction() {
        let mut symmetric = line();
        symmetric.set(2, 1, symmetric.rtt(1, 2));
        assert_eq!(fingerprint(&line()), fingerprint(&symmetric));
        symmetric.set_both(0, 3, Some(Rtt::from_micros(1)));
        assert_ne!(fingerprint(&line()), fingerprint(&symmetric));
    }

    #[test]
    fn an_invented_globe_has_detours_for_some_pairs_and_not_for_all() {
        let network = Network::generated(40, 0);
        let paths = Paths::new(&network.slices[0], Rtt::from_micros(10_000));
        let pairs = (0..40).flat_map(|a| (a + 1..40).map(move |b| (a, b)));
        let helped = pairs.filter(|&(a, b)| paths.oracle(a, b) < paths.direct(a, b));
        let share = helped.count() as f64 / 780.0;
        assert!((0.05..0.6).contains(&share), "{share}");
    }
}

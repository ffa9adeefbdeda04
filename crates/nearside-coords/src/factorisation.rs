//! Latency prediction by matrix factorisation, after Liao, Du, Geurts and Leduc, "DMFSGD: a
//! decentralized matrix factorization algorithm for network distance prediction" (ToN 2013): the
//! matrix of round-trip times has low rank, so each node gets two short vectors, and the product of
//! one's first with the other's second is the RTT between them.
//!
//! Unlike coordinates, products can break the triangle inequality, and detours are where it breaks.

use nearside_types::Rtt;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::estimate::{Estimate, Estimator, Node, RelativeError};

/// How vectors learn. The defaults were chosen on PlanetLab slices 1 to 6.
#[derive(Debug, Clone, PartialEq)]
pub struct FactorisationConfig {
    /// Numbers in each of a node's two vectors. Default 10; 8 costs a tenth of a point of median
    /// error, 16 gains as much.
    pub rank: usize,
    /// The first steps' share of the gradient. Default 0.2; 0.1 needs twice the samples, 0.3 is
    /// restless.
    pub first_step: f64,
    /// A node's steps shrink to `first_step / (1 + samples / this)`. Default 1000.
    pub patience: f64,
    /// Steps never shrink below this, or a path that changed would never be learnt. Default 0.02.
    pub least_step: f64,
    /// Pull of every vector towards nought (λ of the paper). Default 0.005.
    pub regularisation: f64,
    /// Relative misses much above this pull no harder than this: routes that break every rule, and
    /// liars, must not outvote the rest. Default 0.2.
    pub tolerance: f64,
}

impl Default for FactorisationConfig {
    fn default() -> Self {
        Self {
            rank: 10,
            first_step: 0.2,
            patience: 1000.0,
            least_step: 0.02,
            regularisation: 0.005,
            tolerance: 0.2,
        }
    }
}

/// The vectors of many nodes; learns from every RTT it is shown, in any order.
///
/// Showing the same measurements again and again teaches more than showing them once: a directory
/// replays the edges it holds when it is idle.
#[derive(Debug, Clone)]
pub struct Factorisation {
    config: FactorisationConfig,
    /// Each node's first vector, then its second.
    vectors: Vec<f32>,
    nodes: Vec<Learnt>,
    random: ChaCha8Rng,
}

#[derive(Debug, Clone, Copy, Default)]
struct Learnt {
    samples: u32,
    /// Moving mean of relative misses.
    error: f32,
}

/// Vectors work in this unit, so that their numbers are near 1.
const UNIT_MS: f32 = 100.0;
/// Shorter RTTs count as this when a miss is made relative: below it, jitter is most of the RTT.
const SHORTEST_MS: f32 = 5.0;
/// No prediction is shorter.
const FLOOR_MS: f32 = 0.1;
/// Keeps a storm of absurd samples from reaching infinity.
const LARGEST: f32 = 30.0;

impl Factorisation {
    /// Knows nobody yet.
    pub fn new(config: FactorisationConfig, seed: u64) -> Self {
        Self {
            config,
            vectors: Vec::new(),
            nodes: Vec::new(),
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// Takes in one measured RTT; both nodes learn from it, in both directions.
    pub fn observe(&mut self, a: Node, b: Node, rtt: Rtt) {
        if a == b || rtt.as_micros() == 0 {
            return;
        }
        self.make_room(a.max(b));
        let step = self.step(a).max(self.step(b));
        let truth = rtt.as_millis_f64() as f32 / UNIT_MS;
        let there = self.learn(a, b, truth, step);
        let back = self.learn(b, a, truth, step);
        for node in [a, b] {
            let learnt = &mut self.nodes[node.index()];
            learnt.samples = learnt.samples.saturating_add(1);
            learnt.error += 0.05 * ((there + back) / 2.0 - learnt.error);
        }
    }

    /// Starts a node's vectors anew, for a place in the table that somebody else takes.
    pub fn forget(&mut self, node: Node) {
        if node.index() < self.nodes.len() {
            self.nodes[node.index()] = Learnt::default();
            let (start, width) = (self.start(node), self.width());
            let fresh = fresh(&self.config, &mut self.random);
            for (number, new) in self.vectors[start..start + width].iter_mut().zip(fresh) {
                *number = new;
            }
        }
    }

    /// Both legs of detours between two nodes, for a look at some relays only; `None` where nothing
    /// was learnt of an end.
    pub fn through(&self, a: Node, b: Node) -> Option<Through<'_>> {
        self.learnt(a).and(self.learnt(b))?;
        let both = self.asking(a).into_iter().zip(self.asking(b));
        Some(Through {
            factors: self,
            asking: both.map(|(a, b)| a + b).collect(),
        })
    }

    /// A node's two vectors one after the other; `None` where nothing was learnt of it.
    pub(crate) fn vectors(&self, node: Node) -> Option<&[f32]> {
        self.learnt(node)?;
        Some(&self.vectors[self.start(node)..][..self.width()])
    }

    /// How many samples a node has learnt from.
    pub fn samples(&self, node: Node) -> u32 {
        let learnt = self.nodes.get(node.index());
        learnt.map_or(0, |learnt| learnt.samples)
    }

    /// Takes in one RTT from which only one of the nodes learns: what a stranger says of itself must
    /// not move those it names.
    pub fn observe_alone(&mut self, learner: Node, other: Node, rtt: Rtt) {
        if learner == other || other.index() >= self.nodes.len() {
            return;
        }
        let (start, width) = (self.start(other), self.width());
        let (vectors, learnt) = (
            self.vectors[start..][..width].to_vec(),
            self.nodes[other.index()],
        );
        self.observe(learner, other, rtt);
        self.vectors[start..][..width].copy_from_slice(&vectors);
        self.nodes[other.index()] = learnt;
    }

    /// One step down the gradient for `first(a) · second(b) ≈ truth`; gives the relative miss.
    fn learn(&mut self, a: Node, b: Node, truth: f32, step: f32) -> f32 {
        let rank = self.config.rank;
        let predicted = dot(self.first(a), self.second(b));
        let miss = (predicted - truth) / truth.max(SHORTEST_MS / UNIT_MS);
        // Pseudo-Huber: straight while small, level beyond the tolerance.
        let pull = miss / (1.0 + (miss / self.config.tolerance as f32).powi(2)).sqrt();
        let decay = self.config.regularisation as f32;
        let (of_a, of_b) = (self.start(a), self.start(b) + rank);
        for k in 0..rank {
            let (first, second) = (self.vectors[of_a + k], self.vectors[of_b + k]);
            let toward = |own: f32, other: f32| own - step * (pull * other + decay * own);
            self.vectors[of_a + k] = toward(first, second).clamp(-LARGEST, LARGEST);
            self.vectors[of_b + k] = toward(second, first).clamp(-LARGEST, LARGEST);
        }
        miss.abs()
    }

    fn step(&self, node: Node) -> f32 {
        let samples = f64::from(self.nodes[node.index()].samples);
        let shrunk = self.config.first_step / (1.0 + samples / self.config.patience);
        shrunk.max(self.config.least_step) as f32
    }

    fn width(&self) -> usize {
        2 * self.config.rank
    }

    fn start(&self, node: Node) -> usize {
        node.index() * self.width()
    }

    fn first(&self, node: Node) -> &[f32] {
        &self.vectors[self.start(node)..][..self.config.rank]
    }

    fn second(&self, node: Node) -> &[f32] {
        &self.vectors[self.start(node) + self.config.rank..][..self.config.rank]
    }

    fn make_room(&mut self, node: Node) {
        while self.nodes.len() <= node.index() {
            self.nodes.push(Learnt::default());
            let fresh = fresh(&self.config, &mut self.random);
            self.vectors.extend(fresh);
        }
    }

    fn learnt(&self, node: Node) -> Option<Learnt> {
        let learnt = self.nodes.get(node.index())?;
        (learnt.samples > 0).then_some(*learnt)
    }
}

/// Vectors of a node nobody has measured yet: their product with each other is near 1 unit.
fn fresh(config: &FactorisationConfig, random: &mut ChaCha8Rng) -> impl Iterator<Item = f32> {
    let largest = 2.0 / (config.rank as f32).sqrt();
    (0..2 * config.rank).map(move |_| random.random_range(0.0..largest))
}

/// Four sums side by side, so that the compiler may use wide registers: a look at all nodes spends
/// its time here.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (fours, others) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest = fours.remainder().iter().zip(others.remainder());
    let rest: f32 = rest.map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 4];
    for (a, b) in fours.zip(others) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums[0] + sums[1] + sums[2] + sums[3] + rest
}

impl Estimator for Factorisation {
    fn estimate(&self, a: Node, b: Node) -> Option<Estimate> {
        let (of_a, of_b) = (self.learnt(a)?, self.learnt(b)?);
        // The two orders differ in the last bit; the sum of both is the same either way.
        let both = dot(self.first(a), self.second(b)) + dot(self.first(b), self.second(a));
        Some(Estimate {
            rtt: Rtt::from_millis_f64(f64::from(in_ms(both))),
            error: RelativeError::new(f64::from(of_a.error.max(of_b.error))),
        })
    }

    fn estimate_row(&self, from: Node, row: &mut [f32]) {
        match self.learnt(from) {
            Some(_) => self.products(&self.asking(from), row),
            None => row.fill(f32::INFINITY),
        }
    }

    /// Products are linear: both legs of all paths cost one pass, not two.
    fn estimate_sums(&self, a: Node, b: Node, row: &mut [f32]) {
        match self.through(a, b) {
            Some(path) => self.products(&path.asking, row),
            None => row.fill(f32::INFINITY),
        }
    }
}

/// The estimated detours between two nodes, one relay at a time.
#[derive(Debug, Clone)]
pub struct Through<'a> {
    factors: &'a Factorisation,
    /// The sum of what both ends multiply others' vectors with.
    asking: Vec<f32>,
}

impl Through<'_> {
    /// Both legs by way of a relay, in milliseconds; infinite where nothing is known of it.
    pub fn sum_ms(&self, relay: Node) -> f32 {
        let vectors = self.factors.vectors(relay);
        vectors.map_or(f32::INFINITY, |vectors| in_ms(self.product(vectors)))
    }

    /// The product with any vectors: less is quicker.
    pub(crate) fn product(&self, vectors: &[f32]) -> f32 {
        dot(&self.asking, vectors)
    }
}

fn in_ms(both_ways: f32) -> f32 {
    (both_ways * UNIT_MS / 2.0).max(FLOOR_MS)
}

impl Factorisation {
    /// What the vectors of every other node are multiplied with: the second vector for their first
    /// one, and the first for their second.
    fn asking(&self, node: Node) -> Vec<f32> {
        [self.second(node), self.first(node)].concat()
    }

    fn products(&self, asking: &[f32], row: &mut [f32]) {
        row.fill(f32::INFINITY);
        let others = self.vectors.chunks_exact(self.width()).zip(&self.nodes);
        for (cell, (vectors, learnt)) in row.iter_mut().zip(others) {
            if learnt.samples > 0 {
                *cell = in_ms(dot(asking, vectors));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_nothing_of_nodes_without_samples() {
        let mut learner = Factorisation::new(FactorisationConfig::default(), 0);
        learner.observe(Node(0), Node(2), Rtt::from_micros(30_000));
        assert!(learner.estimate(Node(0), Node(2)).is_some());
        assert_eq!(learner.estimate(Node(0), Node(1)), None);
        assert_eq!(learner.estimate(Node(0), Node(9)), None);
        learner.forget(Node(2));
        assert_eq!(learner.estimate(Node(0), Node(2)), None);
    }

    #[test]
    fn learns_a_pair_by_heart() {
        let mut learner = Factorisation::new(FactorisationConfig::default(), 1);
        for _ in 0..300 {
            learner.observe(Node(0), Node(1), Rtt::from_micros(180_000));
        }
        let estimate = learner.estimate(Node(1), Node(0)).unwrap();
        assert!((estimate.rtt.as_millis_f64() - 180.0).abs() < 5.0);
        assert!(estimate.error.share() < 0.1);
    }

    #[test]
    fn both_legs_in_one_pass_are_the_sum_of_two_rows() {
        let mut learner = Factorisation::new(FactorisationConfig::default(), 3);
        for round in 0..500u32 {
            let (a, b) = (Node(round % 7), Node(round / 7 % 7));
            learner.observe(a, b, Rtt::from_micros(20_000 + 7_000 * (a.0 + b.0)));
        }
        let (mut sums, mut first, mut second) = ([0.0; 8], [0.0; 8], [0.0; 8]);
        learner.estimate_sums(Node(0), Node(5), &mut sums);
        learner.estimate_row(Node(0), &mut first);
        learner.estimate_row(Node(5), &mut second);
        let path = learner.through(Node(0), Node(5)).unwrap();
        // The ends themselves are no relays, and their products with themselves mean nothing.
        for node in [1, 2, 3, 4, 6] {
            let apart = sums[node] - (first[node] + second[node]);
            assert!(apart.abs() < 0.01, "{node}: {apart}");
            let one = path.sum_ms(Node::at(node));
            assert_eq!(one, sums[node]);
        }
        assert_eq!(sums[7], f32::INFINITY);
    }

    #[test]
    fn a_stranger_learns_without_teaching() {
        let mut learner = Factorisation::new(FactorisationConfig::default(), 4);
        for _ in 0..200 {
            learner.observe(Node(0), Node(1), Rtt::from_micros(90_000));
        }
        let before = learner.estimate(Node(0), Node(1));
        for _ in 0..200 {
            learner.observe_alone(Node(2), Node(0), Rtt::from_micros(5_000));
        }
        assert_eq!(learner.estimate(Node(0), Node(1)), before);
        let near = learner.estimate(Node(2), Node(0)).unwrap();
        assert!(near.rtt < Rtt::from_micros(15_000), "{near:?}");
        learner.observe_alone(Node(2), Node(9), Rtt::from_micros(5_000));
        assert_eq!(learner.samples(Node(9)), 0);
    }

    #[test]
    fn a_path_that_changed_is_learnt_again() {
        let mut learner = Factorisation::new(FactorisationConfig::default(), 2);
        for _ in 0..20_000 {
            learner.observe(Node(0), Node(1), Rtt::from_micros(40_000));
        }
        for _ in 0..1_000 {
            learner.observe(Node(0), Node(1), Rtt::from_micros(120_000));
        }
        let estimate = learner.estimate(Node(0), Node(1)).unwrap();
        assert!((estimate.rtt.as_millis_f64() - 120.0).abs() < 10.0);
    }
}

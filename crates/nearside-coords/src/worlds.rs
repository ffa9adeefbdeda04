//! Small invented Internets with known round-trip times, on which estimators are tested and attacked.

use nearside_types::Rtt;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::estimate::Node;
use crate::vivaldi::{Coordinate, Neighbour, Vivaldi, VivaldiConfig};

/// A symmetric matrix of true round-trip times.
#[derive(Debug, Clone, PartialEq)]
pub struct SmallWorld {
    nodes: usize,
    rtts_ms: Vec<f64>,
}

impl SmallWorld {
    /// A world in which the RTT between the nodes `a` and `b`, `a < b`, is `rtt_ms(a, b)`.
    pub fn from_fn(nodes: usize, mut rtt_ms: impl FnMut(usize, usize) -> f64) -> Self {
        let mut rtts_ms = vec![0.0; nodes * nodes];
        for a in 0..nodes {
            for b in a + 1..nodes {
                let rtt = rtt_ms(a, b);
                rtts_ms[a * nodes + b] = rtt;
                rtts_ms[b * nodes + a] = rtt;
            }
        }
        Self { nodes, rtts_ms }
    }

    /// Nodes on a line, `step_ms` between neighbours.
    pub fn line(nodes: usize, step_ms: f64) -> Self {
        Self::from_fn(nodes, |a, b| b.abs_diff(a) as f64 * step_ms)
    }

    /// A square of nodes, `step_ms` between neighbours, as the crow flies.
    pub fn grid(side: usize, step_ms: f64) -> Self {
        let place = |node: usize| ((node % side) as f64, (node / side) as f64);
        Self::from_fn(side * side, |a, b| {
            let (a, b) = (place(a), place(b));
            (a.0 - b.0).hypot(a.1 - b.1) * step_ms
        })
    }

    /// Nodes on a circle; the longest way is across it.
    pub fn ring(nodes: usize, radius_ms: f64) -> Self {
        Self::from_fn(nodes, |a, b| {
            let angle = b.abs_diff(a) as f64 / nodes as f64 * std::f64::consts::PI;
            2.0 * radius_ms * angle.sin()
        })
    }

    /// Two crowds of nodes, `within_ms` or so inside each, `between_ms` more across.
    pub fn two_continents(nodes: usize, within_ms: f64, between_ms: f64, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let places: Vec<(f64, f64)> = (0..nodes)
            .map(|node| {
                let x = random.random_range(0.0..within_ms);
                let y = random.random_range(0.0..within_ms);
                (x + (node % 2) as f64 * between_ms, y)
            })
            .collect();
        Self::from_fn(nodes, |a, b| {
            let (a, b) = (places[a], places[b]);
            1.0 + (a.0 - b.0).hypot(a.1 - b.1)
        })
    }

    /// Nodes anywhere in a square, each with an access link of up to 30 ms, and `detours` of the
    /// pairs on a path up to three times as long as it need be: what real matrices look like.
    pub fn random(nodes: usize, side_ms: f64, detours: f64, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let places: Vec<[f64; 3]> = (0..nodes)
            .map(|_| {
                let x = random.random_range(0.0..side_ms);
                let y = random.random_range(0.0..side_ms);
                [x, y, random.random_range(1.0..30.0f64)]
            })
            .collect();
        Self::from_fn(nodes, |a, b| {
            let (a, b) = (places[a], places[b]);
            let straight = (a[0] - b[0]).hypot(a[1] - b[1]) + a[2] + b[2];
            match random.random_bool(detours) {
                true => straight * random.random_range(1.2..3.0),
                false => straight,
            }
        })
    }

    /// Nodes anywhere, with paths up to 2.5 times as long as they need be, but for one node in ten, whose
    /// paths are straight: a detour must lead by one of these few, as on PlanetLab, where a tenth of the
    /// nodes is the best relay of three quarters of the pairs.
    pub fn hubs(nodes: usize, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut coordinate = |most: f64| random.random_range(0.0..most);
        let places: Vec<[f64; 3]> = (0..nodes)
            .map(|_| [coordinate(200.0), coordinate(200.0), coordinate(8.0)])
            .collect();
        Self::from_fn(nodes, |a, b| {
            let hub = a % 10 == 9 || b % 10 == 9;
            let (a, b) = (places[a], places[b]);
            let straight = (a[0] - b[0]).hypot(a[1] - b[1]) + 2.0;
            let stretch = if hub {
                1.0
            } else {
                random.random_range(1.2..2.5)
            };
            straight * stretch + a[2] + b[2]
        })
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The true RTT of a pair.
    pub fn rtt(&self, a: Node, b: Node) -> Rtt {
        Rtt::from_millis_f64(self.rtts_ms[a.index() * self.nodes + b.index()])
    }

    /// `count` random neighbours for each node, itself never among them.
    pub fn neighbours(&self, count: usize, seed: u64) -> Vec<Vec<Node>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let count = count.min(self.nodes.saturating_sub(1));
        let draw = |own: usize| {
            let mut chosen: Vec<Node> = Vec::new();
            while chosen.len() < count {
                let other = Node::at(random.random_range(0..self.nodes));
                if other.index() != own && !chosen.contains(&other) {
                    chosen.push(other);
                }
            }
            chosen
        };
        (0..self.nodes).map(draw).collect()
    }

    /// Lets every node measure its neighbours for so many rounds, each a random one at a time, and
    /// gives where the nodes ended up.
    pub fn settle(
        &self,
        config: &VivaldiConfig,
        neighbours: &[Vec<Node>],
        rounds: usize,
        seed: u64,
    ) -> Vec<Coordinate> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut nodes: Vec<Vivaldi> = (0..self.nodes)
            .map(|_| Vivaldi::new(config.clone(), random.random()))
            .collect();
        for _ in 0..rounds {
            for own in 0..self.nodes {
                let peers = &neighbours[own];
                let peer = peers[random.random_range(0..peers.len())];
                let place = nodes[peer.index()].coordinate().clone();
                let rtt = self.rtt(Node::at(own), peer);
                let neighbour = Neighbour(u64::from(peer.0));
                // Two nodes in one place have no round trip to learn from.
                let _ = nodes[own].observe(neighbour, &place, rtt);
            }
        }
        nodes.iter().map(|node| node.coordinate().clone()).collect()
    }
}

//! Random graphs in the plane, grown node by node: each new node links to earlier ones.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Links of each new node.
const LINKS: usize = 2;
/// Waxman's α: how many links there are.
const ALPHA: f64 = 0.15;
/// Waxman's β: how long they are.
const BETA: f64 = 0.2;

/// A place in the plane, in kilometres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    x: f64,
    y: f64,
}

impl Point {
    /// Positions are whole kilometres, as in BRITE.
    fn random(side: u32, rng: &mut ChaCha8Rng) -> Self {
        let mut coordinate = || f64::from(rng.random_range(0..side));
        Self {
            x: coordinate(),
            y: coordinate(),
        }
    }

    pub(super) fn distance(self, other: Self) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }

    pub(super) fn moved_by(self, by: Self) -> Self {
        Self {
            x: self.x + by.x,
            y: self.y + by.y,
        }
    }
}

/// Whom a new node links to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// Any earlier node, accepted with P = α·exp(−d / (β·L)), L the plane's diagonal.
    Waxman,
    /// Earlier nodes in proportion to their links.
    BarabasiAlbert,
}

#[derive(Debug)]
pub(super) struct Graph {
    pub(super) points: Vec<Point>,
    pub(super) links: Vec<(usize, usize)>,
}

impl Growth {
    pub(super) fn grow(self, nodes: usize, side: u32, rng: &mut ChaCha8Rng) -> Graph {
        let points: Vec<Point> = (0..nodes).map(|_| Point::random(side, rng)).collect();
        let diagonal = f64::from(side) * std::f64::consts::SQRT_2;
        let mut links: Vec<(usize, usize)> = Vec::new();
        for node in 1..nodes {
            let mut linked: Vec<usize> = Vec::new();
            while linked.len() < LINKS.min(node) {
                let other = match self {
                    Self::Waxman => rng.random_range(0..node),
                    Self::BarabasiAlbert => by_degree(&links, node, rng),
                };
                let distance = points[node].distance(points[other]);
                if !linked.contains(&other) && self.accepts(distance / diagonal, rng) {
                    linked.push(other);
                }
            }
            links.extend(linked.iter().map(|&other| (other, node)));
        }
        Graph { points, links }
    }

    fn accepts(self, distance: f64, rng: &mut ChaCha8Rng) -> bool {
        match self {
            Self::Waxman => rng.random::<f64>() < ALPHA * (-distance / BETA).exp(),
            Self::BarabasiAlbert => true,
        }
    }
}

/// An end of a random link, so that a node comes up as often as it has links; or the newest node
/// that has none yet.
fn by_degree(links: &[(usize, usize)], nodes: usize, rng: &mut ChaCha8Rng) -> usize {
    let end = rng.random_range(0..2 * links.len() + 1);
    match links.get(end / 2) {
        Some(&(one, _)) if end % 2 == 0 => one,
        Some(&(_, other)) => other,
        None => nodes - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn each_new_node_has_two_links_to_different_earlier_nodes() {
        for growth in [Growth::Waxman, Growth::BarabasiAlbert] {
            let graph = growth.grow(60, 1000, &mut ChaCha8Rng::seed_from_u64(5));
            assert_eq!(graph.links.len(), 1 + 58 * 2);
            for node in 2..60 {
                let mut earlier = graph.links.iter().filter(|link| link.1 == node);
                let (first, second) = (earlier.next().unwrap(), earlier.next().unwrap());
                assert!(first.0 < node && second.0 < node && first.0 != second.0);
            }
        }
    }

    #[test]
    fn waxman_links_are_shorter_than_chance_and_some_nodes_of_the_other_are_hubs() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let near = Growth::Waxman.grow(300, 1000, &mut rng);
        let length = |graph: &Graph| {
            let lengths = graph.links.iter();
            let lengths = lengths.map(|&(a, b)| graph.points[a].distance(graph.points[b]));
            lengths.sum::<f64>() / graph.links.len() as f64
        };
        let hubs = Growth::BarabasiAlbert.grow(300, 1000, &mut rng);
        assert!(length(&near) < 0.8 * length(&hubs));
        let degree = |node: usize| {
            let ends = hubs
                .links
                .iter()
                .filter(|link| link.0 == node || link.1 == node);
            ends.count()
        };
        assert!((0..300).map(degree).max().unwrap() > 20);
    }
}

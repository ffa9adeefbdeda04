//! Finds the few nodes worth a look between two others, without a look at all of them.
//!
//! Factors are linear, so the best relays between two nodes are those whose vectors have the least
//! product with one vector of the pair. Nodes with similar vectors lie in one bucket; a search
//! visits the buckets in the order of their centres' products, until it has seen enough.

use crate::estimate::Node;
use crate::factorisation::{Factorisation, Through};

/// Nodes grouped by their vectors, kept up to date one node at a time.
///
/// A node's vectors go on learning after it was [`file`](Self::file)d; file it again from time to
/// time. Until then it is only found in the wrong bucket, never scored by old vectors.
#[derive(Debug, Clone)]
pub struct Buckets {
    /// A bucket of more is split.
    largest: usize,
    buckets: Vec<Bucket>,
    /// Where each node is filed.
    of: Vec<Option<u32>>,
}

#[derive(Debug, Clone)]
struct Bucket {
    /// About the mean of its nodes' vectors when they were filed.
    centre: Vec<f32>,
    nodes: Vec<Node>,
}

/// Passes of two-means when a bucket is split; it is nearly still after these.
const PASSES: usize = 4;
/// The centre of a full bucket still follows a newcomer by this share.
const LEAST_SHARE: f32 = 0.01;

impl Buckets {
    /// Nobody is filed yet. Buckets are split when they have more than `largest` nodes: smaller ones
    /// are more exact to choose from, larger ones quicker to file in.
    pub fn new(largest: usize) -> Self {
        Self {
            largest: largest.max(2),
            buckets: Vec::new(),
            of: Vec::new(),
        }
    }

    /// Nodes that are filed.
    pub fn len(&self) -> usize {
        self.buckets.iter().map(|bucket| bucket.nodes.len()).sum()
    }

    /// Whether nobody is.
    pub fn is_empty(&self) -> bool {
        self.buckets.iter().all(|bucket| bucket.nodes.is_empty())
    }

    /// Puts a node where its vectors belong now; one that nothing was learnt of is not filed.
    pub fn file(&mut self, node: Node, factors: &Factorisation) {
        let Some(vectors) = factors.vectors(node) else {
            return self.forget(node);
        };
        let best = self.nearest(vectors);
        let here = self.of.get(node.index()).copied().flatten();
        if here.is_some() && here == best {
            return;
        }
        self.forget(node);
        let at = best.unwrap_or_else(|| self.open(vectors.to_vec()));
        self.add(at, node, vectors);
        if self.buckets[at as usize].nodes.len() > self.largest {
            self.split(at, factors);
        }
    }

    /// Takes a node out.
    pub fn forget(&mut self, node: Node) {
        let Some(at) = self.of.get_mut(node.index()).and_then(Option::take) else {
            return;
        };
        let nodes = &mut self.buckets[at as usize].nodes;
        if let Some(place) = nodes.iter().position(|own| *own == node) {
            nodes.swap_remove(place);
        }
    }

    /// At least `wanted` nodes if so many are filed, those of the most promising buckets first.
    pub fn between<'a>(
        &'a self,
        path: &Through<'_>,
        wanted: usize,
    ) -> impl Iterator<Item = Node> + use<'a> {
        let mut order: Vec<(f32, &Bucket)> = self
            .buckets
            .iter()
            .map(|bucket| (path.product(&bucket.centre), bucket))
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut seen = 0;
        let enough = order.iter().position(|(_, bucket)| {
            seen += bucket.nodes.len();
            seen >= wanted
        });
        let visited = enough.map_or(order.len(), |last| last + 1);
        let chosen = order.into_iter().take(visited);
        chosen.flat_map(|(_, bucket)| bucket.nodes.iter().copied())
    }

    fn nearest(&self, vectors: &[f32]) -> Option<u32> {
        let apart = |bucket: &Bucket| distance(&bucket.centre, vectors);
        let each = self.buckets.iter().map(apart).zip(0..);
        let (_, at) = each.min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(at)
    }

    fn open(&mut self, centre: Vec<f32>) -> u32 {
        let nodes = Vec::new();
        self.buckets.push(Bucket { centre, nodes });
        u32::try_from(self.buckets.len() - 1).expect("there are fewer buckets than nodes")
    }

    fn add(&mut self, at: u32, node: Node, vectors: &[f32]) {
        if self.of.len() <= node.index() {
            self.of.resize(node.index() + 1, None);
        }
        self.of[node.index()] = Some(at);
        let bucket = &mut self.buckets[at as usize];
        bucket.nodes.push(node);
        let share = (1.0 / bucket.nodes.len() as f32).max(LEAST_SHARE);
        for (mean, new) in bucket.centre.iter_mut().zip(vectors) {
            *mean += (new - *mean) * share;
        }
    }

    /// Two-means, from two nodes that lie far apart. Nodes that are all alike stay together.
    fn split(&mut self, at: u32, factors: &Factorisation) {
        let nodes = std::mem::take(&mut self.buckets[at as usize].nodes);
        let filed: Vec<(Node, &[f32])> = nodes
            .iter()
            .filter_map(|node| Some((*node, factors.vectors(*node)?)))
            .collect();
        let Some(mut centres) = far_apart(&filed) else {
            self.buckets[at as usize].nodes = nodes;
            return;
        };
        for _ in 0..PASSES {
            centres = means(&filed, &centres);
        }
        let [first, second] = centres;
        self.buckets[at as usize].centre.clone_from(&first);
        let other = self.open(second.clone());
        for (node, vectors) in filed {
            let belongs = match nearer_second(vectors, &first, &second) {
                true => other,
                false => at,
            };
            self.of[node.index()] = Some(belongs);
            self.buckets[belongs as usize].nodes.push(node);
        }
    }
}

/// The square of the distance, in four sums side by side for wide registers: filing spends its time
/// here.
fn distance(a: &[f32], b: &[f32]) -> f32 {
    let (fours, others) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest = fours.remainder().iter().zip(others.remainder());
    let rest: f32 = rest.map(|(a, b)| (a - b) * (a - b)).sum();
    let mut sums = [0.0; 4];
    for (a, b) in fours.zip(others) {
        for lane in 0..4 {
            sums[lane] += (a[lane] - b[lane]) * (a[lane] - b[lane]);
        }
    }
    sums[0] + sums[1] + sums[2] + sums[3] + rest
}

fn nearer_second(vectors: &[f32], first: &[f32], second: &[f32]) -> bool {
    distance(vectors, second) < distance(vectors, first)
}

/// The furthest from the first node, and the furthest from that one.
fn far_apart(filed: &[(Node, &[f32])]) -> Option<[Vec<f32>; 2]> {
    let furthest = |from: &[f32]| {
        let apart = |(_, vectors): &&(Node, &[f32])| distance(vectors, from);
        let far = filed.iter().max_by(|a, b| apart(a).total_cmp(&apart(b)))?;
        Some(far.1.to_vec())
    };
    let one = furthest(filed.first()?.1)?;
    let other = furthest(&one)?;
    (distance(&one, &other) > 0.0).then_some([one, other])
}

fn means(filed: &[(Node, &[f32])], centres: &[Vec<f32>; 2]) -> [Vec<f32>; 2] {
    let mut sums = [vec![0.0; centres[0].len()], vec![0.0; centres[0].len()]];
    let mut counts = [0.0f32; 2];
    for (_, vectors) in filed {
        let side = usize::from(nearer_second(vectors, &centres[0], &centres[1]));
        counts[side] += 1.0;
        for (sum, number) in sums[side].iter_mut().zip(*vectors) {
            *sum += number;
        }
    }
    for side in 0..2 {
        match counts[side] {
            0.0 => sums[side].clone_from(&centres[side]),
            count => sums[side].iter_mut().for_each(|sum| *sum /= count),
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use nearside_types::Rtt;

    use super::*;
    use crate::factorisation::FactorisationConfig;
    use crate::worlds::SmallWorld;

    fn learnt(world: &SmallWorld) -> Factorisation {
        let mut factors = Factorisation::new(FactorisationConfig::default(), 0);
        let neighbours = world.neighbours(16, 0);
        for _ in 0..40 {
            for (own, peers) in neighbours.iter().enumerate() {
                for peer in peers {
                    let own = Node::at(own);
                    factors.observe(own, *peer, world.rtt(own, *peer));
                }
            }
        }
        factors
    }

    fn filed(factors: &Factorisation, nodes: usize, largest: usize) -> Buckets {
        let mut buckets = Buckets::new(largest);
        for node in 0..nodes {
            buckets.file(Node::at(node), factors);
        }
        buckets
    }

    #[test]
    fn everybody_is_found_once_when_all_are_wanted() {
        let factors = learnt(&SmallWorld::random(200, 200.0, 0.05, 1));
        let mut buckets = filed(&factors, 200, 16);
        assert!(buckets.buckets.len() > 10);
        assert!(buckets.buckets.iter().all(|b| b.nodes.len() <= 16));
        buckets.forget(Node(7));
        let path = factors.through(Node(0), Node(1)).unwrap();
        let mut found: Vec<Node> = buckets.between(&path, usize::MAX).collect();
        found.sort();
        let others: Vec<Node> = (0..200).filter(|node| *node != 7).map(Node).collect();
        assert_eq!(found, others);
        assert_eq!(buckets.len(), 199);
    }

    #[test]
    fn a_fifth_of_the_nodes_holds_most_of_the_best() {
        let factors = learnt(&SmallWorld::random(400, 200.0, 0.05, 2));
        let buckets = filed(&factors, 400, 16);
        let mut hits = 0;
        for pair in 0..50 {
            let path = factors.through(Node(pair), Node(pair + 100)).unwrap();
            let mut all: Vec<(f32, Node)> =
                (0..400).map(|n| (path.sum_ms(Node(n)), Node(n))).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            let found: Vec<Node> = buckets.between(&path, 80).collect();
            assert!(found.len() < 100, "{}", found.len());
            hits += all[..8].iter().filter(|(_, n)| found.contains(n)).count();
        }
        // By chance it would be 80 to 100.
        assert!(hits > 320, "{hits} of 400");
    }

    #[test]
    fn a_node_that_learnt_otherwise_moves_and_equals_stay_together() {
        let mut factors = learnt(&SmallWorld::two_continents(60, 20.0, 120.0, 3));
        let mut buckets = filed(&factors, 60, 8);
        let before = buckets.of[5];
        factors.forget(Node(5));
        buckets.file(Node(5), &factors);
        assert_eq!(buckets.of[5], None, "nothing is known of it any more");
        for _ in 0..400 {
            // On the other side of the sea than before.
            for even in [0, 2, 4, 6, 8, 10] {
                factors.observe(Node(5), Node(even), Rtt::from_micros(10_000));
            }
        }
        buckets.file(Node(5), &factors);
        assert!(buckets.of[5].is_some() && buckets.of[5] != before);
    }
}

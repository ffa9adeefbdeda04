//! What was measured, and what it is worth on top of an estimator.

use nearside_types::Rtt;

use crate::estimate::{Estimate, Estimator, Leg, Node, RelativeError};

/// Measured round-trip times between nodes, each pair once and without direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Edges {
    /// The neighbours of each node in their order, so that a pair is found by a short search.
    of: Vec<Vec<(Node, Rtt)>>,
}

impl Edges {
    /// Keeps the RTT of a pair, in place of an older one; a node has none to itself.
    pub fn set(&mut self, a: Node, b: Node, rtt: Rtt) {
        if a == b {
            return;
        }
        let needed = a.max(b).index() + 1;
        if self.of.len() < needed {
            self.of.resize(needed, Vec::new());
        }
        for (from, to) in [(a, b), (b, a)] {
            let known = &mut self.of[from.index()];
            match position(known, to) {
                Ok(at) => known[at].1 = rtt,
                Err(at) => known.insert(at, (to, rtt)),
            }
        }
    }

    /// The RTT of a pair, if it was measured.
    pub fn get(&self, a: Node, b: Node) -> Option<Rtt> {
        let known = self.of.get(a.index())?;
        position(known, b).ok().map(|at| known[at].1)
    }

    /// Forgets a pair.
    pub fn remove(&mut self, a: Node, b: Node) {
        for (from, to) in [(a, b), (b, a)] {
            let Some(known) = self.of.get_mut(from.index()) else {
                continue;
            };
            if let Ok(at) = position(known, to) {
                known.remove(at);
            }
        }
    }

    /// Forgets everything measured from or to a node that left.
    pub fn forget(&mut self, node: Node) {
        let Some(known) = self.of.get_mut(node.index()) else {
            return;
        };
        for (other, _) in std::mem::take(known) {
            self.remove(other, node);
        }
    }

    /// What was measured from or to a node, in the order of the other ends.
    pub fn of(&self, node: Node) -> &[(Node, Rtt)] {
        self.of.get(node.index()).map_or(&[], Vec::as_slice)
    }

    /// Every pair once, the lower node first, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Node, Node, Rtt)> {
        self.of.iter().enumerate().flat_map(|(index, known)| {
            let from = Node::at(index);
            let upper = known.iter().filter(move |(to, _)| *to > from);
            upper.map(move |(to, rtt)| (from, *to, *rtt))
        })
    }

    /// Pairs known.
    pub fn len(&self) -> usize {
        self.of.iter().map(Vec::len).sum::<usize>() / 2
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.of.iter().all(Vec::is_empty)
    }
}

fn position(known: &[(Node, Rtt)], node: Node) -> Result<usize, usize> {
    known.binary_search_by_key(&node, |(node, _)| *node)
}

/// The measured leg where there is one, else an estimate: the best of both, and on PlanetLab the
/// largest single step from the paper's ranking to an oracle's.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredElse<'a, E: ?Sized> {
    /// What was measured.
    pub edges: &'a Edges,
    /// What speaks where nothing was.
    pub estimator: &'a E,
}

impl<E: Estimator + ?Sized> MeasuredElse<'_, E> {
    /// One leg with its source; `None` where it was not measured and cannot be estimated.
    pub fn leg(&self, a: Node, b: Node) -> Option<Leg> {
        match self.edges.get(a, b) {
            Some(rtt) => Some(Leg::Measured(rtt)),
            None => self.estimator.estimate(a, b).map(Leg::Estimated),
        }
    }
}

impl<E: Estimator + ?Sized> Estimator for MeasuredElse<'_, E> {
    fn estimate(&self, a: Node, b: Node) -> Option<Estimate> {
        Some(match self.leg(a, b)? {
            Leg::Estimated(estimate) => estimate,
            Leg::Measured(rtt) => Estimate {
                rtt,
                error: RelativeError::new(0.0),
            },
        })
    }

    fn estimate_row(&self, from: Node, row: &mut [f32]) {
        self.estimator.estimate_row(from, row);
        for (node, rtt) in self.edges.of(from) {
            if let Some(cell) = row.get_mut(node.index()) {
                *cell = rtt.as_millis_f64() as f32;
            }
        }
    }

    fn estimate_sums(&self, a: Node, b: Node, row: &mut [f32]) {
        self.estimator.estimate_sums(a, b, row);
        let measured = self.edges.of(a).iter().chain(self.edges.of(b));
        for (node, _) in measured {
            let Some(cell) = row.get_mut(node.index()) else {
                continue;
            };
            let legs = self.leg(a, *node).zip(self.leg(*node, b));
            *cell = legs.map_or(f32::INFINITY, |(first, second)| {
                (first.rtt().as_millis_f64() + second.rtt().as_millis_f64()) as f32
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::CoordinateMap;
    use crate::vivaldi::Coordinate;

    const fn ms(millis: u32) -> Rtt {
        Rtt::from_micros(millis * 1000)
    }

    #[test]
    fn pairs_have_no_direction_and_the_newest_value() {
        let mut edges = Edges::default();
        edges.set(Node(3), Node(1), ms(20));
        edges.set(Node(1), Node(3), ms(25));
        edges.set(Node(1), Node(1), ms(1));
        assert_eq!(edges.get(Node(3), Node(1)), Some(ms(25)));
        assert_eq!(edges.len(), 1);
        let all: Vec<_> = edges.iter().collect();
        assert_eq!(all, [(Node(1), Node(3), ms(25))]);
    }

    #[test]
    fn a_node_that_left_leaves_no_edge_behind() {
        let mut edges = Edges::default();
        edges.set(Node(0), Node(1), ms(1));
        edges.set(Node(0), Node(2), ms(2));
        edges.set(Node(1), Node(2), ms(3));
        edges.forget(Node(0));
        assert_eq!(edges.of(Node(0)), []);
        assert_eq!(edges.of(Node(1)), [(Node(2), ms(3))]);
        assert!(!edges.is_empty());
    }

    #[test]
    fn a_measured_leg_wins_over_an_estimate() {
        let mut map = CoordinateMap::new(2);
        for node in 0..3 {
            map.place(Node(node), &Coordinate::origin(2)).unwrap();
        }
        let mut edges = Edges::default();
        edges.set(Node(0), Node(1), ms(70));
        let legs = MeasuredElse {
            edges: &edges,
            estimator: &map,
        };
        assert_eq!(legs.leg(Node(1), Node(0)), Some(Leg::Measured(ms(70))));
        assert!(matches!(
            legs.leg(Node(1), Node(2)),
            Some(Leg::Estimated(_))
        ));
        assert_eq!(legs.leg(Node(1), Node(7)), None);
        let mut row = [0.0; 3];
        legs.estimate_row(Node(0), &mut row);
        assert_eq!(row[1], 70.0);
        assert!(row[2] < 1.0);
        legs.estimate_sums(Node(0), Node(2), &mut row);
        assert!((row[1] - 70.0).abs() < 1.0, "one leg measured, one not");
    }
}

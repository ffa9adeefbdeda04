use crate::Rtt;

/// Round-trip times between any two of a number of nodes, as far as they are known.
///
/// Nodes are numbered from 0. The way there and the way back may differ in what was measured, so
/// (a, b) and (b, a) are two cells; a node is at no distance from itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyMatrix {
    nodes: usize,
    /// Row by row, in microseconds; [`MISSING`] where nothing is known.
    cells: Vec<u32>,
}

/// No RTT is that long (71 minutes), so it can stand for none.
const MISSING: u32 = u32::MAX;

impl LatencyMatrix {
    /// A matrix of so many nodes in which no pair is known.
    ///
    /// # Panics
    /// If the cells are more than memory could ever hold; readers of files have limits of their own.
    pub fn unknown(nodes: usize) -> Self {
        let cells = nodes.checked_mul(nodes).expect("fewer nodes than 2^32");
        let mut matrix = Self {
            nodes,
            cells: vec![MISSING; cells],
        };
        for node in 0..nodes {
            matrix.set(node, node, Some(Rtt::default()));
        }
        matrix
    }

    /// How many nodes there are.
    pub const fn nodes(&self) -> usize {
        self.nodes
    }

    /// The RTT that `from` measures to `to`, if it is known.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn rtt(&self, from: usize, to: usize) -> Option<Rtt> {
        let micros = self.cells[self.cell(from, to)];
        (micros != MISSING).then_some(Rtt::from_micros(micros))
    }

    /// Sets what `from` measures to `to`; `None` forgets it.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn set(&mut self, from: usize, to: usize, rtt: Option<Rtt>) {
        let cell = self.cell(from, to);
        self.cells[cell] = rtt.map_or(MISSING, Rtt::as_micros);
    }

    /// The same in both directions.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn set_both(&mut self, a: usize, b: usize, rtt: Option<Rtt>) {
        self.set(a, b, rtt);
        self.set(b, a, rtt);
    }

    /// Every known pair of different nodes, row by row: from, to, RTT.
    pub fn known(&self) -> impl Iterator<Item = (usize, usize, Rtt)> + '_ {
        let pairs = (0..self.nodes).flat_map(|from| (0..self.nodes).map(move |to| (from, to)));
        pairs
            .filter(|(from, to)| from != to)
            .filter_map(|(from, to)| Some((from, to, self.rtt(from, to)?)))
    }

    /// Whether both directions of every pair say the same.
    pub fn is_symmetric(&self) -> bool {
        (0..self.nodes).all(|a| (0..a).all(|b| self.rtt(a, b) == self.rtt(b, a)))
    }

    fn cell(&self, from: usize, to: usize) -> usize {
        assert!(
            from < self.nodes && to < self.nodes,
            "({from}, {to}) is no pair of {} nodes",
            self.nodes
        );
        from * self.nodes + to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_directed_and_may_be_missing() {
        let mut matrix = LatencyMatrix::unknown(3);
        let rtt = Rtt::from_micros(25_000);
        matrix.set(0, 2, Some(rtt));
        assert_eq!(matrix.rtt(0, 2), Some(rtt));
        assert_eq!(matrix.rtt(2, 0), None);
        assert!(!matrix.is_symmetric());
        matrix.set_both(0, 2, Some(rtt));
        assert!(matrix.is_symmetric());
        let known: Vec<_> = matrix.known().collect();
        assert_eq!(known, [(0, 2, rtt), (2, 0, rtt)]);
        matrix.set_both(0, 2, None);
        assert_eq!(matrix, LatencyMatrix::unknown(3));
    }

    #[test]
    fn a_node_is_at_no_distance_from_itself() {
        let matrix = LatencyMatrix::unknown(2);
        assert_eq!(matrix.rtt(1, 1), Some(Rtt::from_micros(0)));
        assert_eq!(matrix.known().count(), 0);
    }

    #[test]
    #[should_panic(expected = "(0, 2) is no pair of 2 nodes")]
    fn there_is_no_third_of_two() {
        LatencyMatrix::unknown(2).rtt(0, 2);
    }
}

use nearside_types::{LatencyMatrix, Rtt};
use thiserror::Error;

use super::Trace;

/// Recorded paths between named nodes, for worlds that are as far as somebody measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedPaths {
    nodes: Vec<String>,
    matrix: LatencyMatrix,
}

/// A recording without nodes is no world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the recording has no nodes")]
pub struct NoNodes;

impl RecordedPaths {
    /// The paths of a matrix; its nodes are called 1, 2, 3 and so on.
    ///
    /// # Errors
    /// When there is no node.
    pub fn of_matrix(matrix: LatencyMatrix) -> Result<Self, NoNodes> {
        let nodes = (1..=matrix.nodes()).map(|number| number.to_string());
        Self::new(nodes.collect(), matrix)
    }

    /// The median of what a trace has for each pair; its nodes keep their names.
    ///
    /// # Errors
    /// When there is no node.
    pub fn of_trace(trace: &Trace) -> Result<Self, NoNodes> {
        Self::new(trace.nodes.clone(), trace.medians(Rtt::default()))
    }

    fn new(nodes: Vec<String>, matrix: LatencyMatrix) -> Result<Self, NoNodes> {
        match nodes.is_empty() {
            true => Err(NoNodes),
            false => Ok(Self { nodes, matrix }),
        }
    }

    /// The names of the nodes; a node's number is its place here.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// The number of a node.
    pub fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node == name)
    }

    /// The RTT between two nodes as the first measured it, else as the other did.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn rtt(&self, from: usize, to: usize) -> Option<Rtt> {
        self.matrix.rtt(from, to).or(self.matrix.rtt(to, from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_stands_in_where_the_way_there_is_missing() {
        let trace = Trace::read("t", &b"time_s,src,dst,rtt_ms\n0,a,b,7\n1,a,c,\n"[..]).unwrap();
        let paths = RecordedPaths::of_trace(&trace).unwrap();
        let node = |name| paths.node(name).unwrap();
        let rtt = Some(Rtt::from_micros(7000));
        assert_eq!(paths.rtt(node("a"), node("b")), rtt);
        assert_eq!(paths.rtt(node("b"), node("a")), rtt);
        assert_eq!(paths.rtt(node("a"), node("c")), None);
        assert_eq!(paths.node("d"), None);
    }

    #[test]
    fn an_empty_trace_is_no_world() {
        let trace = Trace::read("t", &b"time_s,src,dst,rtt_ms\n"[..]).unwrap();
        assert_eq!(RecordedPaths::of_trace(&trace), Err(NoNodes));
    }
}

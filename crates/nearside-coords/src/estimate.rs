//! What a prediction is, and the one trait every predictor answers.

use nearside_types::Rtt;
use serde::{Deserialize, Serialize};

/// A node by its place in a directory's tables: small numbers, used again after a node has left.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Node(pub u32);

impl Node {
    /// Where the node stands in a table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The node at a place in a table.
    ///
    /// # Panics
    /// If the table has more than 2³² places.
    pub fn at(index: usize) -> Self {
        Self(u32::try_from(index).expect("a table of nodes fits in memory"))
    }
}

/// How far off a prediction may be, as a share of the true RTT: 0.1 is ten per cent.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct RelativeError(f64);

impl From<f64> for RelativeError {
    fn from(share: f64) -> Self {
        Self::new(share)
    }
}

impl From<RelativeError> for f64 {
    fn from(error: RelativeError) -> Self {
        error.0
    }
}

impl RelativeError {
    /// Nothing is known yet.
    pub const UNKNOWN: Self = Self(1.0);
    /// More than this is not worth telling apart; Vivaldi weighs by the ratio of two errors, and a
    /// larger one would make its owner deaf to all but the best neighbours.
    pub const WORST: Self = Self(1.5);

    /// The error, clamped to `0..=1.5`; what is no number counts as the worst.
    pub fn new(share: f64) -> Self {
        if share.is_nan() {
            return Self::WORST;
        }
        Self(share.clamp(0.0, Self::WORST.0))
    }

    /// As a share: 0.1 is ten per cent.
    pub const fn share(self) -> f64 {
        self.0
    }
}

/// A round-trip time that was predicted, not measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The prediction.
    pub rtt: Rtt,
    /// What the predictor thinks of it.
    pub error: RelativeError,
}

/// One leg of a path: what was measured says so, and what was not says that.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leg {
    /// Somebody at one of its ends measured it.
    Measured(Rtt),
    /// Nobody did.
    Estimated(Estimate),
}

impl Leg {
    /// The round-trip time, whatever its source.
    pub const fn rtt(self) -> Rtt {
        match self {
            Self::Measured(rtt) => rtt,
            Self::Estimated(estimate) => estimate.rtt,
        }
    }
}

/// Predicts round-trip times between the nodes of a directory.
///
/// Predictions are symmetric, finite and never negative.
pub trait Estimator {
    /// The RTT between two nodes; `None` where nothing is known of one of them.
    fn estimate(&self, a: Node, b: Node) -> Option<Estimate>;

    /// The RTTs in milliseconds from one node to the nodes `0..row.len()`, infinite where nothing is
    /// known: the whole row at once is what a ranking over all nodes needs, and quicker than asking
    /// for each.
    fn estimate_row(&self, from: Node, row: &mut [f32]) {
        for (index, cell) in row.iter_mut().enumerate() {
            let estimate = self.estimate(from, Node::at(index));
            *cell = estimate.map_or(f32::INFINITY, |e| e.rtt.as_millis_f64() as f32);
        }
    }

    /// The RTTs in milliseconds from `a` to `b` by way of each of the nodes `0..row.len()`, infinite
    /// where a leg is not known: what every detour would take if relays took no time.
    fn estimate_sums(&self, a: Node, b: Node, row: &mut [f32]) {
        let mut other = vec![0.0; row.len()];
        self.estimate_row(a, row);
        self.estimate_row(b, &mut other);
        for (sum, leg) in row.iter_mut().zip(other) {
            *sum += leg;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stay_between_none_and_the_worst() {
        assert_eq!(RelativeError::new(-1.0).share(), 0.0);
        assert_eq!(RelativeError::new(7.0), RelativeError::WORST);
        assert_eq!(RelativeError::new(f64::NAN), RelativeError::WORST);
        let read = |text| serde_json::from_str::<RelativeError>(text).unwrap();
        assert_eq!(read("-1.0").share(), 0.0);
        assert_eq!(read("7.0"), RelativeError::WORST);
        let written = serde_json::to_string(&RelativeError::new(0.25)).unwrap();
        assert_eq!(written, "0.25");
    }

    #[test]
    fn the_row_of_an_estimator_is_its_estimates_one_by_one() {
        struct Line;
        impl Estimator for Line {
            fn estimate(&self, a: Node, b: Node) -> Option<Estimate> {
                let error = RelativeError::UNKNOWN;
                let rtt = Rtt::from_micros(a.0.abs_diff(b.0) * 1000);
                (b.0 != 2).then_some(Estimate { rtt, error })
            }
        }
        let mut row = [0.0; 4];
        Line.estimate_row(Node(1), &mut row);
        assert_eq!(row, [1.0, 0.0, f32::INFINITY, 2.0]);
        Line.estimate_sums(Node(1), Node(4), &mut row);
        assert_eq!(row, [5.0, 3.0, f32::INFINITY, 3.0]);
    }
}

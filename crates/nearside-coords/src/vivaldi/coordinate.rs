use nearside_types::Rtt;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::vector;
use crate::estimate::{Estimate, RelativeError};

/// A place in the space of round-trip times: a point in a plane of any dimension, and a height above
/// it for the way to the core that every path of the node takes (Vivaldi paper, section 5.4).
///
/// One that was made from parts or read from a message is finite and within bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "CoordinateParts", into = "CoordinateParts")]
pub struct Coordinate {
    /// Milliseconds along each axis.
    pub(super) position: Vec<f64>,
    /// Milliseconds.
    pub(super) height: f64,
    /// Milliseconds, of either sign.
    pub(super) adjustment: f64,
    pub(super) error: RelativeError,
}

/// A coordinate as it travels, before anybody believed it, and the only way to its bare numbers: what
/// others need of a place is an [`Estimate`] or how far it [moved](Coordinate::moved_since), as times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoordinateParts {
    /// Milliseconds along each axis of the plane.
    pub position_ms: Vec<f64>,
    /// Milliseconds above the plane.
    pub height_ms: f64,
    /// What estimates miss on average, halved.
    #[serde(default)]
    pub adjustment_ms: f64,
    /// The node's own opinion of its place, as a share.
    pub error: f64,
}

/// Why parts make no coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum CoordinateError {
    /// A space has between 1 and [`Coordinate::MOST_DIMENSIONS`] dimensions.
    #[error("a coordinate of {0} dimensions (send 1 to {most})", most = Coordinate::MOST_DIMENSIONS)]
    Dimensions(usize),
    /// A part is no number, or further away than any node can be.
    #[error("{part} is {value}, which is no place on Earth (at most {most} ms)", most = Coordinate::FURTHEST_MS)]
    OutOfBounds {
        /// Which part.
        part: &'static str,
        /// What it said.
        value: f64,
    },
}

impl Coordinate {
    /// More dimensions than these fit no message and help no estimate.
    pub const MOST_DIMENSIONS: usize = 32;
    /// No part of a coordinate is larger: light in fibre goes round the Earth in 200 ms, and what a
    /// slow host adds stays below ten seconds.
    pub const FURTHEST_MS: f64 = 10_000.0;

    /// The middle of a space, as a node that knows nothing.
    ///
    /// # Panics
    /// If `dimensions` is 0 or above [`Self::MOST_DIMENSIONS`].
    pub fn origin(dimensions: usize) -> Self {
        assert!((1..=Self::MOST_DIMENSIONS).contains(&dimensions));
        Self {
            position: vec![0.0; dimensions],
            height: 0.1,
            adjustment: 0.0,
            error: RelativeError::UNKNOWN,
        }
    }

    /// Axes of the plane.
    pub fn dimensions(&self) -> usize {
        self.position.len()
    }

    /// Milliseconds along each axis.
    pub(crate) fn position_ms(&self) -> &[f64] {
        &self.position
    }

    /// The way to the core, in milliseconds.
    pub(crate) fn height_ms(&self) -> f64 {
        self.height
    }

    /// What the node's estimates miss on average, halved, in milliseconds.
    pub(crate) fn adjustment_ms(&self) -> f64 {
        self.adjustment
    }

    /// The node's own opinion of its place.
    pub fn error(&self) -> RelativeError {
        self.error
    }

    /// The same place, believed less or more.
    #[must_use]
    pub fn with_error(self, error: RelativeError) -> Self {
        Self { error, ..self }
    }

    /// The predicted round-trip time between two places; `None` if they lie in different spaces.
    pub fn estimate(&self, other: &Self) -> Option<Estimate> {
        let same_space = self.dimensions() == other.dimensions();
        let error = RelativeError::new(self.error.share().max(other.error.share()));
        same_space.then(|| Estimate {
            rtt: Rtt::from_millis_f64(self.distance_ms(other)),
            error,
        })
    }

    /// How far the node itself has moved, for the question whether it is worth a report: the distance
    /// in the plane and the change of height.
    pub fn moved_since(&self, earlier: &Self) -> Rtt {
        if self.dimensions() != earlier.dimensions() {
            return Rtt::from_micros(u32::MAX);
        }
        let plane = vector::distance(&self.position, &earlier.position);
        Rtt::from_millis_f64(plane + (self.height - earlier.height).abs())
    }

    fn distance_ms(&self, other: &Self) -> f64 {
        let plain = self.unadjusted_distance(other);
        let adjusted = plain + self.adjustment + other.adjustment;
        // Serf's rule: an adjustment that would turn the distance round is not used.
        if adjusted > 0.0 { adjusted } else { plain }
    }

    pub(super) fn unadjusted_distance(&self, other: &Self) -> f64 {
        vector::distance(&self.position, &other.position) + self.height + other.height
    }

    pub(super) fn is_sane(&self) -> bool {
        let checked = [("height", self.height), ("adjustment", self.adjustment)];
        self.height >= 0.0
            && checked.iter().all(|part| within(part.0, part.1).is_ok())
            && self.position.iter().all(|x| within("axis", *x).is_ok())
    }
}

fn within(part: &'static str, value: f64) -> Result<f64, CoordinateError> {
    let sane = value.is_finite() && value.abs() <= Coordinate::FURTHEST_MS;
    sane.then_some(value)
        .ok_or(CoordinateError::OutOfBounds { part, value })
}

impl TryFrom<CoordinateParts> for Coordinate {
    type Error = CoordinateError;

    fn try_from(parts: CoordinateParts) -> Result<Self, CoordinateError> {
        let dimensions = parts.position_ms.len();
        if !(1..=Self::MOST_DIMENSIONS).contains(&dimensions) {
            return Err(CoordinateError::Dimensions(dimensions));
        }
        for value in &parts.position_ms {
            within("a position", *value)?;
        }
        let negative = parts.height_ms < 0.0;
        let (part, value) = ("the height", parts.height_ms);
        if negative {
            return Err(CoordinateError::OutOfBounds { part, value });
        }
        if !(0.0..=Self::FURTHEST_MS).contains(&parts.error) {
            let (part, value) = ("the error", parts.error);
            return Err(CoordinateError::OutOfBounds { part, value });
        }
        Ok(Self {
            height: within(part, value)?,
            adjustment: within("the adjustment", parts.adjustment_ms)?,
            error: RelativeError::new(parts.error),
            position: parts.position_ms,
        })
    }
}

impl From<Coordinate> for CoordinateParts {
    fn from(coordinate: Coordinate) -> Self {
        Self {
            position_ms: coordinate.position,
            height_ms: coordinate.height,
            adjustment_ms: coordinate.adjustment,
            error: coordinate.error.share(),
        }
    }
}

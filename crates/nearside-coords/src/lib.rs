//! Predicts round-trip times that nobody measured: Vivaldi coordinates with height, online matrix
//! factorisation, and what was measured on top of either.
//!
//! Reads no clock, opens no socket, draws chance from seeds only: the caller measures and carries
//! coordinates from node to node.
//!
//! - [`Vivaldi`]: one node's own coordinate, moved by each measurement to a neighbour.
//! - [`Coordinate`]: what nodes tell each other; one that was read is one that makes sense.
//! - [`CoordinateMap`] and [`Factorisation`]: many nodes, as a directory sees them.
//! - [`Estimator`]: what both answer, so that a ranking can use either; [`MeasuredElse`] puts the
//!   known legs on top.
//! - [`Buckets`]: the nodes worth a look between two others, where all would be too many.
//! - [`Seeding`]: where a node that just joined probably is, by its AS or country.
//! - [`worlds`]: small invented Internets for tests and experiments.

mod buckets;
mod edges;
mod estimate;
mod factorisation;
#[doc(hidden)]
pub mod fuzzing;
mod map;
mod seeding;
pub mod vivaldi;
pub mod worlds;

pub use buckets::Buckets;
pub use edges::{Edges, MeasuredElse};
pub use estimate::{Estimate, Estimator, Leg, Node, RelativeError};
pub use factorisation::{Factorisation, FactorisationConfig, Through};
pub use map::CoordinateMap;
pub use seeding::Seeding;
pub use vivaldi::{
    Coordinate, CoordinateError, CoordinateParts, Neighbour, Refused, Vivaldi, VivaldiConfig,
};

//! The bodies of this crate's fuzz targets in `fuzz/`, also called by property tests in `tests/`.

pub use crate::bgp::fuzzing::{bgp_collector, bgp_session, mrt};

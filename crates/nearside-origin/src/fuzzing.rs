//! The bodies of this crate's fuzz targets in `fuzz/`, also called by property tests in `tests/`.

pub use crate::bgp::fuzzing::{bgp_collector, bgp_session, mrt};
pub use crate::compact::fuzzing::compact_table;
pub use crate::files::fuzzing::{asmap, origin_file};

//! Decides which servers to probe, when, and what their answers mean. Opens no socket, reads no
//! clock: a shell or the simulator drives it with bytes and moments.
//!
//! - [`filter`]: which servers the user wants.
//! - [`inspect`]: one server, its players, rules and the quality of its path.
//! - [`journal`]: runs on record, and their replay.
//! - [`planner`]: which server next, and when to stop.
//! - [`prober`]: pace, tries, matching, RTT; drives a planner.
//! - [`snapshot`]: the view every face renders.
//! - [`sources`]: lists from masters and files, merged.

pub mod filter;
#[doc(hidden)]
pub mod fuzzing;
pub mod inspect;
pub mod journal;
pub mod planner;
pub mod prober;
pub mod snapshot;
pub mod sources;

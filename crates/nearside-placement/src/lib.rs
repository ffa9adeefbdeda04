//! Chooses servers for a group of players: the fewest (or cheapest) that keep the session's
//! synchronization delay within a bound, after Lee, Ko and Calo, "Adaptive Server Selection for Large
//! Scale Interactive Online Games" (NOSSDAV 2004), and beyond it: proven optima.
//!
//! Reads no clock, opens no socket, starts no thread: time limits and threads come from the caller.
//!
//! - [`Instance`]: who, where, how far; [`verify`]: the judge of every allocation.
//! - [`solver`]: from the paper's algorithms to the proven optimum.
//! - [`min_delay`] and [`curve`]: what each further server buys.
//! - [`explain`] and [`regroup`]: who makes a bound impossible, and the fewest to move.
//! - [`session`]: players that come and go.
//! - [`distributed`]: the paper's algorithm as nodes that exchange messages.
//! - [`network`]: the simulated network of the paper, for experiments.

mod allocation;
mod cost;
mod curve;
mod delay;
pub mod distributed;
#[doc(hidden)]
pub mod fuzzing;
mod ids;
pub mod instance;
mod matrix;
pub mod network;
mod numbers;
mod regroup;
#[cfg(test)]
mod samples;
pub mod session;
pub mod solver;
mod verify;

pub use allocation::Allocation;
pub use cost::Cost;
pub use curve::{Curve, CurvePoint, MinDelay, MinDelayError, curve, min_delay};
pub use delay::Delay;
pub use ids::{ClientId, ServerId};
pub use instance::{
    Instance, InstanceError, InstanceParts, Latency, PlacementFile, PlacementFileError, Server,
    ServerGraph,
};
pub use matrix::{DelayMatrix, MatrixError};
pub use regroup::{Conflict, Regrouping, explain, regroup};
pub use session::{Session, SessionSetup};
pub use solver::{Budget, Outcome, Solver, Status, Task};
pub use verify::{Breach, CriticalPath, Verdict, VerifyError, verify};

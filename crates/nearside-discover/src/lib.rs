//! Decides which servers to probe, when, and what their answers mean. Opens no socket, reads no
//! clock: a shell or the simulator drives it with bytes and moments.

pub mod planner;

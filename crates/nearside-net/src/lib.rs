//! Moves bytes and reads the clock for the engines.

mod clock;
mod stamp;

pub use clock::MonotonicClock;
pub use stamp::{ClockReading, ReadSpan, ReceivedAt, StampConverter};

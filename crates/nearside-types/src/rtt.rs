use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A round-trip time in whole microseconds, at most about 71 minutes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Rtt {
    micros: u32,
}

impl Rtt {
    /// An RTT of `micros` microseconds.
    pub const fn from_micros(micros: u32) -> Self {
        Self { micros }
    }

    /// An RTT of `millis` milliseconds, rounded to the microsecond; negative or absurd values are
    /// clamped to what the type can hold.
    pub fn from_millis_f64(millis: f64) -> Self {
        // `as` saturates and sends NaN to zero, which is the clamping promised above.
        Self {
            micros: (millis * 1000.0).round() as u32,
        }
    }

    /// The RTT a duration stands for, clamped to what the type can hold.
    pub fn from_duration(duration: Duration) -> Self {
        Self {
            micros: u32::try_from(duration.as_micros()).unwrap_or(u32::MAX),
        }
    }

    /// Whole microseconds.
    pub const fn as_micros(self) -> u32 {
        self.micros
    }

    /// Milliseconds, for people and for statistics.
    pub fn as_millis_f64(self) -> f64 {
        f64::from(self.micros) / 1000.0
    }

    /// The same length of time as a [`Duration`].
    pub const fn as_duration(self) -> Duration {
        Duration::from_micros(self.micros as u64)
    }
}

impl fmt::Display for Rtt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} ms", self.as_millis_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_round_to_microseconds_and_clamp() {
        assert_eq!(Rtt::from_millis_f64(1.2345).as_micros(), 1235);
        assert_eq!(Rtt::from_millis_f64(-3.0).as_micros(), 0);
        assert_eq!(Rtt::from_millis_f64(f64::NAN).as_micros(), 0);
        assert_eq!(Rtt::from_duration(Duration::MAX).as_micros(), u32::MAX);
    }

    #[test]
    fn shows_one_decimal() {
        assert_eq!(Rtt::from_micros(38_240).to_string(), "38.2 ms");
    }
}

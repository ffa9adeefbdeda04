use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point on a monotonic clock, counted from an epoch that its owner chose.
///
/// Engines receive moments and never ask for them: a shell derives them from the operating system's
/// monotonic clock, the simulator invents them. Moments of different owners must not be mixed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Moment {
    nanos: u64,
}

impl Moment {
    /// The epoch itself: where virtual time starts.
    pub const EPOCH: Self = Self { nanos: 0 };

    /// The moment `nanos` nanoseconds after the epoch (good for 584 years).
    pub const fn from_nanos(nanos: u64) -> Self {
        Self { nanos }
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.nanos
    }

    /// Time since the epoch.
    pub const fn since_epoch(self) -> Duration {
        Duration::from_nanos(self.nanos)
    }

    /// Time from `earlier` to `self`, zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }

    /// `self` moved back by `by`, but never before the epoch.
    #[must_use]
    pub fn saturating_sub(self, by: Duration) -> Self {
        Self {
            nanos: self.nanos.saturating_sub(nanos_of(by)),
        }
    }
}

fn nanos_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, by: Duration) -> Self {
        Self {
            nanos: self.nanos.saturating_add(nanos_of(by)),
        }
    }
}

impl AddAssign<Duration> for Moment {
    fn add_assign(&mut self, by: Duration) {
        *self = *self + by;
    }
}

impl Sub for Moment {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_never_wrap() {
        let early = Moment::from_nanos(5);
        let late = early + Duration::from_micros(3);
        assert_eq!(late - early, Duration::from_micros(3));
        assert_eq!(early - late, Duration::ZERO);
        assert_eq!(early.saturating_sub(Duration::from_secs(1)), Moment::EPOCH);
        assert_eq!(
            Moment::from_nanos(u64::MAX) + Duration::MAX,
            Moment::from_nanos(u64::MAX)
        );
    }
}

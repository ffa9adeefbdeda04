//! The one place that asks the operating system for the time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nearside_types::Moment;

use crate::stamp::ClockReading;

/// Turns the system's monotonic clock into [`Moment`]s counted from the start of this clock.
///
/// Copies share the epoch, so moments of a clock and of its copies may be compared.
#[derive(Debug, Clone, Copy)]
pub struct MonotonicClock {
    start: Instant,
}

impl MonotonicClock {
    /// A clock whose epoch is now.
    #[allow(clippy::disallowed_methods)]
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// Time since the start.
    pub fn now(&self) -> Moment {
        Moment::EPOCH + self.start.elapsed()
    }

    /// The monotonic and the wall clock read as if at once.
    ///
    /// A thread may be put to sleep between the two reads, which would look like a step of the wall
    /// clock. So the wall clock is read between two monotonic reads, again if these lie far apart,
    /// and the tightest attempt counts.
    pub fn read_both(&self) -> ClockReading {
        let mut best = self.attempt();
        for _ in 1..READ_ATTEMPTS {
            if best.spread <= GOOD_SPREAD {
                break;
            }
            let next = self.attempt();
            if next.spread < best.spread {
                best = next;
            }
        }
        best.reading
    }

    fn attempt(&self) -> Attempt {
        let before = self.now();
        let wall = wall_clock();
        let spread = self.now() - before;
        Attempt {
            reading: ClockReading {
                moment: before + spread / 2,
                wall,
            },
            spread,
        }
    }
}

struct Attempt {
    reading: ClockReading,
    spread: Duration,
}

/// Three reads take well below a microsecond where the clock is mapped into user space; 20 µs means
/// that something came between.
const GOOD_SPREAD: Duration = Duration::from_micros(20);
const READ_ATTEMPTS: usize = 4;

/// Zero for a wall clock set before 1970: then no kernel stamp can be trusted anyway.
#[allow(clippy::disallowed_methods)]
fn wall_clock() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_the_epoch_and_never_run_backwards() {
        let clock = MonotonicClock::start();
        let copy = clock;
        let first = clock.now();
        let second = copy.now();
        let third = clock.now();
        assert!(first <= second && second <= third);
        assert!(third.since_epoch() < Duration::from_secs(5));
    }

    #[test]
    fn both_clocks_advance_together() {
        let clock = MonotonicClock::start();
        let early = clock.read_both();
        std::thread::sleep(Duration::from_millis(5));
        let late = clock.read_both();
        let monotonic = late.moment - early.moment;
        assert!(monotonic >= Duration::from_millis(5));
        assert!(monotonic.abs_diff(late.wall - early.wall) < Duration::from_millis(1));
    }
}

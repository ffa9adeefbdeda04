use std::time::{SystemTime, UNIX_EPOCH};

use nearside_net::MonotonicClock;
use nearside_types::Moment;

/// Moments since the Unix epoch that never jump: the wall clock is read once, at the start, and the
/// monotonic clock counts on. Expiries in a store mean the same to the next process; a clock that
/// is set while this one runs does not expire anybody.
#[derive(Debug, Clone, Copy)]
pub struct WallClock {
    start: Moment,
    clock: MonotonicClock,
}

impl WallClock {
    /// Reads both clocks.
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            start: Moment::EPOCH + since_epoch.unwrap_or_default(),
            clock: MonotonicClock::start(),
        }
    }

    /// Now, since the Unix epoch.
    pub fn now(&self) -> Moment {
        self.at(self.clock.now())
    }

    /// A moment of the monotonic clock, since the Unix epoch.
    pub fn at(&self, moment: Moment) -> Moment {
        self.start + moment.since_epoch()
    }

    /// The clock that sockets and waits use.
    pub const fn monotonic(&self) -> &MonotonicClock {
        &self.clock
    }
}

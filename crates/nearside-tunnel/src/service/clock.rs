use std::time::Duration;

use nearside_types::Moment;

/// Now, on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    pub(super) now: Moment,
    /// Time since 1970: what tickets expire by.
    pub(super) wall: Duration,
}

impl Clock {
    /// The same two clocks at another moment.
    pub(super) fn at(self, now: Moment) -> Self {
        let wall = self.wall + now.since(self.now);
        Self { now, wall }
    }
}

/// A bucket of requests, filled at a rate and holding what comes in two seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    left: f64,
    at: Moment,
}

impl Budget {
    pub(super) fn new(now: Moment, per_second: u32) -> Self {
        Self {
            left: f64::from(per_second) * 2.0,
            at: now,
        }
    }

    /// Whether one more fits; if so, it is counted.
    pub(super) fn take(&mut self, now: Moment, per_second: u32) -> bool {
        let rate = f64::from(per_second);
        let filled = self.left + now.since(self.at).as_secs_f64() * rate;
        self.left = filled.min(rate * 2.0);
        self.at = now;
        let fits = self.left >= 1.0;
        if fits {
            self.left -= 1.0;
        }
        fits
    }
}

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nearside_net::MonotonicClock;
use nearside_types::Moment;

/// Moments since the Unix epoch that never jump: the wall clock is read once, at the start, and the
/// monotonic clock counts on. A clock that is set while this process runs makes nobody silent. Clients
/// learn the time from here, so that tickets expire by this clock on both sides. Only what others read
/// from a store follows the wall clock, by the [`Step`] that it made since.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    start: Moment,
    clock: MonotonicClock,
    step: Step,
}

/// How many milliseconds the wall clock is ahead of the clock that never jumps, or behind it. Shared by
/// all who clone it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Step(Arc<AtomicI64>);

/// Less is the two clocks being read one after the other, and the small corrections of an NTP client.
const SMALLEST_STEP_MS: i64 = 500;

impl Step {
    pub(crate) fn ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes the wall clock's word for how far ahead it is, unless that is what is known already.
    pub(crate) fn set(&self, ahead_ms: i64) {
        if (ahead_ms - self.ms()).abs() >= SMALLEST_STEP_MS {
            self.0.store(ahead_ms, Ordering::Relaxed);
        }
    }

    /// What the wall clock says at a moment.
    pub(crate) fn to_wall(&self, moment: Moment) -> Moment {
        shifted(moment, self.ms())
    }

    /// The moment at which the wall clock says this.
    pub(crate) fn of_wall(&self, moment: Moment) -> Moment {
        shifted(moment, self.ms().saturating_neg())
    }
}

fn shifted(moment: Moment, ms: i64) -> Moment {
    let by = Duration::from_millis(ms.unsigned_abs());
    match ms < 0 {
        true => moment.saturating_sub(by),
        false => moment + by,
    }
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            start: Moment::EPOCH + wall(),
            clock: MonotonicClock::start(),
            step: Step::default(),
        }
    }

    /// Now, since the Unix epoch.
    pub(crate) fn now(&self) -> Moment {
        self.start + self.clock.now().since_epoch()
    }

    /// The clock that sockets and waits use.
    pub(crate) const fn monotonic(&self) -> &MonotonicClock {
        &self.clock
    }

    pub(crate) const fn step(&self) -> &Step {
        &self.step
    }

    /// Reads the wall clock again.
    pub(crate) fn look(&self) {
        let ahead = wall().as_millis() as i64 - self.now().since_epoch().as_millis() as i64;
        self.step.set(ahead);
    }
}

fn wall() -> Duration {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    since_epoch.unwrap_or_default()
}

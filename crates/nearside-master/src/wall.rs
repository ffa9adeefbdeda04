//! Time since the Unix epoch that never jumps, and how far the system's clock has jumped meanwhile.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nearside_net::MonotonicClock;
use nearside_types::Moment;

/// Moments since the Unix epoch that never jump: the wall clock is read at the start, and the
/// monotonic clock counts on. A clock that is set while a master runs expires nobody. Only what others
/// read, expiries in a store, cookies and the time of a list, follows the wall clock.
#[derive(Debug, Clone)]
pub struct WallClock {
    start: Moment,
    clock: MonotonicClock,
    wall: Wall,
    step: Step,
}

/// Reads the wall clock; tests put another in its place.
#[derive(Clone)]
pub struct Wall(Arc<dyn Fn() -> Duration + Send + Sync>);

impl Wall {
    /// A clock that tells the time since the Unix epoch.
    pub fn new(read: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }
}

impl Default for Wall {
    /// The system's.
    fn default() -> Self {
        Self::new(|| {
            let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
            since_epoch.unwrap_or_default()
        })
    }
}

impl fmt::Debug for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wall(…)")
    }
}

/// How many milliseconds the wall clock is ahead of the clock that never jumps, or behind it. Shared
/// by all who clone it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Step(Arc<AtomicI64>);

impl Step {
    pub(crate) fn ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
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

/// Less is the two clocks being read one after the other.
const SMALLEST_STEP_MS: i64 = 500;

impl WallClock {
    /// Reads both clocks.
    pub fn start(wall: Wall) -> Self {
        Self {
            start: Moment::EPOCH + (wall.0)(),
            clock: MonotonicClock::start(),
            wall,
            step: Step::default(),
        }
    }

    /// Now, since the Unix epoch as it was at the start.
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

    pub(crate) const fn step(&self) -> &Step {
        &self.step
    }

    /// Reads the wall clock again; tells how far ahead it is if it has been set since the last time.
    pub(crate) fn look(&self) -> Option<i64> {
        let wall = (self.wall.0)().as_millis() as i64;
        let ahead = wall - self.now().since_epoch().as_millis() as i64;
        if (ahead - self.step.ms()).abs() < SMALLEST_STEP_MS {
            return None;
        }
        self.step.0.store(ahead, Ordering::Relaxed);
        Some(ahead)
    }
}

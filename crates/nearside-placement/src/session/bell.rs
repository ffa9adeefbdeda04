//! Deadlines for events. A log replays only if every event was decided by its steps and never by a
//! clock, so an event that meets its deadline is not taken at all.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

/// The deadline came before the event was decided; nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("there was no time to decide this; nothing has changed")]
pub struct OutOfTime;

/// Asks somebody whether time is up, and remembers if it ever was: from then on solvers leave work
/// undone, and what they say depends on the clock.
pub(super) struct Bell<'a> {
    time_is_up: &'a (dyn Fn() -> bool + Sync),
    has_rung: AtomicBool,
}

impl<'a> Bell<'a> {
    pub(super) const fn new(time_is_up: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self {
            time_is_up,
            has_rung: AtomicBool::new(false),
        }
    }

    pub(super) fn ask(&self) -> bool {
        if !self.has_rung() && (self.time_is_up)() {
            self.has_rung.store(true, Ordering::Relaxed);
        }
        self.has_rung()
    }

    pub(super) fn has_rung(&self) -> bool {
        self.has_rung.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Bell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bell").field(&self.has_rung()).finish()
    }
}

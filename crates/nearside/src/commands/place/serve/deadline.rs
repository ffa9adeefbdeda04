//! When work has to end: its time is over, nobody waits for it any more, or the service ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nearside_net::Stop;

/// Answers work whether it should stop.
pub(super) struct Deadline {
    started: Instant,
    time: Duration,
    abandoned: Arc<AtomicBool>,
    stop: Stop,
}

/// Held by a request's future, which goes away with its connection.
pub(super) struct Waiting(Arc<AtomicBool>);

impl Deadline {
    /// Time counts from now on.
    pub(super) fn start(time: Duration, stop: Stop) -> (Self, Waiting) {
        let abandoned = Arc::new(AtomicBool::new(false));
        let waiting = Waiting(Arc::clone(&abandoned));
        let deadline = Self {
            started: Instant::now(),
            time,
            abandoned,
            stop,
        };
        (deadline, waiting)
    }

    pub(super) fn is_over(&self) -> bool {
        self.share_gone() >= 1.0
    }

    /// How much of the time is gone: 1 and above is too much.
    pub(super) fn share_gone(&self) -> f64 {
        match self.is_abandoned() || self.stop.is_stopped() || self.time.is_zero() {
            true => f64::INFINITY,
            false => self.elapsed().div_duration_f64(self.time),
        }
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

//! Time spent on the processor, beside the time on the wall: others who use the machine make the
//! second longer and hardly the first.

use std::time::{Duration, Instant};

pub(crate) struct Stopwatch {
    wall: Instant,
    processor: Option<Duration>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self {
            wall: Instant::now(),
            processor: on_processor(),
        }
    }

    /// Milliseconds since the start: `12.3 ms (45.6 ms with waiting)`.
    pub(crate) fn read(&self) -> String {
        let wall = millis(self.wall.elapsed());
        match self.processor.zip(on_processor()) {
            None => format!("{wall:.1} ms"),
            Some((before, now)) => {
                let busy = millis(now.saturating_sub(before));
                format!("{busy:.1} ms ({wall:.1} ms with waiting)")
            }
        }
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// What this thread has used so far, where the system tells: the first number of `schedstat` on
/// Linux, in nanoseconds (Documentation/scheduler/sched-stats.rst).
fn on_processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

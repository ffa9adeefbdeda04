//! What the lab did, in numbers that cost nothing to keep.

use std::time::Duration;

/// Counters since the lab started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabStats {
    /// Datagrams handed to the responder.
    pub requests: u64,
    /// Replies sent.
    pub replies: u64,
    /// Datagrams dropped because an end of theirs lies outside 127.0.0.0/8.
    pub foreign: u64,
    /// Replies that the system would not take, or beyond what the delay line holds.
    pub unsent: u64,
    /// How much later than intended the replies left.
    pub lateness: Lateness,
}

/// A histogram of delays with four steps to each doubling: quantiles are right to 25 %.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lateness {
    counts: [u64; BUCKETS],
    total: u64,
    max: Duration,
}

impl Lateness {
    /// Counts one delay.
    pub fn record(&mut self, late: Duration) {
        self.counts[bucket(late)] += 1;
        self.total += 1;
        self.max = self.max.max(late);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The largest delay, exactly.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The delay that a share `q` of all does not exceed, rounded up to the next step; `None` before
    /// the first. `q` outside `0..=1` is clamped.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let rank = (q.clamp(0.0, 1.0) * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let index = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(upper_bound(index).min(self.max))
    }
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            counts: [0; BUCKETS],
            total: 0,
            max: Duration::ZERO,
        }
    }
}

/// Steps to each doubling, as a power of two.
const STEP_BITS: u32 = 2;
const STEPS: u64 = 1 << STEP_BITS;

/// Up to 2^26 µs, some 67 s; what is later counts as that.
const BUCKETS: usize = 26 << STEP_BITS;

/// Below 4 µs one step to each microsecond; above, the doubling and the two bits after the first one.
fn bucket(late: Duration) -> usize {
    let micros = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
    if micros < STEPS {
        return micros as usize;
    }
    let doubling = micros.ilog2() - STEP_BITS;
    let step = (micros >> doubling) - STEPS;
    let index = u64::from(doubling + 1) * STEPS + step;
    (index as usize).min(BUCKETS - 1)
}

/// The first duration that is beyond the bucket.
fn upper_bound(index: usize) -> Duration {
    let next = index as u64 + 1;
    if next <= STEPS {
        return Duration::from_micros(next);
    }
    let doubling = next / STEPS - 1;
    Duration::from_micros((STEPS + next % STEPS) << doubling)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_right_to_a_quarter() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile(0.5), None);
        for micros in 1..=1_000 {
            lateness.record(Duration::from_micros(micros));
        }
        assert_eq!(lateness.count(), 1_000);
        assert_eq!(lateness.max(), Duration::from_millis(1));
        for (q, exact) in [(0.01, 10.0), (0.5, 500.0), (0.9, 900.0), (1.0, 1_000.0)] {
            let micros = lateness.quantile(q).unwrap().as_secs_f64() * 1e6;
            assert!(
                (exact..=exact * 1.25 + 1.0).contains(&micros),
                "{q}: {micros}"
            );
        }
    }

    proptest! {
        #[test]
        fn every_delay_lies_in_its_bucket(micros in 0u64..60_000_000) {
            let late = Duration::from_micros(micros);
            let index = bucket(late);
            prop_assert!(late < upper_bound(index));
            prop_assert!(index == 0 || upper_bound(index - 1) <= late);
        }

        #[test]
        fn absurd_delays_are_counted_too(seconds: u64) {
            let mut lateness = Lateness::default();
            lateness.record(Duration::from_secs(seconds));
            prop_assert_eq!(lateness.count(), 1);
        }
    }
}

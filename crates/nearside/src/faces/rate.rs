use std::collections::VecDeque;

/// Seconds over which the rate is taken: long enough to be steady, short enough to show a stall.
const WINDOW: f64 = 2.0;

/// Probes per second over the last two seconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecentRate {
    /// Seconds since the start and probes sent by then, oldest first.
    seen: VecDeque<(f64, u64)>,
}

impl RecentRate {
    /// Takes in how many probes were sent by `seconds`.
    pub(crate) fn record(&mut self, seconds: f64, probes: u64) {
        self.seen.push_back((seconds, probes));
        // The one before the window's edge stays, so that the window is never shorter than said.
        while self
            .seen
            .get(1)
            .is_some_and(|(at, _)| seconds - at >= WINDOW)
        {
            self.seen.pop_front();
        }
    }

    /// The rate, 0 before there are two different moments.
    pub(crate) fn per_second(&self) -> f64 {
        let (Some(first), Some(last)) = (self.seen.front(), self.seen.back()) else {
            return 0.0;
        };
        let time = last.0 - first.0;
        let probes = last.1.saturating_sub(first.1);
        if time > 0.0 {
            probes as f64 / time
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_what_is_older_than_two_seconds() {
        let mut rate = RecentRate::default();
        for step in 0..=80u64 {
            // 100/s for five seconds, then nothing.
            let seconds = step as f64 / 8.0;
            rate.record(seconds, (seconds.min(5.0) * 100.0) as u64);
            if step == 40 {
                assert_eq!(rate.per_second(), 100.0);
            }
        }
        assert_eq!(rate.per_second(), 0.0);
        assert!(rate.seen.len() <= 17, "{}", rate.seen.len());
    }

    #[test]
    fn one_moment_has_no_rate() {
        let mut rate = RecentRate::default();
        assert_eq!(rate.per_second(), 0.0);
        rate.record(1.0, 140);
        rate.record(1.0, 150);
        assert_eq!(rate.per_second(), 0.0);
    }
}

//! Stable neighbours are measured less (section 5.1 of the paper; it gives no rule, so this is ours):
//! the interval grows while a leg stays the same, and falls to the shortest when it changes.

use std::time::Duration;

use nearside_types::Rtt;

use super::config::ClientConfig;

/// How often one neighbour is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    interval: Duration,
}

/// A change of less than this share of the leg, or of less than Δd, is weather.
const STABLE: f64 = 0.1;

impl Pace {
    pub(super) fn new(config: &ClientConfig) -> Self {
        Self {
            interval: config.shortest_interval,
        }
    }

    pub(super) fn interval(self) -> Duration {
        self.interval
    }

    pub(super) fn adapt(&mut self, before: Option<Rtt>, now: Rtt, config: &ClientConfig) {
        let Some(before) = before else {
            return;
        };
        let changed = f64::from(before.as_micros().abs_diff(now.as_micros()));
        let weather = f64::from(before.as_micros()) * STABLE;
        let stable = changed <= weather.max(f64::from(config.delta_d.as_micros()));
        self.interval = match stable {
            true => (self.interval * config.growth).min(config.longest_interval),
            false => config.shortest_interval,
        };
    }
}

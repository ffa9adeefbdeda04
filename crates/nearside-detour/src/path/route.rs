//! What is known of one path.

use std::collections::VecDeque;

use nearside_types::{Moment, Rtt, quantile};

use super::config::PathConfig;

/// A path's recent samples, and when it is measured next.
#[derive(Debug)]
pub(super) struct Watched {
    /// `None` for lost ones, oldest first.
    samples: VecDeque<Option<Rtt>>,
    /// The first answer pays for NAT mappings and caches, and is not counted.
    met: bool,
    next: Moment,
}

impl Watched {
    pub(super) fn new(now: Moment) -> Self {
        Self {
            samples: VecDeque::new(),
            met: false,
            next: now,
        }
    }

    pub(super) fn next(&self) -> Moment {
        self.next
    }

    pub(super) fn is_due(&self, now: Moment) -> bool {
        self.next <= now
    }

    /// A measurement is under way; without an answer it may be asked for again.
    pub(super) fn ask(&mut self, now: Moment, config: &PathConfig) {
        self.next = now + config.patience;
    }

    pub(super) fn sampled(
        &mut self,
        now: Moment,
        rtt: Option<Rtt>,
        warm: bool,
        config: &PathConfig,
    ) {
        let settled = self.samples.len() >= config.least_samples;
        self.next = now
            + match warm || !settled {
                true => config.warm_interval,
                false => config.cold_interval,
            };
        if !self.met && rtt.is_some() {
            self.met = true;
            return;
        }
        if self.samples.len() == config.window {
            self.samples.pop_front();
        }
        self.samples.push_back(rtt);
    }

    /// The quantile of recent samples, lost ones as very late; `None` while they are few.
    pub(super) fn score(&self, config: &PathConfig) -> Option<Rtt> {
        if self.samples.len() < config.least_samples {
            return None;
        }
        let late = config.loss_counts_as;
        let each = self.samples.iter().map(|rtt| rtt.unwrap_or(late));
        let mut sorted: Vec<f64> = each.map(Rtt::as_millis_f64).collect();
        sorted.sort_by(f64::total_cmp);
        quantile(&sorted, config.quantile).map(Rtt::from_millis_f64)
    }
}

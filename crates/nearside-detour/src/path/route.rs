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
    answered: Option<Moment>,
    /// Measurements in a row that nothing came back from, counted before the first answer, too.
    lost: usize,
}

impl Watched {
    pub(super) fn new(now: Moment) -> Self {
        Self {
            samples: VecDeque::new(),
            met: false,
            next: now,
            answered: None,
            lost: 0,
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
        self.lost += 1;
        if rtt.is_some() {
            self.answered = Some(now);
            self.lost = 0;
        }
        // Before that one, losses say only that the other end is not there yet.
        if !self.met {
            self.met = rtt.is_some();
            return;
        }
        if self.samples.len() == config.window {
            self.samples.pop_front();
        }
        self.samples.push_back(rtt);
    }

    /// When something came back last.
    pub(super) fn answered(&self) -> Option<Moment> {
        self.answered
    }

    /// Measurements in a row that nothing came back from.
    pub(super) fn lost(&self) -> usize {
        self.lost
    }

    /// Whether the last sample got lost.
    pub(super) fn has_just_lost(&self) -> bool {
        self.samples.back() == Some(&None)
    }

    /// The median of the last few samples; `None` when the last one got lost.
    pub(super) fn recent(&self, samples: usize) -> Option<Rtt> {
        if self.has_just_lost() {
            return None;
        }
        let last = self.samples.iter().rev().take(samples).flatten();
        let mut sorted: Vec<f64> = last.map(|rtt| rtt.as_millis_f64()).collect();
        sorted.sort_by(f64::total_cmp);
        quantile(&sorted, 0.5).map(Rtt::from_millis_f64)
    }

    /// How much one sample differs from the next, on average; `None` below two.
    pub(super) fn jitter(&self) -> Option<Rtt> {
        let answered: Vec<u32> = self
            .samples
            .iter()
            .flatten()
            .map(|rtt| rtt.as_micros())
            .collect();
        let steps = answered
            .windows(2)
            .map(|pair| u64::from(pair[0].abs_diff(pair[1])));
        let mean = steps
            .sum::<u64>()
            .checked_div(answered.len().saturating_sub(1) as u64)?;
        u32::try_from(mean).ok().map(Rtt::from_micros)
    }

    /// The quantile of recent samples; `None` while they are few. Lost ones count as very late, unless
    /// they are so few that they are weather.
    pub(super) fn score(&self, config: &PathConfig) -> Option<Rtt> {
        if self.samples.len() < config.least_samples {
            return None;
        }
        let lost = self.samples.iter().filter(|rtt| rtt.is_none()).count();
        let weather = lost as f64 <= self.samples.len() as f64 * config.tolerated_loss;
        let late = (!weather).then_some(config.loss_counts_as);
        let each = self.samples.iter().filter_map(|rtt| rtt.or(late));
        let mut sorted: Vec<f64> = each.map(Rtt::as_millis_f64).collect();
        sorted.sort_by(f64::total_cmp);
        quantile(&sorted, config.quantile).map(Rtt::from_millis_f64)
    }
}

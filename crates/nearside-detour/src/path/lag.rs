//! Finds out by itself that a path lags: the paper leaves it to the game to say so.

use std::collections::VecDeque;

use nearside_types::{Rtt, quantile};

/// When a path lags, compared with its own past.
#[derive(Debug, Clone, PartialEq)]
pub struct LagConfig {
    /// Samples of the past it is compared with. Default 30.
    pub baseline: usize,
    /// Samples in a row that must agree: their median counts, so one spike is none. Default 5.
    pub recent: usize,
    /// The median must have risen by this at least. Default 10 ms.
    pub margin: Rtt,
    /// … and by so many times the past's own spread (median absolute deviation). Default 5.
    pub spreads: f64,
    /// Samples lost in a row that are a lag whatever else. Default 3.
    pub losses: usize,
}

impl Default for LagConfig {
    fn default() -> Self {
        Self {
            baseline: 30,
            recent: 5,
            margin: Rtt::from_micros(10_000),
            spreads: 5.0,
            losses: 3,
        }
    }
}

/// Watches the round trips of one path.
#[derive(Debug, Clone)]
pub struct LagDetector {
    config: LagConfig,
    /// Milliseconds, oldest first: the baseline, then the recent ones.
    samples: VecDeque<f64>,
    lost: usize,
}

/// Fewer samples of the past than this say nothing.
const ENOUGH: usize = 8;

impl LagDetector {
    /// Nothing seen yet.
    pub fn new(config: LagConfig) -> Self {
        Self {
            config,
            samples: VecDeque::new(),
            lost: 0,
        }
    }

    /// Takes in a round trip, or `None` for a lost one, and says whether the path lags. After it said
    /// so, what was recent becomes the past it compares with, so that one change is told once.
    pub fn push(&mut self, rtt: Option<Rtt>) -> bool {
        let Some(rtt) = rtt else {
            self.lost += 1;
            return self.lost == self.config.losses;
        };
        self.lost = 0;
        if self.samples.len() == self.config.baseline + self.config.recent {
            self.samples.pop_front();
        }
        self.samples.push_back(rtt.as_millis_f64());
        let lags = self.rise().is_some_and(|(rise, needed)| rise > needed);
        if lags {
            let past = self.samples.len() - self.config.recent;
            self.samples.drain(..past);
        }
        lags
    }

    /// How far the recent median is above the past's, and how far would be too far.
    fn rise(&self) -> Option<(f64, f64)> {
        let past = self.samples.len().checked_sub(self.config.recent)?;
        if past < ENOUGH {
            return None;
        }
        let mut before: Vec<f64> = self.samples.iter().take(past).copied().collect();
        let mut recent: Vec<f64> = self.samples.iter().skip(past).copied().collect();
        let (usual, now) = (median(&mut before)?, median(&mut recent)?);
        let mut apart: Vec<f64> = before.iter().map(|rtt| (rtt - usual).abs()).collect();
        let spread = median(&mut apart)?;
        let margin = self.config.margin.as_millis_f64();
        Some((now - usual, margin.max(self.config.spreads * spread)))
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    quantile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alarms(rtts: impl IntoIterator<Item = Option<u32>>) -> Vec<usize> {
        let mut detector = LagDetector::new(LagConfig::default());
        let samples = rtts.into_iter().enumerate();
        samples
            .filter(|(_, ms)| detector.push(ms.map(|ms| Rtt::from_micros(ms * 1000))))
            .map(|(at, _)| at)
            .collect()
    }

    #[test]
    fn a_lasting_rise_is_told_once_and_soon() {
        let series = (0..100).map(|at| Some(if at < 50 { 40 + at % 3 } else { 80 + at % 3 }));
        assert_eq!(alarms(series), [52]);
    }

    #[test]
    fn spikes_falls_and_noise_are_no_lag() {
        let spikes = (0..200).map(|at| Some(if at % 10 == 0 { 400 } else { 40 }));
        assert_eq!(alarms(spikes), [] as [usize; 0]);
        let falls = (0..100).map(|at| Some(if at < 50 { 80 } else { 40 }));
        assert_eq!(alarms(falls), [] as [usize; 0]);
        let noise = (0..200).map(|at| Some(40 + (at * 7919) % 31));
        assert_eq!(alarms(noise), [] as [usize; 0]);
    }

    #[test]
    fn losses_in_a_row_are_a_lag() {
        let series = [Some(40), None, None, Some(40), None, None, None, None];
        assert_eq!(alarms(series), [6]);
    }
}

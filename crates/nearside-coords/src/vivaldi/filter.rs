use std::collections::VecDeque;

/// The moving percentile of Ledlie et al., section 3: round trips have a heavy tail upwards, so a low
/// percentile of the last few is the path without its weather.
#[derive(Debug, Clone)]
pub(super) struct MovingPercentile {
    window: usize,
    percentile: f64,
    recent: VecDeque<f64>,
}

impl MovingPercentile {
    pub(super) fn new(window: usize, percentile: f64) -> Self {
        Self {
            window: window.max(1),
            percentile: percentile.clamp(0.0, 1.0),
            recent: VecDeque::new(),
        }
    }

    /// Takes a value in and gives the percentile of the window: the nearest of its values below, as
    /// the paper's fourth of four.
    pub(super) fn push(&mut self, value: f64) -> f64 {
        if self.recent.len() == self.window {
            self.recent.pop_front();
        }
        self.recent.push_back(value);
        if self.window == 1 {
            return value;
        }
        let mut sorted: Vec<f64> = self.recent.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let rank = self.percentile * (sorted.len() - 1) as f64;
        sorted[rank.floor() as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_never_shows_and_a_change_shows_within_a_window() {
        let mut filter = MovingPercentile::new(4, 0.25);
        for _ in 0..4 {
            assert_eq!(filter.push(50.0), 50.0);
        }
        assert_eq!(filter.push(900.0), 50.0);
        assert_eq!(filter.push(51.0), 50.0);
        for _ in 0..3 {
            filter.push(80.0);
        }
        assert_eq!(filter.push(80.0), 80.0);
    }
}

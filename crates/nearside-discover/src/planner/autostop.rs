//! When to stop: Algorithm 2 of both papers, and the alternative the second one proposes.

use std::collections::VecDeque;

use nearside_types::{Rtt, quantile};
use serde::{Deserialize, Serialize};

/// How auto-stop judges the recent answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopRule {
    /// Algorithm 2: stop when RTT_bottom, the RTT below which `bottom` of the last `window`
    /// answers fell, reaches the threshold.
    Bottom {
        /// Answers looked at (W_autostop, 100 in the papers).
        window: usize,
        /// Share of them that may lie below the threshold (0.02 in the papers).
        bottom: f64,
    },
    /// Section 5.2 of the country paper: stop after a smooth run of consistently high RTTs, here
    /// `run` answers in a row at or above the threshold whose P20 and P80 differ by at most
    /// `spread_ms`.
    SmoothRun {
        /// Answers in a row.
        run: usize,
        /// How far the run's 20th and 80th percentile may be apart, in milliseconds.
        spread_ms: f64,
    },
}

impl StopRule {
    /// Algorithm 2 with the papers' numbers.
    pub const PUBLISHED: Self = Self::Bottom {
        window: 100,
        bottom: 0.02,
    };

    fn window(self) -> usize {
        match self {
            Self::Bottom { window, .. } => window.max(1),
            Self::SmoothRun { run, .. } => run.max(1),
        }
    }
}

/// Watches the answers of re-ordered probes and says when what is left is too far away.
#[derive(Debug, Clone)]
pub struct AutoStop {
    rule: StopRule,
    rtt_stop: Rtt,
    recent: VecDeque<Rtt>,
    sorted: Vec<Rtt>,
}

impl AutoStop {
    /// Watches with `rule` for answers at or beyond `rtt_stop`.
    pub fn new(rule: StopRule, rtt_stop: Rtt) -> Self {
        Self {
            rule,
            rtt_stop,
            recent: VecDeque::new(),
            sorted: Vec::new(),
        }
    }

    /// Takes in one answered re-ordered probe; the window slides.
    pub fn push(&mut self, rtt: Rtt) {
        if self.recent.len() == self.rule.window() {
            let oldest = self.recent.pop_front().expect("a full window has a front");
            let at = self.sorted.partition_point(|&other| other < oldest);
            self.sorted.remove(at);
        }
        self.recent.push_back(rtt);
        let at = self.sorted.partition_point(|&other| other < rtt);
        self.sorted.insert(at, rtt);
    }

    /// RTT_bottom: the k-th smallest of the window with k = ⌈bottom·W⌉, once the window is full.
    /// For a smooth run it is the smallest of the run.
    pub fn rtt_bottom(&self) -> Option<Rtt> {
        if self.recent.len() < self.rule.window() {
            return None;
        }
        let k = match self.rule {
            StopRule::Bottom { window, bottom } => (bottom * window as f64).ceil() as usize,
            StopRule::SmoothRun { .. } => 1,
        };
        let index = k.clamp(1, self.sorted.len()) - 1;
        self.sorted.get(index).copied()
    }

    /// Whether to stop now.
    pub fn should_stop(&self) -> bool {
        self.rtt_bottom()
            .is_some_and(|bottom| bottom >= self.rtt_stop && self.is_smooth())
    }

    fn is_smooth(&self) -> bool {
        match self.rule {
            StopRule::Bottom { .. } => true,
            StopRule::SmoothRun { spread_ms, .. } => {
                let values: Vec<f64> = self.sorted.iter().map(|rtt| rtt.as_millis_f64()).collect();
                let spread = quantile(&values, 0.8)
                    .zip(quantile(&values, 0.2))
                    .map_or(0.0, |(high, low)| high - low);
                spread <= spread_ms
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(millis: u32) -> Rtt {
        Rtt::from_micros(millis * 1000)
    }

    #[test]
    fn waits_for_a_full_window() {
        let mut stop = AutoStop::new(StopRule::PUBLISHED, ms(200));
        for _ in 0..99 {
            stop.push(ms(300));
            assert!(!stop.should_stop());
        }
        stop.push(ms(300));
        assert!(stop.should_stop());
    }

    #[test]
    fn one_near_answer_in_a_hundred_does_not_hold_it_up_but_two_do() {
        let mut stop = AutoStop::new(StopRule::PUBLISHED, ms(200));
        stop.push(ms(30));
        for _ in 0..99 {
            stop.push(ms(300));
        }
        assert_eq!(stop.rtt_bottom(), Some(ms(300)));
        assert!(stop.should_stop());

        let mut stop = AutoStop::new(StopRule::PUBLISHED, ms(200));
        stop.push(ms(30));
        stop.push(ms(199));
        for _ in 0..98 {
            stop.push(ms(300));
        }
        assert_eq!(stop.rtt_bottom(), Some(ms(199)));
        assert!(!stop.should_stop());
    }

    #[test]
    fn smooth_run_needs_every_answer_high_and_close_together() {
        let rule = StopRule::SmoothRun {
            run: 5,
            spread_ms: 50.0,
        };
        let mut stop = AutoStop::new(rule, ms(200));
        for rtt in [210, 220, 215, 205, 199] {
            stop.push(ms(rtt));
        }
        assert!(!stop.should_stop(), "one answer is near");
        for rtt in [210, 600, 215, 600, 220] {
            stop.push(ms(rtt));
        }
        assert!(!stop.should_stop(), "the run is not smooth");
        for rtt in [210, 220, 215, 205, 201] {
            stop.push(ms(rtt));
        }
        assert!(stop.should_stop());
    }

    proptest! {
        #[test]
        fn bottom_is_the_kth_smallest_of_the_last_window(
            rtts in proptest::collection::vec(0u32..1000, 1..300),
            window in 1usize..50,
            bottom in 0.0f64..0.5,
        ) {
            let mut stop = AutoStop::new(StopRule::Bottom { window, bottom }, ms(200));
            for &rtt in &rtts {
                stop.push(ms(rtt));
            }
            let expected = (rtts.len() >= window).then(|| {
                let mut last = rtts[rtts.len() - window..].to_vec();
                last.sort_unstable();
                let k = ((bottom * window as f64).ceil() as usize).max(1);
                ms(last[k - 1])
            });
            prop_assert_eq!(stop.rtt_bottom(), expected);
        }
    }
}

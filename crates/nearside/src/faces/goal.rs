//! What a run looks for, so that faces speak of that and not of something else.

use nearside_discover::snapshot::{Progress, Summary};
use nearside_types::Rtt;

use super::numbers::thousands;

/// What a run looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// The round-trip time from which on a server does not count as playable.
    pub stop_rtt: Rtt,
    /// How many of the nearest servers are looked for first, or alone.
    pub best: usize,
    /// Whether those alone are looked for.
    pub only_best: bool,
}

impl Goal {
    /// `ten best`, `3 best`: what one says after *the*.
    pub(crate) fn the_best(self) -> String {
        match self.best {
            1 => "nearest".to_owned(),
            10 => "ten best".to_owned(),
            some => format!("{} best", thousands(some as u64)),
        }
    }
}

/// How much of a list is playable, for who wants to know whether looking saves anything.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nearness {
    listed: usize,
    probed: usize,
    answered: usize,
    playable: usize,
    expected_missed: Option<f64>,
}

/// From this share on there is nothing to save by looking for the playable ones first.
const NEARLY_ALL: f64 = 0.8;

/// Answers from which on the share is more than an accident.
const ENOUGH_ANSWERS: usize = 100;

impl Nearness {
    /// The share of answering servers that is playable, if that is nearly all of them.
    pub(crate) fn nearly_all(self) -> Option<f64> {
        // Near servers are asked first: what answered so far says nothing of the rest.
        let alive = self.answered as f64 / self.probed.max(1) as f64;
        let answering = (alive * self.listed as f64).max(1.0);
        let playable = self.playable as f64 + self.expected_missed.unwrap_or(0.0);
        let share = (playable / answering).min(1.0);
        (share >= NEARLY_ALL && self.answered >= ENOUGH_ANSWERS).then_some(share)
    }

    /// Whether so much was probed that the share is no guess any more: early on, those not probed
    /// are taken to be like the near ones that were.
    pub(crate) const fn is_settled(self) -> bool {
        2 * self.probed >= self.listed
    }
}

impl From<&Summary> for Nearness {
    fn from(summary: &Summary) -> Self {
        Self {
            listed: summary.listed,
            probed: summary.probed,
            answered: summary.answered,
            playable: summary.playable,
            expected_missed: summary.expected_missed,
        }
    }
}

impl From<&Progress> for Nearness {
    fn from(progress: &Progress) -> Self {
        Self {
            listed: progress.listed,
            probed: progress.probed,
            answered: progress.answered,
            playable: progress.playable,
            expected_missed: progress.expected_missed,
        }
    }
}

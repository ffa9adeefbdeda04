//! What the runs of an order showed, seed by seed, and how orders are made comparable.

use nearside_discover::planner::StopRule;

use super::stops::{self, over_thresholds};
use crate::experiment::{Job, Study};
use crate::hindsight::{Cut, Stop};

/// A stop on every seed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// Servers probed, in percent of the list.
    pub(super) probes: Vec<f64>,
    /// Playable servers found, in percent of all of them.
    pub(super) recall: Vec<f64>,
}

impl Outcome {
    /// What `stop` makes of a job.
    ///
    /// # Panics
    /// If the job does not judge that stop: a mistake in the experiment.
    pub(super) fn of(study: &Study, job: &Job, stop: &Stop) -> Self {
        let place = job.hindsight.iter().position(|judged| judged == stop);
        let place = place.expect("a job judges the stops that are shown");
        let listed = study.scores(job).iter().map(|score| score.listed as f64);
        let cuts: Vec<&Cut> = study.cuts(job).iter().map(|cuts| &cuts[place]).collect();
        let share = |(cut, listed): (&&Cut, f64)| 100.0 * cut.probes as f64 / listed;
        Self {
            probes: cuts.iter().zip(listed).map(share).collect(),
            recall: cuts.iter().map(|cut| 100.0 * cut.recall()).collect(),
        }
    }

    /// A point between two outcomes, seed by seed.
    fn between(one: &Self, other: &Self, weight: f64) -> Self {
        let mix = |one: &[f64], other: &[f64]| {
            let pairs = one.iter().zip(other);
            pairs.map(|(a, b)| a + (b - a) * weight).collect()
        };
        Self {
            probes: mix(&one.probes, &other.probes),
            recall: mix(&one.recall, &other.recall),
        }
    }
}

/// The recall at which orders are compared, in percent: about what the papers' own stop reaches from
/// far places.
pub(super) const EQUAL_RECALL: f64 = 97.0;

/// An order made comparable: the threshold of `rule` is moved until, over all seeds, so much is
/// found as everybody finds; between two thresholds by linear interpolation. A measuring device, not
/// advice: it is set in hindsight. `None` if no threshold reaches that.
pub(super) fn at_recall(study: &Study, job: &Job, rule: StopRule, recall: f64) -> Option<Outcome> {
    let mut below: Option<Outcome> = None;
    for stop in over_thresholds(rule) {
        let outcome = Outcome::of(study, job, &stop);
        let reached = mean(&outcome.recall);
        if reached < recall {
            below = Some(outcome);
            continue;
        }
        return Some(match below {
            None => outcome,
            Some(less) => {
                let missing = mean(&less.recall);
                let weight = (recall - missing) / (reached - missing);
                Outcome::between(&less, &outcome, weight)
            }
        });
    }
    None
}

/// Probes at equal recall by the published rule, seed by seed; empty where that is out of reach.
pub(super) fn probes_at_recall(study: &Study, job: &Job, recall: f64) -> Vec<f64> {
    let found = at_recall(study, job, StopRule::PUBLISHED, recall);
    found.map_or_else(Vec::new, |found| found.probes)
}

/// What the papers' stop makes of a job.
pub(super) fn as_published(study: &Study, job: &Job) -> Outcome {
    Outcome::of(study, job, &stops::PUBLISHED)
}

/// Not a number without values.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Two methods on the same seeds. Whether one is better is decided by the sign test: what a few odd
/// seeds do to the mean does not matter, and two seeds never prove anything.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    /// Of `one − other`.
    pub(super) mean: f64,
    /// Seeds where the first is lower.
    pub(super) lower: u32,
    /// Seeds where the first is higher.
    pub(super) higher: u32,
}

/// How often chance alone may be taken for a difference.
const CHANCE: f64 = 0.05;

impl Difference {
    /// `one − other`, seed by seed; `None` without seeds.
    pub(super) fn of(one: &[f64], other: &[f64]) -> Option<Self> {
        let differences: Vec<f64> = one.iter().zip(other).map(|(a, b)| a - b).collect();
        let count = |is: fn(&&f64) -> bool| differences.iter().filter(is).count() as u32;
        (!differences.is_empty()).then(|| Self {
            mean: mean(&differences),
            lower: count(|difference| **difference < 0.0),
            higher: count(|difference| **difference > 0.0),
        })
    }

    /// Whether the first is lower, and not by chance.
    pub(super) fn is_lower(&self) -> bool {
        self.lower > self.higher && self.probability() < CHANCE
    }

    /// Whether the first is higher, and not by chance.
    pub(super) fn is_higher(&self) -> bool {
        self.higher > self.lower && self.probability() < CHANCE
    }

    /// How likely so many equal signs are if both were as good: the two-sided sign test.
    fn probability(&self) -> f64 {
        let (all, fewer) = (self.lower + self.higher, self.lower.min(self.higher));
        let mut ways = 1.0;
        let mut tail = 0.0;
        for chosen in 0..=fewer {
            tail += ways;
            ways *= f64::from(all - chosen) / f64::from(chosen + 1);
        }
        2.0 * tail / 2f64.powi(all as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(lower: u32, higher: u32) -> Difference {
        Difference {
            mean: 0.0,
            lower,
            higher,
        }
    }

    #[test]
    fn the_sign_test_has_the_probabilities_of_coins() {
        assert_eq!(difference(5, 0).probability(), 2.0 / 32.0);
        assert_eq!(difference(7, 1).probability(), 2.0 * 9.0 / 256.0);
        assert!((difference(13, 3).probability() - 0.021_27).abs() < 1e-5);
    }

    #[test]
    fn a_difference_is_sure_only_where_chance_is_unlikely() {
        assert!(
            !difference(5, 0).is_lower(),
            "one of sixteen pairs of coins does that"
        );
        assert!(difference(6, 0).is_lower() && !difference(6, 0).is_higher());
        assert!(difference(3, 13).is_higher());
        let found = Difference::of(&[1.0, 2.0, 3.0], &[2.0, 1.5, 3.0]);
        let expected = Difference {
            mean: -0.5 / 3.0,
            lower: 1,
            higher: 1,
        };
        assert_eq!(found, Some(expected));
        assert_eq!(Difference::of(&[], &[]), None);
    }

    #[test]
    fn a_point_between_two_outcomes_is_between_them_on_every_seed() {
        let outcome = |probes: [f64; 2], recall: [f64; 2]| Outcome {
            probes: probes.to_vec(),
            recall: recall.to_vec(),
        };
        let (one, other) = (
            outcome([10.0, 20.0], [90.0, 94.0]),
            outcome([20.0, 20.0], [100.0, 98.0]),
        );
        let expected = outcome([12.5, 20.0], [92.5, 95.0]);
        assert_eq!(Outcome::between(&one, &other, 0.25), expected);
    }
}

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

/// An order made comparable: the threshold of its stop was moved until, over all seeds, so much was
/// found as everybody finds. A measuring device, not advice: it is set in hindsight.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AtRecall {
    /// The threshold that does it, in milliseconds.
    pub(super) threshold: f64,
    pub(super) outcome: Outcome,
}

/// The recall at which orders are compared, in percent: about what the papers' own stop reaches from
/// far places.
pub(super) const EQUAL_RECALL: f64 = 97.0;

/// The cheapest threshold of `rule` whose mean recall is `recall`, between two thresholds by linear
/// interpolation; `None` if no threshold reaches it.
pub(super) fn at_recall(study: &Study, job: &Job, rule: StopRule, recall: f64) -> Option<AtRecall> {
    let steps = over_thresholds(rule);
    let outcomes = steps
        .iter()
        .map(|step| (step.at, Outcome::of(study, job, step)));
    let mut below: Option<(f64, Outcome)> = None;
    for (at, outcome) in outcomes {
        // "Never" has no place on the scale of thresholds; one beyond the last will do.
        let at = if at == Stop::NEVER {
            350.0
        } else {
            at.as_millis_f64()
        };
        let reached = mean(&outcome.recall);
        if reached < recall {
            below = Some((at, outcome));
            continue;
        }
        let Some((before, less)) = below else {
            return Some(AtRecall {
                threshold: at,
                outcome,
            });
        };
        let missing = mean(&less.recall);
        let weight = (recall - missing) / (reached - missing);
        return Some(AtRecall {
            threshold: before + (at - before) * weight,
            outcome: Outcome::between(&less, &outcome, weight),
        });
    }
    None
}

/// Probes at equal recall by the published rule, seed by seed; empty where that is out of reach.
pub(super) fn probes_at_recall(study: &Study, job: &Job, recall: f64) -> Vec<f64> {
    let found = at_recall(study, job, StopRule::PUBLISHED, recall);
    found.map_or_else(Vec::new, |found| found.outcome.probes)
}

/// What the papers' stop makes of a job.
pub(super) fn as_published(study: &Study, job: &Job) -> Outcome {
    Outcome::of(study, job, &stops::PUBLISHED)
}

/// Not a number without values.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The mean of the differences between two methods on the same seeds, and twice its standard error:
/// what lies beyond that is hardly chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    pub(super) mean: f64,
    pub(super) margin: f64,
}

impl Difference {
    /// `one − other`; `None` with less than two seeds.
    pub(super) fn of(one: &[f64], other: &[f64]) -> Option<Self> {
        let differences: Vec<f64> = one.iter().zip(other).map(|(a, b)| a - b).collect();
        let count = differences.len();
        if count < 2 {
            return None;
        }
        let centre = mean(&differences);
        let squares: f64 = differences.iter().map(|d| (d - centre).powi(2)).sum();
        let error = (squares / (count - 1) as f64 / count as f64).sqrt();
        Some(Self {
            mean: centre,
            margin: 2.0 * error,
        })
    }

    /// Whether the first is surely lower.
    pub(super) fn is_lower(&self) -> bool {
        self.mean < -self.margin
    }

    /// Whether the first is surely higher.
    pub(super) fn is_higher(&self) -> bool {
        self.mean > self.margin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_sure_only_beyond_its_margin() {
        let sure = Difference::of(&[1.0, 2.0, 3.0], &[2.0, 3.1, 3.9]).unwrap();
        assert!(sure.is_lower() && !sure.is_higher());
        let chance = Difference::of(&[1.0, 2.0, 3.0], &[2.0, 1.0, 3.0]).unwrap();
        assert!(!chance.is_lower() && !chance.is_higher());
        assert_eq!(Difference::of(&[1.0], &[2.0]), None);
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

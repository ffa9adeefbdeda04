//! What nearside has to reach, and whether it did.

use std::fmt;

use serde::Serialize;

use super::programs::Program;
use super::report::{RunFigures, ScenarioFigures};
use super::scenario::{LOSS, Scenario};
use super::truth::Spread;

/// A target beside what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Verdict {
    pub(super) what: String,
    pub(super) target: Bound,
    /// Of both numbers.
    pub(super) unit: &'static str,
    /// `None`: nothing to judge, because a program was left out or no server needed a retry.
    pub(super) measured: Option<f64>,
    pub(super) met: Option<bool>,
}

/// The side on which the target lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
}

impl Bound {
    fn admits(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
            Self::Below(limit) => value < limit,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, "≥ {least}"),
            Self::AtMost(most) => write!(f, "≤ {most}"),
            Self::Below(limit) => write!(f, "< {limit}"),
        }
    }
}

impl Verdict {
    pub(super) fn new(
        what: String,
        target: Bound,
        unit: &'static str,
        measured: Option<f64>,
    ) -> Self {
        Self {
            what,
            target,
            unit,
            measured,
            met: measured.map(|value| target.admits(value)),
        }
    }
}

/// Every target, in the order of the tables.
pub(super) fn verdicts(scenarios: &[ScenarioFigures]) -> Vec<Verdict> {
    scenarios
        .iter()
        .flat_map(|figures| match figures.scenario {
            Scenario::Plain => [speed(figures, 8.0), accuracy(figures)].concat(),
            Scenario::Challenge => [speed(figures, 3.0), accuracy(figures)].concat(),
            Scenario::Loss => [missed(figures), accuracy(figures), retried(figures)].concat(),
            Scenario::Large => memory(figures),
        })
        .collect()
}

/// Times the speed of quakestat as it comes, and of its best tuning.
fn speed(figures: &ScenarioFigures, above_tuned: f64) -> Vec<Verdict> {
    let ours = figures.run(Program::NearsideUnlimited);
    let verdict = |theirs: Program, least: f64| {
        let ratio =
            |theirs: &RunFigures| Some(ours?.servers_per_second / theirs.servers_per_second);
        Verdict::new(
            format!(
                "{}: speed beside {}",
                figures.scenario.name(),
                theirs.name()
            ),
            Bound::AtLeast(least),
            "×",
            figures.run(theirs).and_then(ratio),
        )
    };
    vec![
        verdict(Program::QuakestatDefault, 20.0),
        verdict(Program::QuakestatTuned, above_tuned),
    ]
}

fn accuracy(figures: &ScenarioFigures) -> Vec<Verdict> {
    let run = figures.run(Program::NearsidePaced);
    let name = format!("{}: error at 1000/s", figures.scenario.name());
    errors_within(&name, run.and_then(|run| run.error))
}

fn retried(figures: &ScenarioFigures) -> Vec<Verdict> {
    let run = figures.run(Program::NearsidePaced);
    let name = format!("{}: error at 1000/s after a retry", figures.scenario.name());
    errors_within(&name, run.and_then(|run| run.retried_error))
}

fn errors_within(name: &str, spread: Option<Spread>) -> Vec<Verdict> {
    let verdict = |quantile: &str, most: f64, measured: Option<f64>| {
        Verdict::new(
            format!("{name}, {quantile}"),
            Bound::AtMost(most),
            "ms",
            measured,
        )
    };
    vec![
        verdict("p50", 0.2, spread.map(|spread| spread.p50_ms)),
        verdict("p99", 3.0, spread.map(|spread| spread.p99_ms)),
    ]
}

/// No more than chance takes away from three tries, in 99 of 100 runs.
fn missed(figures: &ScenarioFigures) -> Vec<Verdict> {
    let most = binomial_bound(figures.servers, LOSS.powi(TRIES), 0.99);
    let verdict = |program: &Program| {
        let found = figures.run(*program).map(|run| run.found);
        Verdict::new(
            format!("{}: missed by {}", figures.scenario.name(), program.name()),
            Bound::AtMost(most as f64),
            "servers",
            found.map(|found| figures.servers.saturating_sub(found) as f64),
        )
    };
    Program::NEARSIDE.iter().map(verdict).collect()
}

/// What `nearside browse` gives every server.
const TRIES: i32 = 3;

fn memory(figures: &ScenarioFigures) -> Vec<Verdict> {
    let run = figures.run(Program::NearsideFast);
    vec![Verdict::new(
        format!("peak memory with {} servers", figures.servers),
        Bound::Below(64.0),
        "MiB",
        run.and_then(|run| run.peak_memory_mib),
    )]
}

/// The least k with P(X ≤ k) ≥ `confidence` for X ~ Binomial(`trials`, `chance`), by summing the
/// probabilities with P(k+1)/P(k) = (n−k)/(k+1) · p/(1−p).
fn binomial_bound(trials: usize, chance: f64, confidence: f64) -> usize {
    let odds = chance / (1.0 - chance);
    let mut probability = (trials as f64 * (-chance).ln_1p()).exp();
    let mut cumulative = probability;
    let mut k = 0;
    while cumulative < confidence && k < trials {
        probability *= (trials - k) as f64 / (k + 1) as f64 * odds;
        cumulative += probability;
        k += 1;
    }
    k
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_agrees_with_tables_of_the_binomial_distribution() {
        // P(X ≤ 5) = 0.623, P(X ≤ 8) = 0.989, P(X ≤ 9) = 0.9990 for ten fair coins.
        assert_eq!(binomial_bound(10, 0.5, 0.62), 5);
        assert_eq!(binomial_bound(10, 0.5, 0.985), 8);
        assert_eq!(binomial_bound(10, 0.5, 0.99), 9);
        assert_eq!(binomial_bound(10, 0.5, 0.9999), 10);
    }

    #[test]
    fn five_thousand_servers_may_lose_three_to_three_lost_tries() {
        // Close to Poisson with mean 0.625: P(X ≤ 2) = 0.974, P(X ≤ 3) = 0.996.
        assert_eq!(binomial_bound(5_000, LOSS.powi(TRIES), 0.99), 3);
        assert_eq!(binomial_bound(10, LOSS.powi(TRIES), 0.99), 0);
        assert_eq!(binomial_bound(0, 0.5, 0.99), 0);
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let verdict = |measured| Verdict::new(String::new(), Bound::AtMost(3.0), "ms", measured);
        assert_eq!(verdict(None).met, None);
        assert_eq!(verdict(Some(3.0)).met, Some(true));
        assert_eq!(verdict(Some(3.1)).met, Some(false));
        assert_eq!(verdict(Some(f64::NAN)).met, Some(false));
    }
}

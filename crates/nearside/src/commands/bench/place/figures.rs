//! One solver on one task, and what many of these come to.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use nearside_placement::{Budget, Delay, Outcome, Solver, Task, verify};
use nearside_report::Cell;

use super::Bench;

/// What a solver answered, and how long it took.
pub(super) struct Solved {
    pub(super) outcome: Outcome,
    pub(super) seconds: f64,
}

impl Solved {
    /// Servers of an allocation within the bound.
    pub(super) fn servers(&self) -> Option<f64> {
        let within = self.outcome.is_within_bound();
        within.then_some(self.outcome.servers_used as f64)
    }
}

impl Bench<'_> {
    /// Solves within a limit of time, on all threads. The answer must pass the verifier.
    pub(super) fn solve(
        &self,
        solver: &dyn Solver,
        task: Task<'_>,
        seed: u64,
        limit: Duration,
    ) -> Result<Solved> {
        let started = Instant::now();
        let time_is_up = || self.stop.is_stopped() || started.elapsed() >= limit;
        let budget = Budget::unlimited(seed)
            .with_deadline(&time_is_up)
            .with_workers(&self.threads);
        let outcome = solver.solve(task, &budget);
        let seconds = started.elapsed().as_secs_f64();
        check(solver.name(), task, &outcome)?;
        Ok(Solved { outcome, seconds })
    }
}

/// By the paper's literal formula, which no solver shares.
pub(super) fn check(solver: &str, task: Task<'_>, outcome: &Outcome) -> Result<()> {
    let within = outcome.is_within_bound();
    if let Some(allocation) = outcome.allocation.as_ref().filter(|_| within) {
        let verdict = verify(task.instance, allocation, task.bound)?;
        ensure!(
            verdict.is_good(),
            "{solver} breaks {:?} at {} ms",
            verdict.breaches,
            task.bound.as_millis()
        );
    }
    Ok(())
}

/// A bound in milliseconds.
pub(super) fn millis(ms: f64) -> Delay {
    Delay::from_millis(ms).expect("bounds of the bench are small")
}

/// A mean and the interval that has the true one in 95 of 100 benches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Interval {
    /// By Student's distribution, since some tables have ten values only.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let count = values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = match values.len() {
            1 => 0.0,
            _ => (squares / (count - 1.0) / count).sqrt(),
        };
        let reach = student(values.len().saturating_sub(1)) * error;
        Some(Self {
            mean,
            low: mean - reach,
            high: mean + reach,
        })
    }

    /// Mean, low and high, or nothing.
    pub(super) fn cells(of: Option<Self>, decimals: u8) -> [Cell; 3] {
        let cell = |value: Option<f64>| value.map_or(Cell::Missing, |v| Cell::number(v, decimals));
        [
            cell(of.map(|interval| interval.mean)),
            cell(of.map(|interval| interval.low)),
            cell(of.map(|interval| interval.high)),
        ]
    }
}

/// Within how many standard errors the true mean is in 95 of 100 cases.
fn student(degrees_of_freedom: usize) -> f64 {
    const FEW: [f64; 9] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
    ];
    match degrees_of_freedom.checked_sub(1) {
        None => 0.0,
        Some(few) if few < FEW.len() => FEW[few],
        // Abramowitz and Stegun 26.7.5, right to a thousandth from here on.
        Some(_) => {
            let (z, degrees) = (1.959_964_f64, degrees_of_freedom as f64);
            let first = (z.powi(3) + z) / 4.0;
            let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
            let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
            z + first / degrees + second / degrees.powi(2) + third / degrees.powi(3)
        }
    }
}

/// `None` without values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// `None` without values.
pub(super) fn largest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_reaches_as_far_as_students_distribution() {
        let interval = Interval::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(interval.mean, 2.5);
        // s² = 5/3, s/√4 = 0.6455, times 3.182.
        assert!((interval.high - 2.5 - 2.054).abs() < 1e-3);
        assert!((interval.high + interval.low - 5.0).abs() < 1e-12);
    }

    #[test]
    fn students_distribution_is_that_of_the_tables() {
        for (degrees, table) in [
            (9, 2.262),
            (10, 2.228),
            (15, 2.131),
            (30, 2.042),
            (99, 1.984),
        ] {
            assert!((student(degrees) - table).abs() < 2e-3, "{degrees}");
        }
    }

    #[test]
    fn one_value_has_no_interval_and_none_has_no_mean() {
        let one = Interval::of(&[3.0]).unwrap();
        assert_eq!((one.low, one.high), (3.0, 3.0));
        assert_eq!(Interval::of(&[]), None);
        assert_eq!(largest(&[1.0, 7.0, 2.0]), Some(7.0));
    }
}

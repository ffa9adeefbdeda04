//! What became of every step: the closing table, the names of what was skipped, and the last line.

use std::fmt;
use std::time::Duration;

use crate::failure::Failure;
use crate::step::Step;

/// How a step ended that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// `remark` says how much was checked; `skips` names what inside the step was left out.
    Passed { remark: String, skips: Vec<Skip> },
    /// The whole step had nothing to check.
    Skipped { reason: String },
}

impl Outcome {
    pub(crate) fn passed(remark: impl Into<String>) -> Self {
        Self::Passed {
            remark: remark.into(),
            skips: Vec::new(),
        }
    }
}

/// Something that was not checked. Never silent: it has a name and a reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skip {
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// The story of one run.
#[derive(Debug)]
pub(crate) struct Report {
    rows: Vec<Row>,
    skips: Vec<Skip>,
    failure: Option<(Step, Failure)>,
}

#[derive(Debug)]
struct Row {
    step: Step,
    verdict: Verdict,
    took: Duration,
    remark: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    Skipped,
}

impl Report {
    /// `skipped` are the steps that the caller asked to leave out.
    pub(crate) fn new(skipped: &[Step]) -> Self {
        let mut report = Self {
            rows: Vec::new(),
            skips: Vec::new(),
            failure: None,
        };
        for &step in skipped {
            report.skip_step(step, Duration::ZERO, "left out by --skip");
        }
        report
    }

    pub(crate) fn add(&mut self, step: Step, result: Result<Outcome, Failure>, took: Duration) {
        match result {
            Ok(Outcome::Passed { remark, skips }) => {
                self.skips.extend(skips);
                self.row(step, Verdict::Passed, took, remark);
            }
            Ok(Outcome::Skipped { reason }) => self.skip_step(step, took, &reason),
            Err(failure) => {
                self.failure = Some((step, failure));
                self.row(step, Verdict::Failed, took, String::new());
            }
        }
    }

    /// For the steps after the one that failed.
    pub(crate) fn not_run(&mut self, step: Step) {
        self.skip_step(step, Duration::ZERO, "an earlier step failed");
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    fn skip_step(&mut self, step: Step, took: Duration, reason: &str) {
        self.skips.push(Skip {
            name: format!("step {}", step.name()),
            reason: reason.to_owned(),
        });
        self.row(step, Verdict::Skipped, took, String::new());
    }

    fn row(&mut self, step: Step, verdict: Verdict, took: Duration, remark: String) {
        let row = Row {
            step,
            verdict,
            took,
            remark,
        };
        if verdict != Verdict::Skipped {
            println!("== {row}");
        }
        self.rows.push(row);
        self.rows.sort_by_key(|row| row.step);
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.rows
            .iter()
            .filter(|row| row.verdict == verdict)
            .count()
    }

    fn total(&self) -> Duration {
        self.rows.iter().map(|row| row.took).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            writeln!(f, "{row}")?;
        }
        writeln!(f, "{:<9} {:<8} {:>8}", "total", "", clock(self.total()))?;
        if !self.skips.is_empty() {
            writeln!(f, "\nskipped:")?;
        }
        for Skip { name, reason } in &self.skips {
            writeln!(f, "  {name}: {reason}")?;
        }
        if let Some((step, failure)) = &self.failure {
            writeln!(f, "\nstep {} failed: {failure}", step.name())?;
        }
        writeln!(f, "\n{}", self.last_line())
    }
}

impl Report {
    /// The line that CI reads. Steps are counted, not tests: each test step tells its own number.
    fn last_line(&self) -> String {
        let (passed, failed) = (self.count(Verdict::Passed), self.count(Verdict::Failed));
        match self.count(Verdict::Skipped) {
            0 => format!("{passed} passed, {failed} failed"),
            skipped => format!("{passed} passed, {failed} failed, {skipped} skipped"),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed => "FAILED",
            Verdict::Skipped => "skipped",
        };
        let cells = format!(
            "{:<9} {verdict:<8} {:>8}  {}",
            self.step.name(),
            clock(self.took),
            self.remark
        );
        f.write_str(cells.trim_end())
    }
}

/// `0.4 s`, `12.0 s`, `3 m 05 s`.
fn clock(took: Duration) -> String {
    let seconds = took.as_secs();
    if seconds < 60 {
        format!("{:.1} s", took.as_secs_f64())
    } else {
        format!("{} m {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_line(report: &Report) -> String {
        report
            .to_string()
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned()
    }

    #[test]
    fn a_clean_run_ends_with_its_count() {
        let mut report = Report::new(&[]);
        report.add(
            Step::Fmt,
            Ok(Outcome::passed("")),
            Duration::from_millis(400),
        );
        report.add(
            Step::Test,
            Ok(Outcome::passed("12 tests")),
            Duration::from_secs(185),
        );
        assert!(!report.has_failed());
        assert_eq!(
            report.to_string(),
            "fmt       passed      0.4 s\n\
             test      passed   3 m 05 s  12 tests\n\
             total              3 m 05 s\n\
             \n\
             2 passed, 0 failed\n"
        );
    }

    #[test]
    fn what_was_skipped_is_named_with_its_reason() {
        let mut report = Report::new(&[Step::Fuzz]);
        let skip = Skip {
            name: "quakestat_reads_the_lab".to_owned(),
            reason: "quakestat is not installed".to_owned(),
        };
        let outcome = Outcome::Passed {
            remark: String::new(),
            skips: vec![skip],
        };
        report.add(Step::Test, Ok(outcome), Duration::ZERO);
        let text = report.to_string();
        assert!(text.contains("  step fuzz: left out by --skip\n"), "{text}");
        assert!(
            text.contains("  quakestat_reads_the_lab: quakestat is not installed\n"),
            "{text}"
        );
        assert_eq!(last_line(&report), "1 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn a_failure_is_told_and_the_rest_counts_as_skipped() {
        let mut report = Report::new(&[]);
        report.add(
            Step::Fmt,
            Err(Failure::new("bad", "do good")),
            Duration::ZERO,
        );
        report.not_run(Step::Clippy);
        assert!(report.has_failed());
        let text = report.to_string();
        assert!(
            text.contains("step fmt failed: bad\n  to fix it: do good"),
            "{text}"
        );
        assert!(
            text.contains("step clippy: an earlier step failed"),
            "{text}"
        );
        assert_eq!(last_line(&report), "0 passed, 1 failed, 1 skipped");
    }
}

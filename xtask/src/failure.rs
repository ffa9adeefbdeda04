//! Why a step failed: what is wrong, and what to do about it.

use std::fmt;

/// The end of a step. Always carries advice, since the reader is in the middle of something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    problem: String,
    advice: String,
}

impl Failure {
    pub(crate) fn new(problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            advice: advice.into(),
        }
    }

    /// For files and programs the machine did not give us.
    pub(crate) fn from_io(doing: impl fmt::Display, error: &std::io::Error) -> Self {
        Self::new(
            format!("cannot {doing}: {error}"),
            "check that it exists and that you may use it",
        )
    }

    /// For tables, where a reason has one line.
    pub(crate) fn in_one_line(&self) -> String {
        let problem = self.problem.lines().next().unwrap_or_default();
        format!("{problem} ({})", self.advice)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  to fix it: {}", self.problem, self.advice)
    }
}

//! Solvers by name.

use std::fmt;
use std::str::FromStr;

use nearside_placement::Solver;
use nearside_placement::solver::{Anchors, Auto, Exact, Greedy, Nearest, TightSpan, Zizo};

/// A solver that users can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SolverName {
    /// Everything in turns until the optimum is proven.
    Auto,
    /// The search alone.
    Exact,
    /// Sampled caps.
    TightSpan,
    /// One cover for each server.
    Anchors,
    /// The paper's rival.
    Greedy,
    /// A variant of the paper's algorithm.
    Zizo(Zizo),
    /// The nearest server.
    Nearest,
}

impl SolverName {
    /// All of them, the best first.
    pub const ALL: [Self; 10] = [
        Self::Auto,
        Self::Exact,
        Self::TightSpan,
        Self::Anchors,
        Self::Greedy,
        Self::Zizo(Zizo::VARIANTS[0]),
        Self::Zizo(Zizo::VARIANTS[1]),
        Self::Zizo(Zizo::VARIANTS[2]),
        Self::Zizo(Zizo::VARIANTS[3]),
        Self::Nearest,
    ];

    /// Whether it goes on until the optimum is proven or the budget is over.
    pub const fn uses_all_of_a_budget(self) -> bool {
        matches!(self, Self::Auto | Self::Exact | Self::TightSpan)
    }

    /// The solver itself.
    pub fn solver(self) -> Box<dyn Solver + Send + Sync> {
        match self {
            Self::Auto => Box::new(Auto),
            Self::Exact => Box::new(Exact),
            Self::TightSpan => Box::new(TightSpan::default()),
            Self::Anchors => Box::new(Anchors),
            Self::Greedy => Box::new(Greedy::default()),
            Self::Zizo(zizo) => Box::new(zizo),
            Self::Nearest => Box::new(Nearest),
        }
    }
}

impl fmt::Display for SolverName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.solver().name())
    }
}

impl FromStr for SolverName {
    type Err = String;

    /// The solver's own name; underscores may stand for hyphens, and `zizo` for its first variant.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = text.replace('_', "-").to_lowercase();
        if wanted == "zizo" {
            return Ok(Self::Zizo(Zizo::default()));
        }
        let named = Self::ALL
            .into_iter()
            .find(|name| name.to_string() == wanted);
        named.ok_or_else(|| {
            let names: Vec<String> = Self::ALL.iter().map(Self::to_string).collect();
            format!("there is no solver `{text}` (choose {})", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_solver_reads_back_from_its_name() {
        for name in SolverName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        assert_eq!("tight_span".parse(), Ok(SolverName::TightSpan));
        let error = "simplex".parse::<SolverName>().unwrap_err();
        assert!(
            error.contains("zizo-tr-s") && error.contains("auto"),
            "{error}"
        );
    }
}

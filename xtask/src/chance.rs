//! The seed that property tests start from. The gate asks the same questions at every run, so that
//! a change is judged by what it changed; whoever wants to look further gives another seed.

use std::process::Command;

/// The variable by which proptest takes its seed.
const VARIABLE: &str = "PROPTEST_RNG_SEED";

/// Any number would do; it stays what it is so that one run can be compared with the next.
const USUAL: u64 = 2004;

/// A seed, and where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seed(u64);

impl Seed {
    /// The caller's seed, if the environment has one.
    pub(crate) fn find() -> Self {
        Self::from_text(std::env::var(VARIABLE).ok().as_deref())
    }

    fn from_text(text: Option<&str>) -> Self {
        Self(text.and_then(|text| text.parse().ok()).unwrap_or(USUAL))
    }

    /// The seed of a repetition: as many different ones as there are rounds.
    pub(crate) fn of_round(self, round: u64) -> Self {
        Self(self.0.wrapping_add(round))
    }

    /// Makes a command's property tests draw from this seed.
    pub(crate) fn give(self, command: &mut Command) -> &mut Command {
        command.env(VARIABLE, self.0.to_string())
    }
}

impl std::fmt::Display for Seed {
    /// As one would type it to see the same inputs again.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{VARIABLE}={}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_seed_goes_before_the_usual_one() {
        assert_eq!(Seed::from_text(Some("7")), Seed(7));
        assert_eq!(Seed::from_text(None), Seed(USUAL));
        assert_eq!(Seed::from_text(Some("seven")), Seed(USUAL));
    }

    #[test]
    fn a_round_can_be_repeated_from_what_is_printed() {
        let round = Seed(7).of_round(3);
        assert_eq!(round.to_string(), "PROPTEST_RNG_SEED=10");
        let mut command = Command::new("true");
        let given = round.give(&mut command).get_envs().next().unwrap();
        assert_eq!(given.1.unwrap(), "10");
    }
}

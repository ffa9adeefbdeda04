//! What the lab is like in each part of the bench.

use serde::Serialize;

use super::programs::Program;

/// One table of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Scenario {
    /// Servers answer at once.
    Plain,
    /// Servers ask for a challenge first, so that an answer takes two round trips.
    Challenge,
    /// One exchange in twenty is lost.
    Loss,
    /// A list as long as the Internet's, to see what memory it takes.
    Large,
}

/// Share of exchanges lost in [`Scenario::Loss`].
pub(super) const LOSS: f64 = 0.05;
/// More than the 27,640 servers of the first Armitage paper's list.
const LARGE: usize = 30_000;

impl Scenario {
    pub(super) const ALL: [Self; 4] = [Self::Plain, Self::Challenge, Self::Loss, Self::Large];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Challenge => "challenge",
            Self::Loss => "5 % loss",
            Self::Large => "large",
        }
    }

    /// How many servers the lab has, if `usual` are asked for.
    pub(super) const fn servers(self, usual: usize) -> usize {
        match self {
            Self::Plain | Self::Challenge | Self::Loss => usual,
            Self::Large => LARGE,
        }
    }

    /// Which of `programs` run.
    pub(super) fn programs(self, programs: &[Program]) -> Vec<Program> {
        match self {
            Self::Plain | Self::Challenge | Self::Loss => programs.to_vec(),
            Self::Large => vec![Program::NearsideFast],
        }
    }

    pub(super) fn lab_flags(self) -> String {
        match self {
            Self::Plain | Self::Large => "--challenge never".to_owned(),
            Self::Challenge => "--challenge always".to_owned(),
            Self::Loss => format!("--challenge never --loss {LOSS}"),
        }
    }
}

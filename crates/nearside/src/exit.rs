//! Exit codes, one table for every command (also in `nearside --help`).

use std::process::ExitCode;

use nearside_net::NetError;
use thiserror::Error;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// A clear negative answer: nothing found, a check failed.
    Negative,
    /// Bad usage or a bad input file.
    BadInput,
    /// The world failed: a source is silent, a port is taken.
    WorldFailed,
    /// Interrupted, with what was found printed.
    Interrupted,
}

impl Exit {
    /// The number the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Negative => 1,
            Self::BadInput => 2,
            Self::WorldFailed => 3,
            Self::Interrupted => 130,
        }
    }

    /// The code for a command that failed: what the network did is the world's fault, the rest is
    /// bad input.
    pub fn of_error(error: &anyhow::Error) -> Self {
        let worldly = error
            .chain()
            .any(|cause| cause.is::<NetError>() || cause.is::<WorldFailure>());
        if worldly {
            Self::WorldFailed
        } else {
            Self::BadInput
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// A failure of the world that no socket reported.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct WorldFailure(pub String);

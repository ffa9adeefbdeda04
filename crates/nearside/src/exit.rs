//! Exit codes, one table for every command (also in `nearside --help`).

use std::io;
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

    /// The code for a command that failed: what the network and full disks did is the world's fault,
    /// the rest is bad input.
    pub fn of_error(error: &anyhow::Error) -> Self {
        let worldly = error.chain().any(|cause| {
            let unwritten = cause.downcast_ref().is_some_and(is_unwritten);
            unwritten || cause.is::<NetError>() || cause.is::<WorldFailure>()
        });
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

/// Whether an error can only come from writing: an input file, however bad, is never too full.
fn is_unwritten(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull, WriteZero};
    matches!(
        error.kind(),
        StorageFull | QuotaExceeded | FileTooLarge | ReadOnlyFilesystem | WriteZero
    )
}

/// A failure of the world that no socket reported.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct WorldFailure(pub String);

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_full_disk_is_the_worlds_fault_and_a_missing_file_is_not() {
        let code = |kind: io::ErrorKind| {
            let failed: io::Result<()> = Err(kind.into());
            Exit::of_error(&failed.context("cannot write the answer").unwrap_err())
        };
        assert_eq!(code(io::ErrorKind::StorageFull), Exit::WorldFailed);
        assert_eq!(code(io::ErrorKind::NotFound), Exit::BadInput);
    }
}

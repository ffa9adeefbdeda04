//! Why a network could not be built or changed.

use std::io;

/// What went wrong, with the words of whoever refused.
#[derive(Debug, thiserror::Error)]
pub enum TestnetError {
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried, as an infinitive.
        what: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A program ended badly.
    #[error("{program} failed: {words}")]
    Program {
        /// Which one, with its arguments.
        program: String,
        /// What it wrote to standard error.
        words: String,
    },
    /// The plan makes no sense.
    #[error("host {host:?}: {fault}")]
    Plan {
        /// The host's name.
        host: String,
        /// What is wrong with it.
        fault: &'static str,
    },
}

impl TestnetError {
    /// For `map_err`: `TestnetError::io("open the device")`.
    pub(crate) fn io<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |source| Self::Io {
            what,
            source: source.into(),
        }
    }
}

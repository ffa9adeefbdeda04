//! `nearside sim`: experiments in virtual Internets.

mod args;
mod compare;
mod progress;

use anyhow::Result;
use nearside_sim::with_threads;

use crate::exit::Exit;

pub use args::{CompareArgs, SimArgs, SimCommand};

/// Runs the command.
pub fn run(args: &SimArgs) -> Result<Exit> {
    match &args.what {
        SimCommand::Compare(args) => compare::run(args),
    }
}

/// Runs `work` on so many threads, or on all cores.
fn on_threads<R: Send>(threads: Option<usize>, work: impl FnOnce() -> R + Send) -> Result<R> {
    match threads {
        None => Ok(work()),
        Some(threads) => Ok(with_threads(threads, work)?),
    }
}

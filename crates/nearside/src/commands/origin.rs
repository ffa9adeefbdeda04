//! `nearside origin`: where addresses come from, and from whom we know.

mod install;
pub(super) mod listen;
mod lookup;
mod row;
mod stats;

use anyhow::Result;

use crate::cli::{OriginArgs, OriginCommand};
use crate::exit::Exit;

/// Runs the command.
pub fn run(args: &OriginArgs) -> Result<Exit> {
    match &args.what {
        None => lookup::run(args),
        Some(OriginCommand::Stats(args)) => stats::run(args),
        Some(OriginCommand::Use(args)) => install::run(args),
        Some(OriginCommand::Listen(args)) => listen::run(args),
    }
}

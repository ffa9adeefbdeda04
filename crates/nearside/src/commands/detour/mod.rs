//! `nearside detour`: shorter paths through other players.

mod expose;
mod identity;
mod join;
mod line;
mod proxy;
mod serve;
mod status;
mod telling;

use anyhow::Result;

use crate::cli::{DetourArgs, DetourCommand};
use crate::exit::Exit;

/// Runs the command.
pub fn run(args: &DetourArgs) -> Result<Exit> {
    match &args.what {
        DetourCommand::Serve(args) => serve::run(args),
        DetourCommand::Join(args) => join::run(args),
        DetourCommand::Proxy(args) => proxy::run(args),
        DetourCommand::Expose(args) => expose::run(args),
        DetourCommand::Status(args) => status::run(args),
    }
}

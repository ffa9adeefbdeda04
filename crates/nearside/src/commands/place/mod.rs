//! `nearside place`: the servers of a session.

mod args;
mod distribute;
mod effort;
mod generate;
mod input;
mod min_delay;
mod online;
mod serve;
mod show;
mod solve;
mod solvers;
mod sweep;
mod verify;

pub use args::{
    Bounds, CrashArg, DistributeArgs, EffortArgs, GenerateArgs, InputArgs, MinDelayArgs, NodeArg,
    NodeArgs, OnlineArgs, PlaceArgs, PlaceCommand, PlaceFormat, ServeArgs, SolveArgs, SweepArgs,
    VerifyArgs,
};
pub use solvers::SolverName;

use anyhow::Result;

use crate::exit::Exit;

/// Runs the command.
pub fn run(args: &PlaceArgs) -> Result<Exit> {
    match &args.what {
        PlaceCommand::Solve(args) => solve::run(args),
        PlaceCommand::Verify(args) => verify::run(args),
        PlaceCommand::Sweep(args) => sweep::run(args),
        PlaceCommand::MinDelay(args) => min_delay::run(args),
        PlaceCommand::Online(args) => online::run(args),
        PlaceCommand::Serve(args) => serve::run(args),
        PlaceCommand::Generate(args) => generate::run(args),
        PlaceCommand::Distribute(args) => distribute::run(args),
        PlaceCommand::Node(args) => distribute::node(args),
    }
}

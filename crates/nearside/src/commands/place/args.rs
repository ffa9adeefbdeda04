//! The flags of `nearside place`.

mod distribute;
mod input;
mod sessions;
mod solving;
mod words;

pub use distribute::{DistributeArgs, NodeArgs};
pub use input::{EffortArgs, InputArgs, PlaceFormat};
pub use sessions::{OnlineArgs, ServeArgs};
pub use solving::{GenerateArgs, MinDelayArgs, SolveArgs, SweepArgs, VerifyArgs};
pub use words::{Bounds, CrashArg, NodeArg};

use clap::{Args, Subcommand};

/// Choose the servers of a session.
#[derive(Debug, Args)]
#[command(
    after_help = "A worked example: four players and three sites, in the repository.
  nearside place solve scenarios/place/four-players.json               at 60 ms two sites are needed
  nearside place solve scenarios/place/four-players.json --bound 40    impossible, and because of whom
  nearside place sweep scenarios/place/four-players.json               what each further site buys
  nearside place generate --seed 1 | nearside place solve - --bound 24

docs/place.md explains the delay model, the solvers, the files and the fields."
)]
pub struct PlaceArgs {
    /// What to do.
    #[command(subcommand)]
    pub what: PlaceCommand,
}

/// What can be done about placement.
#[derive(Debug, Subcommand)]
pub enum PlaceCommand {
    /// Choose the fewest servers that keep the delay of a group within a bound
    Solve(SolveArgs),
    /// Judge an allocation by the paper's formula
    Verify(VerifyArgs),
    /// Servers against the bound: the whole curve, or several solvers at several bounds
    Sweep(SweepArgs),
    /// The smallest bound that a number of servers can keep
    MinDelay(MinDelayArgs),
    /// A session in which players come and go: events in, moves out
    Online(OnlineArgs),
    /// Answer over HTTP: solve, curves, and sessions that survive a restart
    Serve(ServeArgs),
    /// Make an instance: the simulated network of the paper
    Generate(GenerateArgs),
    /// Run the paper's distributed algorithm, one process for each player and server
    Distribute(DistributeArgs),
    /// One node of a distributed session; started by `distribute`
    #[command(hide = true)]
    Node(NodeArgs),
}

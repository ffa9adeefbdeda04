//! Flags of the subcommands that answer one question about an instance, and of the one that makes it.

use std::path::PathBuf;

use clap::Args;

use super::super::solvers::SolverName;
use super::words::{Bounds, not_negative};
use super::{EffortArgs, InputArgs, PlaceFormat};
use crate::cli::{at_least_one, positive};

/// Choose the fewest servers that keep the delay of a group within a bound.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside place solve scenarios/place/four-players.json
  nearside place solve session.json --bound 80 --solver exact --format json
  nearside place solve pings.csv --latency round-trip --between sites.csv --bound 120
  nearside place solve gamelift.json --latency round-trip --between-ms 20 --bound 90
  nearside place solve --matrix rtts.gz --layout upper-u32-us:490:1 --bound 150

Solvers: auto (default; proves the optimum where time allows), exact, tight-span, anchors, greedy, \
zizo-sr-c, zizo-sr-s, zizo-tr-c, zizo-tr-s, nearest. When the bound is impossible, the answer names the \
players who make it so and the fewest to move to another session.

Exit codes: 0 within the bound; 1 impossible or not found; 2 bad usage or file; 130 interrupted, with \
what was found printed.")]
pub struct SolveArgs {
    /// The instance.
    #[command(flatten)]
    pub input: InputArgs,
    /// What the session delay may be, in milliseconds [default: delay_bound_ms of the file]
    #[arg(long, value_name = "MS", value_parser = not_negative)]
    pub bound: Option<f64>,
    /// Who solves
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub solver: SolverName,
    /// How the answer is shown [default: table on a terminal, json in a pipe]
    #[arg(long, value_name = "FORM")]
    pub format: Option<PlaceFormat>,
    /// How hard to try.
    #[command(flatten)]
    pub effort: EffortArgs,
}

/// Judge an allocation by the paper's formula.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside place solve session.json --format json > seats.json
  nearside place verify session.json seats.json

The allocation is the JSON of `solve`, or just {player: server}.

Exit codes: 0 everything holds; 1 something does not, with what; 2 bad usage or file.")]
pub struct VerifyArgs {
    /// The instance.
    #[command(flatten)]
    pub input: InputArgs,
    /// The allocation to judge; with --matrix it is the only file
    #[arg(value_name = "ALLOCATION", required_unless_present = "matrix")]
    pub allocation: Option<PathBuf>,
    /// What the session delay may be, in milliseconds [default: that of the allocation, or of the
    /// instance]
    #[arg(long, value_name = "MS", value_parser = not_negative)]
    pub bound: Option<f64>,
    /// One JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Seed of the nodes drawn from a matrix
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Servers against the bound.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside place sweep session.json                             the proven curve, corner by corner
  nearside place sweep session.json --svg curve.svg
  nearside place sweep session.json --bounds 20-42/2 --solver auto,greedy,zizo-sr-c --format csv

Exit codes: 0 done; 1 no bound can be kept; 2 bad usage or file; 3 the picture cannot be written; 130 \
interrupted, with what was found printed.")]
pub struct SweepArgs {
    /// The instance.
    #[command(flatten)]
    pub input: InputArgs,
    /// Bounds to try, in milliseconds: a list, FROM-TO/STEP, or both [default: the whole curve]
    #[arg(long, value_name = "MS", value_delimiter = ',')]
    pub bounds: Vec<Bounds>,
    /// Who solves at these bounds; several with commas
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        requires = "bounds",
        default_value = "auto"
    )]
    pub solver: Vec<SolverName>,
    /// How it is shown [default: table on a terminal, json in a pipe]
    #[arg(long, value_name = "FORM")]
    pub format: Option<PlaceFormat>,
    /// Also draw it
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// How hard to try; the time is for all of it.
    #[command(flatten)]
    pub effort: EffortArgs,
}

/// The smallest bound that a number of servers can keep.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside place min-delay session.json --servers 3

Exit codes: 0 found; 1 so few servers cannot serve everybody; 2 bad usage or file; 130 interrupted, with \
what was found printed.")]
pub struct MinDelayArgs {
    /// The instance.
    #[command(flatten)]
    pub input: InputArgs,
    /// Servers that may be used
    #[arg(long, value_name = "K", value_parser = at_least_one)]
    pub servers: usize,
    /// How it is shown [default: table on a terminal, json in a pipe]
    #[arg(long, value_name = "FORM")]
    pub format: Option<PlaceFormat>,
    /// How hard to try.
    #[command(flatten)]
    pub effort: EffortArgs,
}

/// Make an instance.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside place generate --seed 7 > instance.json
  nearside place generate --servers 1000 --clients 10000 --systems 100 --out large.json

50 autonomous systems of 100 routers, Waxman graphs, delays at the speed of light, 100 servers and 50 \
players at random routers: the setting of the paper's section 4.

Exit codes: 0 done; 2 bad usage; 3 the file cannot be written.")]
pub struct GenerateArgs {
    /// Servers
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    pub servers: usize,
    /// Players
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = at_least_one)]
    pub clients: usize,
    /// Autonomous systems
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = at_least_one)]
    pub systems: usize,
    /// Routers of each
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    pub routers: usize,
    /// Delays between servers as a share of the network's
    #[arg(long, value_name = "SHARE", default_value_t = 0.25, value_parser = positive)]
    pub server_factor: f64,
    /// Systems link to those with many links (Barabási-Albert) instead of near ones (Waxman)
    #[arg(long)]
    pub hubs: bool,
    /// Routers stand around their system instead of in a plane of their own
    #[arg(long)]
    pub geo: bool,
    /// Players that each server takes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub capacity: Option<u32>,
    /// The bound to write into the instance, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 30.0, value_parser = not_negative)]
    pub bound: f64,
    /// Seed of everything
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

//! Flags that most subcommands have: where instances come from, how hard to try, how to show it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use nearside_placement::Latency;
use nearside_world::recorded::MatrixLayout;

use super::words::{latency, not_negative};
use crate::cli::{at_least_one, positive, seconds};

const INPUT: &str = "Input";

/// Where instances come from.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// An instance (JSON), a map {player: {server: ms}} or a GameLift list of latencies (JSON), or a
    /// table of players and servers (.csv); - for standard input, .gz is unpacked
    #[arg(value_name = "FILE", required_unless_present = "matrix")]
    pub file: Option<PathBuf>,
    /// What the numbers are, where the file does not say: one-way or round-trip, which is halved;
    /// those of --between and --between-ms too
    #[arg(long, help_heading = INPUT, value_name = "KIND", value_parser = latency, conflicts_with = "matrix")]
    pub latency: Option<Latency>,
    /// Delays between servers, where the file has none: a square .csv with names
    #[arg(long, help_heading = INPUT, value_name = "FILE", conflicts_with_all = ["between_ms", "matrix"])]
    pub between: Option<PathBuf>,
    /// The same delay between any two servers, where the file has none; halved with --latency
    /// round-trip
    #[arg(long, help_heading = INPUT, value_name = "MS", value_parser = not_negative, conflicts_with = "matrix")]
    pub between_ms: Option<f64>,
    /// Let servers forward for each other: shortest paths between servers
    #[arg(long, help_heading = INPUT)]
    pub closure: bool,
    /// Players that each server takes, where the file does not say
    #[arg(long, help_heading = INPUT, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub capacity: Option<u32>,
    /// Draw players and servers from a matrix of round-trip times instead of a file
    #[arg(long, help_heading = INPUT, value_name = "FILE", requires = "layout")]
    pub matrix: Option<PathBuf>,
    /// How the matrix is stored.
    #[arg(
        long,
        help_heading = INPUT,
        value_name = "LAYOUT",
        requires = "matrix",
        help = "How the matrix is stored: upper-u32-us:N[:SLICE], full-u16-10ms:N[:SLICE] or csv"
    )]
    pub layout: Option<MatrixLayout>,
    /// Servers to draw from the matrix
    #[arg(long, help_heading = INPUT, value_name = "N", default_value_t = 100, value_parser = at_least_one, requires = "matrix")]
    pub draw_servers: usize,
    /// Players to draw from the matrix, other nodes than the servers
    #[arg(long, help_heading = INPUT, value_name = "N", default_value_t = 50, value_parser = at_least_one, requires = "matrix")]
    pub draw_clients: usize,
    /// Delays between servers as a share of the matrix's, for well-provisioned links
    #[arg(long, help_heading = INPUT, value_name = "SHARE", default_value_t = 1.0, value_parser = positive, requires = "matrix")]
    pub server_factor: f64,
}

/// How much work a solver may do.
#[derive(Debug, Args)]
#[command(next_help_heading = "Effort")]
pub struct EffortArgs {
    /// Seconds to spend; what was found until then counts [default: 10, no limit with --steps]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time: Option<f64>,
    /// Steps to spend; unlike time they give the same answer on every machine
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Seed of random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Threads that search side by side [default: one for each core]. More find the same sooner: with
    /// --steps the answer is the same at any number
    #[arg(long, value_name = "N", value_parser = crate::cli::threads)]
    pub threads: Option<usize>,
}

/// The forms of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlaceFormat {
    /// For people
    Table,
    /// One JSON document
    Json,
    /// Comma-separated rows
    Csv,
}

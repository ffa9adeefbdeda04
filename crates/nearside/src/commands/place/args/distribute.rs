//! Flags of the distributed algorithm.

use clap::Args;

use super::InputArgs;
use super::words::{CrashArg, NodeArg, not_negative};
use crate::cli::{at_least_one, seconds};

/// Run the paper's distributed algorithm.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside place distribute session.json                 one process for each player and server
  nearside place distribute session.json --virtual --loss 0.2 --crash tokyo@2 --crash anna@5

Over real UDP on loopback, or in virtual time. With --window 1 the result is that of \
`nearside place solve --solver zizo-sr-c`; this is checked.

Exit codes: 0 committed, as the library says; 1 the bound is not met, or the result differs; 2 bad usage or \
file; 3 a process or a socket failed; 130 interrupted.")]
pub struct DistributeArgs {
    /// The instance.
    #[command(flatten)]
    pub input: InputArgs,
    /// What the session delay may be, in milliseconds [default: delay_bound_ms of the file]
    #[arg(long, value_name = "MS", value_parser = not_negative)]
    pub bound: Option<f64>,
    /// Players that may have their turn at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    pub window: usize,
    /// In virtual time, without processes and sockets
    #[arg(long = "virtual")]
    pub in_virtual_time: bool,
    /// Share of messages that are lost, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub loss: f64,
    /// Share of messages that come twice, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub duplicates: f64,
    /// Milliseconds by which messages may be late, which reorders them
    #[arg(long, value_name = "MS", default_value_t = 0.0, value_parser = not_negative)]
    pub jitter: f64,
    /// A server or player that crashes, by name: tokyo@2 after 2 seconds; may be repeated
    #[arg(long, value_name = "NAME@S")]
    pub crash: Vec<CrashArg>,
    /// The first UDP port on loopback; nodes take one each
    #[arg(long, value_name = "PORT", default_value_t = 21_000, value_parser = clap::value_parser!(u16).range(1024..60_000))]
    pub base_port: u16,
    /// Give up after this many seconds
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = seconds)]
    pub time: f64,
    /// Seed of the network's luck
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// One JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// One node of a distributed session, whose instance is the first line of standard input.
#[derive(Debug, Args)]
pub struct NodeArgs {
    /// s3 or c7
    pub node: NodeArg,
    /// The bound in milliseconds
    #[arg(long)]
    pub bound: f64,
    /// Turns at a time
    #[arg(long)]
    pub window: usize,
    /// Share of messages to lose
    #[arg(long, default_value_t = 0.0)]
    pub loss: f64,
    /// Share of messages to send twice
    #[arg(long, default_value_t = 0.0)]
    pub duplicates: f64,
    /// Milliseconds by which messages may be late
    #[arg(long, default_value_t = 0.0, value_parser = not_negative)]
    pub jitter: f64,
    /// The port of node c0
    #[arg(long)]
    pub base_port: u16,
    /// Seed of the network's luck
    #[arg(long)]
    pub seed: u64,
}

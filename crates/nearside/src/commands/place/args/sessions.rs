//! Flags of the subcommand that keeps a session.

use std::path::PathBuf;

use clap::Args;

/// A session in which players come and go.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside place online scenarios/place/session.ndjson
  nearside place online session.ndjson --view --quiet

The file has one JSON object a line: first the set-up (delay_bound_ms, servers, server_server_ms as in an \
instance; latency, processing_ms, seed, steps), then events:
  {\"event\": \"join\", \"client\": \"anna\", \"latencies_ms\": {\"fra\": 12, \"iad\": 90}}
  {\"event\": \"leave\", \"client\": \"anna\"}
  {\"event\": \"latency\", \"client\": \"anna\", \"server\": \"fra\", \"ms\": 31}
  {\"event\": \"latencies\", \"client\": \"anna\", \"latencies_ms\": {\"fra\": 31, \"iad\": 95}}
  {\"event\": \"server_latency\", \"one\": \"fra\", \"other\": \"iad\", \"ms\": 88}
  {\"event\": \"server_down\", \"server\": \"fra\"}   server_up likewise
  {\"event\": \"bound\", \"ms\": 120}
  {\"event\": \"consolidate\", \"max_moves\": 5}
Each event is answered with one line: what became of it, who moved, servers used, delay, bound. The same \
events give the same answers, so the file is also the log of a session.

Exit codes: 0 the bound holds for everybody in the end; 1 it does not; 2 bad usage or file, with the line.")]
pub struct OnlineArgs {
    /// Set-up and events; - for standard input, which is answered line by line
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print how the session is in the end
    #[arg(long)]
    pub view: bool,
    /// No line for each event
    #[arg(long, short)]
    pub quiet: bool,
}

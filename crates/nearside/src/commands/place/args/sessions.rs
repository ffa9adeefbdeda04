//! Flags of the subcommands that keep sessions.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::cli::{at_least_one, seconds};

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
  {\"event\": \"server_latency\", \"one\": \"fra\", \"other\": \"iad\", \"ms\": 88}   both directions
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

/// Answer over HTTP.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside place serve
  curl -s localhost:8787/v1/solve -d @scenarios/place/four-players.json
  curl -s localhost:8787/v1/sessions -d @setup.json      start a session; docs/place.md goes on
  curl -s localhost:8787/openapi.json                    everything, for programs

It listens on loopback unless told otherwise, has no passwords, and answers no web page: put a proxy \
in front of it before others can reach it.

Exit codes: 0 the time of --seconds is over; 2 bad usage; 3 the port is taken or the store cannot be \
opened; 130 ended by Ctrl-C.")]
pub struct ServeArgs {
    /// Where to listen
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8787")]
    pub listen: SocketAddr,
    /// Where sessions are kept, so that they survive a restart [default: nearside/place.redb in the
    /// user's data folder]
    #[arg(long, value_name = "FILE", conflicts_with = "in_memory")]
    pub store: Option<PathBuf>,
    /// Keep sessions in memory only
    #[arg(long)]
    pub in_memory: bool,
    /// The longest that one question or one event of a session may take, in seconds
    #[arg(long, value_name = "S", default_value_t = 30.0, value_parser = seconds)]
    pub max_time: f64,
    /// Requests that solve at the same time; more wait for their turn [default: one for each core]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub solvers: Option<usize>,
    /// The largest request, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = at_least_one)]
    pub max_body: usize,
    /// Sessions at the same time
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = at_least_one)]
    pub max_sessions: usize,
    /// A further name by which it may be asked on loopback, beside localhost and addresses; may be
    /// repeated
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,
    /// Stop after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Print the OpenAPI document and end
    #[arg(long)]
    pub openapi: bool,
}

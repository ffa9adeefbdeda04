//! Flags of `nearside master`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Run a master server: game servers register, players ask for lists.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  nearside master                                     all addresses, ports 27950 and 27011
  nearside master config > master.toml                every setting with its default
  nearside master --config master.toml
  nearside master --store redis --redis 10.0.0.1:6379,10.0.0.2:6379
                                                      one of several that share their servers
  nearside master --listen 127.0.0.1:27950 --lan --legacy 20000 --store none
                                                      for a trial with servers on this machine

Servers of the Quake 3 family are told `set sv_master1 \"HOST:27950\"`; GoldSource servers
`setmaster add HOST:27011`. Old clients that cannot repeat a cookie get lists only from --legacy.

Exit codes: 0 ended by its time; 2 bad usage or configuration; 3 a port is taken or the store fails;
130 interrupted, with what changed written.")]
pub struct MasterArgs {
    /// What else to do.
    #[command(subcommand)]
    pub what: Option<MasterCommand>,
    /// Read settings from a TOML file; flags come before it
    #[arg(long, value_name = "FILE", env = "NEARSIDE_MASTER_CONFIG")]
    pub config: Option<PathBuf>,
    /// Listen on this UDP address; may be repeated [default: ports 27950 and 27011 of all addresses]
    #[arg(
        long,
        value_name = "IP:PORT",
        env = "NEARSIDE_MASTER_LISTEN",
        value_delimiter = ','
    )]
    pub listen: Vec<SocketAddr>,
    /// Keep servers in this file; none keeps them in memory only, redis shares them with other
    /// masters [default: nearside/master.redb in the user's data directory]
    #[arg(long, value_name = "FILE", env = "NEARSIDE_MASTER_STORE")]
    pub store: Option<String>,
    /// Nodes of the Redis Cluster for --store redis; one that answers is enough
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "NEARSIDE_MASTER_REDIS",
        hide_env_values = true,
        value_delimiter = ','
    )]
    pub redis: Vec<String>,
    /// List servers on loopback and in private networks too
    #[arg(long, env = "NEARSIDE_MASTER_LAN")]
    pub lan: bool,
    /// Bytes a second for old clients of each /24 or /48; 0 on the open Internet
    #[arg(long, value_name = "BYTES", env = "NEARSIDE_MASTER_LEGACY")]
    pub legacy: Option<u32>,
    /// End by itself after so many seconds
    #[arg(long, value_name = "S")]
    pub seconds: Option<f64>,
}

/// What to do besides serving.
#[derive(Debug, Subcommand)]
pub enum MasterCommand {
    /// Print every setting with its default, as a file to start from
    Config,
}

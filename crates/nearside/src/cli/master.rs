//! Flags of `nearside master`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, Subcommand};
use nearside_master::upstream::Place;
use nearside_types::Prefix;

/// Run a master server: game servers register, players ask for lists.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  nearside master                                     all addresses, ports 27950 and 27011
  nearside master config > master.toml                every setting with its default
  nearside master --config master.toml
  nearside master --store redis --redis 10.0.0.1:6379,10.0.0.2:6379
                                                      one of several that share their servers
  nearside master --listen 127.0.0.1:27950 --lan --legacy 20000 --store none
                                                      for a trial with servers on this machine
  nearside master --http 0.0.0.0:8080 --admin 127.0.0.1:8081 --admin-token-file token
  nearside master --follow http://other.example:8080 --follow 'quake3://old.example:27950/84'


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
    #[arg(long, env = "NEARSIDE_MASTER_LAN", value_parser = BoolishValueParser::new())]
    pub lan: bool,
    /// Bytes a second for old clients of each /24 or /48; 0 on the open Internet
    #[arg(long, value_name = "BYTES", env = "NEARSIDE_MASTER_LEGACY")]
    pub legacy: Option<u32>,
    /// Serve lists, registration and a status page over HTTP here; may be repeated [default: nowhere]
    #[arg(
        long,
        value_name = "IP:PORT",
        env = "NEARSIDE_MASTER_HTTP",
        value_delimiter = ','
    )]
    pub http: Vec<SocketAddr>,
    /// Believe X-Forwarded-For of proxies in this network; may be repeated [default: nobody's]
    #[arg(
        long,
        value_name = "NETWORK",
        env = "NEARSIDE_MASTER_TRUSTED_PROXIES",
        value_delimiter = ','
    )]
    pub trusted_proxies: Vec<Prefix>,
    /// Serve the operator's side over HTTP here, on loopback only [default: nowhere]
    #[arg(long, value_name = "IP:PORT", env = "NEARSIDE_MASTER_ADMIN")]
    pub admin: Option<SocketAddr>,
    /// The file with the token that requests to the operator's side must show, 16 characters or more;
    /// the variable NEARSIDE_MASTER_ADMIN_TOKEN may have the token itself
    #[arg(long, value_name = "FILE", env = "NEARSIDE_MASTER_ADMIN_TOKEN_FILE")]
    pub admin_token_file: Option<PathBuf>,
    /// Keep bans that the operator's side makes in this file
    /// [default: bans.toml beside the store]
    #[arg(long, value_name = "FILE", env = "NEARSIDE_MASTER_BAN_FILE")]
    pub ban_file: Option<PathBuf>,
    /// Follow another master's list; may be repeated. Forms: http://HOST:PORT (a nearside master),
    /// steam://HOST:PORT/FILTER, quake3://HOST:PORT/GAME/PROTOCOL, steam-web:FILTER, the URL of a
    /// JSON document, or a file
    #[arg(
        long,
        value_name = "LIST",
        env = "NEARSIDE_MASTER_FOLLOW",
        hide_env_values = true,
        value_delimiter = ' '
    )]
    pub follow: Vec<Place>,
    /// The file with your key for steam-web; the variable NEARSIDE_STEAM_KEY may have the key itself
    #[arg(long, value_name = "FILE", env = "NEARSIDE_STEAM_KEY_FILE")]
    pub steam_key_file: Option<PathBuf>,
    /// End by itself after so many seconds
    #[arg(long, value_name = "S", value_parser = super::seconds)]
    pub seconds: Option<f64>,
}

/// What to do besides serving.
#[derive(Debug, Clone, Subcommand)]
pub enum MasterCommand {
    /// Print every setting with its default, as a file to start from
    Config,
    /// Print the description of its HTTP side for programs (OpenAPI 3.1)
    Openapi,
}

//! Flags of `nearside detour`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, Subcommand};

use super::player::{DetourExposeArgs, DetourJoinArgs, DetourProxyArgs, DetourStatusArgs};

/// Shorter paths through other players.
#[derive(Debug, Clone, Args)]
pub struct DetourArgs {
    /// What to do.
    #[command(subcommand)]
    pub what: DetourCommand,
}

/// The parts of the detour.
#[derive(Debug, Clone, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "parsed once")]
pub enum DetourCommand {
    /// Run a directory: players join, are introduced to each other, and learn of relays
    Serve(DetourServeArgs),
    /// Join a directory: be measured by others, and carry their sessions if you want
    Join(DetourJoinArgs),
    /// Beside a player: the game connects to a local port, and its packets take the quickest path
    Proxy(DetourProxyArgs),
    /// Beside a game server: players reach it by their quickest path
    Expose(DetourExposeArgs),
    /// Show the paths of running programs, what they save, and compare them on live traffic
    Status(DetourStatusArgs),
}

/// Run a directory: players join, are introduced to each other, and learn of relays.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  nearside detour serve                               all addresses, ports 27980 and 27981
  nearside detour serve --print-key                   the key that players must know
  nearside detour serve --print-config > detour.toml  every setting with its default
  nearside detour serve --config detour.toml
  nearside detour serve --listen 127.0.0.1:27980 --store none --identity trial.key
                                                      for a trial on this machine
  nearside detour serve --admin 127.0.0.1:8082 --admin-token-file token

Both UDP ports must be reachable: by the second, players find out what their NAT does. Whoever has
the identity file is this directory: keep it, and keep it secret.

Exit codes: 0 ended by its time; 2 bad usage or configuration; 3 a port is taken or the store fails;
130 interrupted, with what changed written.")]
pub struct DetourServeArgs {
    /// Read settings from a TOML file; flags come before it
    #[arg(long, value_name = "FILE", env = "NEARSIDE_DETOUR_CONFIG")]
    pub config: Option<PathBuf>,
    /// Listen on this UDP address; may be repeated, once in each family [default: port 27980 of all
    /// addresses]
    #[arg(
        long,
        value_name = "IP:PORT",
        env = "NEARSIDE_DETOUR_LISTEN",
        value_delimiter = ','
    )]
    pub listen: Vec<SocketAddr>,
    /// The second port, on the same addresses [default: the next number]
    #[arg(long, value_name = "PORT", env = "NEARSIDE_DETOUR_SECOND_PORT")]
    pub second_port: Option<u16>,
    /// The file with the directory's secret key; made if it is not there
    /// [default: nearside/directory.key in the user's data directory]
    #[arg(long, value_name = "FILE", env = "NEARSIDE_DETOUR_IDENTITY")]
    pub identity: Option<PathBuf>,
    /// Keep clients in this file; none keeps them in memory only, redis shares them with other
    /// directories of the same identity [default: nearside/directory.redb in the user's data directory]
    #[arg(long, value_name = "FILE", env = "NEARSIDE_DETOUR_STORE")]
    pub store: Option<String>,
    /// Nodes of the Redis Cluster for --store redis; one that answers is enough
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "NEARSIDE_DETOUR_REDIS",
        hide_env_values = true,
        value_delimiter = ','
    )]
    pub redis: Vec<String>,
    /// Let nobody join without a token from the configuration
    #[arg(long, env = "NEARSIDE_DETOUR_CLOSED", value_parser = BoolishValueParser::new())]
    pub closed: bool,
    /// Serve the operator's and lobbies' side over HTTP here, on loopback only [default: nowhere]
    #[arg(long, value_name = "IP:PORT", env = "NEARSIDE_DETOUR_ADMIN")]
    pub admin: Option<SocketAddr>,
    /// The file with the token that operators' requests must show; the variable
    /// NEARSIDE_DETOUR_ADMIN_TOKEN may have the token itself
    #[arg(long, value_name = "FILE", env = "NEARSIDE_DETOUR_ADMIN_TOKEN_FILE")]
    pub admin_token_file: Option<PathBuf>,
    /// The file with the token that lobbies' requests must show; the variable
    /// NEARSIDE_DETOUR_LOBBY_TOKEN may have the token itself [default: lobbies show the operator's]
    #[arg(long, value_name = "FILE", env = "NEARSIDE_DETOUR_LOBBY_TOKEN_FILE")]
    pub lobby_token_file: Option<PathBuf>,
    /// Print the public key of the identity and end
    #[arg(long)]
    pub print_key: bool,
    /// Print every setting with its default, as a file to start from, and end
    #[arg(long)]
    pub print_config: bool,
    /// Print the description of the HTTP side for programs (OpenAPI 3.1) and end
    #[arg(long, alias = "print-openapi")]
    pub openapi: bool,
    /// End by itself after so many seconds
    #[arg(long, value_name = "S", value_parser = super::seconds)]
    pub seconds: Option<f64>,
}

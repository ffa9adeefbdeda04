//! Flags of `nearside origin`, and those of every command that looks up origins.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::faces::Format;

/// Where addresses come from: origin AS, country, and who says so.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
#[command(after_help = "Examples:
  nearside origin 8.8.8.8 2606:4700:4700::1111
  cut -d' ' -f1 access.log | nearside origin - --format csv
  nearside origin --mrt rib.20261101.0000.bz2 8.8.8.8      from a dump of a routing table
  nearside origin --asn-db GeoLite2-ASN.mmdb 8.8.8.8       from an operator's table
  nearside origin stats                                    which sources are in use, and how old
  nearside origin use origin-asn.mmdb                      install a newer table for this user

Exit codes: 0 at least one origin is known; 1 none is; 2 bad usage, file or address.")]
pub struct OriginArgs {
    /// What else to do.
    #[command(subcommand)]
    pub what: Option<OriginCommand>,
    /// Addresses, with or without a port; - reads them from standard input, one a line
    #[arg(value_name = "ADDR", allow_hyphen_values = false)]
    pub addresses: Vec<String>,
    /// table, json, ndjson or csv [default: table on a terminal, ndjson in a pipe]
    #[arg(long, value_name = "FORM")]
    pub format: Option<Format>,
    /// The sources.
    #[command(flatten)]
    pub sources: OriginSourceArgs,
}

/// What to do about origins besides looking them up.
#[derive(Debug, Subcommand)]
pub enum OriginCommand {
    /// Show the sources in use: how much they know and how old they are
    Stats(OriginStatsArgs),
    /// Install a newer table for this user, or remove it again
    Use(OriginUseArgs),
    /// Keep a live table from BGP neighbours, and answer look-ups over HTTP
    Listen(OriginListenArgs),
}

/// Show the sources in use.
#[derive(Debug, Args)]
pub struct OriginStatsArgs {
    /// One JSON document instead of a table
    #[arg(long)]
    pub json: bool,
    /// The sources.
    #[command(flatten)]
    pub sources: OriginSourceArgs,
}

/// Install a newer table for this user.
#[derive(Debug, Args)]
#[command(
    after_help = "The table is checked, converted to the compact form and kept in the user's data
directory (nearside/origin below $XDG_DATA_HOME or ~/.local/share). A table of AS numbers alone and
one of countries alone stand beside each other. Every command then asks it before the table in the
program.

Exit codes: 0 installed or removed; 1 nothing was there to remove; 2 the file was refused."
)]
pub struct OriginUseArgs {
    /// MMDB, iptoasn TSV, CSV, compact table or MRT dump; plain or gzip (MRT also bzip2)
    #[arg(required_unless_present = "remove")]
    pub file: Option<PathBuf>,
    /// The date of the data, as 2026-11-01 [default: as in the file, else when it was last changed]
    #[arg(long, value_name = "DATE", requires = "file")]
    pub date: Option<String>,
    /// Remove what was installed
    #[arg(long, conflicts_with = "file")]
    pub remove: bool,
}

/// Keep a live table from BGP neighbours.
#[derive(Debug, Args)]
#[command(
    after_help = "A configuration with everything that can be set (values are the defaults):

  [bgp]
  listen = \"127.0.0.1:1790\"      # where neighbours connect
  local_asn = 64512
  router_id = \"127.0.0.179\"
  hold_time_s = 240
  prefix_limit = 2000000         # of one neighbour
  stale_s = 3600                 # a lost neighbour's routes stay so long
  longest_v4 = 24                # longer prefixes are ignored
  longest_v6 = 48
  private_asns = false           # true: a laboratory
  http = \"127.0.0.1:9179\"        # /metrics, /health, /stats, /origin/ADDR; \"off\" for none

  [[bgp.neighbour]]              # at least one
  addr = \"127.0.0.2\"
  asn = 64501
  # password_file = \"secret\"     # sign the connection (TCP-MD5)
  # ttl_security = true          # only from a directly connected router

  [sources]                      # what fills the gaps, as --origins, --mrt, --asn-db
  overrides = []
  mrt = []
  tables = []
  folders = true                 # also this machine's GeoIP folders and this user's table
  embedded = true                # also the table in the program

Exit codes: 0 stopped by --seconds; 2 bad configuration; 3 a port is taken; 130 interrupted."
)]
pub struct OriginListenArgs {
    /// The configuration (TOML)
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Stop after this many seconds
    #[arg(long, value_name = "S", value_parser = super::seconds)]
    pub seconds: Option<f64>,
}

/// Where origins are looked up, the most trusted first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Origin data, the most trusted first")]
pub struct OriginSourceArgs {
    /// Your own word for some networks: CSV lines prefix,asn,country, or any table; may be repeated
    #[arg(long, value_name = "FILE")]
    pub origins: Vec<PathBuf>,
    /// A dump of a routing table (MRT, plain, gzip or bzip2); may be repeated
    #[arg(long, value_name = "FILE")]
    pub mrt: Vec<PathBuf>,
    /// A table of AS numbers, countries or both (MMDB, TSV, CSV, compact); may be repeated
    #[arg(long, value_name = "FILE")]
    pub asn_db: Vec<PathBuf>,
    /// More sources, from the section `sources` of a TOML file
    /// [default: nearside/origin.toml in the user's configuration directory, if it is there]
    #[arg(long, value_name = "FILE")]
    pub origin_config: Option<PathBuf>,
    /// Use only the files given: no GeoIP folder, no installed table, not the one in the program
    #[arg(long)]
    pub only_given: bool,
}

impl OriginSourceArgs {
    /// Whether none of the flags was given.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

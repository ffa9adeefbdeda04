//! The flags, as users type them. What they mean is resolved once, in each command's module.

mod detour;
mod master;
mod origin;
mod player;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args, Parser, Subcommand};
use nearside_discover::planner::{Objective, PlannerKind};
use nearside_discover::prober::Pace;
use nearside_master::upstream::Place;
use nearside_types::{Asn, Country, ServerAddr};

use crate::commands::place::PlaceArgs;
use crate::commands::sim::SimArgs;
use crate::faces::{Format, Pattern, SortKey};
use crate::games::{GAMES, Game};
use crate::lab::MasterPorts;

pub use detour::{DetourArgs, DetourCommand, DetourServeArgs};
pub use master::{MasterArgs, MasterCommand};
pub use origin::{
    OriginArgs, OriginCommand, OriginListenArgs, OriginSourceArgs, OriginStatsArgs, OriginUseArgs,
};
pub use player::{
    DetourExposeArgs, DetourJoinArgs, DetourPlayerArgs, DetourProxyArgs, DetourStatusArgs,
    DirectoryWord, GameWord, Switch,
};

/// Find the game servers near you.
///
/// nearside asks master servers for their lists, probes near servers first, stops by itself when
/// what is left is too far away, and says what it cost and what a full scan would have cost.
#[derive(Debug, Parser)]
#[command(
    name = "nearside",
    version,
    long_version = long_version(),
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(
    after_help = "Exit codes: 0 done; 1 a clear negative answer (nothing found, replay differs); \
2 bad usage or bad input file; 3 the world failed (source silent, port taken); 130 interrupted, with \
what was found printed.\n\nTry it: nearside browse --lab AU"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "parsed once")]
pub enum Command {
    /// List servers, near ones first, and stop when the rest is too far
    Browse(BrowseArgs),
    /// Look closely at one server: players, rules, quality of the path
    Query(QueryArgs),
    /// Where addresses come from: origin AS and country, from a live BGP feed down to a built-in table
    Origin(OriginArgs),
    /// Choose the servers of a session: the fewest that keep the delay of a group within a bound
    Place(PlaceArgs),
    /// Run a master server that survives abuse and knows every server's origin
    Master(MasterArgs),
    /// Shorter paths through other players: the directory that finds and introduces them
    Detour(DetourArgs),
    /// Run an Internet on loopback: thousands of servers with real-world delays, and their masters
    Lab(LabArgs),
    /// What `browse` remembers of the last run of each game: look, or forget
    Cache(CacheArgs),
    /// Feed a recorded browse to the engine again and check that it does the same
    Replay(ReplayArgs),
    /// Measure nearside beside other programs in one run
    Bench(BenchArgs),
    /// Experiments in virtual Internets: planners side by side, tables and figures of papers
    Sim(SimArgs),
}

/// List servers, near ones first, and stop when the rest is too far.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside browse --lab AU                                 an Internet in this process, seen from Australia
  nearside browse --lab JP --best 10 --not-full            the ten best with a free place, nothing else
  nearside browse --master master.example:27950 --game et  a real master
  nearside browse --file servers.txt --game css            a list of addresses, one a line
  nearside browse --lab DE | jq .rtt_ms                    piped: one JSON object a line

Exit codes: 0 servers found; 1 none found, or none that passes the filters; 2 bad usage or file; 3 no source answered; 130 interrupted.")]
pub struct BrowseArgs {
    /// What to list.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Where servers' addresses come from; the lab has its own table.
    #[command(flatten)]
    pub origin: OriginSourceArgs,
    /// How to probe.
    #[command(flatten)]
    pub probing: ProbingArgs,
    /// Settings of the planners.
    #[command(flatten)]
    pub planning: PlanningArgs,
    /// What the last run left behind.
    #[command(flatten)]
    pub remembering: RememberingArgs,
    /// What to show.
    #[command(flatten)]
    pub showing: ShowingArgs,
}

/// Where servers come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sources (at least one; several are merged)")]
pub struct SourceArgs {
    /// Start the lab in this process and browse it from PLACE: AU, DE, TW, JP, UK, USA or CH
    #[arg(long, value_name = "PLACE")]
    pub lab: Option<String>,
    /// Servers in the lab that answer [default: 27640 for css, 2700 for et]
    #[arg(long, value_name = "N", requires = "lab", value_parser = lab_size)]
    pub lab_servers: Option<usize>,
    /// A population file for the lab (CSV: addr,port,asn,country,rtt_ms:PLACE…)
    #[arg(long, value_name = "FILE", requires = "lab")]
    pub lab_population: Option<PathBuf>,
    /// Share of exchanges the lab loses, 0 to 1
    #[arg(long, value_name = "SHARE", requires = "lab", default_value_t = 0.0)]
    pub lab_loss: f64,
    /// When lab servers ask for a challenge: never, classic, always, or a number of times
    #[arg(long, value_name = "WHEN", requires = "lab", default_value = "classic")]
    pub lab_challenge: String,
    /// Ask this master; may be repeated
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "lab")]
    pub master: Vec<String>,
    /// Take the list from a nearside master's web side (http://HOST:PORT), a master that speaks Steam's
    /// protocol (steam://HOST:PORT/FILTER) or the Quake 3 family's (quake3://HOST:PORT/GAME/PROTOCOL),
    /// Steam's Web API (steam-web: and a filter, which may be left out), the URL of a JSON document or a
    /// JSON file; may be repeated
    #[arg(long, value_name = "LIST", conflicts_with = "lab")]
    pub from: Vec<Place>,
    /// The file with your key for steam-web; the variable NEARSIDE_STEAM_KEY may have the key itself
    #[arg(long, value_name = "FILE", env = "NEARSIDE_STEAM_KEY_FILE")]
    pub steam_key_file: Option<PathBuf>,
    /// Read servers from a file, one address a line (also qstat's `A2S ip:port`); - for standard input
    #[arg(long, value_name = "FILE")]
    pub file: Vec<PathBuf>,
    /// Servers to probe first and always show, even when down
    #[arg(long, value_name = "FILE")]
    pub favourites: Option<PathBuf>,
    /// The game, which says what masters and servers speak
    #[arg(long, value_name = "NAME", value_parser = parse_game, default_value = "css", long_help = game_help())]
    pub game: &'static Game,
    /// Ask Quake 3 masters for IPv6 servers too (getserversExt)
    #[arg(long)]
    pub ipv6: bool,
    /// Requests a minute to a Steam master, after a first burst; Valve's fell silent above 30
    /// [default: 25, unlimited on loopback]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub master_pace: Option<u32>,
    /// Probe private and loopback addresses too: your LAN, or servers on this machine
    #[arg(long)]
    pub lan: bool,
    /// The most servers of one address to probe; more is a sign of fakes
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = at_least_one)]
    pub per_address: usize,
}

/// How to probe.
#[derive(Debug, Args)]
#[command(next_help_heading = "Probing")]
pub struct ProbingArgs {
    /// Probes a second: modem (20), gentle (30), dsl (140), fast (500), unlimited, or a number
    #[arg(long, value_name = "PACE", default_value = "dsl")]
    pub pace: Pace,
    /// Tries for each server, 1 to 3
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=3))]
    pub tries: u8,
    /// How long each try waits, in milliseconds; later replies still count
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    pub timeout: u64,
    /// Stop after this many datagrams
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub max_probes: Option<usize>,
    /// Stop after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub max_time: Option<f64>,
    /// Seed of every random choice, printed with the summary [default: from the system]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Record the run, to look at it again with `nearside replay`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// Settings of the planners.
#[derive(Debug, Args)]
#[command(next_help_heading = "Planning")]
pub struct PlanningArgs {
    /// adaptive, conventional, steam, as, country or country-only
    #[arg(long, value_name = "NAME", default_value_t = PlannerKind::Adaptive)]
    pub planner: PlannerKind,
    /// What the adaptive planner wants: thorough (stops when 0.2 % of the playable servers should
    /// be missing), fast (2 %) or best (only the nearest) [default: thorough, or best with --best]
    #[arg(long, value_name = "AIM", conflicts_with = "no_auto_stop")]
    pub objective: Option<Objective>,
    /// Only the K nearest servers that pass the filters: stops when no better one is likely
    #[arg(long, value_name = "K", conflicts_with = "no_auto_stop", value_parser = at_least_one)]
    pub best: Option<usize>,
    /// Stop when what is left is at least this far away [default: 200, or --max-rtt and a tenth]
    #[arg(long, value_name = "MS", value_parser = positive)]
    pub stop_rtt: Option<f64>,
    /// Probe everything, near first
    #[arg(long)]
    pub no_auto_stop: bool,
    /// Samples of a cluster of n: sqrt, log, a factor of sqrt (2sqrt), a number, or a share (5%)
    #[arg(long, value_name = "RULE", default_value = "sqrt")]
    pub sample_size: String,
    /// Never sample two servers of one /16
    #[arg(long)]
    pub strict_draw: bool,
    /// Split a cluster whose samples' P20 and P80 are farther apart than this
    #[arg(long, value_name = "MS", default_value_t = 40.0, value_parser = positive)]
    pub split_above: f64,
    /// Split by prefixes of this length (IPv4)
    #[arg(long, value_name = "BITS", default_value_t = 16, value_parser = clap::value_parser!(u8).range(1..=24))]
    pub split_prefix: u8,
    /// Within a country, a dense prefix of this length is a cluster of its own (planner country)
    #[arg(long, value_name = "BITS", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=24))]
    pub country_prefix: u8,
    /// Answers the auto-stop looks at
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    pub window: usize,
    /// Share of them that may be near, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = percent)]
    pub bottom: f64,
    /// Stop after a smooth run of this many far answers instead
    #[arg(long, value_name = "N", conflicts_with_all = ["window", "bottom"], value_parser = at_least_one)]
    pub smooth_run: Option<usize>,
    /// How far P20 and P80 of a smooth run may be apart
    #[arg(long, value_name = "MS", default_value_t = 150.0, requires = "smooth_run", value_parser = positive)]
    pub smooth_spread: f64,
}

/// What the last run left behind.
#[derive(Debug, Args)]
#[command(next_help_heading = "Remembering")]
pub struct RememberingArgs {
    /// Neither recall what the last run found nor remember this one
    #[arg(long)]
    pub no_cache: bool,
    /// Where to remember it [default: the user's cache folder; the lab is not remembered]
    #[arg(long, value_name = "FOLDER", conflicts_with = "no_cache")]
    pub cache_dir: Option<PathBuf>,
}

/// Look at what was remembered, or forget it.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 done; 1 nothing is remembered; 2 bad usage, or a folder that cannot be read; 3 a file cannot be removed."
)]
pub struct CacheArgs {
    /// Forget it
    #[arg(long)]
    pub clear: bool,
    /// Only what is remembered of this game
    #[arg(long, value_name = "NAME", value_parser = parse_game, long_help = game_help())]
    pub game: Option<&'static Game>,
    /// Where it is remembered [default: the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    pub cache_dir: Option<PathBuf>,
}

/// What to show.
#[derive(Debug, Args)]
#[command(next_help_heading = "Showing")]
pub struct ShowingArgs {
    /// table, json, ndjson or csv [default: table on a terminal, ndjson in a pipe]
    #[arg(long, value_name = "FORM")]
    pub format: Option<Format>,
    /// Only the first N; ndjson then waits for the end
    #[arg(long, value_name = "N")]
    pub top: Option<NonZeroUsize>,
    /// By rtt, players (people, not bots), name, map, country or asn; ndjson then waits for the end
    /// [default: rtt, in ndjson as results arrive]
    #[arg(long, value_name = "KEY")]
    pub sort: Option<SortKey>,
    /// With a free place
    #[arg(long)]
    pub not_full: bool,
    /// With at least one human player
    #[arg(long)]
    pub not_empty: bool,
    /// Open to everybody
    #[arg(long)]
    pub no_password: bool,
    /// Playing this map: part of the name, or a pattern with * and ?
    #[arg(long, value_name = "PATTERN")]
    pub map: Option<Pattern>,
    /// With this name: part of it, or a pattern with * and ?
    #[arg(long, value_name = "PATTERN")]
    pub name: Option<Pattern>,
    /// In these countries
    #[arg(long, value_name = "CC", value_delimiter = ',')]
    pub country: Vec<Country>,
    /// In these autonomous systems
    #[arg(long = "as", value_name = "ASN", value_delimiter = ',')]
    pub asn: Vec<Asn>,
    /// At most this far away; auto-stop then waits for a tenth more
    #[arg(long, value_name = "MS", value_parser = positive)]
    pub max_rtt: Option<f64>,
    /// Also say what the planner believed of each country and AS, and why it stopped
    #[arg(long)]
    pub explain: bool,
    /// Draw the run as an SVG file: round-trip times against time, and what the planner believed
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
    /// No progress and no summary on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

/// Look closely at one server.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside query 192.0.2.1:27015 --game css
  nearside query 192.0.2.1:27960 --game openarena --quality

Exit codes: 0 it answered; 1 it did not; 2 bad usage; 3 the network failed; 130 interrupted.")]
pub struct QueryArgs {
    /// The server, as IP:PORT
    pub server: ServerAddr,
    /// The game, which says what the server speaks
    #[arg(long, value_name = "NAME", value_parser = parse_game, default_value = "css", long_help = game_help())]
    pub game: &'static Game,
    /// Test the path: paced probes that show loss, jitter and percentiles
    #[arg(long)]
    pub quality: bool,
    /// Probes of the quality test
    #[arg(long, value_name = "N", default_value_t = 20, requires = "quality", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub probes: u16,
    /// Milliseconds between them; servers ignore who asks more than about twice a second
    #[arg(long, value_name = "MS", default_value_t = 550, requires = "quality", value_parser = clap::value_parser!(u64).range(334..=60_000))]
    pub gap: u64,
    /// One JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Seed of the nonces [default: from the system]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Run an Internet on loopback.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside lab --place AU                     27,640 CS:S servers as seen from Australia
  nearside lab --place JP --game et           Enemy Territory instead
  nearside lab --place DE --loss 0.05 --challenge always --truth truth.csv
  nearside lab --write-population world.csv   write the generated population and stop

Point any client at it: nearside browse --master 127.0.0.1:27011 --lan, or quakestat. It answers
nobody outside 127.0.0.0/8. Ctrl-C ends it and prints how late its replies were.")]
pub struct LabArgs {
    /// Where the client is: a place of the world
    #[arg(long, default_value = "AU")]
    pub place: String,
    /// css or et
    #[arg(long, value_name = "NAME", default_value = "css", value_parser = ["css", "et"])]
    pub game: String,
    /// Servers that answer [default: 27640 for css, 2700 for et]
    #[arg(long, value_name = "N", value_parser = lab_size)]
    pub servers: Option<usize>,
    /// A population file instead of a generated one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["servers", "world"])]
    pub population: Option<PathBuf>,
    /// The world to generate: hub, great-circle or a file of parameters (TOML)
    #[arg(long, value_name = "WORLD", default_value = "hub")]
    pub world: String,
    /// Write the population as CSV and stop; .gz compresses
    #[arg(long, value_name = "FILE")]
    pub write_population: Option<PathBuf>,
    /// Write the list of folded servers (A2S ip:port lines) to this file
    #[arg(long, value_name = "FILE")]
    pub write_list: Option<PathBuf>,
    /// Share of exchanges that are lost, 0 to 1 [default: as the world says]
    #[arg(long, value_name = "SHARE")]
    pub loss: Option<f64>,
    /// Share of replies that come twice, 0 to 1 [default: as the world says]
    #[arg(long, value_name = "SHARE")]
    pub duplicates: Option<f64>,
    /// When servers ask for a challenge: never, classic, always, or a number of times
    #[arg(long, value_name = "WHEN", default_value = "classic")]
    pub challenge: String,
    /// Answer everybody as often as they ask
    #[arg(long)]
    pub no_rate_limits: bool,
    /// Every reply takes exactly its path's RTT
    #[arg(long)]
    pub no_noise: bool,
    /// Masters ask for a list cookie first
    #[arg(long)]
    pub cookies: bool,
    /// The first port of game servers [default: 27015 for css, 27960 for et]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1024..60_000))]
    pub base_port: Option<u16>,
    /// The port of the Steam master
    #[arg(long, value_name = "PORT", default_value_t = MasterPorts::USUAL.steam, value_parser = clap::value_parser!(u16).range(1024..))]
    pub steam_master_port: u16,
    /// The port of the Quake 3 family's master
    #[arg(long, value_name = "PORT", default_value_t = MasterPorts::USUAL.quake3, value_parser = clap::value_parser!(u16).range(1024..))]
    pub quake3_master_port: u16,
    /// Log what each reply was really delayed by, as CSV
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// Seed of population and luck
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Stop after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub seconds: Option<f64>,
}

/// Feed a recorded browse to the engine again.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 the same output; 1 another output; 2 not a record.")]
pub struct ReplayArgs {
    /// A file written by `nearside browse --record`
    pub file: PathBuf,
    /// Print the result as one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Measure nearside beside other programs.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What to measure.
    #[command(subcommand)]
    pub what: BenchCommand,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Browse the lab with nearside and with quakestat: speed, share found, truth of the pings
    Browse(BenchBrowseArgs),
    /// Place players with every solver: servers beside the proven optimum, speed, sessions with churn
    Place(BenchPlaceArgs),
    /// Run a master: heartbeats and lists beside a bare UDP echo, memory, the store's updates
    Master(BenchMasterArgs),
    /// Send packets by relay and sidecars: latency and CPU beside loopback, socat, nginx, a bare forwarder
    Detour(BenchDetourArgs),
}

/// Send packets like a game's through our relay and our sidecars, beside other forwarders.
#[derive(Debug, Args)]
#[command(
    after_help = "Takes about six minutes; docs/bench.md says what the figures mean. Where socat or nginx
is missing, it is left out.

Exit codes: 0 every target met; 1 a target missed; 2 bad usage; 3 a program failed; 130 interrupted,
without figures."
)]
pub struct BenchDetourArgs {
    /// Rounds, in each of which all are measured; figures are medians of rounds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Seconds of each measurement, of which a round has about thirty
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = some_seconds)]
    pub seconds: f64,
    /// Seed of the packets and of the keys
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// One JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Run a master on loopback and measure it, beside a bare UDP echo of the same datagrams.
#[derive(Debug, Args)]
#[command(
    after_help = "Takes about three minutes; docs/bench.md says what the figures mean.

Exit codes: 0 every target met; 1 a target missed; 2 bad usage; 130 interrupted, without figures."
)]
pub struct BenchMasterArgs {
    /// Leave the million servers out
    #[arg(long)]
    pub quick: bool,
    /// One JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Place players with every solver, beside the proven optimum.
#[derive(Debug, Args)]
#[command(
    after_help = "Takes about ten minutes for 100 seeds; docs/bench.md says what the figures mean.

Exit codes: 0 every target met; 1 a target missed; 2 bad usage; 130 interrupted, without figures."
)]
pub struct BenchPlaceArgs {
    /// Instances: seeds and ranges of seeds; the targets are meant for a hundred
    #[arg(long, value_name = "SEEDS", default_value = "1000-1099")]
    pub seeds: nearside_sim::Seeds,
    /// Leave the large instance out
    #[arg(long)]
    pub quick: bool,
    /// Threads to use [default: one for each core]; the answers to the same steps are the same
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// One JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Browse the lab with nearside and with quakestat, side by side.
#[derive(Debug, Args)]
#[command(
    after_help = "Takes about five minutes, most of them quakestat's; docs/bench.md says what the
figures mean.

Exit codes: 0 every target met; 1 a target missed; 2 bad usage; 3 quakestat is missing or a program
failed; 130 interrupted, without figures."
)]
pub struct BenchBrowseArgs {
    /// Lab servers, with RTTs from 5 to 300 ms; the targets are meant for 5000
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = at_least_one)]
    pub servers: usize,
    /// Seed of the lab and of nearside
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// One JSON document instead of a table
    #[arg(long)]
    pub json: bool,
    /// Leave quakestat out
    #[arg(long)]
    pub alone: bool,
}

/// The version, and whom the data in the program is from: its licence asks for it.
fn long_version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let (version, thanks) = (env!("CARGO_PKG_VERSION"), nearside_origin_data::ATTRIBUTION);
        format!("{version}\n{thanks}")
    });
    &TEXT
}

/// Long enough for a packet, and no longer than anybody waits.
fn some_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=600.0).contains(&seconds) => Ok(seconds),
        _ => Err("write seconds from 0.1 to 600".to_owned()),
    }
}

fn parse_game(text: &str) -> Result<&'static Game, String> {
    Game::find(text).ok_or_else(|| {
        let names: Vec<&str> = GAMES.iter().map(|game| game.name).collect();
        format!("unknown game; choose one of {}", names.join(", "))
    })
}

fn game_help() -> String {
    let lines: Vec<String> = GAMES
        .iter()
        .map(|game| format!("  {:<10} {}", game.name, game.title))
        .collect();
    format!(
        "The game, which says what masters and servers speak:\n\n{}",
        lines.join("\n")
    )
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|number| *number > 0.0 && number.is_finite())
        .ok_or_else(|| "write a number above 0".to_owned())
}

/// A time to wait: up to 115 days, beyond which nobody means it.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    positive(text)
        .ok()
        .filter(|seconds| *seconds <= 1e7)
        .ok_or_else(|| "write seconds, above 0 and up to 10000000".to_owned())
}

fn percent(text: &str) -> Result<f64, String> {
    positive(text)
        .ok()
        .filter(|percent| *percent <= 100.0)
        .ok_or_else(|| "write a percentage, above 0 and up to 100".to_owned())
}

/// How many servers a lab may have; it folds them onto one machine.
pub(crate) fn lab_size(text: &str) -> Result<usize, String> {
    at_least_one(text)
        .ok()
        .filter(|&servers| servers <= 1_000_000)
        .ok_or_else(|| "write a whole number from 1 to 1000000".to_owned())
}

pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse::<usize>()
        .ok()
        .filter(|&number| number > 0)
        .ok_or_else(|| "write a whole number from 1".to_owned())
}

/// Neighbours, candidates and the like in simulations: more than any network has.
pub(crate) fn up_to_10_000(text: &str) -> Result<usize, String> {
    at_least_one(text)
        .ok()
        .filter(|&number| number <= 10_000)
        .ok_or_else(|| "write a whole number from 1 to 10000".to_owned())
}

/// Threads beyond this help nobody and take seconds to start.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    let number = at_least_one(text)?;
    match number <= 256 {
        true => Ok(number),
        false => Err("write a whole number from 1 to 256".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_are_consistent() {
        Cli::command().debug_assert();
    }
}

//! The flags of `nearside sim`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use nearside_discover::prober::Pace;
use nearside_sim::{Label, Method, Seeds, Volume, armitage, lee, tradeoff};
use nearside_world::recorded::MatrixLayout;

use super::ly::{LyArgs, LyNetworkArgs};
use crate::faces::Format;

/// Experiments in virtual Internets.
#[derive(Debug, Args)]
pub struct SimArgs {
    /// What to simulate.
    #[command(subcommand)]
    pub what: SimCommand,
}

/// What can be simulated.
#[derive(Debug, Subcommand)]
pub enum SimCommand {
    /// Discover the same servers by several planners and score them: probes, time, recall
    Compare(CompareArgs),
    /// Tables and figures of Armitage 2008, clusters by origin AS
    ArmitageAs(ArmitageAsArgs),
    /// Tables and figures of Armitage 2008, clusters by country and /8
    ArmitageCountry(ArmitageCountryArgs),
    /// The study both papers leave to future work: what each parameter costs and finds
    TradeOff(TradeOffArgs),
    /// Figures of Lee, Ko and Calo 2004: the fewest servers within a delay bound, and the optimum
    Lee(LeeArgs),
    /// Figures of Ly, Hsu and Hefeeda 2010: detours by way of other players, and the oracle
    Ly(LyArgs),
    /// Every table and figure on one page
    All(AllArgs),
}

/// Tables and figures of Armitage 2008, clusters by origin AS.
#[derive(Debug, Args)]
#[command(after_help = PAPER_EXAMPLES)]
pub struct ArmitageAsArgs {
    /// Which one, or all of them
    #[arg(value_name = "WHAT", value_parser = items(armitage::AS_CLUSTERS))]
    pub what: String,
    /// How.
    #[command(flatten)]
    pub how: HowArgs,
    /// Where files go.
    #[command(flatten)]
    pub showing: PaperShowingArgs,
}

/// Tables and figures of Armitage 2008, clusters by country and /8.
#[derive(Debug, Args)]
#[command(after_help = PAPER_EXAMPLES)]
pub struct ArmitageCountryArgs {
    /// Which one, or all of them
    #[arg(value_name = "WHAT", value_parser = items(armitage::COUNTRY_CLUSTERS))]
    pub what: String,
    /// How.
    #[command(flatten)]
    pub how: HowArgs,
    /// Where files go.
    #[command(flatten)]
    pub showing: PaperShowingArgs,
}

/// The study both papers leave to future work.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside sim trade-off claims --seeds 0-3
  nearside sim trade-off samples --seeds 0-3 --out pictures

Orders of probes run without a stop, and stops are judged in hindsight; orders are compared at equal
recall. docs/sim.md explains.

Exit codes: 0 done; 2 bad usage; 3 files cannot be written.")]
pub struct TradeOffArgs {
    /// Which part of it, or all of them
    #[arg(value_name = "WHAT", value_parser = items(tradeoff::TRADE_OFF))]
    pub what: String,
    /// How.
    #[command(flatten)]
    pub how: HowArgs,
    /// Where files go.
    #[command(flatten)]
    pub showing: PaperShowingArgs,
}

/// Figures of Lee, Ko and Calo 2004.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside sim lee figure1
  nearside sim lee figure3a --seeds 0-9 --out pictures

The paper's algorithms on its simulated network, with the proven optimum beside them; 100 instances
unless --seeds says otherwise. docs/sim.md explains.

Exit codes: 0 done; 2 bad usage; 3 files cannot be written.")]
pub struct LeeArgs {
    /// Which one, or all of them
    #[arg(value_name = "WHAT", value_parser = items(lee::LEE))]
    pub what: String,
    /// How.
    #[command(flatten)]
    pub how: HowArgs,
    /// Where files go.
    #[command(flatten)]
    pub showing: PaperShowingArgs,
}

const PAPER_EXAMPLES: &str = "Examples:
  nearside sim armitage-as table2 --seeds 0-3
  nearside sim armitage-country figure7 --seeds 0 --out pictures

Each prints the paper's number, the paper's method in our world, the baseline (conventional) and the
oracle side by side, and says what was fitted. docs/sim.md explains.

Exit codes: 0 done; 2 bad usage; 3 files cannot be written.";

/// What a table or figure is shown as.
#[derive(Debug, Args)]
pub struct PaperShowingArgs {
    /// table, or json for scripts
    #[arg(long, value_name = "FORM", default_value = "table", value_parser = ["table", "json"])]
    pub format: String,
    /// Also write CSV, JSON and SVG into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// How experiments are run.
#[derive(Debug, Args)]
pub struct HowArgs {
    /// Seeds and ranges of seeds [default: from 1000 on, those for reporting, as many as the
    /// experiment has repeats; 0-1 with --quick]
    #[arg(long, value_name = "SEEDS")]
    pub seeds: Option<Seeds>,
    /// Small worlds and short runs (a tenth of the servers, 40 homes, 40 minutes of games): shows that
    /// everything works, proves nothing
    #[arg(long)]
    pub quick: bool,
    /// Threads to use [default: one for each core]; the results are the same
    #[arg(long, value_name = "N", value_parser = crate::cli::threads)]
    pub threads: Option<usize>,
}

/// Every table and figure on one page.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside sim all --out page --quick    half a minute, small worlds
  nearside sim all --out page            minutes, the worlds of the papers

Writes index.html, readable without a server, and beside it CSV, JSON and SVG of everything on it;
prints what stands on top of the page.

Exit codes: 0 done; 2 bad usage; 3 files cannot be written.")]
pub struct AllArgs {
    /// The folder to write to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// What detours are tried on.
    #[command(flatten)]
    pub network: LyNetworkArgs,
    /// How.
    #[command(flatten)]
    pub how: HowArgs,
}

fn items(paper: &str) -> PossibleValuesParser {
    let volume = Volume::find(paper).expect("the catalogue has every paper of the commands");
    PossibleValuesParser::new(volume.items())
}

/// Discover the same servers by several planners and score them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside sim compare --planner as,country,oracle --client AU,JP --seeds 0-3
  nearside sim compare --population world.csv.gz --planner as --format csv
  nearside sim compare --matrix planetlab.gz --layout upper-u32-us:490:1 --client 1,40
  nearside sim compare --planner as,adaptive --client DE --seeds 0-3 --best 10
  nearside sim compare --planner country --client AU --seeds 0-19 --wrong-labels 0.05 --loss 0.02
  nearside sim compare --planner adaptive --client AU --without country,as
  nearside sim compare --planner adaptive --stop 200,100,50 --calibration

Every planner meets the same servers, luck and labels. docs/sim.md says what the fields mean.

Exit codes: 0 done; 2 bad usage or bad file, with the line.")]
pub struct CompareArgs {
    /// Who competes: conventional, steam, as, country, country-only, adaptive, oracle; several with
    /// commas
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "conventional,as,country,adaptive,oracle", long_help = planner_help())]
    pub planner: Vec<Method>,
    /// A population file (CSV, also .gz): addr,port,asn,country,rtt_ms:CLIENT…
    #[arg(long, value_name = "FILE", conflicts_with_all = ["world", "servers"])]
    pub population: Option<PathBuf>,
    /// A generated world: hub, great-circle or a file of parameters (TOML); new for every seed
    #[arg(long, value_name = "WORLD", default_value = "hub")]
    pub world: String,
    /// Its servers at the distances of an RTT matrix; clients are nodes, by number
    #[arg(long, value_name = "FILE", conflicts_with_all = ["population", "trace"])]
    pub matrix: Option<PathBuf>,
    /// How the matrix is written.
    #[arg(
        long,
        help = "How the matrix is written: csv, upper-u32-us:N[:slice] or full-u16-10ms:N[:slice]",
        value_name = "LAYOUT",
        default_value = "csv",
        requires = "matrix"
    )]
    pub layout: MatrixLayout,
    /// The same with the medians of a trace (CSV: time_s,src,dst,rtt_ms); clients are nodes, by name
    #[arg(long, value_name = "FILE", conflicts_with = "population")]
    pub trace: Option<PathBuf>,
    /// Servers of a generated world that answer [default: as the world says]
    #[arg(long, value_name = "N", value_parser = crate::cli::lab_size)]
    pub servers: Option<usize>,
    /// From where: a client of the population or world; several with commas [default: all; the
    /// first node of a matrix or trace]
    #[arg(long, value_name = "PLACE", value_delimiter = ',')]
    pub client: Vec<String>,
    /// Seeds and ranges of seeds: 7, 0-19, 0-3,1000-1015
    #[arg(long, value_name = "SEEDS", default_value = "0-3")]
    pub seeds: Seeds,
    /// Servers nearer than this are playable; planners stop when what is left is farther. With
    /// --calibration several, with commas
    #[arg(long, value_name = "MS", value_delimiter = ',', default_value = "200", value_parser = crate::cli::positive)]
    pub stop: Vec<f64>,
    /// The adaptive planner looks only for the K nearest servers, as with browse --best [default: for
    /// all playable ones; the fields about the best then speak of ten]
    #[arg(long, value_name = "K", value_parser = crate::cli::at_least_one)]
    pub best: Option<usize>,
    /// Only this share of the servers passes the user's filters (the others are full), 0 to 1; the
    /// fields about the best speak of those
    #[arg(long, value_name = "SHARE")]
    pub matching: Option<f64>,
    /// Probes a second, or a preset as in browse --pace [default: as the game's clients, 140 or 40]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Pace>,
    /// css or et: what the servers speak, and whose servers a generated world has
    #[arg(long, value_name = "NAME", default_value = "css", value_parser = ["css", "et"])]
    pub game: String,
    /// Share of exchanges that are lost, 0 to 1 [default: as the world says]
    #[arg(long, value_name = "SHARE")]
    pub loss: Option<f64>,
    /// Share of /16s whose country label is wrong, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub wrong_labels: f64,
    /// Leave labels off the list: country, as, or both with a comma
    #[arg(long, value_name = "LABEL", value_delimiter = ',')]
    pub without: Vec<Label>,
    /// Every probe takes exactly its path's RTT
    #[arg(long)]
    pub no_noise: bool,
    /// Instead of the runs, what planners said they had missed beside what was missing
    #[arg(long)]
    pub calibration: bool,
    /// table, json, ndjson or csv
    #[arg(long, value_name = "FORM", default_value_t = Format::Table)]
    pub format: Format,
    /// Threads to use [default: one for each core]; the results are the same
    #[arg(long, value_name = "N", value_parser = crate::cli::threads)]
    pub threads: Option<usize>,
}

fn planner_help() -> String {
    let names: Vec<&str> = Method::names().collect();
    format!(
        "Who competes; several with commas: {}.\n\nThe oracle knows every RTT beforehand and probes \
         the playable servers, nearest first, and nothing else.",
        names.join(", ")
    )
}

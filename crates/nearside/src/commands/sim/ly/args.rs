//! The flags of `nearside sim ly`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use nearside_sim::Seeds;
use nearside_sim::ly::Lie;
use nearside_world::recorded::MatrixLayout;

use crate::commands::sim::{HowArgs, PaperShowingArgs};
use crate::faces::Format;

/// Detours of Ly et al. 2010, on recorded latencies.
#[derive(Debug, Args)]
pub struct LyArgs {
    /// What to study.
    #[command(subcommand)]
    pub what: LyCommand,
}

/// What can be studied.
#[derive(Debug, Subcommand)]
pub enum LyCommand {
    /// How much of an oracle's gain rankings of relays capture, with K candidates
    Ranking(LyRankingArgs),
    /// How far predicted round-trip times are off
    Coordinates(LyCoordinatesArgs),
    /// How soon lags are seen on labelled series, and how often where there are none
    Lag(LyLagArgs),
    /// Browsed addresses and measurements between them become a trace and a matrix
    Collect(LyCollectArgs),
    /// Figure 6: by how much session RTTs fall
    #[command(name = "figure6")]
    Figure6(LyPaperArgs),
    /// Figure 7(a): probes sent by each client
    #[command(name = "figure7a")]
    Figure7a(LyPaperArgs),
    /// Figure 7(b): updates per minute at the directory
    #[command(name = "figure7b")]
    Figure7b(LyPaperArgs),
    /// Figure 8(a): lap time in a racing game
    #[command(name = "figure8a")]
    Figure8a(LyPaperArgs),
    /// Figure 8(b): hit fraction in a shooter
    #[command(name = "figure8b")]
    Figure8b(LyPaperArgs),
    /// Figure 9: detours per client
    #[command(name = "figure9")]
    Figure9(LyPaperArgs),
    /// Section 5.4: seventeen homes, K = N = 8
    #[command(name = "residential")]
    Residential(LyPaperArgs),
    /// Table 1: a tank game with and without detours
    #[command(name = "table1")]
    Table1(LyPaperArgs),
    /// Figure 11: with how many more one can play within 50, 100 and 200 ms
    #[command(name = "figure11")]
    Figure11(LyPaperArgs),
    /// Δd and Δx from 8 to 512 ms
    #[command(name = "sweep-delta")]
    SweepDelta(LyPaperArgs),
    /// T from 0.5 to 64 minutes
    #[command(name = "sweep-t")]
    SweepT(LyPaperArgs),
    /// K from 2 to 256
    #[command(name = "sweep-k")]
    SweepK(LyPaperArgs),
    /// P from 10 to 640
    #[command(name = "sweep-p")]
    SweepP(LyPaperArgs),
    /// N from 16 to 512, or all
    #[command(name = "sweep-n")]
    SweepN(LyPaperArgs),
    /// How many sessions relays carry
    #[command(name = "load")]
    Load(LyPaperArgs),
    /// What a relay's own 0 to 10 ms cost
    #[command(name = "overhead")]
    Overhead(LyPaperArgs),
    /// How long what was measured stays good
    #[command(name = "staleness")]
    Staleness(LyPaperArgs),
    /// What liars leave of the gain, with the directory's trust and without
    #[command(name = "liars")]
    Liars(LyPaperArgs),
    /// Share of the oracle's gain against K, as a figure (ranking gives rows for scripts)
    #[command(name = "ranking-figure")]
    RankingFigure(LyPaperArgs),
    /// How far predictions are off on the same network (coordinates gives rows for scripts)
    #[command(name = "coordinates-table")]
    CoordinatesTable(LyPaperArgs),
    /// How soon lags are seen in --series (lag gives rows for scripts)
    #[command(name = "lag-table")]
    LagTable(LyPaperArgs),
    /// All figures, tables and sweeps
    #[command(name = "all")]
    All(LyPaperArgs),
}

/// The lag detector on labelled series.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside sim ly lag --series ripe.csv.gz
  nearside sim ly lag --series ripe.csv.gz --margins 10 --format json

Lines probe;epoch_utc;rtt_ms;change_point, a negative RTT for a lost sample. An alarm within the window
after a labelled rise is its detection; one that no label explains is false. docs/detour.md says what
the fields mean.

Exit codes: 0 done; 2 bad usage or bad file, with the line.")]
pub struct LyLagArgs {
    /// A file of labelled series, also .gz
    #[arg(long, value_name = "FILE")]
    pub series: PathBuf,
    /// Rises that count and are looked for, in milliseconds, several with commas
    #[arg(long, value_name = "MS", value_delimiter = ',', default_value = "5,10,20,40", value_parser = crate::cli::positive)]
    pub margins: Vec<f64>,
    /// Samples after a labelled change in which an alarm counts as its detection
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = crate::cli::at_least_one)]
    pub window: usize,
    /// table, json, ndjson or csv
    #[arg(long, value_name = "FORM", default_value_t = Format::Table)]
    pub format: Format,
}

/// From browsed servers to a trace and a matrix.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside sim ly collect --browse au.json --browse de.csv --out collected
  nearside sim ly collect --browse au.json --pings king.csv --out collected

Section 6.1 of the paper on files: addresses that nearside browse found (JSON, NDJSON or CSV) are
clustered to /24 (IPv6: /48), one address of each is drawn to be measured, and written to targets.csv.
With --pings, measurements between addresses (CSV: time_s,src,dst,rtt_ms) become trace.csv and
matrix.csv between those subnets: below 1 ms dropped, medians of the rest. Nothing is sent.

Exit codes: 0 done; 2 bad usage or bad file, with the place; 3 files cannot be written.")]
pub struct LyCollectArgs {
    /// What nearside browse printed with --format json, ndjson or csv; may be given several times
    #[arg(long, value_name = "FILE", required = true)]
    pub browse: Vec<PathBuf>,
    /// Measurements between addresses (CSV: time_s,src,dst,rtt_ms), also .gz
    #[arg(long, value_name = "FILE")]
    pub pings: Option<PathBuf>,
    /// The folder to write to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Draws the address that stands for a subnet
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
}

impl LyCommand {
    /// The figure, table or sweep of the paper that is meant, by its name in the catalogue.
    pub(super) const fn of_paper(&self) -> Option<(&'static str, &LyPaperArgs)> {
        Some(match self {
            Self::Ranking(_) | Self::Coordinates(_) | Self::Lag(_) | Self::Collect(_) => {
                return None;
            }
            Self::Figure6(args) => ("figure6", args),
            Self::Figure7a(args) => ("figure7a", args),
            Self::Figure7b(args) => ("figure7b", args),
            Self::Figure8a(args) => ("figure8a", args),
            Self::Figure8b(args) => ("figure8b", args),
            Self::Figure9(args) => ("figure9", args),
            Self::Residential(args) => ("residential", args),
            Self::Table1(args) => ("table1", args),
            Self::Figure11(args) => ("figure11", args),
            Self::SweepDelta(args) => ("sweep-delta", args),
            Self::SweepT(args) => ("sweep-t", args),
            Self::SweepK(args) => ("sweep-k", args),
            Self::SweepP(args) => ("sweep-p", args),
            Self::SweepN(args) => ("sweep-n", args),
            Self::Load(args) => ("load", args),
            Self::Overhead(args) => ("overhead", args),
            Self::Staleness(args) => ("staleness", args),
            Self::Liars(args) => ("liars", args),
            Self::RankingFigure(args) => ("ranking-figure", args),
            Self::CoordinatesTable(args) => ("coordinates-table", args),
            Self::LagTable(args) => ("lag-table", args),
            Self::All(args) => ("all", args),
        })
    }
}

/// Not in the doc comments, where brackets would be links.
const LAYOUT_HELP: &str =
    "csv, upper-u32-us:N[:slice] or full-u16-10ms:N[:slice]; slices count from 1";

/// A network: recorded, or invented when nothing is said.
#[derive(Debug, Args)]
pub struct LyNetworkArgs {
    /// A file of round-trip times, also .gz [default: an invented globe, which proves nothing]
    #[arg(long, value_name = "FILE", requires = "layout")]
    pub matrix: Option<PathBuf>,
    /// How it is written.
    #[arg(long, value_name = "LAYOUT", requires = "matrix", help = LAYOUT_HELP)]
    pub layout: Option<MatrixLayout>,
    /// Slices from that one on, spread over the run
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = crate::cli::at_least_one, requires = "matrix")]
    pub slices: usize,
    /// A trace to replay instead (CSV: time_s,src,dst,rtt_ms), also .gz
    #[arg(long, value_name = "FILE", conflicts_with = "matrix")]
    pub trace: Option<PathBuf>,
    /// Labelled series for the lag detector (see nearside sim ly lag), also .gz
    #[arg(long, value_name = "FILE")]
    pub series: Option<PathBuf>,
}

/// The paper's parameters.
#[derive(Debug, Args)]
pub struct LySettingsArgs {
    /// Neighbours of each client
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = crate::cli::up_to_10_000)]
    pub neighbours: usize,
    /// Candidates that a client measures
    #[arg(long, value_name = "K", default_value_t = 32, value_parser = crate::cli::up_to_10_000)]
    pub candidates: usize,
    /// Pings of each client in matrix mode
    #[arg(long, value_name = "P", default_value_t = 640, value_parser = crate::cli::up_to_10_000)]
    pub pings: usize,
    /// T: seconds between reports
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = crate::cli::seconds)]
    pub report_interval: f64,
    /// Δx and Δd of the paper's way
    #[arg(long, value_name = "MS", default_value_t = 64.0, value_parser = crate::cli::positive)]
    pub delta: f64,
    /// Δx and Δd of our way
    #[arg(long, value_name = "MS", default_value_t = 16.0, value_parser = crate::cli::positive)]
    pub own_delta: f64,
    /// What a relay adds to a round trip; 10 as the paper's simulation has it
    #[arg(long, value_name = "MS", default_value_t = 10.0, value_parser = overhead)]
    pub overhead: f64,
}

/// A figure, table or sweep of the paper.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside sim ly figure6 --quick
  nearside sim ly figure6 --matrix planetlab.u32le.gz --layout upper-u32-us:490:1 --seeds 0-1
  nearside sim ly sweep-delta --matrix planetlab.u32le.gz --layout upper-u32-us:490:1 --slices 6

The direct path, the paper's way, ours and the oracle on the same games; nothing is fitted to the
paper's figures, and what had to be assumed is said. docs/detour.md explains.

Exit codes: 0 done; 2 bad usage or bad file, with the place; 3 files cannot be written.")]
pub struct LyPaperArgs {
    /// The network.
    #[command(flatten)]
    pub network: LyNetworkArgs,
    /// The parameters.
    #[command(flatten)]
    pub settings: LySettingsArgs,
    /// How.
    #[command(flatten)]
    pub how: HowArgs,
    /// Where files go.
    #[command(flatten)]
    pub showing: PaperShowingArgs,
}

/// A matrix, and how clients measure it.
#[derive(Debug, Args)]
pub struct LyMatrixArgs {
    /// A file of round-trip times, also .gz
    #[arg(long, value_name = "FILE")]
    pub matrix: PathBuf,
    /// How it is written.
    #[arg(long, value_name = "LAYOUT", help = LAYOUT_HELP)]
    pub layout: MatrixLayout,
    /// Neighbours of each client
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = crate::cli::up_to_10_000)]
    pub neighbours: usize,
    /// Pings of each client, to random neighbours
    #[arg(long, value_name = "P", default_value_t = 640, value_parser = crate::cli::up_to_10_000)]
    pub pings: usize,
    /// Seeds and ranges of seeds: 7, 0-19
    #[arg(long, value_name = "SEEDS", default_value = "0-3")]
    pub seeds: Seeds,
    /// table, json, ndjson or csv
    #[arg(long, value_name = "FORM", default_value_t = Format::Table)]
    pub format: Format,
    /// Threads to use [default: one for each core]; the results are the same
    #[arg(long, value_name = "N", value_parser = crate::cli::at_least_one)]
    pub threads: Option<usize>,
}

/// How much of an oracle's gain rankings of relays capture.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside sim ly ranking --matrix planetlab.u32le.gz --layout upper-u32-us:490:1
  nearside sim ly ranking --matrix rtts.csv --layout csv --k 8 --format json
  nearside sim ly ranking --matrix rtts.csv --layout csv --liars 0.3 --lie deflate

Relays are chosen on one slice and judged on the next, or on the one --judge names; a file without a
next slice judges itself, with a note. docs/detour.md says what the fields mean.

Exit codes: 0 done; 2 bad usage or bad file, with the place.")]
pub struct LyRankingArgs {
    /// The matrix.
    #[command(flatten)]
    pub matrix: LyMatrixArgs,
    /// The layout, with slice, of the matrix that judges [default: the next slice]
    #[arg(long, value_name = "LAYOUT")]
    pub judge: Option<MatrixLayout>,
    /// Numbers of candidates, several with commas
    #[arg(long, value_name = "K", value_delimiter = ',', default_value = "1,2,4,8,16,32", value_parser = crate::cli::up_to_10_000)]
    pub k: Vec<usize>,
    /// Pairs judged on each seed
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = crate::cli::at_least_one)]
    pub pairs: usize,
    /// What a relay adds to a round trip; the paper reckons with 10
    #[arg(long, value_name = "MS", default_value_t = 0.2)]
    pub overhead: f64,
    /// Share of clients that lie, 0 to 1; only honest pairs are judged
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub liars: f64,
    /// What liars say of their round trips: inflate, deflate, oscillate, drift or boil
    #[arg(long, value_name = "HOW", default_value = "deflate")]
    pub lie: Lie,
}

/// How far predicted round-trip times are off.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nearside sim ly coordinates --matrix planetlab.u32le.gz --layout upper-u32-us:490:1
  nearside sim ly coordinates --matrix rtts.csv --layout csv --dimensions 2,3,4,5 --format json

Judged are the pairs that nobody measured. docs/detour.md says what the fields mean.

Exit codes: 0 done; 2 bad usage or bad file, with the place.")]
pub struct LyCoordinatesArgs {
    /// The matrix.
    #[command(flatten)]
    pub matrix: LyMatrixArgs,
    /// Dimensions of Vivaldi's plane, several with commas, each 1 to 32
    #[arg(long, value_name = "D", value_delimiter = ',', default_value = "2,4", value_parser = dimensions)]
    pub dimensions: Vec<usize>,
    /// Ranks of the factorisation, several with commas, each 1 to 64
    #[arg(long, value_name = "R", value_delimiter = ',', default_value = "10", value_parser = rank)]
    pub ranks: Vec<usize>,
}

fn overhead(text: &str) -> Result<f64, String> {
    let millis = text.parse().ok().filter(|ms| (0.0..=1000.0).contains(ms));
    millis.ok_or_else(|| "write 0 to 1000 ms".to_owned())
}

fn dimensions(text: &str) -> Result<usize, String> {
    between(text, 32)
}

fn rank(text: &str) -> Result<usize, String> {
    between(text, 64)
}

fn between(text: &str, most: usize) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| (1..=most).contains(n));
    number.ok_or_else(|| format!("write a number from 1 to {most}"))
}

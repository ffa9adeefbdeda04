//! `nearside sim`: experiments in virtual Internets.

mod args;
mod compare;
mod ly;
mod papers;
mod progress;
mod rows;

use anyhow::Result;
use nearside_sim::{armitage, lee, tradeoff, with_threads};

use crate::exit::Exit;

pub use ly::{
    LyArgs, LyCollectArgs, LyCommand, LyCoordinatesArgs, LyLagArgs, LyMatrixArgs, LyNetworkArgs,
    LyPaperArgs, LyRankingArgs, LySettingsArgs,
};

pub use args::{
    AllArgs, ArmitageAsArgs, ArmitageCountryArgs, CompareArgs, HowArgs, LeeArgs, PaperShowingArgs,
    SimArgs, SimCommand, TradeOffArgs,
};

/// Runs the command.
pub fn run(args: &SimArgs) -> Result<Exit> {
    match &args.what {
        SimCommand::Compare(args) => compare::run(args),
        SimCommand::ArmitageAs(args) => {
            papers::run(armitage::AS_CLUSTERS, &args.what, &args.how, &args.showing)
        }
        SimCommand::ArmitageCountry(args) => papers::run(
            armitage::COUNTRY_CLUSTERS,
            &args.what,
            &args.how,
            &args.showing,
        ),
        SimCommand::TradeOff(args) => {
            papers::run(tradeoff::TRADE_OFF, &args.what, &args.how, &args.showing)
        }
        SimCommand::Lee(args) => papers::run(lee::LEE, &args.what, &args.how, &args.showing),
        SimCommand::Ly(args) => ly::run(args),
        SimCommand::All(args) => papers::all(args),
    }
}

/// Runs `work` on so many threads, or on all cores.
fn on_threads<R: Send>(threads: Option<usize>, work: impl FnOnce() -> R + Send) -> Result<R> {
    match threads {
        None => Ok(work()),
        Some(threads) => Ok(with_threads(threads, work)?),
    }
}

//! The `nearside` command: parses flags, runs one command, turns errors into a sentence and an exit
//! code.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use nearside::cli::{BenchCommand, Cli, Command};
use nearside::commands;
use nearside::exit::Exit;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match &cli.command {
        Command::Browse(args) => commands::browse::run(args),
        Command::Query(args) => commands::query::run(args),
        Command::Origin(args) => commands::origin::run(args),
        Command::Place(args) => commands::place::run(args),
        Command::Master(args) => commands::master::run(args),
        Command::Detour(args) => commands::detour::run(args),
        Command::Lab(args) => commands::lab::run(args),
        Command::Cache(args) => commands::cache::run(args),
        Command::Replay(args) => commands::replay::run(args),
        Command::Sim(args) => commands::sim::run(args),
        Command::Bench(args) => match &args.what {
            BenchCommand::Browse(args) => commands::bench::run(args),
            BenchCommand::Place(args) => commands::bench::run_place(args),
            BenchCommand::Master(args) => commands::bench::run_master(args),
            BenchCommand::Detour(args) => commands::bench::run_detour(args),
        },
    };
    outcome
        .unwrap_or_else(|error| {
            let _ = writeln!(std::io::stderr(), "nearside: {}", sentence(&error));
            Exit::of_error(&error)
        })
        .into()
}

/// An error and its causes, without those that the text before them tells already.
fn sentence(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |told, cause| {
        let cause = cause.to_string();
        match () {
            () if told.is_empty() => cause,
            () if told.contains(&cause) => told,
            () => format!("{told}: {cause}"),
        }
    })
}

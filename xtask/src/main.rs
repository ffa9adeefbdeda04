//! The project's own tools, run as `cargo xtask <task>`: one front door for every check.
//!
//! Each step of `cargo xtask test` is a file of its own under `steps/`; the command line is read in
//! `cli`, and what came out is told in `report`. Nothing but the standard library is used.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks by printing"
)]

mod chance;
mod cli;
mod failure;
mod origin_data;
mod process;
mod report;
mod step;
mod steps;
mod workspace;

use std::env;
use std::process::ExitCode;
use std::time::Instant;

use cli::{Plan, Task};
use report::Report;
use workspace::Workspace;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match Task::parse(&arguments) {
        Ok(Task::Help) => show_help(),
        Ok(Task::WriteHelpTexts) => write_help_texts(),
        Ok(Task::OriginData) => build_origin_data(),
        Ok(Task::Run(plan)) => run(&plan),
        Err(error) => {
            eprintln!("cargo xtask: {error}");
            ExitCode::from(2)
        }
    }
}

fn show_help() -> ExitCode {
    print!("{}", cli::help());
    ExitCode::SUCCESS
}

fn write_help_texts() -> ExitCode {
    match steps::drift::write(&Workspace::find()) {
        Ok(written) => {
            println!("wrote {written} help texts into {}", steps::drift::FOLDER);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn build_origin_data() -> ExitCode {
    match origin_data::run(&Workspace::find()) {
        Ok(written) => {
            println!("{written}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the steps in order up to the first that fails, then tells what happened to every one.
fn run(plan: &Plan) -> ExitCode {
    let workspace = Workspace::find();
    let mut report = Report::new(&plan.skipped);
    for &step in &plan.steps {
        if report.has_failed() {
            report.not_run(step);
            continue;
        }
        println!("\n== {}: {}", step.name(), step.purpose());
        let started = Instant::now();
        let result = step.run(&workspace);
        report.add(step, result, started.elapsed());
    }
    print!("\n{report}");
    if report.has_failed() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

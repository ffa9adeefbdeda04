//! `nearside bench browse`: nearside and quakestat browse the same lab, one after the other, and are
//! judged by what the lab logged. Everything runs in processes of its own, as users would run it.

mod child;
mod detour;
mod lab;
mod machine;
mod master;
mod place;
mod programs;
mod quakestat;
mod report;
mod scenario;
mod tables;
mod targets;
mod truth;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use nearside_net::Stop;

use super::stop_on_interrupt;
use crate::cli::BenchBrowseArgs;
use crate::exit::Exit;
use crate::faces::is_closed_pipe;
use child::{Folder, Running};
use lab::Lab;
use machine::Machine;
use programs::Program;
use report::{Observed, Report, RunFigures, ScenarioFigures};
use scenario::Scenario;
use truth::Truth;

pub use detour::run as run_detour;
pub use master::run as run_master;
pub use place::run as run_place;

/// Runs `nearside bench browse`.
pub fn run(args: &BenchBrowseArgs) -> Result<Exit> {
    let stop = stop_on_interrupt()?;
    let report = match measure(args, &stop) {
        // Whatever failed then, failed because children and waits were cut short.
        _ if stop.is_stopped() => {
            writeln!(io::stderr(), "interrupted: without figures")?;
            return Ok(Exit::Interrupted);
        }
        report => report?,
    };
    match print(&report, args.json) {
        // A reader that went away (`| head`) is no failure; the verdict stays in the exit code.
        Err(error) if !is_closed_pipe(&error) => {
            return Err(error).context("cannot write the report");
        }
        _ => {}
    }
    Ok(match report.all_met() {
        true => Exit::Done,
        false => Exit::Negative,
    })
}

fn print(report: &Report, json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, report)?;
        writeln!(out)
    } else {
        write!(out, "{report}")
    }
}

fn measure(args: &BenchBrowseArgs, stop: &Stop) -> Result<Report> {
    let bench = Bench {
        args,
        programs: programs(args)?,
        folder: Folder::create()?,
        stop,
    };
    let before = Machine::read();
    let scenarios = Scenario::ALL
        .into_iter()
        .map(|scenario| bench.scenario(scenario))
        .collect::<Result<Vec<ScenarioFigures>>>()?;
    Ok(Report::new(args, before, scenarios))
}

/// Refuses before minutes are spent on a comparison that cannot be made.
fn programs(args: &BenchBrowseArgs) -> Result<Vec<Program>> {
    if args.alone {
        return Ok(Program::NEARSIDE.to_vec());
    }
    quakestat::check_installed()?;
    Ok([Program::NEARSIDE, Program::QUAKESTAT].concat())
}

struct Bench<'a> {
    args: &'a BenchBrowseArgs,
    programs: Vec<Program>,
    folder: Folder,
    stop: &'a Stop,
}

impl Bench<'_> {
    fn scenario(&self, scenario: Scenario) -> Result<ScenarioFigures> {
        let servers = scenario.servers(self.args.servers);
        lab::write_population(self.folder.path(), servers, self.args.seed)?;
        let chosen = scenario.programs(&self.programs);
        let runs = chosen.into_iter().map(|program| {
            self.run(scenario, program)
                .with_context(|| format!("{}: {}", scenario.name(), program.name()))
        });
        Ok(ScenarioFigures {
            scenario,
            servers,
            runs: runs.collect::<Result<_>>()?,
        })
    }

    /// One program, with a lab of its own so that truths do not mix.
    fn run(&self, scenario: Scenario, program: Program) -> Result<RunFigures> {
        writeln!(io::stderr(), "{}: {} …", scenario.name(), program.name())?;
        let folder = self.folder.path();
        let command = program.command(self.args.seed)?;
        let lab = Lab::start(folder, scenario, self.args.seed)?;
        let lab_command = lab.command().to_owned();
        let account = Running::start(&command, folder, output(folder)?)?.watch(self.stop)?;
        lab.stop(self.stop)?;
        let findings = program.read(&std::fs::read(folder.join(OUTPUT))?)?;
        let truth = Truth::read(File::open(folder.join(lab::TRUTH))?)?;
        let errors = truth::errors(program.reports(), &findings, &truth)?;
        Ok(RunFigures::from(Observed {
            program,
            command: command.to_string(),
            lab_command,
            listed: scenario.servers(self.args.servers),
            found: findings.len(),
            account,
            errors,
            lab_lateness: truth.lateness(),
        }))
    }
}

/// What the measured program printed; a file, so that nobody has to read while it runs.
const OUTPUT: &str = "output";

fn output(folder: &Path) -> Result<File> {
    super::create(&folder.join(OUTPUT))
}

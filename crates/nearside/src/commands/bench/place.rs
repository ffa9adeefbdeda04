//! `nearside bench place`: placement solvers beside the proven optimum, on the paper's network and on
//! one a hundred times as large, judged by the targets.

mod churn;
mod figures;
mod large;
mod medium;
mod threads;

use std::io::{self, Write};

use anyhow::{Context, Result};
use nearside_net::Stop;
use nearside_report::{Cell, Column, Part, Report, Table, json, text};
use nearside_sim::Seeds;

use super::machine::{self, Machine};
use super::targets::Verdict;
use crate::cli::BenchPlaceArgs;
use crate::commands::stop_on_interrupt;
use crate::exit::Exit;
use crate::faces::is_closed_pipe;
use threads::Threads;

/// What a terminal is wide enough for.
const WIDTH: usize = 120;

/// Runs `nearside bench place`.
pub fn run(args: &BenchPlaceArgs) -> Result<Exit> {
    let stop = stop_on_interrupt()?;
    let bench = Bench {
        seeds: &args.seeds,
        quick: args.quick,
        threads: Threads::new(args.threads),
        stop: &stop,
    };
    let before = Machine::read();
    let Some(found) = bench.measure()? else {
        writeln!(io::stderr(), "interrupted: without figures")?;
        return Ok(Exit::Interrupted);
    };
    let met = found
        .verdicts
        .iter()
        .all(|verdict| verdict.met != Some(false));
    let report = found.report(args, &before, bench.threads);
    match print(&report, args.json) {
        // A reader that went away (`| head`) is no failure; the verdict stays in the exit code.
        Err(error) if !is_closed_pipe(&error) => {
            return Err(error).context("cannot write the report");
        }
        _ => {}
    }
    Ok(if met { Exit::Done } else { Exit::Negative })
}

fn print(report: &Report, as_json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match as_json {
        true => out.write_all(json::render(report).as_bytes()),
        false => write!(out, "{}", text::render(report, WIDTH)),
    }
}

/// What all parts of the bench share.
struct Bench<'a> {
    seeds: &'a Seeds,
    quick: bool,
    threads: Threads,
    stop: &'a Stop,
}

/// What a part of the bench has to say.
#[derive(Default)]
struct Findings {
    parts: Vec<Part>,
    verdicts: Vec<Verdict>,
}

impl Bench<'_> {
    /// `None` when interrupted. The large instance comes first, so that the peak of memory is its.
    fn measure(&self) -> Result<Option<Findings>> {
        let mut all = Findings::default();
        for part in [
            large::measure,
            medium::measure,
            churn::measure,
            threads::measure,
        ] {
            let findings = part(self)?;
            if self.stop.is_stopped() {
                return Ok(None);
            }
            all.parts.extend(findings.parts);
            all.verdicts.extend(findings.verdicts);
        }
        Ok(Some(all))
    }

    /// Tells somebody who waits.
    fn say(&self, what: &str) -> Result<()> {
        Ok(writeln!(io::stderr(), "{what} …")?)
    }
}

impl Findings {
    fn report(self, args: &BenchPlaceArgs, machine: &Machine, threads: Threads) -> Report {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let quick = if args.quick { " --quick" } else { "" };
        let machine = format!(
            "{} UTC, {} cores of {}, {threads} threads, load {} before and {} after. Ratios from one \
             run can be compared; seconds belong to this machine and its load.",
            machine.date,
            machine.cores.unwrap_or(0),
            known(&machine.cpu),
            known(&machine.load),
            known(&machine::load()),
        );
        let mut report = Report::new(
            "bench-place",
            format!("nearside {} bench place", env!("CARGO_PKG_VERSION")),
            format!("nearside bench place --seeds {}{quick}", args.seeds),
            args.seeds.to_string(),
        )
        .with(machine);
        report.parts.extend(self.parts);
        report.with(targets(&self.verdicts))
    }
}

pub(super) fn targets(verdicts: &[Verdict]) -> Table {
    let table = Table::new("targets", "Targets")
        .column(Column::new("what"))
        .column(Column::new("target"))
        .column(Column::new("measured").not_fitted())
        .column(Column::new("unit"))
        .column(Column::new("verdict"));
    verdicts.iter().fold(table, |table, verdict| {
        let met = match verdict.met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "not judged",
        };
        table.row([
            Cell::from(verdict.what.as_str()),
            verdict.target.to_string().into(),
            verdict
                .measured
                .map_or(Cell::Missing, |value| Cell::number(value, 4)),
            verdict.unit.into(),
            met.into(),
        ])
    })
}

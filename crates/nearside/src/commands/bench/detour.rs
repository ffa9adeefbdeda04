//! `nearside bench detour`: what our relay and our sidecars add to a packet's way, in one run beside
//! plain loopback, socat, nginx's stream proxy and a bare forwarder.

mod bare;
mod cores;
mod directory;
mod end;
mod figures;
mod forwarder;
mod lane;
mod library;
mod linked;
mod stream;

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, Result};
use nearside_net::{MonotonicClock, Stop};
use nearside_report::{Report, json, text};
use nearside_tunnel::crypto::Chance;

use super::child::Folder;
use super::machine::Machine;
use crate::cli::BenchDetourArgs;
use crate::commands::stop_on_interrupt;
use crate::exit::Exit;
use crate::faces::is_closed_pipe;
use cores::Cores;
use directory::Directory;
use end::Times;
use figures::Found;
use lane::{Kind, Lane, Yard};
use stream::{Pace, Payloads};

/// What a terminal is wide enough for.
const WIDTH: usize = 120;

/// Runs `nearside bench detour`.
pub fn run(args: &BenchDetourArgs) -> Result<Exit> {
    if let Ok(told) = std::env::var(bare::VARIABLE) {
        bare::serve(&told)?;
        return Ok(Exit::Done);
    }
    let stop = stop_on_interrupt()?;
    let before = Machine::read();
    let found = match measure(args, &stop) {
        // Whatever failed then, failed because it was cut short.
        _ if stop.is_stopped() => {
            writeln!(io::stderr(), "interrupted: without figures")?;
            return Ok(Exit::Interrupted);
        }
        found => found?,
    };
    let verdicts = found.verdicts();
    let met = verdicts.iter().all(|verdict| verdict.met != Some(false));
    match print(&found.report(args, &before, &verdicts), args.json) {
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

fn measure(args: &BenchDetourArgs, stop: &Stop) -> Result<Found> {
    let folder = Folder::create()?;
    let mut chance = Chance::from_number(args.seed);
    let cores = Cores::choose()?;
    let mut yard = Yard {
        folder: folder.path(),
        payloads: Payloads::draw(args.seed),
        times: Times {
            clock: MonotonicClock::start(),
            done: Stop::new()?,
            interrupted: stop.clone(),
        },
        directory: cores::near(cores, || Directory::start(&mut chance))??,
        chance,
        cores,
    };
    let mut found = Found::default();
    if cores.is_none() {
        let note = "Ends and forwarders run wherever the system puts them: which way has the luck to stay on \
                    one core is chance.";
        found.notes.push(note.to_owned());
    }
    let lanes = open(&mut yard, &mut found, stop)?;
    for round in 0..args.rounds {
        for pace in Pace::ALL {
            say(&format!(
                "round {} of {}: {}",
                round + 1,
                args.rounds,
                figures::words(pace)
            ))?;
            for lane in &lanes {
                let time = Duration::from_secs_f64(args.seconds);
                let Some(tally) = lane.measure(pace, time, stop)? else {
                    return Ok(found);
                };
                found.add(lane.kind, pace, tally);
            }
        }
    }
    Ok(found)
}

/// Opens all lanes. Without ours there is no bench; those of others are left out if they cannot be had,
/// and named.
fn open(yard: &mut Yard<'_>, found: &mut Found, stop: &Stop) -> Result<Vec<Lane>> {
    let mut lanes = Vec::new();
    for kind in Kind::ALL {
        if stop.is_stopped() {
            break;
        }
        say(&format!("opening: {}", kind.name()))?;
        match (Lane::open(yard, kind), kind.package()) {
            (Ok(lane), _) => lanes.push(lane),
            (Err(error), None) => return Err(error.context(kind.name())),
            (Err(error), Some(package)) => {
                let name = kind.name();
                let note = format!("{name} is left out: {error:#} (Debian: {package})");
                writeln!(io::stderr(), "{note}")?;
                found.notes.push(note);
            }
        }
    }
    Ok(lanes)
}

/// Tells somebody who waits.
fn say(what: &str) -> Result<()> {
    Ok(writeln!(io::stderr(), "{what} …")?)
}

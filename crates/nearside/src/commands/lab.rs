//! `nearside lab`: an Internet on loopback, until Ctrl-C.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use nearside_net::MonotonicClock;
use nearside_net::lab::{CsvTruth, LabStats};
use nearside_world::farm::{FarmConfig, RateLimits};
use nearside_world::{Game, Population, ProbeNoise};

use super::{challenge_policy, create, share};
use crate::cli::LabArgs;
use crate::exit::Exit;
use crate::lab::{self, LabPlan, MasterPorts, OpenLab};
use crate::worlds;

/// Runs the command.
pub fn run(args: &LabArgs) -> Result<Exit> {
    let plan = plan(args)?;
    if let Some(path) = &args.write_population {
        write_population(&lab::population(&plan)?, path)?;
        return Ok(Exit::Done);
    }
    let clock = MonotonicClock::start();
    let mut open = lab::open(&plan, clock, false)?;
    if let Some(path) = &args.truth {
        let log = CsvTruth::new(BufWriter::new(create(path)?))
            .with_context(|| format!("cannot write {}", path.display()))?;
        open.shell = open.shell.with_truth(log);
    }
    if let Some(path) = &args.write_list {
        write_list(&open, plan.game, path)?;
    }
    announce(&open, &plan)?;
    stop_when_told(&open, args.seconds)?;
    let stats = open.shell.run()?;
    report(&stats)?;
    Ok(Exit::Done)
}

fn plan(args: &LabArgs) -> Result<LabPlan> {
    let game = match args.game.as_str() {
        "et" => Game::EnemyTerritory,
        _ => Game::Css,
    };
    let world = worlds::params(&args.world)?;
    let mut farm = FarmConfig {
        challenge: challenge_policy("challenge", &args.challenge)?,
        ..world.farm(game)
    };
    if let Some(loss) = args.loss {
        farm.loss = share("loss", loss)?;
    }
    if let Some(duplicates) = args.duplicates {
        farm.duplicates = share("duplicates", duplicates)?;
    }
    if args.no_rate_limits {
        farm.rate_limits = RateLimits::Off;
    }
    if args.no_noise {
        farm.noise = ProbeNoise::NONE;
    }
    Ok(LabPlan {
        place: args.place.clone(),
        game,
        servers: args.servers,
        population: args.population.clone(),
        world,
        farm,
        cookies: args.cookies,
        master_ports: MasterPorts {
            steam: args.steam_master_port,
            quake3: args.quake3_master_port,
        },
        base_port: args.base_port,
        seed: args.seed,
    })
}

fn write_population(population: &Population, path: &Path) -> Result<()> {
    let file = BufWriter::new(create(path)?);
    let compressed = path.extension().is_some_and(|ending| ending == "gz");
    let written = if compressed {
        population.write_gzip(file)
    } else {
        population.write(file)
    };
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// The folded servers in the form that qstat reads.
fn write_list(open: &OpenLab, game: Game, path: &Path) -> Result<()> {
    let word = match game {
        Game::Css => "A2S",
        Game::EnemyTerritory => "WOETS",
    };
    let mut file = BufWriter::new(create(path)?);
    for server in &open.folded.population.servers {
        writeln!(file, "{word} {}", server.addr)?;
    }
    file.flush()
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Says where everything is; the last line tells scripts that it is ready.
fn announce(open: &OpenLab, plan: &LabPlan) -> Result<()> {
    let population = &open.folded.population;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "lab: {} servers listed, {} of them answer, as seen from {} (seed {})",
        population.servers.len(),
        population.answering(open.client),
        plan.place,
        plan.seed,
    )?;
    if let Some(example) = population.servers.first() {
        writeln!(out, "servers: 127.0.0.0/8, for example {}", example.addr)?;
    }
    writeln!(out, "steam master: {}", open.steam_master)?;
    writeln!(out, "quake3 master: {}", open.quake3_master)?;
    writeln!(out, "ready")?;
    out.flush()?;
    Ok(())
}

fn stop_when_told(open: &OpenLab, seconds: Option<f64>) -> Result<()> {
    let stop = open.shell.stop_handle();
    let by_signal = stop.clone();
    ctrlc::set_handler(move || by_signal.stop()).context("cannot catch Ctrl-C")?;
    if let Some(seconds) = seconds {
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs_f64(seconds));
            stop.stop();
        });
    }
    Ok(())
}

fn report(stats: &LabStats) -> Result<()> {
    let late = |q| {
        stats.lateness.quantile(q).map_or_else(
            || "-".to_owned(),
            |late| format!("{:.3} ms", late.as_secs_f64() * 1e3),
        )
    };
    let mut err = std::io::stderr().lock();
    writeln!(
        err,
        "lab: {} requests, {} replies, late by {} (p50), {} (p99), {:.3} ms (max); {} from elsewhere dropped, {} not sent",
        stats.requests,
        stats.replies,
        late(0.5),
        late(0.99),
        stats.lateness.max().as_secs_f64() * 1e3,
        stats.foreign,
        stats.unsent,
    )?;
    Ok(())
}

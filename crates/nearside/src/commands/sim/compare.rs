//! `nearside sim compare`: planners side by side on the same instances.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use nearside_report::text;
use nearside_sim::compare::{Comparison, Row, every_run, over_seeds};
use nearside_sim::{Conditions, World};
use nearside_types::Rtt;
use nearside_world::{Game, Population, ProbeNoise, WorldParams};

use super::args::CompareArgs;
use super::on_threads;
use super::progress::Bar;
use crate::commands::share;
use crate::exit::Exit;
use crate::faces::{Format, is_closed_pipe};

/// Runs the command.
pub(super) fn run(args: &CompareArgs) -> Result<Exit> {
    let comparison = comparison(args)?;
    let bar = Bar::new();
    let rows = on_threads(args.threads, || comparison.run(&bar))??;
    drop(bar);
    match print(&rows, args.format) {
        Err(error) if !is_closed_pipe(&error) => Err(error).context("cannot write the rows"),
        _ => Ok(Exit::Done),
    }
}

fn comparison(args: &CompareArgs) -> Result<Comparison> {
    let world = world(args)?;
    let clients = match args.client.is_empty() {
        true => world.clients().into_iter().map(str::to_owned).collect(),
        false => {
            let named = args.client.iter().map(|name| world.client(name));
            named.collect::<Result<_, _>>()?
        }
    };
    Ok(Comparison {
        clients,
        methods: args.planner.clone(),
        seeds: args.seeds.clone(),
        conditions: conditions(args, &world)?,
        wrong_labels: share("wrong-labels", args.wrong_labels)?,
        world,
    })
}

fn game(args: &CompareArgs) -> Game {
    match args.game.as_str() {
        "et" => Game::EnemyTerritory,
        _ => Game::Css,
    }
}

fn world(args: &CompareArgs) -> Result<World> {
    if let Some(path) = &args.population {
        return recorded(path);
    }
    let params = match args.world.as_str() {
        "hub" => WorldParams::builtin(),
        file => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read the world {file} (or write hub)"))?;
            WorldParams::from_toml(&text).with_context(|| format!("in {file}"))?
        }
    };
    Ok(World::Generated {
        params: Box::new(params),
        game: game(args),
        answering: args.servers,
    })
}

fn recorded(path: &Path) -> Result<World> {
    let file = File::open(path)
        .with_context(|| format!("cannot open the population {}", path.display()))?;
    let label = path.display().to_string();
    let population = Population::read(&label, BufReader::new(file))?;
    Ok(World::Recorded(population))
}

fn conditions(args: &CompareArgs, world: &World) -> Result<Conditions> {
    let mut conditions = Conditions::of_world(world, game(args));
    conditions.stop = Rtt::from_millis_f64(args.stop);
    conditions.pace = args.rate.unwrap_or(conditions.pace);
    conditions.farm.loss = share("loss", args.loss)?;
    if args.no_noise {
        conditions.farm.noise = ProbeNoise::NONE;
    }
    Ok(conditions)
}

fn print(rows: &[Row], format: Format) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match format {
        Format::Table => table(&mut out, rows)?,
        Format::Json => {
            serde_json::to_writer(&mut out, rows)?;
            writeln!(out)?;
        }
        Format::Ndjson => {
            for row in rows {
                serde_json::to_writer(&mut out, row)?;
                writeln!(out)?;
            }
        }
        Format::Csv => {
            let mut csv = csv::Writer::from_writer(&mut out);
            for row in rows {
                csv.serialize(row)?;
            }
            csv.flush()?;
        }
    }
    out.flush()
}

/// Wide enough for all columns; a narrower terminal wraps, as it does for any wide table.
const WIDTH: usize = 160;

fn table(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let runs = text::table(&every_run(rows), WIDTH);
    let seeds = text::table(&over_seeds(rows), WIDTH);
    write!(out, "{runs}\n{seeds}")
}

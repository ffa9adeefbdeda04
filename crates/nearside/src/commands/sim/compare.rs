//! `nearside sim compare`: planners side by side on the same instances.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use nearside_report::text;
use nearside_sim::compare::{
    Calibration, Comparison, Row, calibration, calibration_table, every_run, over_seeds,
};
use nearside_sim::{Conditions, Method, World};
use nearside_types::Rtt;
use nearside_world::recorded::{RecordedPaths, Trace, read_matrix};
use nearside_world::{Game, ProbeNoise};

use super::args::CompareArgs;
use super::on_threads;
use super::progress::Bar;
use super::rows::print_rows;
use crate::commands::share;
use crate::exit::Exit;
use crate::faces::is_closed_pipe;
use crate::worlds;

/// Runs the command.
pub(super) fn run(args: &CompareArgs) -> Result<Exit> {
    let mut comparison = comparison(args)?;
    let mut runs = Vec::new();
    for &stop in &args.stop {
        comparison.conditions.stop = Rtt::from_millis_f64(stop);
        let bar = Bar::new();
        let rows = on_threads(args.threads, || comparison.run(&bar))??;
        runs.extend(rows.into_iter().map(|row| (stop, row)));
    }
    match print(args, runs) {
        Err(error) if !is_closed_pipe(&error) => Err(error).context("cannot write the rows"),
        _ => Ok(Exit::Done),
    }
}

/// The rows, or what they say about planners' word. Each run comes with its stop.
fn print(args: &CompareArgs, runs: Vec<(f64, Row)>) -> io::Result<()> {
    if args.calibration {
        let means = calibration(runs.iter().map(|(stop, row)| (*stop, row)));
        return print_rows(&means, args.format, |out| means_table(out, &means));
    }
    let rows: Vec<Row> = runs.into_iter().map(|(_, row)| row).collect();
    print_rows(&rows, args.format, |out| table(out, &rows))
}

fn comparison(args: &CompareArgs) -> Result<Comparison> {
    if args.stop.len() > 1 && !args.calibration {
        bail!("rows do not say which --stop they belong to: give one, or --calibration");
    }
    if args.calibration && !args.planner.iter().any(Method::predicts) {
        bail!(
            "--calibration judges what planners say they miss, and none of these says so: add --planner adaptive"
        );
    }
    let world = world(args)?;
    let clients = match args.client.is_empty() {
        true => world.clients().into_iter().map(str::to_owned).collect(),
        false => {
            let named = args.client.iter().map(|name| world.client(name));
            named.collect::<Result<_, _>>()?
        }
    };
    Ok(Comparison {
        clients: each_once(clients),
        methods: each_once(args.planner.clone()),
        seeds: args.seeds.clone(),
        conditions: conditions(args, &world)?,
        wrong_labels: share("wrong-labels", args.wrong_labels)?,
        without: args.without.clone(),
        world,
    })
}

/// Who is named twice competes once.
fn each_once<T: PartialEq>(named: Vec<T>) -> Vec<T> {
    let mut once = Vec::new();
    for name in named {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

fn game(args: &CompareArgs) -> Game {
    match args.game.as_str() {
        "et" => Game::EnemyTerritory,
        _ => Game::Css,
    }
}

fn world(args: &CompareArgs) -> Result<World> {
    if let Some(path) = &args.population {
        return Ok(World::Recorded(worlds::population(path)?));
    }
    let params = Box::new(worlds::params(&args.world)?);
    let (game, answering) = (game(args), args.servers);
    Ok(match paths(args)? {
        None => World::Generated {
            params,
            game,
            answering,
        },
        Some(paths) => World::OnRecord {
            params,
            game,
            answering,
            clients: nodes(args, &paths)?,
            paths: Box::new(paths),
        },
    })
}

/// The recording that says how far servers are, if there is one.
fn paths(args: &CompareArgs) -> Result<Option<RecordedPaths>> {
    if let Some(path) = &args.matrix {
        let (label, file) = worlds::open("matrix", path)?;
        let matrix = read_matrix(&label, file, args.layout)?;
        return Ok(Some(RecordedPaths::of_matrix(matrix).context(label)?));
    }
    let Some(path) = &args.trace else {
        return Ok(None);
    };
    let (label, file) = worlds::open("trace", path)?;
    let trace = Trace::read(&label, file)?;
    Ok(Some(RecordedPaths::of_trace(&trace).context(label)?))
}

/// The nodes to look from: a recording has hundreds, so all of them would be a strange default.
fn nodes(args: &CompareArgs, paths: &RecordedPaths) -> Result<Vec<usize>> {
    if args.client.is_empty() {
        return Ok(vec![0]);
    }
    let named = |name: &String| {
        let node = paths.node(name);
        node.with_context(|| match paths.nodes() {
            [only] => format!("there is no node `{name}` in the recording (only {only})"),
            [first, .., last] => {
                format!("there is no node `{name}` in the recording (it has {first} to {last})")
            }
            [] => unreachable!("a recording has nodes"),
        })
    };
    args.client.iter().map(named).collect()
}

fn conditions(args: &CompareArgs, world: &World) -> Result<Conditions> {
    let mut conditions = Conditions::of_world(world, game(args));
    conditions.best = args.best;
    if let Some(matching) = args.matching {
        conditions.matching = Some(share("matching", matching)?);
    }
    conditions.pace = args.rate.unwrap_or(conditions.pace);
    if let Some(loss) = args.loss {
        conditions.farm.loss = share("loss", loss)?;
    }
    if args.no_noise {
        conditions.farm.noise = ProbeNoise::NONE;
    }
    Ok(conditions)
}

/// Wide enough for all columns; a narrower terminal wraps, as it does for any wide table.
const WIDTH: usize = 160;

fn table(out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
    let runs = text::table(&every_run(rows), WIDTH);
    let seeds = text::table(&over_seeds(rows), WIDTH);
    write!(out, "{runs}\n{seeds}")
}

fn means_table(out: &mut dyn Write, means: &[Calibration]) -> io::Result<()> {
    write!(out, "{}", text::table(&calibration_table(means), WIDTH))
}

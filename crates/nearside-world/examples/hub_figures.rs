//! Prints what the papers' algorithms make of generated populations, beside the papers' tables:
//! `cargo run --release -p nearside-world --example hub_figures [SEEDS [PARAMETERS.toml]]`.
//! Seeds count from 0; parameters are tuned on 0 to 19 only.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/offline/mod.rs"]
mod offline;

use nearside_world::{Game, Population, WorldParams, generate};
use offline::{Clustering, Outcome};

/// AS paper, Table 2, and the playable shares a prototype of this world had.
const AS_PAPER: [(&str, f64, f64, f64); 6] = [
    ("AU", 3374.0, 14.8, 5.0),
    ("DE", 3166.0, 97.3, 93.0),
    ("JP", 3206.0, 31.3, 20.0),
    ("TW", 3201.0, 29.0, 13.0),
    ("UK", 3150.0, 97.8, 96.0),
    ("USA", 3190.0, 99.1, 83.0),
];

/// Country paper, Table 2: client, game, clusters, initial probes, auto-stop %.
const COUNTRY_PAPER: [(&str, Game, f64, f64, f64); 6] = [
    ("AU", Game::EnemyTerritory, 77.0, 396.0, 20.0),
    ("JP", Game::EnemyTerritory, 77.0, 446.0, 36.0),
    ("CH", Game::EnemyTerritory, 79.0, 492.0, 100.0),
    ("AU", Game::Css, 140.0, 2136.0, 12.0),
    ("JP", Game::Css, 143.0, 1694.0, 28.0),
    ("DE", Game::Css, 143.0, 2159.0, 98.0),
];

fn main() {
    let mut args = std::env::args().skip(1);
    let seeds: u64 = args.next().map_or(5, |text| text.parse().unwrap());
    let text = args
        .next()
        .map_or(String::new(), |file| std::fs::read_to_string(file).unwrap());
    let params = WorldParams::from_toml(&text).unwrap();
    let worlds = |game| -> Vec<Population> {
        (0..seeds)
            .map(|seed| generate(&params, game, None, seed))
            .collect()
    };
    let css = worlds(Game::Css);
    let et = worlds(Game::EnemyTerritory);
    println!(
        "AS clusters       clusters  calibration (paper)  auto-stop % (paper)  playable % (proto)  recall %"
    );
    for (place, calibration, stop, playable) in AS_PAPER {
        let runs = runs(&params, &css, place, Clustering::As);
        println!(
            "CSS {place:4} {:18.0} {:12.0} ({calibration:4.0}) {:13.1} ({stop:4.1}) {:13.1} ({playable:2.0}) {:16.1}",
            mean(&runs, |run| run.clusters as f64),
            mean(&runs, |run| run.calibration as f64),
            mean(&runs, |run| 100.0 * run.cost_share),
            mean(&css, |world| 100.0 * playable_share(world, place)),
            mean(&runs, |run| 100.0 * run.recall),
        );
    }
    println!("country clusters  clusters (paper)  initial (paper)  auto-stop % (paper)  recall %");
    for (place, game, clusters, initial, stop) in COUNTRY_PAPER {
        let worlds = if game == Game::Css { &css } else { &et };
        let runs = runs(&params, worlds, place, Clustering::Country);
        println!(
            "{game:?} {place:4} {:18.0} ({clusters:3.0}) {:10.0} ({initial:4.0}) {:10.1} ({stop:4.1}) {:12.1}",
            mean(&runs, |run| run.clusters as f64),
            mean(&runs, |run| run.calibration as f64),
            mean(&runs, |run| 100.0 * run.cost_share),
            mean(&runs, |run| 100.0 * run.recall),
        );
    }
}

fn runs(
    params: &WorldParams,
    worlds: &[Population],
    place: &str,
    clustering: Clustering,
) -> Vec<Outcome> {
    let noise = params.probe_noise();
    let run = |(world, seed): (&Population, u64)| {
        offline::run(world, world.client(place).unwrap(), clustering, noise, seed)
    };
    worlds.iter().zip(0..).map(run).collect()
}

fn playable_share(world: &Population, place: &str) -> f64 {
    let client = world.client(place).unwrap();
    let playable = world.rtts(client).filter(|rtt| rtt.as_millis_f64() < 200.0);
    playable.count() as f64 / world.answering(client) as f64
}

fn mean<T>(items: &[T], value: impl Fn(&T) -> f64) -> f64 {
    items.iter().map(value).sum::<f64>() / items.len() as f64
}

//! What each ingredient of the adaptive planner is worth: the same discoveries without it.
//! `cargo run --release -p nearside-world --example planner_ablation -- [SEEDS [STOP_MS]]`
//!
//! Seeds 20 and up are those its numbers were chosen on; give `1000-1007` to report.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints its table and ends by panicking"
)]

use std::ops::RangeInclusive;

use nearside_discover::planner::{AdaptiveConfig, PlannerConfig, PlannerKind};
use nearside_discover::prober::Event;
use nearside_types::{PrefixLengths, Rtt};
use nearside_world::virtual_time::Run;
use nearside_world::{Game, Population, WorldParams, generate};

const PLACES: [&str; 3] = ["AU", "TW", "JP"];

/// A planner without something.
struct Variant {
    name: &'static str,
    /// Whether servers' countries and ASes are known.
    countries: bool,
    ases: bool,
    change: fn(&mut AdaptiveConfig),
}

const fn without(name: &'static str, change: fn(&mut AdaptiveConfig)) -> Variant {
    Variant {
        name,
        countries: true,
        ases: true,
        change,
    }
}

const NO_PREFIX: PrefixLengths = PrefixLengths { v4: 0, v6: 0 };

fn variants() -> Vec<Variant> {
    let nothing = without("nothing", |_| {});
    vec![
        Variant {
            name: "countries",
            countries: false,
            ..without("", |_| {})
        },
        Variant {
            name: "ASes",
            ases: false,
            ..without("", |_| {})
        },
        without("/16, /24 and machines", |config| {
            config.levels.network = NO_PREFIX;
            config.levels.subnet = NO_PREFIX;
            config.levels.machines = false;
        }),
        without("machines", |config| config.levels.machines = false),
        without("neighbouring places", |config| {
            config.model.places.length_km = 1.0;
        }),
        without("ASes as a whole", |config| config.model.whole_as = 0.0),
        without("servers anywhere", |config| config.model.anywhere = 0.0),
        without("shrinking smear", |config| config.model.shrink = 0.0),
        without("taking noise out", |config| config.model.denoise = 0.0),
        without("worth of groups", |config| {
            config.model.after_hit = 0.0;
            config.model.after_best_hit = 0.0;
        }),
        without("small batches (28)", |config| config.batch = 28),
        nothing,
    ]
}

#[derive(Default)]
struct Score {
    probes: Vec<f64>,
    recall: Vec<f64>,
    to_ten_best: Vec<f64>,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seeds = arguments
        .next()
        .map_or(20..=23, |text| range(&text).expect("seeds, as 20-27"));
    let stop = arguments.next().map_or(200.0, |ms| ms.parse().unwrap());
    print!("{:24}", "without");
    for place in PLACES {
        print!(" | {place:>4} probes  recall   worst  to ten");
    }
    println!();
    for variant in variants() {
        print!("{:24}", variant.name);
        for place in PLACES {
            let score = score(&variant, place, seeds.clone(), Rtt::from_millis_f64(stop));
            print!(
                " | {:11.0} {:7.2} {:7.2} {:7.0}",
                mean(&score.probes),
                100.0 * mean(&score.recall),
                100.0 * score.recall.iter().copied().fold(1.0, f64::min),
                mean(&score.to_ten_best),
            );
        }
        println!();
    }
}

fn range(text: &str) -> Option<RangeInclusive<u64>> {
    let (first, last) = text.split_once('-')?;
    Some(first.parse().ok()?..=last.parse().ok()?)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn score(variant: &Variant, place: &str, seeds: RangeInclusive<u64>, stop: Rtt) -> Score {
    let mut score = Score::default();
    for seed in seeds {
        let mut population = generate(&WorldParams::builtin(), Game::Css, None, seed);
        for server in &mut population.servers {
            server.origin.country = server.origin.country.filter(|_| variant.countries);
            server.origin.asn = server.origin.asn.filter(|_| variant.ases);
        }
        let mut planner = PlannerConfig::published(PlannerKind::Adaptive).stopping_at(stop);
        (variant.change)(&mut planner.adaptive);
        discover(&population, place, planner, seed, stop, &mut score);
    }
    score
}

fn discover(
    population: &Population,
    place: &str,
    planner: PlannerConfig,
    seed: u64,
    stop: Rtt,
    score: &mut Score,
) {
    let client = population.client(place).unwrap();
    let truth = |index: usize| population.servers[index].rtt[client];
    let mut near: Vec<Rtt> = (0..population.servers.len()).filter_map(truth).collect();
    near.sort_unstable();
    let playable = near.partition_point(|&rtt| rtt < stop);
    let tenth = near[9];
    let (mut best, mut found, mut to_ten) = (0, 0, None);
    let run = Run::new(population, place, Game::Css, planner, seed);
    let prober = run.discover(|_, prober, event| {
        if let Event::Answered(server) = event {
            let rtt = truth(server.index()).unwrap();
            found += usize::from(rtt < stop);
            best += usize::from(rtt <= tenth);
            if best == 10 {
                to_ten.get_or_insert(prober.summary().probed);
            }
        }
    });
    let probed = prober.unwrap().summary().probed;
    score.probes.push(probed as f64);
    score.recall.push(found as f64 / playable as f64);
    score.to_ten_best.push(to_ten.unwrap_or(probed) as f64);
}

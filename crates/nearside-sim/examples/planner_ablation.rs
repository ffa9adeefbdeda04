//! What each ingredient of the adaptive planner is worth: the same discoveries without it.
//! `cargo run --release -p nearside-sim --example planner_ablation -- [SEEDS [STOP_MS [WORLD [NAME]]]]`
//!
//! Worlds: `hub`; `rough`, with noisier probes and flatter ASes; `labels`, where 5 % of the networks
//! are said to be in another country. Seeds 20 and up are those its numbers were chosen on. A name
//! leaves out all ingredients that are called otherwise.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints its table and ends by panicking"
)]

use nearside_discover::planner::{AdaptiveConfig, PlannerConfig, PlannerKind};
use nearside_sim::compare::{Comparison, Row};
use nearside_sim::{Conditions, Method, Seeds, Unwatched, World};
use nearside_types::{PrefixLengths, Rtt};
use nearside_world::{Fraction, Game, WorldParams};

const PLACES: [&str; 4] = ["AU", "TW", "JP", "DE"];

const ROUGH: &str = "[rtt]\nnoise_sigma = 0.10\n[population]\nas_size_zipf = 1.3\n";

/// What is left out, and how.
type Ingredient = (&'static str, fn(&mut AdaptiveConfig));

const NO_PREFIX: PrefixLengths = PrefixLengths { v4: 0, v6: 0 };

const INGREDIENTS: [Ingredient; 20] = [
    ("/16, /24 and machines", |config| {
        config.levels.network = NO_PREFIX;
        config.levels.subnet = NO_PREFIX;
        config.levels.machines = false;
    }),
    ("machines", |config| config.levels.machines = false),
    ("neighbouring places", |config| {
        config.model.places.length_km = 1.0;
    }),
    ("ASes as a whole", |config| config.model.whole_as = 0.0),
    ("shrinking smear", |config| config.model.shrink = 0.0),
    ("taking noise out", |config| config.model.denoise = 0.0),
    ("strays", |config| config.model.places.strays = 0.0),
    ("other routes", |config| {
        config.model.places.other_routes = 0.0;
    }),
    ("other cities", |config| config.model.elsewhere = 0.0),
    ("books of hopes", |config| {
        config.model.hope_doubt = f32::INFINITY;
    }),
    ("scattered servers", |config| config.model.scattered = 0.0),
    ("doubt of slow answers", |config| config.model.queued = 0.0),
    ("track record", |config| {
        config.model.doubt = f32::INFINITY;
        config.model.best_doubt = f32::INFINITY;
    }),
    ("books of ASes", |config| {
        config.model.as_doubt = f32::INFINITY;
    }),
    ("spot checks", |config| config.enough.spot_checks = 0.0),
    ("worth of groups", |config| {
        config.model.after_hit = 0.0;
        config.model.after_best_hit = 0.0;
    }),
    ("second looks", |config| {
        config.model.firmness = f32::INFINITY;
    }),
    ("the least look", |config| config.enough.look = 0.0),
    ("going on for less", |config| config.enough.many = 1.0),
    ("small batches (28)", |config| config.batch = 28),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seeds = arguments.next().unwrap_or("20-27".to_owned());
    let stop = arguments.next().map_or(200.0, |ms| ms.parse().unwrap());
    let world = arguments.next().unwrap_or("hub".to_owned());
    let seeds: Seeds = seeds.parse().expect("seeds, as 20-27");
    let everything: Ingredient = ("nothing", |_| {});
    let named = arguments.next().unwrap_or_default();
    let ingredients = INGREDIENTS
        .into_iter()
        .filter(|(name, _)| name.contains(&named));
    let variants: Vec<Ingredient> = ingredients.chain([everything]).collect();
    let comparison = comparison(&world, stop, seeds.clone(), &variants);
    let rows = comparison.run(&Unwatched).unwrap();
    let runs: Vec<&[Row]> = rows.chunks(seeds.as_slice().len()).collect();
    println!(
        "{world}, below {stop} ms: probes · recall, on the worst seed · probes to the ten best · \
         said to be missing, missing"
    );
    print!("{:24}", "without");
    PLACES.iter().for_each(|place| print!(" | {place:42}"));
    println!();
    for (number, (name, _)) in variants.iter().enumerate() {
        print!("{name:24}");
        for place in 0..PLACES.len() {
            print!(" | {:42}", cell(runs[place * variants.len() + number]));
        }
        println!();
    }
}

fn comparison(world: &str, stop: f64, seeds: Seeds, variants: &[Ingredient]) -> Comparison {
    let params = match world {
        "rough" => WorldParams::from_toml(ROUGH).unwrap(),
        _ => WorldParams::builtin(),
    };
    let wrong = if world == "labels" { 0.05 } else { 0.0 };
    let world = World::Generated {
        params: Box::new(params),
        game: Game::Css,
        answering: None,
    };
    let mut conditions = Conditions::of_world(&world, Game::Css);
    conditions.stop = Rtt::from_millis_f64(stop);
    Comparison {
        world,
        clients: PLACES.map(str::to_owned).to_vec(),
        methods: variants.iter().map(without).collect(),
        seeds,
        conditions,
        wrong_labels: Fraction::try_from(wrong).unwrap(),
        without: Vec::new(),
    }
}

fn without((_, change): &Ingredient) -> Method {
    let mut planner = PlannerConfig::published(PlannerKind::Adaptive);
    change(&mut planner.adaptive);
    Method::Planner(planner)
}

fn cell(rows: &[Row]) -> String {
    let mean = |of: fn(&Row) -> f64| rows.iter().map(of).sum::<f64>() / rows.len() as f64;
    let worst = rows.iter().map(|row| row.recall).fold(1.0, f64::min);
    format!(
        "{:.0} · {:.1}, {:.1} · {:.0} · {:.1}, {:.1}",
        mean(|row| row.probes as f64),
        100.0 * mean(|row| row.recall),
        100.0 * worst,
        mean(|row| row.probes_to_10_best.unwrap_or(row.probes) as f64),
        mean(|row| row.expected_missed.unwrap_or(0.0)),
        mean(|row| (row.playable - row.found) as f64),
    )
}

//! What liars leave of the honest clients' gain: each lie, told by 10 % and by 30 % of the clients.
//!
//! `cargo bench -p nearside-detour --bench liars` prints it for an invented world, with
//! `-- --matrix FILE` (see `directory.rs`) for the first slice of a recorded one.
//! `tests/attacks.rs` holds the bands.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for developers"
)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::attack::{Lie, attack, recorded};
use common::{Ends, Trial};
use nearside_coords::worlds::SmallWorld;
use nearside_detour::DirectoryConfig;
use nearside_detour::directory::Ranking;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        return; // tests/attacks.rs does the same in small
    }
    let matrix = arguments.iter().position(|a| a == "--matrix");
    let world = match matrix {
        Some(at) => recorded(&arguments[at + 1]),
        None => SmallWorld::random(300, 200.0, 0.05, 20),
    };
    let ends = match arguments.iter().any(|argument| argument == "--both-ends") {
        true => Ends::Both,
        false => Ends::One,
    };
    let trial = |config| Trial {
        world: &world,
        config,
        ends,
        neighbours: 32,
        seed: 20,
    };
    let chance = DirectoryConfig {
        ranking: Ranking::Random,
        ..DirectoryConfig::default()
    };
    println!("chance: {:.3}", attack(&trial(chance), 3_000, None).share);
    // Nothing is ever too far apart for this one.
    let naive = DirectoryConfig {
        tolerance_share: f64::INFINITY,
        ..DirectoryConfig::default()
    };
    let wary = DirectoryConfig::default();
    for (name, config) in [("believes all", naive), ("default", wary)] {
        let trial = trial(config);
        let honest = attack(&trial, 3_000, None);
        println!("{name}: {:.3}, {:.3} wronged", honest.share, honest.wronged);
        for (lie, liars) in Lie::ALL.iter().flat_map(|lie| [(lie, 0.1), (lie, 0.3)]) {
            let found = attack(&trial, 3_000, Some((*lie, liars)));
            let left = found.share / honest.share;
            let (caught, wronged) = (found.caught, found.wronged);
            println!("  {lie:?} {liars}: {left:.3} left, {caught:.2} caught, {wronged:.3} wronged");
        }
    }
}

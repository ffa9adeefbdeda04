//! What rankings are worth on an invented world with detours.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use nearside_coords::worlds::SmallWorld;
use nearside_detour::directory::Ranking;
use nearside_detour::{Directory, DirectoryConfig};

use common::{Ends, Honest, Trial, share_of_gain};

fn share(ranking: Ranking) -> f64 {
    let shares = (0..3).map(|seed| {
        let world = SmallWorld::random(150, 200.0, 0.3, seed);
        let mut directory = settled(&world, ranking, 256, seed);
        share_of_gain(&mut directory, &world, 300, |_| true)
    });
    shares.sum::<f64>() / 3.0
}

fn settled(world: &SmallWorld, ranking: Ranking, bucket: usize, seed: u64) -> Directory {
    let config = DirectoryConfig {
        ranking,
        bucket,
        ..DirectoryConfig::default()
    };
    let trial = Trial {
        world,
        config,
        ends: Ends::One,
        neighbours: 16,
        seed,
    };
    trial.settle(&mut Honest)
}

#[test]
fn a_shortlist_of_a_quarter_keeps_the_gain() {
    let kept = (0..3).map(|seed| {
        let world = SmallWorld::random(240, 200.0, 0.05, seed);
        let mut directory = settled(&world, Ranking::Mixed, 8, seed);
        let all = share_of_gain(&mut directory, &world, 300, |_| true);
        directory.set_shortlist(60);
        share_of_gain(&mut directory, &world, 300, |_| true) / all
    });
    let kept = kept.sum::<f64>() / 3.0;
    assert!(kept > 0.97, "{kept:.3}");
}

#[test]
fn leg_sums_with_factors_find_most_of_the_gain_and_chance_little() {
    let random = share(Ranking::Random);
    let likelihood = share(Ranking::Likelihood);
    let factors = share(Ranking::FactorSums);
    let mixed = share(Ranking::Mixed);
    assert!(likelihood > random, "{likelihood:.3} {random:.3}");
    assert!(
        factors > 0.9 && likelihood < 0.85,
        "{factors:.3} {likelihood:.3}"
    );
    assert!(mixed > factors - 0.01, "{mixed:.3} {factors:.3}");
}

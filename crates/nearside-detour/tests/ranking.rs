//! What rankings are worth on an invented world with detours.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use nearside_coords::worlds::SmallWorld;
use nearside_detour::directory::Ranking;

use common::{Ends, settled, share_of_gain};

fn share(ranking: Ranking) -> f64 {
    let shares = (0..3).map(|seed| {
        let world = SmallWorld::random(150, 200.0, 0.3, seed);
        let mut directory = settled(&world, ranking, Ends::One, seed, |_, _, rtt| rtt);
        share_of_gain(&mut directory, &world, 8, |_| true)
    });
    shares.sum::<f64>() / 3.0
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

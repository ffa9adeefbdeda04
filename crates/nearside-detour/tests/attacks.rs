//! Liars among the clients: how much of the honest ones' gain is left. Every leg is reported by one
//! end only, so nobody contradicts a liar outright. `benches/liars.rs` does the same on more.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use nearside_coords::worlds::SmallWorld;
use nearside_coords::{Coordinate, Node};
use nearside_detour::DirectoryConfig;
use nearside_detour::directory::Ranking;
use nearside_types::Rtt;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use common::attack::{Lie, Outcome, attack};
use common::{Ends, Says, Trial, id};

fn outcome(config: DirectoryConfig, lie: Option<(Lie, f64)>) -> Outcome {
    let trial = Trial {
        world: &SmallWorld::hubs(160, 0),
        config,
        ends: Ends::One,
        neighbours: 20,
        seed: 0,
    };
    attack(&trial, 600, lie)
}

/// Asserts what each lie leaves of the honest clients' gain when 10 % and when 30 % tell it.
fn assert_left(lies: &[Lie], bands: [f64; 2]) {
    let honest = outcome(DirectoryConfig::default(), None);
    assert_eq!(honest.wronged, 0.0);
    for lie in lies {
        for (share, least) in [0.1, 0.3].into_iter().zip(bands) {
            let found = outcome(DirectoryConfig::default(), Some((*lie, share)));
            let left = found.share / honest.share;
            assert!(left > least, "{lie:?} by {share}: {left:.3}, {found:?}");
            assert!(found.wronged < 0.05, "{lie:?} by {share}: {found:?}");
        }
    }
}

#[test]
fn a_world_of_few_good_relays_can_be_lost_to_liars_that_are_believed() {
    let random = DirectoryConfig {
        ranking: Ranking::Random,
        ..DirectoryConfig::default()
    };
    let naive = DirectoryConfig {
        tolerance_share: f64::INFINITY,
        ..DirectoryConfig::default()
    };
    let honest = outcome(DirectoryConfig::default(), None).share;
    let chance = outcome(random, None).share;
    let fooled = outcome(naive, Some((Lie::Deflate, 0.3))).share;
    assert!(chance < 0.5 * honest, "{chance:.3} {honest:.3}");
    assert!(fooled < 0.85 * honest, "{fooled:.3} {honest:.3}");
}

#[test]
fn lies_in_most_legs_are_found_out() {
    let lies = [Lie::Inflate, Lie::Deflate, Lie::Oscillate, Lie::Boil];
    assert_left(&lies, [0.97, 0.9]);
}

#[test]
fn lies_that_are_not_found_out_do_little() {
    let lies = [Lie::Shave, Lie::Mingle, Lie::Displace, Lie::Sybils];
    assert_left(&lies, [0.97, 0.93]);
}

/// Honest clients on paths whose round trips are another at every measurement.
struct Rough(ChaCha8Rng);

impl Says for Rough {
    fn rtt(&mut self, _: Node, rtt: Rtt, _: u32) -> Rtt {
        let by = self.0.random_range(-2.0f64..2.0).exp2();
        Rtt::from_millis_f64(rtt.as_millis_f64() * by)
    }

    fn place(&self, _: Node, place: &Coordinate) -> Coordinate {
        place.clone()
    }

    fn is_sybil(&self, _: Node) -> bool {
        false
    }
}

#[test]
fn where_everybody_is_contradicted_hardly_anybody_is_distrusted() {
    let world = SmallWorld::hubs(160, 0);
    let trial = Trial {
        world: &world,
        config: DirectoryConfig::default(),
        ends: Ends::Both,
        neighbours: 20,
        seed: 0,
    };
    let directory = trial.settle(&mut Rough(ChaCha8Rng::seed_from_u64(0)));
    let all = (0..world.nodes()).map(Node::at);
    let wronged = all
        .filter(|node| directory.is_distrusted(id(*node)))
        .count();
    assert!(wronged < 16, "{wronged} of 160");
}

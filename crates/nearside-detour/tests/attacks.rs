//! Liars among the clients: how much of the honest ones' gain is left.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use nearside_coords::worlds::SmallWorld;
use nearside_detour::directory::Ranking;
use nearside_types::Rtt;

use common::{Ends, settled, share_of_gain};

/// What liars report in place of what they measured.
#[derive(Debug, Clone, Copy)]
enum Lie {
    /// Everything is far: nobody should use them, and models learn nonsense.
    Inflate,
    /// Everything is near: everybody should use them.
    Deflate,
    /// Now this, now that.
    Oscillate,
    /// A little shorter than true, below what anybody notices at once (frog-boiling).
    Drift,
}

impl Lie {
    fn tell(self, rtt: Rtt, turn: u32) -> Rtt {
        let by = match (self, turn % 2) {
            (Self::Inflate, _) | (Self::Oscillate, 0) => 5.0,
            (Self::Deflate, _) | (Self::Oscillate, _) => 0.1,
            (Self::Drift, _) => 0.75,
        };
        Rtt::from_millis_f64(rtt.as_millis_f64() * by)
    }
}

/// The honest clients' share of the oracle's gain, with a share of liars among all.
fn honest_share(ends: Ends, lie: Option<(Lie, f64)>) -> f64 {
    let seeds = 0..2;
    let shares = seeds.map(|seed| {
        let world = SmallWorld::random(150, 200.0, 0.3, seed);
        let liars = lie.map_or(0, |(_, share)| (150.0 * share) as u32);
        let mut turn = 0;
        let mut directory = settled(&world, Ranking::Mixed, ends, seed, |from, _, rtt| {
            turn += 1;
            match lie {
                Some((lie, _)) if from.0 < liars => lie.tell(rtt, turn),
                _ => rtt,
            }
        });
        share_of_gain(&mut directory, &world, 8, |node| node.0 >= liars)
    });
    shares.sum::<f64>() / 2.0
}

/// What is left of the honest clients' gain, as a share of what they have without liars. Candidates
/// drawn by chance alone would leave 0.79 here: the world is rich in detours, and clients measure what
/// they are offered before they use it.
fn assert_left(ends: Ends, bands: [(f64, f64); 2]) {
    let honest = honest_share(ends, None);
    for lie in [Lie::Inflate, Lie::Deflate, Lie::Oscillate, Lie::Drift] {
        for (share, least) in bands {
            let left = honest_share(ends, Some((lie, share))) / honest;
            assert!(left > least, "{lie:?} by {share}: {left:.3} of {honest:.3}");
        }
    }
}

#[test]
fn liars_whose_neighbours_also_report_cost_honest_clients_little() {
    assert_left(Ends::Both, [(0.1, 0.92), (0.3, 0.9)]);
}

#[test]
fn liars_that_nobody_can_contradict_cost_more() {
    assert_left(Ends::One, [(0.1, 0.87), (0.3, 0.82)]);
}

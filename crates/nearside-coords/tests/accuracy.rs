//! How near predictions come on invented worlds: bands that hold for every seed tried, so that a
//! change for the worse shows.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nearside_coords::worlds::SmallWorld;
use nearside_coords::{
    CoordinateMap, Edges, Estimator, Factorisation, FactorisationConfig, MeasuredElse, Node,
    VivaldiConfig,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const NEIGHBOURS: usize = 16;

struct Trial {
    world: SmallWorld,
    edges: Edges,
    map: CoordinateMap,
    factors: Factorisation,
}

impl Trial {
    fn new(world: SmallWorld, dimensions: usize, seed: u64) -> Self {
        let config = VivaldiConfig {
            dimensions,
            ..VivaldiConfig::for_matrices()
        };
        let neighbours = world.neighbours(NEIGHBOURS, seed);
        let mut map = CoordinateMap::new(dimensions);
        let settled = world.settle(&config, &neighbours, 1_000, seed);
        for (index, coordinate) in settled.iter().enumerate() {
            map.place(Node::at(index), coordinate).unwrap();
        }
        let edges = edges(&world, &neighbours);
        let factors = learn(&edges, seed);
        Self {
            world,
            edges,
            map,
            factors,
        }
    }

    /// The median relative error over pairs that nobody measured.
    fn error_of(&self, estimator: &dyn Estimator) -> f64 {
        let mut errors = Vec::new();
        for a in 0..self.world.nodes() {
            for b in a + 1..self.world.nodes() {
                let (a, b) = (Node::at(a), Node::at(b));
                if self.edges.get(a, b).is_none() {
                    let truth = self.world.rtt(a, b).as_millis_f64();
                    let guess = estimator.estimate(a, b).unwrap().rtt.as_millis_f64();
                    errors.push((guess - truth).abs() / truth);
                }
            }
        }
        errors.sort_by(f64::total_cmp);
        nearside_types::median(&errors).unwrap()
    }
}

fn edges(world: &SmallWorld, neighbours: &[Vec<Node>]) -> Edges {
    let mut edges = Edges::default();
    for (index, peers) in neighbours.iter().enumerate() {
        for peer in peers {
            let own = Node::at(index);
            edges.set(own, *peer, world.rtt(own, *peer));
        }
    }
    edges
}

fn learn(edges: &Edges, seed: u64) -> Factorisation {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut factors = Factorisation::new(FactorisationConfig::default(), seed);
    let all: Vec<_> = edges.iter().collect();
    for _ in 0..all.len() * 60 {
        let (a, b, rtt) = all[random.random_range(0..all.len())];
        factors.observe(a, b, rtt);
    }
    factors
}

/// Asserts bands for coordinates and for factorisation, on three seeds.
fn assert_bands(world: impl Fn(u64) -> SmallWorld, dimensions: usize, bands: (f64, f64)) {
    for seed in 0..3 {
        let trial = Trial::new(world(seed), dimensions, seed);
        let by_map = trial.error_of(&trial.map);
        let by_factors = trial.error_of(&trial.factors);
        assert!(by_map < bands.0, "coordinates, seed {seed}: {by_map:.4}");
        assert!(
            by_factors < bands.1,
            "factors, seed {seed}: {by_factors:.4}"
        );
    }
}

#[test]
fn a_line_is_embedded_almost_exactly() {
    assert_bands(|_| SmallWorld::line(60, 5.0), 2, (0.01, 0.05));
}

#[test]
fn a_grid_is_embedded_almost_exactly() {
    assert_bands(|_| SmallWorld::grid(9, 12.0), 2, (0.02, 0.06));
}

#[test]
fn a_ring_is_embedded_almost_exactly() {
    assert_bands(|_| SmallWorld::ring(60, 60.0), 2, (0.01, 0.05));
}

#[test]
fn two_continents_stay_two() {
    let world = |seed| SmallWorld::two_continents(80, 30.0, 90.0, seed);
    assert_bands(world, 3, (0.03, 0.05));
}

#[test]
fn access_links_and_detours_cost_some_accuracy() {
    let world = |seed| SmallWorld::random(100, 200.0, 0.05, seed);
    assert_bands(world, 4, (0.14, 0.09));
}

#[test]
fn measured_legs_are_exact_on_top_of_any_estimator() {
    let trial = Trial::new(SmallWorld::random(60, 200.0, 0.05, 4), 4, 4);
    for estimator in [&trial.map as &dyn Estimator, &trial.factors] {
        let legs = MeasuredElse {
            edges: &trial.edges,
            estimator,
        };
        for (a, b, rtt) in trial.edges.iter() {
            assert_eq!(legs.estimate(b, a).unwrap().rtt, rtt);
        }
        assert_eq!(trial.error_of(&legs), trial.error_of(estimator));
    }
}

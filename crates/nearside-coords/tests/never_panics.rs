//! The bodies of the fuzz targets on random bytes, and what must hold whatever a neighbour says.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nearside_coords::{Coordinate, CoordinateParts, Neighbour, Vivaldi, VivaldiConfig, fuzzing};
use nearside_types::Rtt;
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #[test]
    fn vivaldi(bytes in vec(any::<u8>(), 0..2_000)) {
        fuzzing::vivaldi(&bytes);
    }

    #[test]
    fn factorisation(bytes in vec(any::<u8>(), 0..2_000)) {
        fuzzing::factorisation(&bytes);
    }

    #[test]
    fn a_liar_moves_a_node_no_further_than_one_step_at_a_time(
        lies in vec((coordinate(), 1u32..6_000_000), 1..60),
        seed: u64,
    ) {
        let config = VivaldiConfig::for_matrices();
        // Distances are rounded to microseconds.
        let most = config.longest_step.as_millis_f64() + 0.001;
        let mut node = Vivaldi::new(config, seed);
        for (lie, micros) in lies {
            let before = node.coordinate().clone();
            let _ = node.observe(Neighbour(1), &lie, Rtt::from_micros(micros));
            let moved = node.coordinate().moved_since(&before).as_millis_f64();
            prop_assert!(node.resets() > 0 || moved <= most, "{moved}");
        }
    }

    #[test]
    fn distance_is_the_same_both_ways_and_never_shorter_than_the_heights(
        a in coordinate(),
        b in coordinate(),
    ) {
        let there = a.estimate(&b).unwrap();
        prop_assert_eq!(there, b.estimate(&a).unwrap());
        let heights = CoordinateParts::from(a).height_ms + CoordinateParts::from(b).height_ms;
        prop_assert!(there.rtt.as_millis_f64() + 0.001 >= heights);
    }

    #[test]
    fn coordinates_survive_a_message(coordinate in coordinate()) {
        let text = serde_json::to_string(&coordinate).unwrap();
        let read: Coordinate = serde_json::from_str(&text).unwrap();
        // JSON may lose the last bit of a number, far below a microsecond.
        prop_assert_eq!(read.moved_since(&coordinate), Rtt::from_micros(0));
        prop_assert!((read.error().share() - coordinate.error().share()).abs() < 1e-9);
    }
}

fn coordinate() -> impl Strategy<Value = Coordinate> {
    let parts = (vec(-2_000.0..2_000.0, 4), 0.0..500.0, 0.0..1.5);
    parts.prop_map(|(position_ms, height_ms, error)| {
        let parts = CoordinateParts {
            position_ms,
            height_ms,
            adjustment_ms: 0.0,
            error,
        };
        Coordinate::try_from(parts).unwrap()
    })
}

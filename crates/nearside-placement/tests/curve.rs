//! The smallest bound for k servers and the curve of cost against bound, compared with trying every
//! allocation.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Shape, every_allocation, instances};
use nearside_placement::{Budget, Cost, Delay, Instance, Verdict, curve, min_delay, verify};
use proptest::prelude::*;

/// Cost, servers and delay of every allocation that overloads nobody and reaches everybody.
fn all_possible(instance: &Instance) -> Vec<(Cost, usize, Delay)> {
    every_allocation(instance)
        .map(|allocation| verify(instance, &allocation, Delay::LONGEST).unwrap())
        .filter(Verdict::is_good)
        .map(|verdict| (verdict.cost, verdict.servers_used, verdict.delay))
        .collect()
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(120)
    }
}

const SMALL: Shape = Shape {
    clients: 5,
    servers: 4,
    ..Shape::FULL
};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn min_delay_is_the_smallest_of_all((instance, _) in instances(SMALL), servers in 1..4usize) {
        let possible = all_possible(&instance);
        let few = possible.iter().filter(|(_, used, _)| *used <= servers);
        let smallest = few.map(|(_, _, delay)| *delay).min();
        let found = min_delay(&instance, servers, &Budget::unlimited(1));
        prop_assert_eq!(found.as_ref().map(|found| found.delay), smallest);
        if let Some(found) = found {
            prop_assert!(found.is_proven() && found.servers_used <= servers);
            let verdict = verify(&instance, &found.allocation, found.delay).unwrap();
            prop_assert!(verdict.is_good() && verdict.delay == found.delay);
        }
    }

    #[test]
    fn the_curve_has_every_corner_and_no_other((instance, _) in instances(SMALL)) {
        let mut possible = all_possible(&instance);
        possible.sort_by_key(|&(cost, _, delay)| (cost, delay));
        let mut corners: Vec<(Cost, Delay)> = Vec::new();
        for (cost, _, delay) in possible {
            if corners.last().is_none_or(|&(_, smallest)| delay < smallest) {
                corners.retain(|&(other, _)| other < cost);
                corners.push((cost, delay));
            }
        }
        let curve = curve(&instance, &Budget::unlimited(1));
        let found: Vec<(Cost, Delay)> = curve.points.iter().map(|point| (point.cost, point.delay)).collect();
        prop_assert_eq!(found, corners);
        prop_assert!(curve.is_complete && curve.points.iter().all(|point| point.is_proven));
    }
}

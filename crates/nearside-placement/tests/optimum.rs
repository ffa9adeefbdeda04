//! What is said to be optimal or impossible is so: compared with trying every allocation.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Shape, brute_force, instances};
use nearside_placement::solver::{Auto, Exact};
use nearside_placement::{Budget, Delay, Instance, Solver, Status, Task, verify};
use proptest::prelude::*;

fn is_the_optimum(solver: &dyn Solver, instance: &Instance, bound: Delay) {
    let outcome = solver.solve(Task { instance, bound }, &Budget::unlimited(1));
    match brute_force(instance, bound) {
        None => assert_eq!(outcome.status, Status::Infeasible, "{}", solver.name()),
        Some((cost, _)) => {
            assert_eq!(outcome.status, Status::Optimal, "{}", solver.name());
            assert_eq!(outcome.cost, Some(cost), "{}", solver.name());
            let allocation = outcome.allocation.unwrap();
            assert!(verify(instance, &allocation, bound).unwrap().is_good());
        }
    }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn exact_and_auto_find_the_fewest_servers((instance, bound) in instances(Shape::PLAIN)) {
        is_the_optimum(&Exact, &instance, bound);
        is_the_optimum(&Auto, &instance, bound);
    }

    #[test]
    fn exact_and_auto_mind_places_prices_and_gaps((instance, bound) in instances(Shape::FULL)) {
        is_the_optimum(&Exact, &instance, bound);
        is_the_optimum(&Auto, &instance, bound);
    }
}

//! Conflicts are real and irreducible, and no smaller regrouping exists: compared with trying every
//! group.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Shape, brute_force, instances};
use nearside_placement::{Budget, ClientId, Delay, Instance, Task, explain, regroup};
use proptest::prelude::*;

fn can_be_together(instance: &Instance, bound: Delay, clients: &[ClientId]) -> bool {
    clients.is_empty() || brute_force(&instance.restricted_to(clients), bound).is_some()
}

fn without(clients: &[ClientId], one: ClientId) -> Vec<ClientId> {
    clients
        .iter()
        .copied()
        .filter(|&client| client != one)
        .collect()
}

/// The size of the largest group that can play.
fn largest_group(instance: &Instance, bound: Delay) -> usize {
    let clients = instance.clients().len();
    (0..1usize << clients)
        .map(|mask| {
            (0..clients)
                .filter(|bit| mask >> bit & 1 == 1)
                .map(ClientId::new)
                .collect()
        })
        .filter(|group: &Vec<ClientId>| can_be_together(instance, bound, group))
        .map(|group| group.len())
        .max()
        .unwrap()
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
    fn a_conflict_blames_nobody_without_need((instance, bound) in instances(SMALL)) {
        let task = Task { instance: &instance, bound };
        let everybody: Vec<ClientId> = instance.client_ids().collect();
        match explain(task, &Budget::unlimited(1)) {
            None => prop_assert!(can_be_together(&instance, bound, &everybody)),
            Some(conflict) => {
                prop_assert!(!can_be_together(&instance, bound, &conflict.clients));
                for &client in &conflict.clients {
                    prop_assert!(can_be_together(&instance, bound, &without(&conflict.clients, client)));
                }
                if let Some(delay) = conflict.delay {
                    prop_assert!(can_be_together(&instance, delay, &conflict.clients));
                    prop_assert!(!can_be_together(&instance, delay.bound_below(), &conflict.clients));
                }
            }
        }
    }

    #[test]
    fn no_smaller_regrouping_exists((instance, bound) in instances(SMALL)) {
        let regrouping = regroup(Task { instance: &instance, bound }, &Budget::unlimited(1));
        prop_assert!(regrouping.is_proven());
        let largest = largest_group(&instance, bound);
        prop_assert_eq!(regrouping.moved.len(), instance.clients().len() - largest);
        let stay: Vec<ClientId> = instance.client_ids().filter(|client| !regrouping.moved.contains(client)).collect();
        prop_assert!(can_be_together(&instance, bound, &stay));
    }

    #[test]
    fn without_a_budget_the_rest_can_still_play((instance, bound) in instances(SMALL)) {
        let regrouping = regroup(Task { instance: &instance, bound }, &Budget::unlimited(1).with_steps(0));
        let stay: Vec<ClientId> = instance.client_ids().filter(|client| !regrouping.moved.contains(client)).collect();
        prop_assert!(can_be_together(&instance, bound, &stay));
        prop_assert!(regrouping.at_least <= instance.clients().len() - largest_group(&instance, bound));
    }
}

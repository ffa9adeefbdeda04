//! Conflicts are real and irreducible, and no smaller regrouping exists: compared with trying every
//! group.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Shape, brute_force, instances};
use std::sync::atomic::{AtomicU64, Ordering};

use nearside_placement::network::NetworkParams;
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

    #[test]
    fn whoever_is_blamed_in_a_hurry_is_a_conflict((instance, bound) in instances(SMALL), last_look in 0..40u64) {
        let clock = Clock::new(last_look);
        let gone = || clock.gone();
        let budget = Budget::unlimited(1).with_clock(&gone);
        let regrouping = regroup(Task { instance: &instance, bound }, &budget);
        for conflict in &regrouping.conflicts {
            prop_assert!(!can_be_together(&instance, bound, &conflict.clients));
            for &client in conflict.clients.iter().filter(|_| conflict.is_minimal) {
                prop_assert!(can_be_together(&instance, bound, &without(&conflict.clients, client)));
            }
        }
        let stay: Vec<ClientId> = instance.client_ids().filter(|client| !regrouping.moved.contains(client)).collect();
        prop_assert!(can_be_together(&instance, bound, &stay));
        prop_assert!(regrouping.at_least <= instance.clients().len() - largest_group(&instance, bound));
    }
}

/// Goes on only when it is looked at, so that it is the same on every machine.
struct Clock {
    looks: AtomicU64,
    last_look: u64,
}

impl Clock {
    const fn new(last_look: u64) -> Self {
        let looks = AtomicU64::new(0);
        Self { looks, last_look }
    }

    fn gone(&self) -> f64 {
        let looks = self.looks.fetch_add(1, Ordering::Relaxed);
        looks as f64 / self.last_look as f64
    }

    fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }
}

/// The smallest bound at which everybody has some server in reach.
fn just_in_reach(instance: &Instance) -> Delay {
    let nearest = |client| {
        let ways = instance
            .server_ids()
            .map(|server| instance.access(client, server));
        ways.min().unwrap()
    };
    let farthest = instance.client_ids().map(nearest).max().unwrap();
    farthest + farthest
}

#[test]
fn nobody_asks_on_when_the_time_is_over() {
    let params = NetworkParams {
        clients: 400,
        ..NetworkParams::default()
    };
    let instance = &params.generate(1);
    let bound = just_in_reach(instance);
    let task = Task { instance, bound };
    assert!(
        !explain(task, &Budget::unlimited(1))
            .unwrap()
            .clients
            .is_empty()
    );
    let mut cut_short = 0;
    for last_look in [0, 1, 2, 4, 8, 16, 32, 64] {
        let clock = Clock::new(last_look);
        let gone = || clock.gone();
        let conflict = explain(task, &Budget::unlimited(1).with_clock(&gone));
        let late = clock.looks().saturating_sub(last_look);
        // The question at hand, and a look at each level of those that wait for it.
        assert!(late <= 80, "{late} looks after {last_look}");
        cut_short += usize::from(conflict.is_some_and(|conflict| !conflict.is_minimal));
    }
    assert!(
        cut_short > 0,
        "no clock ended between the first question and the last"
    );
}

#[test]
fn the_clock_is_asked_while_a_group_is_chosen_without_search() {
    let instance = &NetworkParams::default().generate(1);
    let bound = just_in_reach(instance);
    let clock = Clock::new(0);
    let gone = || clock.gone();
    let hurried = Budget::unlimited(1).with_clock(&gone);
    regroup(Task { instance, bound }, &hurried);
    assert!(clock.looks() <= 8, "{} looks", clock.looks());
    let patient = Clock::new(u64::MAX);
    let gone = || patient.gone();
    let stepless = Budget::unlimited(1).with_steps(0).with_clock(&gone);
    let crowded = instance.clone().with_capacity(0);
    regroup(
        Task {
            instance: &crowded,
            bound,
        },
        &stepless,
    );
    assert!(patient.looks() >= 8, "{} looks", patient.looks());
}

#[test]
fn players_without_a_server_in_reach_are_named_even_without_time() {
    let instance = &NetworkParams::default().generate(1);
    let bound = just_in_reach(instance).bound_below();
    let budget = Budget::unlimited(1).with_deadline(&|| true);
    let task = Task { instance, bound };
    let conflict = explain(task, &budget).unwrap();
    assert!(conflict.is_minimal && conflict.clients.len() == 1);
    assert_eq!(conflict.delay, Some(just_in_reach(instance)));
    assert_eq!(regroup(task, &budget).conflicts.first(), Some(&conflict));
}

//! Whatever a solver answers on whatever instance, the judge agrees with it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Shape, instances};
use nearside_placement::network::NetworkParams;
use nearside_placement::solver::{
    Anchors, Auto, ClientOrder, Exact, Gathering, Greedy, GreedyMove, Nearest, Persistence,
    TightSpan, Zizo,
};
use nearside_placement::{Budget, Delay, Instance, Outcome, Solver, Task, verify};
use proptest::prelude::*;

/// The status, delay, cost and number of servers an outcome claims are those the judge finds.
fn agree(instance: &Instance, bound: Delay, name: &str, outcome: &Outcome) {
    let Some(allocation) = &outcome.allocation else {
        assert!(!outcome.is_within_bound(), "{name}: {outcome:?}");
        return;
    };
    let verdict = verify(instance, allocation, bound).unwrap();
    assert_eq!(
        outcome.is_within_bound(),
        verdict.is_good(),
        "{name}: {verdict:?}"
    );
    assert_eq!(outcome.delay, Some(verdict.delay), "{name}");
    assert_eq!(outcome.cost, Some(verdict.cost), "{name}");
    assert_eq!(outcome.servers_used, verdict.servers_used, "{name}");
    assert!(
        outcome.lower_bound <= verdict.cost || !verdict.is_good(),
        "{name}"
    );
}

fn solvers() -> Vec<Box<dyn Solver>> {
    let mut solvers: Vec<Box<dyn Solver>> = vec![
        Box::new(Nearest),
        Box::new(Greedy::default()),
        Box::new(Greedy {
            moves: GreedyMove::Closer,
        }),
        Box::new(Anchors),
        Box::new(TightSpan::default()),
        Box::new(Exact),
        Box::new(Auto),
    ];
    for zizo in Zizo::VARIANTS {
        solvers.push(Box::new(zizo));
        solvers.push(Box::new(Zizo {
            order: ClientOrder::Seeded,
            persistence: Persistence::TryNext,
            ..zizo
        }));
    }
    solvers
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_500) })]

    #[test]
    fn every_solver_tells_the_truth((instance, bound) in instances(Shape { clients: 9, servers: 7, ..Shape::FULL })) {
        for solver in solvers() {
            let task = Task { instance: &instance, bound };
            let outcome = solver.solve(task, &Budget::unlimited(7));
            agree(&instance, bound, solver.name(), &outcome);
        }
    }

    #[test]
    fn a_budget_of_few_steps_still_gives_the_truth((instance, bound) in instances(Shape::FULL), steps in 0..20u64) {
        for solver in solvers() {
            let task = Task { instance: &instance, bound };
            let outcome = solver.solve(task, &Budget::unlimited(7).with_steps(steps));
            agree(&instance, bound, solver.name(), &outcome);
        }
    }

    #[test]
    fn a_gathering_holds_the_bound_after_every_change((instance, bound) in instances(Shape::FULL), leaver in 0..6usize) {
        let mut gathering = Gathering::new(Zizo::default(), &instance, bound);
        let mut here = Vec::new();
        for client in instance.client_ids() {
            if gathering.join(client).is_ok() {
                here.push(client);
            }
            if leaver < here.len() && here.len() > 3 {
                gathering.leave(here.remove(leaver));
            }
            let present: Vec<_> = here.iter().map(|&client| gathering.contact(client).unwrap()).collect();
            if !here.is_empty() {
                let part = instance.restricted_to(&here);
                let allocation = nearside_placement::Allocation::new(present);
                prop_assert!(verify(&part, &allocation, bound).unwrap().is_good());
            }
        }
    }
}

/// At 20 ms some instances of the paper's network have no greedy cover under any sampled caps.
#[test]
fn tight_span_finds_something_wherever_step_1_of_the_paper_does() {
    let bound = Delay::from_millis(20.0).unwrap();
    for seed in 0..20 {
        let instance = NetworkParams::default().generate(seed);
        let task = Task {
            instance: &instance,
            bound,
        };
        let budget = Budget::unlimited(seed);
        if Nearest.solve(task, &budget).is_within_bound() {
            let outcome = TightSpan::default().solve(task, &budget);
            assert!(outcome.is_within_bound(), "seed {seed}");
        }
    }
}

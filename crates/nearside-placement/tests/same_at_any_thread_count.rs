//! The same seed and steps give the same outcome, whoever does the work.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicUsize, Ordering};

use nearside_placement::network::NetworkParams;
use nearside_placement::solver::{Anchors, Auto, Greedy, TightSpan, Workers};
use nearside_placement::{Budget, Delay, Solver, Task};

/// Scoped threads that fetch jobs until there are none left.
struct Threads(usize);

impl Workers for Threads {
    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..self.0 {
                scope.spawn(|| {
                    while let Some(mine) =
                        Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&mine| mine < jobs)
                    {
                        job(mine);
                    }
                });
            }
        });
    }
}

#[test]
fn outcomes_do_not_depend_on_the_number_of_workers() {
    let params = NetworkParams {
        systems: 10,
        routers: 40,
        servers: 60,
        clients: 80,
        ..NetworkParams::default()
    };
    let solvers: [&dyn Solver; 4] = [&Greedy::default(), &Anchors, &TightSpan::default(), &Auto];
    for seed in 0..3 {
        let instance = params.generate(seed);
        for (solver, millis) in solvers.iter().zip([16.0, 18.0, 20.0, 17.0]) {
            let task = Task {
                instance: &instance,
                bound: Delay::from_millis(millis).unwrap(),
            };
            let budget = Budget::unlimited(seed).with_steps(3_000);
            let alone = solver.solve(task, &budget);
            for threads in [2, 5] {
                let together = solver.solve(task, &budget.with_workers(&Threads(threads)));
                assert_eq!(alone, together, "{} with {threads} threads", solver.name());
            }
        }
    }
}

//! The paper's centralised rival (section 4): start at the core, add the server that makes the
//! session delay smallest, let clients connect to it, until the bound holds.

mod trial;

use super::least::least_cost;
use super::{Budget, Counts, Outcome, Seating, Solver, Task};
use crate::{ClientId, Delay, DelayMatrix, Instance, ServerId};
use trial::{Now, Trial};

/// When a client connects to a server that greedy has just added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GreedyMove {
    /// When it is closer than the present one and the session delay does not rise by it, which keeps
    /// the paper's claim that the delay falls with every server.
    #[default]
    DelayDoesNotRise,
    /// Whenever it is closer than the present one.
    Closer,
}

/// The paper's greedy algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Greedy {
    /// When clients connect to a new server.
    pub moves: GreedyMove,
}

impl Solver for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn solve(&self, task: Task<'_>, budget: &Budget<'_>) -> Outcome {
        let mut counts = Counts::default();
        let mut seating = Seating::empty(task.instance, task.bound);
        if !seat_at_core(&mut seating) {
            return Outcome::unseated(least_cost(task.instance), counts);
        }
        let columns = columns(task.instance);
        let mut unused: Vec<ServerId> = task.instance.server_ids().collect();
        unused.retain(|&server| seating.load(server) == 0);
        while !seating.holds() && !unused.is_empty() {
            if budget.time_is_up() || counts.rounds >= budget.steps() {
                return Outcome::out_of_budget(least_cost(task.instance), counts);
            }
            let now = Now::of(&seating);
            let trial = |server: ServerId| {
                let column = columns.row(server.index());
                Trial::new(&seating, server, column, &now, self.moves)
            };
            let delays = budget.map(unused.len(), |place| trial(unused[place]).delay);
            counts.rounds += 1;
            counts.probes += delays.len() as u64;
            let best = (0..unused.len())
                .min_by_key(|&place| (delays[place], unused[place]))
                .expect("some server is unused");
            let server = unused.remove(best);
            let movers = trial(server).movers;
            counts.migrations += movers.len() as u64;
            for client in movers {
                seating.seat(client, server);
            }
        }
        Outcome::seated(&seating, least_cost(task.instance), counts)
    }
}

/// Everybody at the core; with capacities, at the best servers in the core's sense that have places.
fn seat_at_core(seating: &mut Seating<'_>) -> bool {
    let instance = seating.instance();
    let mut ranked: Vec<(Delay, ServerId)> = instance
        .server_ids()
        .map(|server| {
            let distances = instance
                .client_ids()
                .map(|client| instance.access(client, server));
            (distances.max().unwrap_or(Delay::ZERO), server)
        })
        .collect();
    ranked.sort_unstable();
    instance.client_ids().all(|client| {
        let place = ranked.iter().map(|&(_, server)| server);
        let place = place
            .filter(|&server| instance.access(client, server).is_usable())
            .find(|&server| seating.has_place(server));
        place
            .inspect(|&server| seating.seat(client, server))
            .is_some()
    })
}

/// A row for each server: trials read the distances of one server to all clients.
fn columns(instance: &Instance) -> DelayMatrix {
    let (servers, clients) = (instance.servers().len(), instance.clients().len());
    DelayMatrix::from_fn(servers, clients, |server, client| {
        instance.access(ClientId::new(client), ServerId::new(server))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::samples;

    fn solve(moves: GreedyMove, instance: &Instance, bound: f64) -> Outcome {
        let bound = Delay::from_millis(bound).unwrap();
        Greedy { moves }.solve(Task { instance, bound }, &Budget::unlimited(0))
    }

    #[test]
    fn figure_1_needs_the_core_only_or_both_ends() {
        let instance = samples::figure1();
        for moves in [GreedyMove::DelayDoesNotRise, GreedyMove::Closer] {
            let alone = solve(moves, &instance, 6.0);
            assert_eq!(alone.servers_used, 1, "{moves:?}");
            let ends = solve(moves, &instance, 4.0);
            assert_eq!(ends.servers_used, 2, "{moves:?}");
            assert_eq!(ends.delay, Delay::from_millis(4.0));
        }
    }

    #[test]
    fn a_bound_below_reach_ends_with_all_servers_tried() {
        let outcome = solve(GreedyMove::default(), &samples::figure1(), 3.0);
        assert_eq!(outcome.status, Status::BoundUnmet);
        assert_eq!(outcome.counts.rounds, 2);
    }

    #[test]
    fn cut_short_it_says_so_and_a_round_is_a_step() {
        let instance = samples::figure1();
        let task = |bound| Task {
            instance: &instance,
            bound: Delay::from_millis(bound).unwrap(),
        };
        let greedy = Greedy::default();
        let late = greedy.solve(task(4.0), &Budget::unlimited(0).with_deadline(&|| true));
        assert_eq!(late.status, Status::OutOfBudget);
        // Both ends are needed, one for each round; all servers tried is no matter of the budget.
        let status = |bound, steps| {
            let outcome = greedy.solve(task(bound), &Budget::unlimited(0).with_steps(steps));
            outcome.status
        };
        assert_eq!(status(4.0, 1), Status::OutOfBudget);
        assert_eq!(status(4.0, 2), Status::Feasible);
        assert_eq!(status(3.0, 1), Status::OutOfBudget);
        assert_eq!(status(3.0, 2), Status::BoundUnmet);
        assert_eq!(status(6.0, 0), Status::Optimal);
    }

    #[test]
    fn capacities_spread_the_start() {
        let mut parts = samples::figure1_parts();
        parts.servers[1].capacity = Some(1);
        let outcome = solve(GreedyMove::default(), &Instance::new(parts).unwrap(), 8.0);
        assert_eq!(outcome.servers_used, 2);
        assert!(outcome.is_within_bound());
    }
}

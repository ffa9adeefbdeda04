//! Zoom-in-zoom-out, the paper's algorithm (section 3.2), in its four variants: clients search all
//! servers (Sr) or move along a tree (Tr), each for itself (C) or with its server's others (S).

mod gathering;
mod moves;
mod tree;

pub use gathering::{Gathering, JoinError};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::least::least_cost;
use super::nearest;
use super::{Budget, Counts, Outcome, Seating, Solver, Task, core_server};
use crate::{ClientId, ServerId};
use moves::Direction;
use tree::Tree;

/// Where a client looks for its next server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Search {
    /// Among all servers: the paper's `Sr`.
    #[default]
    Full,
    /// Along a shortest-path tree from the core: the paper's `Tr`. Uses the instance's server graph,
    /// or each server's five nearest neighbours and a spanning tree.
    Tree,
}

/// Who moves at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Migration {
    /// Each client for itself: the paper's `C`.
    #[default]
    Individual,
    /// All clients of a server or none: the paper's `S`.
    Coordinated,
}

/// The order in which clients get their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientOrder {
    /// As the instance lists them.
    #[default]
    Listed,
    /// Shuffled by the budget's seed.
    Seeded,
}

/// What a client does after a probe was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Persistence {
    /// Waits for the next round, as published.
    #[default]
    Wait,
    /// Tries its next candidates at once: many more probes, slightly fewer servers.
    TryNext,
}

/// The paper's algorithm. [`Zizo::default`] is ZIZO-Sr-C, which the paper recommends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Zizo {
    /// Where a client looks.
    pub search: Search,
    /// Who moves at a time.
    pub migration: Migration,
    /// In which order.
    pub order: ClientOrder,
    /// After a refusal.
    pub persistence: Persistence,
}

impl Zizo {
    /// The four variants of the paper, in the order of its figures.
    pub const VARIANTS: [Self; 4] = [
        Self::variant(Search::Full, Migration::Individual),
        Self::variant(Search::Full, Migration::Coordinated),
        Self::variant(Search::Tree, Migration::Individual),
        Self::variant(Search::Tree, Migration::Coordinated),
    ];

    /// One of the four, otherwise as published.
    pub const fn variant(search: Search, migration: Migration) -> Self {
        Self {
            search,
            migration,
            order: ClientOrder::Listed,
            persistence: Persistence::Wait,
        }
    }

    /// Steps 2 to 4 on whoever is seated now. The bound holds after every hop, so that a budget may
    /// end them anywhere.
    pub(crate) fn refine(
        self,
        seating: &mut Seating<'_>,
        order: &[ClientId],
        counts: &mut Counts,
        budget: &Budget<'_>,
    ) {
        let present: Vec<ClientId> = order
            .iter()
            .copied()
            .filter(|&client| seating.contact(client).is_some())
            .collect();
        let Some(core) = core_server(seating.instance(), present.iter().copied()) else {
            return;
        };
        let tree = match self.search {
            Search::Full => None,
            Search::Tree => Some(Tree::grow(seating.instance(), core, seating.in_use())),
        };
        let towards = Direction::towards(core, seating.instance());
        for direction in [towards, Direction::Out] {
            let zoom = Zoom {
                direction,
                tree: tree.as_ref(),
                persistence: self.persistence,
                budget,
            };
            match self.migration {
                Migration::Individual => zoom.each(seating, &present, counts),
                Migration::Coordinated => zoom.together(seating, counts),
            }
        }
    }

    fn order(self, task: Task<'_>, seed: u64) -> Vec<ClientId> {
        let mut order: Vec<ClientId> = task.instance.client_ids().collect();
        if self.order == ClientOrder::Seeded {
            order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        }
        order
    }
}

impl Solver for Zizo {
    fn name(&self) -> &'static str {
        match (self.search, self.migration) {
            (Search::Full, Migration::Individual) => "zizo-sr-c",
            (Search::Full, Migration::Coordinated) => "zizo-sr-s",
            (Search::Tree, Migration::Individual) => "zizo-tr-c",
            (Search::Tree, Migration::Coordinated) => "zizo-tr-s",
        }
    }

    fn solve(&self, task: Task<'_>, budget: &Budget<'_>) -> Outcome {
        let mut seating = Seating::empty(task.instance, task.bound);
        let mut counts = Counts::default();
        if let Err(no_seat) = nearest::seat_all(&mut seating, &mut counts, budget) {
            return no_seat.outcome(least_cost(task.instance), counts);
        }
        if seating.holds() {
            let order = self.order(task, budget.seed());
            self.refine(&mut seating, &order, &mut counts, budget);
        }
        Outcome::seated(&seating, least_cost(task.instance), counts)
    }
}

/// One of the two zooms: rounds over all clients until a round moves nobody. Zooming in, a client
/// comes strictly closer to the core, zooming out strictly closer to its server: both end. A round is
/// a step of the budget.
struct Zoom<'t> {
    direction: Direction,
    tree: Option<&'t Tree>,
    persistence: Persistence,
    budget: &'t Budget<'t>,
}

impl Zoom<'_> {
    /// One hop for each client and round.
    fn each(&self, seating: &mut Seating<'_>, clients: &[ClientId], counts: &mut Counts) {
        while counts.rounds < self.budget.steps() {
            counts.rounds += 1;
            let before = counts.migrations;
            for &client in clients {
                if self.budget.time_is_up() {
                    return;
                }
                self.hop(seating, client, counts);
            }
            if counts.migrations == before {
                return;
            }
        }
    }

    fn hop(&self, seating: &mut Seating<'_>, client: ClientId, counts: &mut Counts) {
        let tries = match self.persistence {
            Persistence::Wait => 1,
            Persistence::TryNext => usize::MAX,
        };
        for server in self.candidates(seating, client, tries) {
            counts.probes += 1;
            if seating.keeps_bound(client, server) {
                seating.seat(client, server);
                counts.migrations += 1;
                return;
            }
        }
    }

    /// All clients of a server take their own next server, or none does.
    fn together(&self, seating: &mut Seating<'_>, counts: &mut Counts) {
        while counts.rounds < self.budget.steps() {
            counts.rounds += 1;
            let before = counts.migrations;
            for server in seating.in_use().to_vec() {
                if self.budget.time_is_up() {
                    return;
                }
                self.group_hop(seating, server, counts);
            }
            if counts.migrations == before {
                return;
            }
        }
    }

    fn group_hop(&self, seating: &mut Seating<'_>, server: ServerId, counts: &mut Counts) {
        let mut group: Vec<ClientId> = seating.guests(server).collect();
        group.sort_unstable();
        let mut moved = 0;
        for &client in &group {
            // One client without a candidate blocks the group.
            let Some(&target) = self.candidates(seating, client, 1).first() else {
                break;
            };
            counts.probes += 1;
            seating.seat(client, target);
            moved += 1;
        }
        if moved == group.len() && seating.holds() {
            counts.migrations += moved as u64;
        } else {
            group[..moved]
                .iter()
                .for_each(|&client| seating.seat(client, server));
        }
    }

    /// Where the client may go, best first, at most `wanted` servers.
    fn candidates(&self, seating: &Seating<'_>, client: ClientId, wanted: usize) -> Vec<ServerId> {
        let Some(present) = seating.contact(client) else {
            return Vec::new();
        };
        let Some(tree) = self.tree else {
            return moves::by_search(seating, client, present, &self.direction, wanted);
        };
        let mut along = moves::along_tree(seating, client, present, &self.direction, tree);
        along.truncate(wanted);
        along
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::Status;
    use crate::{Delay, Instance, samples};

    fn solve(zizo: Zizo, instance: &Instance, bound: f64) -> Outcome {
        let bound = Delay::from_millis(bound).unwrap();
        zizo.solve(Task { instance, bound }, &Budget::unlimited(0))
    }

    #[test]
    fn figure_1_comes_together_at_the_core_when_the_bound_allows() {
        let instance = samples::figure1();
        for zizo in Zizo::VARIANTS {
            let outcome = solve(zizo, &instance, 6.0);
            assert_eq!(outcome.servers_used, 1, "{}", zizo.name());
            assert_eq!(outcome.delay, Delay::from_millis(6.0));
            assert_eq!(outcome.counts.migrations, 2);
        }
    }

    #[test]
    fn figure_1_stays_apart_when_it_does_not() {
        let instance = samples::figure1();
        for zizo in Zizo::VARIANTS {
            let outcome = solve(zizo, &instance, 5.0);
            assert_eq!(outcome.servers_used, 2, "{}", zizo.name());
            assert_eq!(outcome.status, Status::Feasible);
        }
    }

    #[test]
    fn a_budget_ends_it_anywhere_and_the_bound_holds() {
        let instance = samples::figure1();
        let bound = Delay::from_millis(6.0).unwrap();
        let task = Task {
            instance: &instance,
            bound,
        };
        for zizo in Zizo::VARIANTS {
            let mut ends = Vec::new();
            for patience in 0..20 {
                let asked = AtomicU64::new(0);
                let time_is_up = || asked.fetch_add(1, Ordering::Relaxed) >= patience;
                let budget = Budget::unlimited(0).with_deadline(&time_is_up);
                let outcome = zizo.solve(task, &budget);
                ends.push((outcome.status, outcome.counts.migrations));
            }
            // Seats for the two, then their moves one by one, of which the last is the optimum.
            assert_eq!(ends[0], (Status::OutOfBudget, 0), "{}", zizo.name());
            assert_eq!(ends[2], (Status::Feasible, 0), "{}", zizo.name());
            assert_eq!(ends[19], (Status::Optimal, 2), "{}", zizo.name());
            assert!(ends.iter().all(|end| end.0 != Status::BoundUnmet));
        }
    }

    #[test]
    fn a_round_is_a_step() {
        let instance = samples::figure1();
        let bound = Delay::from_millis(6.0).unwrap();
        let task = Task {
            instance: &instance,
            bound,
        };
        for zizo in Zizo::VARIANTS {
            for steps in [0, 1, 2] {
                let outcome = zizo.solve(task, &Budget::unlimited(0).with_steps(steps));
                assert_eq!(outcome.counts.rounds, steps, "{}", zizo.name());
                assert_eq!(outcome.counts.migrations, 2 * steps.min(1));
            }
        }
    }

    #[test]
    fn a_violation_in_step_1_is_told_and_left() {
        let outcome = solve(Zizo::default(), &samples::figure1(), 3.0);
        assert_eq!(outcome.status, Status::BoundUnmet);
        assert_eq!(outcome.counts.migrations, 0);
    }

    #[test]
    fn full_servers_are_no_candidates() {
        let mut parts = samples::figure1_parts();
        parts.servers[1].capacity = Some(1);
        let instance = Instance::new(parts).unwrap();
        for zizo in Zizo::VARIANTS {
            let outcome = solve(zizo, &instance, 6.0);
            assert_eq!(outcome.servers_used, 2, "{}", zizo.name());
        }
    }
}

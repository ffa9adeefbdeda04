use std::cmp::Reverse;

use super::bounds;
use super::state::State;
use crate::solver::Budget;
use crate::solver::model::{Model, Near};
use crate::{Cost, Delay};

/// Depth-first search for radii that cost at most a threshold.
///
/// A node picks the client (with capacities: the crowd) that has the fewest ways to be served, and
/// tries them one by one: "server j has at least this radius", and, once that has failed, "it has
/// not". The two exclude each other, so no allocation is met twice, and each decision lowers the
/// ceilings of all other servers.
pub(crate) struct Search<'m, 'i> {
    model: &'m Model<'i>,
    budget: &'m Budget<'m>,
    threshold: Cost,
    /// The least that was beyond the threshold: the next one worth trying.
    beyond: Cost,
    nodes: u64,
    node_limit: u64,
}

/// How a search ended.
#[derive(Debug)]
pub(crate) enum Found {
    /// Radii within the threshold that serve everybody.
    State(Box<State>),
    /// There are none; nothing costs less than this.
    Nothing {
        /// Infinite when no radii serve everybody at any cost.
        at_least: Cost,
    },
    /// The budget ended first.
    OutOfBudget,
}

/// One way to serve somebody: this server, with at least this radius.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Choice {
    server: usize,
    radius: Delay,
}

enum Step {
    Found(Box<State>),
    Dead,
    OutOfBudget,
}

/// Nodes between two looks at the deadline, about a millisecond's worth; with capacities, which have
/// places to fill, one is.
const NODES_PER_LOOK: u64 = 64;

/// Crowds looked at before a branch. Those with no choice or one are always among the first.
const CROWDS: usize = 6;

impl<'m, 'i> Search<'m, 'i> {
    pub(crate) fn new(
        model: &'m Model<'i>,
        budget: &'m Budget<'m>,
        threshold: Cost,
        node_limit: u64,
    ) -> Self {
        Self {
            model,
            budget,
            threshold,
            beyond: Cost::INFINITE,
            nodes: 0,
            node_limit,
        }
    }

    /// Nodes visited so far.
    pub(crate) const fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Searches everything that `start` leaves open.
    pub(crate) fn run(&mut self, start: State) -> Found {
        match self.descend(start) {
            Step::Found(state) => Found::State(state),
            Step::Dead => Found::Nothing {
                at_least: self.beyond,
            },
            Step::OutOfBudget => Found::OutOfBudget,
        }
    }

    fn descend(&mut self, mut state: State) -> Step {
        if !self.may_go_on() {
            return Step::OutOfBudget;
        }
        let choices = loop {
            if state.waiting().is_empty() {
                return Step::Found(Box::new(state));
            }
            let reach = self.reach(&state);
            let choices = self.tightest(&state, &reach);
            let [only] = choices[..] else {
                if choices.is_empty() || self.is_beyond(&state, &reach) {
                    return Step::Dead;
                }
                break choices;
            };
            if state.raise(self.model, only.server, only.radius).is_err() {
                return Step::Dead;
            }
        };
        self.branch(state, choices)
    }

    fn branch(&mut self, mut state: State, mut choices: Vec<Choice>) -> Step {
        self.best_first(&state, &mut choices);
        for Choice { server, radius } in choices {
            let mut child = state.clone();
            if child.raise(self.model, server, radius).is_ok() {
                match self.descend(child) {
                    Step::Dead => {}
                    end => return end,
                }
            }
            if state.lower(server, radius.just_below()).is_err() {
                return Step::Dead;
            }
        }
        Step::Dead
    }

    fn may_go_on(&mut self) -> bool {
        self.nodes += 1;
        let look = self.model.is_capacitated() || self.nodes.is_multiple_of(NODES_PER_LOOK);
        self.nodes <= self.node_limit && !(look && self.budget.time_is_up())
    }

    /// The largest radius each server may have, negative for servers that we cannot pay.
    fn reach(&mut self, state: &State) -> Vec<Delay> {
        let mut reach = Vec::with_capacity(self.model.servers());
        for server in 0..self.model.servers() {
            let affordable = state.is_open(server) || {
                let total = state.spent() + self.model.cost(server);
                total <= self.threshold || self.note(total)
            };
            reach.push(if affordable {
                state.ceiling(server)
            } else {
                Delay::ZERO.just_below()
            });
        }
        reach
    }

    /// Remembers a cost beyond the threshold.
    fn note(&mut self, cost: Cost) -> bool {
        self.beyond = self.beyond.min(cost);
        false
    }

    fn is_beyond(&mut self, state: &State, reach: &[Delay]) -> bool {
        let total = state.spent() + bounds::still_needed(self.model, state, reach);
        total > self.threshold && !self.note(self.model.round_up(total))
    }

    /// The ways to serve whoever has the fewest.
    fn tightest(&self, state: &State, reach: &[Delay]) -> Vec<Choice> {
        if self.model.is_capacitated() {
            return self.tightest_crowd(state, reach);
        }
        let options = |client: usize| {
            let near = self.model.servers_near(client).iter();
            near.filter(|near| near.distance <= reach[near.index()])
        };
        let waiting = state.waiting().iter();
        let tightest = waiting.min_by_key(|&&client| options(client).count());
        let tightest = tightest.map(|&client| options(client));
        let choice = |near: &Near| Choice {
            server: near.index(),
            radius: near.distance,
        };
        tightest.into_iter().flatten().map(choice).collect()
    }

    /// The same for crowds. A crowd has at least the choices of the client it is of, so crowds are
    /// looked at in the order of these, and only while they can be tighter than the best; not all of
    /// them, since whom to branch on is a matter of speed only.
    fn tightest_crowd(&self, state: &State, reach: &[Delay]) -> Vec<Choice> {
        let is_choice = |near: &&Near| {
            let above = state
                .floor(near.index())
                .is_none_or(|floor| near.distance > floor);
            above && near.distance <= reach[near.index()]
        };
        let own = |&client: &usize| {
            let near = self.model.servers_near(client).iter();
            (near.filter(is_choice).count(), client)
        };
        let mut waiting: Vec<(usize, usize)> = state.waiting().iter().map(own).collect();
        waiting.sort_unstable();
        let mut tightest: Option<Vec<Choice>> = None;
        for (least, client) in waiting.into_iter().take(CROWDS) {
            if tightest.as_ref().is_some_and(|best| best.len() <= least) {
                break;
            }
            let crowd = state.crowd(self.model, client);
            let choices = self.choices(state, reach, &crowd);
            if tightest
                .as_ref()
                .is_none_or(|best| choices.len() < best.len())
            {
                tightest = Some(choices);
            }
        }
        tightest.unwrap_or_default()
    }

    /// For each server the smallest radius above its floor that serves one more of the crowd.
    fn choices(&self, state: &State, reach: &[Delay], crowd: &[usize]) -> Vec<Choice> {
        let mut radius: Vec<Option<Delay>> = vec![None; self.model.servers()];
        for &client in crowd {
            for near in self.model.servers_near(client) {
                let server = near.index();
                let above = state
                    .floor(server)
                    .is_none_or(|floor| near.distance > floor);
                let smaller = radius[server].is_none_or(|so_far| near.distance < so_far);
                if above && smaller && near.distance <= reach[server] {
                    radius[server] = Some(near.distance);
                }
            }
        }
        let choices = radius.iter().enumerate();
        choices
            .filter_map(|(server, radius)| {
                Some(Choice {
                    server,
                    radius: (*radius)?,
                })
            })
            .collect()
    }

    /// Those first that serve most at once: a solution is met sooner.
    fn best_first(&self, state: &State, choices: &mut [Choice]) {
        let served = |choice: &Choice| {
            let waiting = state.waiting().iter();
            let within =
                |client: &&usize| self.model.distance(**client, choice.server) <= choice.radius;
            waiting.filter(within).count()
        };
        choices
            .sort_by_cached_key(|choice| (Reverse(served(choice)), choice.radius, choice.server));
    }
}

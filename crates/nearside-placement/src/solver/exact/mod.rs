//! Branch and bound on radii: the optimum, proven.

mod bounds;
mod search;
mod state;

pub(crate) use search::{Found, Search};
pub(crate) use state::State;

use bounds::still_needed;

use super::model::Model;
use super::plan::Plan;
use super::{Budget, Counts, Outcome, Solver, Status, Task};
use crate::{Cost, Delay};

/// Searches until the optimum is proven or the budget is over. Starts from nothing; [`super::Auto`]
/// gives it a good allocation to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exact;

impl Solver for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn solve(&self, task: Task<'_>, budget: &Budget<'_>) -> Outcome {
        let model = Model::new(task);
        let mut proof = Proof::new(&model, None);
        proof.run(&model, budget, budget.steps());
        proof.outcome(&model, Counts::default())
    }
}

/// What is known about the optimum: an allocation above, a bound below.
#[derive(Debug)]
pub(crate) struct Proof {
    best: Option<Plan>,
    upper: Cost,
    lower: Cost,
    goal: Goal,
    nodes: u64,
}

/// What a proof is after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// The cheapest allocation.
    Optimum,
    /// Any allocation that costs at most this, or that there is none.
    AtMost(Cost),
}

impl Proof {
    pub(crate) fn new(model: &Model<'_>, best: Option<Plan>) -> Self {
        let mut proof = Self {
            lower: least_cost(model),
            upper: Cost::INFINITE,
            best: None,
            goal: Goal::Optimum,
            nodes: 0,
        };
        proof.adopt(model, best);
        proof
    }

    pub(crate) fn with_goal(mut self, goal: Goal) -> Self {
        self.goal = goal;
        self
    }

    /// Takes over what somebody else has proven: nothing costs less than this.
    pub(crate) fn with_lower(mut self, lower: Cost) -> Self {
        self.lower = self.lower.max(lower).min(self.upper);
        self
    }

    /// Nothing costs less.
    pub(crate) const fn lower(&self) -> Cost {
        self.lower
    }

    pub(crate) fn best(&self) -> Option<&Plan> {
        self.best.as_ref()
    }

    pub(crate) const fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Whether the goal is neither reached nor out of reach.
    pub(crate) fn is_open(&self) -> bool {
        self.lower < self.upper
            && match self.goal {
                Goal::Optimum => true,
                Goal::AtMost(most) => self.lower <= most && !self.is_good_enough(),
            }
    }

    /// A cost at which there is no point in going on.
    pub(crate) fn good_enough(&self) -> Cost {
        match self.goal {
            Goal::Optimum => self.lower,
            Goal::AtMost(most) => most.max(self.lower),
        }
    }

    fn is_good_enough(&self) -> bool {
        self.best.is_some() && self.upper <= self.good_enough()
    }

    /// Takes a plan that is cheaper than the best, or as cheap and faster.
    pub(crate) fn adopt(&mut self, model: &Model<'_>, plan: Option<Plan>) {
        let Some(plan) = plan else { return };
        let cost = plan.cost(model);
        let slower = |best: &Plan| plan.delay(model) < best.delay(model);
        if cost < self.upper || (cost == self.upper && self.best.as_ref().is_some_and(slower)) {
            self.upper = cost;
            self.best = Some(plan);
        }
    }

    /// Raises the lower and lowers the upper bound until they meet or the budget is over.
    pub(crate) fn run(&mut self, model: &Model<'_>, budget: &Budget<'_>, steps: u64) {
        while self.is_open() && self.nodes < steps {
            let threshold = self.threshold(model);
            let mut search = Search::new(model, budget, threshold, steps - self.nodes);
            let found = search.run(State::new(model));
            self.nodes += search.nodes();
            match found {
                Found::State(state) => self.adopt(model, Some(Plan::of(&state).shrunk(model))),
                Found::Nothing { at_least } => self.lower = at_least.min(self.upper),
                Found::OutOfBudget => return,
            }
        }
    }

    /// With nothing found yet: anything. Then an eighth of what is open, which at equal prices is the
    /// lower bound itself (iterative deepening), and with many different prices not too many tries.
    fn threshold(&self, model: &Model<'_>) -> Cost {
        match self.goal {
            Goal::AtMost(most) => return most,
            Goal::Optimum if self.best.is_none() => return Cost::INFINITE,
            Goal::Optimum => {}
        }
        let step = model.cost_step().parts();
        let open = (self.upper - self.lower).parts();
        self.lower + Cost::of_parts((open - 1) / 8 / step * step)
    }

    /// The same for whoever does not search on: with nothing found and budget left, it has failed.
    pub(crate) fn outcome_of_heuristic(
        &self,
        model: &Model<'_>,
        budget: &Budget<'_>,
        counts: Counts,
    ) -> Outcome {
        let mut outcome = self.outcome(model, counts);
        let over = budget.time_is_up() || counts.samples + counts.nodes >= budget.steps();
        if outcome.status == Status::OutOfBudget && !over {
            outcome.status = Status::BoundUnmet;
        }
        outcome
    }

    pub(crate) fn outcome(&self, model: &Model<'_>, mut counts: Counts) -> Outcome {
        counts.nodes += self.nodes;
        match &self.best {
            Some(plan) => Outcome::seated(&plan.seat(model), self.lower, counts),
            None if self.lower == Cost::INFINITE => {
                Outcome::nothing(Status::Infeasible, Cost::INFINITE, counts)
            }
            None => Outcome::nothing(Status::OutOfBudget, self.lower, counts),
        }
    }
}

/// What serving everybody costs at least, before any search. Infinite when somebody cannot be served.
fn least_cost(model: &Model<'_>) -> Cost {
    let mut clients = 0..model.clients();
    let places: usize = (0..model.servers())
        .map(|server| model.places(server))
        .sum();
    let crowded = places < model.clients();
    if crowded
        || model.limit() < Delay::ZERO
        || clients.any(|client| model.servers_near(client).is_empty())
    {
        return Cost::INFINITE;
    }
    let reach = vec![model.half(); model.servers()];
    model.round_up(still_needed(model, &State::new(model), &reach))
}

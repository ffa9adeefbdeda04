//! Tears down a few servers that are close to each other and searches for a cheaper way to serve
//! their clients, the rest of the plan staying as it is or growing.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::Cost;
use crate::solver::Budget;
use crate::solver::exact::{Found, Search, State};
use crate::solver::model::Model;
use crate::solver::plan::Plan;

/// Servers torn down at most.
const LARGEST: usize = 8;
/// Share of tries that are content with the same cost.
const SIDEWAYS: f64 = 0.25;
/// Nodes spent on one neighbourhood.
const NODES: u64 = 120;

/// A cheaper plan, if there is one near the given one, or sometimes just another of the same cost,
/// from which others are near; and the nodes it took to look.
pub(super) fn vary(
    model: &Model<'_>,
    budget: &Budget<'_>,
    plan: &Plan,
    rng: &mut ChaCha8Rng,
) -> (Option<Plan>, u64) {
    let torn = torn_down(model, plan, rng);
    if !rng.random_bool(SIDEWAYS) {
        return rebuild(model, budget, plan, &torn);
    }
    let Some(start) = what_stands(model, plan, &torn) else {
        return (None, 0);
    };
    let (found, nodes) = complete(model, budget, start, plan.cost(model));
    (found.map(|plan| plan.shrunk(model)), nodes)
}

/// A cheaper plan with these servers torn down.
pub(crate) fn rebuild(
    model: &Model<'_>,
    budget: &Budget<'_>,
    plan: &Plan,
    torn: &[usize],
) -> (Option<Plan>, u64) {
    let Some(start) = what_stands(model, plan, torn) else {
        return (None, 0);
    };
    let cheaper = plan.cost(model) - model.cost_step();
    let (found, nodes) = complete(model, budget, start, cheaper);
    (found.map(|plan| plan.shrunk(model)), nodes)
}

/// Serves whom a partial decision leaves waiting, for `most` in all, if that is found in few nodes.
pub(crate) fn complete(
    model: &Model<'_>,
    budget: &Budget<'_>,
    start: State,
    most: Cost,
) -> (Option<Plan>, u64) {
    let mut search = Search::new(model, budget, most, NODES);
    let found = match search.run(start) {
        Found::State(state) => Some(Plan::of(&state)),
        Found::Nothing { .. } | Found::OutOfBudget => None,
    };
    (found, search.nodes())
}

/// The plan without the servers torn down; nothing if none of it was open.
pub(crate) fn what_stands(model: &Model<'_>, plan: &Plan, torn: &[usize]) -> Option<State> {
    let mut state = State::new(model);
    for server in plan.open().filter(|server| !torn.contains(server)) {
        state.raise(model, server, plan.radius(server)?).ok()?;
    }
    Some(state)
}

/// A random open server and those next to it, or any open servers.
pub(crate) fn torn_down(model: &Model<'_>, plan: &Plan, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut open: Vec<usize> = plan.open().collect();
    open.shuffle(rng);
    let number = rng.random_range(1..=LARGEST.min(open.len()));
    if rng.random_bool(0.7) {
        let centre = open[0];
        open.sort_by_key(|&server| model.separations(centre)[server]);
    }
    open.truncate(number);
    open
}

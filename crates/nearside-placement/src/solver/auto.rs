use super::exact::{Goal, Proof};
use super::model::Model;
use super::plan::Plan;
use super::tight_span::{TightSpan, neighbourhood};
use super::{Budget, Counts, Outcome, Solver, Task, Zizo};

/// The default: cheap ways first, then the tight span and the search in turns, each longer than the
/// one before, until the optimum is proven or the budget is over. Always says how far the optimum can
/// be at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Auto;

/// Nodes of the first turn of the search: about half a second for 100 servers and 50 clients, and no
/// more for others, since a node looks at every client and every server. Where that is few, the tight
/// span gets the time, which is better off with it: at 1,000 × 10,000 a search proves nothing.
fn first_turn(model: &Model<'_>) -> u64 {
    let pairs = (model.servers() * model.clients()).max(1) as u64;
    (250_000_000 / pairs).clamp(64, 50_000)
}

impl Solver for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn solve(&self, task: Task<'_>, budget: &Budget<'_>) -> Outcome {
        let model = Model::new(task);
        let mut counts = Counts::default();
        let proof = pursue(&model, budget, Goal::Optimum, &mut counts);
        proof.outcome(&model, counts)
    }
}

/// Cheap ways first, then tight span and search in turns, until the goal is settled or the budget is
/// over.
pub(crate) fn pursue(
    model: &Model<'_>,
    budget: &Budget<'_>,
    goal: Goal,
    counts: &mut Counts,
) -> Proof {
    let proof = Proof::new(model, None).with_goal(goal);
    continue_proof(proof, model, budget, counts)
}

/// The same from what is known already.
pub(crate) fn continue_proof(
    mut proof: Proof,
    model: &Model<'_>,
    budget: &Budget<'_>,
    counts: &mut Counts,
) -> Proof {
    proof.adopt(model, one_server(model));
    for turn in 0.. {
        if !proof.is_open() || is_over(budget, *counts, &proof) {
            break;
        }
        let span = TightSpan {
            patience: TightSpan::default().patience << turn.min(16),
        };
        let better = span.improve(model, budget, turn, &proof, counts);
        proof.adopt(model, better);
        if turn == 0 && proof.is_open() && proof.best().is_none() {
            proof.adopt(model, published(model, budget, counts));
        }
        let left = budget.steps().saturating_sub(counts.samples + counts.nodes);
        let nodes = proof
            .nodes()
            .saturating_add(first_turn(model) << turn.min(32));
        proof.run(model, budget, nodes.min(left));
    }
    proof
}

fn is_over(budget: &Budget<'_>, counts: Counts, proof: &Proof) -> bool {
    let steps = counts.samples + counts.nodes + proof.nodes();
    budget.time_is_up() || steps >= budget.steps()
}

/// The cheapest server that can serve everybody alone, and of several the fastest.
fn one_server(model: &Model<'_>) -> Option<Plan> {
    let alone = |&server: &usize| {
        let reaches_all = model.clients_near(server).len() == model.clients();
        reaches_all && model.places(server) >= model.clients()
    };
    let servers = (0..model.servers()).filter(alone);
    let radius = |server: usize| model.clients_near(server).last().map(|near| near.distance);
    let cheapest = servers.min_by_key(|&server| (model.cost(server), radius(server), server))?;
    let mut radii = vec![None; model.servers()];
    radii[cheapest] = radius(cheapest);
    Some(Plan::new(radii))
}

/// What the paper's algorithm finds, without the servers that can be done without. Only for want of
/// anything else: covers are found sooner and are better (docs/bench.md), but a greedy cover may fail
/// where step 1 of the paper holds the bound.
pub(super) fn published(
    model: &Model<'_>,
    budget: &Budget<'_>,
    counts: &mut Counts,
) -> Option<Plan> {
    let whole = model.everybody().len() == model.task().instance.clients().len();
    if !whole {
        return None;
    }
    // Its steps are rounds, which end by themselves and are not counted here.
    let outcome = Zizo::default().solve(model.task(), &budget.with_steps(u64::MAX));
    counts.add(outcome.counts);
    let within = outcome.is_within_bound();
    let allocation = outcome.allocation.filter(|_| within)?;
    let seating = super::Seating::of(model.task().instance, model.task().bound, &allocation);
    let mut plan = Plan::of_seating(&seating);
    for server in plan.open().collect::<Vec<_>>() {
        if budget.time_is_up() {
            break;
        }
        let (better, nodes) = neighbourhood::rebuild(model, budget, &plan, &[server]);
        counts.nodes += nodes;
        plan = better.unwrap_or(plan);
    }
    Some(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delay, DelayMatrix, Instance, samples};

    #[test]
    fn of_servers_that_would_do_alone_the_fastest_is_taken() {
        let mut parts = samples::figure1_parts();
        let rows = [[3.0, 1.0, 2.0], [3.0, 1.5, 2.0]].map(|row| row.map(Some));
        parts.client_server = DelayMatrix::from_millis(rows).unwrap();
        let instance = Instance::new(parts).unwrap();
        let bound = Delay::from_millis(6.0).unwrap();
        let instance = &instance;
        let outcome = Auto.solve(Task { instance, bound }, &Budget::unlimited(0));
        assert_eq!(outcome.delay, Delay::from_millis(3.0));
    }
}

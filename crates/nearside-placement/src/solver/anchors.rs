use super::caps::Caps;
use super::cover::cover;
use super::exact::Proof;
use super::model::Model;
use super::plan::Plan;
use super::{Budget, Counts, Outcome, Solver, Task};
use crate::{Cost, Delay};

/// For each server a cover with that server in the middle: caps of Δ/2 − d(·, server). The best of
/// them, without further search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Anchors;

impl Solver for Anchors {
    fn name(&self) -> &'static str {
        "anchors"
    }

    fn solve(&self, task: Task<'_>, budget: &Budget<'_>) -> Outcome {
        let model = Model::new(task);
        let mut counts = Counts::default();
        let everywhere: Vec<usize> = (0..model.servers()).collect();
        let covers = anchored_covers(&model, budget, &everywhere, &mut counts);
        let best = covers.into_iter().min_by_key(|(_, plan)| plan.cost(&model));
        Proof::new(&model, best.map(|(_, plan)| plan)).outcome_of_heuristic(&model, budget, counts)
    }
}

/// Anchors between two looks at the deadline.
const BATCH: usize = 32;

/// Covers around these anchors, as far as the budget allows; those much dearer than the best so far
/// are given up on the way.
pub(crate) fn anchored_covers(
    model: &Model<'_>,
    budget: &Budget<'_>,
    anchors: &[usize],
    counts: &mut Counts,
) -> Vec<(Caps, Plan)> {
    let mut covers: Vec<(Caps, Plan)> = Vec::new();
    let mut best = Cost::INFINITE;
    for batch in anchors.chunks(BATCH) {
        if budget.time_is_up() || counts.samples >= budget.steps() {
            break;
        }
        counts.samples += batch.len() as u64;
        let dearest = best + model.cost_step() + model.cost_step();
        let found = budget.map(batch.len(), |place| {
            let caps = Caps::anchored(model, batch[place]);
            let plan = cover(model, budget, &caps, dearest, |_| 0)?;
            Some((caps, plan))
        });
        covers.extend(found.into_iter().flatten());
        let costs = covers.iter().map(|(_, plan)| plan.cost(model));
        best = costs.min().unwrap_or(best);
    }
    covers
}

/// The servers whose farthest client is nearest, up to `number`: where covers are likely centred.
pub(crate) fn likely_anchors(model: &Model<'_>, number: usize) -> Vec<usize> {
    let mut farthest = vec![Delay::ZERO; model.servers()];
    for client in 0..model.clients() {
        for (so_far, &distance) in farthest.iter_mut().zip(model.distances(client)) {
            *so_far = distance.max(*so_far);
        }
    }
    let mut ranked: Vec<usize> = (0..model.servers()).collect();
    ranked.sort_by_key(|&server| (farthest[server], server));
    ranked.truncate(number);
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::NetworkParams;
    use crate::solver::Status;

    #[test]
    fn the_deadline_is_asked_while_places_are_filled() {
        let instance = &NetworkParams::default().generate(1).with_capacity(2);
        let bound = Delay::from_millis(45.0).unwrap();
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let count = || {
            asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            false
        };
        let budget = Budget::unlimited(0).with_deadline(&count);
        Anchors.solve(Task { instance, bound }, &budget);
        let servers = instance.servers().len();
        let asked = asked.into_inner();
        assert!(asked > 5 * servers, "{asked} times for {servers} covers");
    }

    /// Near the tightest bounds covers around anchors fail where others do not.
    #[test]
    fn failing_is_not_running_out_of_budget() {
        let mut failed = 0;
        for seed in 0..6 {
            let instance = NetworkParams::default().generate(seed);
            for bound in [17.0, 18.0, 19.0, 20.0] {
                let bound = Delay::from_millis(bound).unwrap();
                let instance = &instance;
                let task = Task { instance, bound };
                let outcome = Anchors.solve(task, &Budget::unlimited(0));
                assert_ne!(outcome.status, Status::OutOfBudget);
                if outcome.status == Status::BoundUnmet {
                    let none = Budget::unlimited(0).with_steps(0);
                    assert_eq!(Anchors.solve(task, &none).status, Status::OutOfBudget);
                    failed += 1;
                }
            }
        }
        assert!(failed > 0, "the bounds are too easy to tell");
    }
}

//! Samples the tight span: random caps that cannot grow, a greedy cover under each, the best kept and
//! varied. Between samples, parts of the best solution are torn down and solved again exactly.

pub(crate) mod neighbourhood;
mod sampling;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::anchors::{anchored_covers, likely_anchors};
use super::auto::published;
use super::exact::Proof;
use super::model::Model;
use super::plan::Plan;
use super::{Budget, Counts, Outcome, Solver, Task};
use sampling::Pool;

/// Random caps, greedy covers, an elite pool. Nearly always within one server of the optimum, in a
/// time that grows mildly with the instance; proves nothing but what the root bound gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TightSpan {
    /// Rounds without a better solution before it stops.
    pub patience: usize,
}

impl Default for TightSpan {
    /// 10 rounds: on seeds 0–19 the optimum was always found by then.
    fn default() -> Self {
        Self { patience: 10 }
    }
}

impl Solver for TightSpan {
    fn name(&self) -> &'static str {
        "tight-span"
    }

    fn solve(&self, task: Task<'_>, budget: &Budget<'_>) -> Outcome {
        let model = Model::new(task);
        let mut counts = Counts::default();
        let proof = Proof::new(&model, None);
        let best = self.improve(&model, budget, 0, &proof, &mut counts);
        let best = best.or_else(|| {
            // Near the tightest bound there is, greedy covers may all fail where step 1 holds.
            let start = published(&model, budget, &mut counts)?;
            let proof = Proof::new(&model, Some(start));
            self.improve(&model, budget, 1, &proof, &mut counts)
        });
        Proof::new(&model, best).outcome_of_heuristic(&model, budget, counts)
    }
}

/// Jobs in a round. Fixed, so that the number of workers changes nothing.
const ROUND: usize = 16;
/// Covers to start from.
const ANCHORS: usize = 128;

impl TightSpan {
    /// A better plan than the proof has, or that one, until it is good enough. Turns differ in their
    /// luck, and only the first looks at anchors.
    pub(crate) fn improve(
        &self,
        model: &Model<'_>,
        budget: &Budget<'_>,
        turn: u64,
        proof: &Proof,
        counts: &mut Counts,
    ) -> Option<Plan> {
        let good_enough = proof.good_enough();
        let mut pool = Pool::new(model, proof.best().cloned());
        let anchors = match turn {
            0 => likely_anchors(model, ANCHORS),
            _ => Vec::new(),
        };
        for (caps, plan) in anchored_covers(model, budget, &anchors, counts) {
            pool.offer(model, caps, plan);
        }
        let mut idle = 0;
        let mut dice = Dice::new(budget.seed(), turn);
        while idle < self.patience && !pool.has(good_enough) && !is_over(budget, *counts) {
            let before = pool.best_cost();
            sample(&mut pool, model, budget, dice.round(), counts);
            vary(&mut pool, model, budget, dice.round(), counts);
            idle = if pool.best_cost() < before {
                0
            } else {
                idle + 1
            };
        }
        pool.into_best()
    }
}

fn is_over(budget: &Budget<'_>, counts: Counts) -> bool {
    budget.time_is_up() || counts.samples + counts.nodes >= budget.steps()
}

/// Offers the pool a round of new samples.
fn sample(
    pool: &mut Pool,
    model: &Model<'_>,
    budget: &Budget<'_>,
    dice: RoundDice,
    counts: &mut Counts,
) {
    let samples = budget.map(ROUND, |job| pool.sample(model, budget, &mut dice.of(job)));
    counts.samples += ROUND as u64;
    for (caps, plan) in samples.into_iter().flatten() {
        pool.offer(model, caps, plan);
    }
}

/// Looks around the best plan for a cheaper one.
fn vary(
    pool: &mut Pool,
    model: &Model<'_>,
    budget: &Budget<'_>,
    dice: RoundDice,
    counts: &mut Counts,
) {
    let Some(plan) = pool.best() else { return };
    let tries = budget.map(ROUND, |job| {
        neighbourhood::vary(model, budget, plan, &mut dice.of(job))
    });
    counts.nodes += tries.iter().map(|(_, nodes)| nodes).sum::<u64>();
    let better = tries.into_iter().filter_map(|(plan, _)| plan);
    if let Some(plan) = better.min_by_key(|plan| plan.cost(model)) {
        pool.adopt(model, plan);
    }
}

/// A stream of chance for each job of each round, so that it does not matter who runs it.
struct Dice {
    seed: u64,
    rounds: u64,
}

#[derive(Clone, Copy)]
struct RoundDice {
    seed: u64,
    round: u64,
}

impl Dice {
    fn new(seed: u64, turn: u64) -> Self {
        Self {
            seed,
            rounds: turn << 32,
        }
    }

    fn round(&mut self) -> RoundDice {
        self.rounds += 1;
        RoundDice {
            seed: self.seed,
            round: self.rounds,
        }
    }
}

impl RoundDice {
    fn of(self, job: usize) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(self.round * ROUND as u64 + job as u64);
        rng
    }
}

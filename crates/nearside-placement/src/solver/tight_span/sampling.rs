use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::solver::budget::Budget;
use crate::solver::caps::Caps;
use crate::solver::cover::cover;
use crate::solver::model::Model;
use crate::solver::plan::Plan;
use crate::{Cost, Delay};

/// The best caps so far, and the best plan.
#[derive(Debug)]
pub(super) struct Pool {
    elite: Vec<(Cost, Caps)>,
    best: Option<(Cost, Plan)>,
}

/// Elite caps kept.
const ELITE: usize = 24;

impl Pool {
    pub(super) fn new(model: &Model<'_>, best: Option<Plan>) -> Self {
        Self {
            elite: Vec::new(),
            best: best.map(|plan| (plan.cost(model), plan)),
        }
    }

    pub(super) fn best(&self) -> Option<&Plan> {
        self.best.as_ref().map(|(_, plan)| plan)
    }

    pub(super) fn into_best(self) -> Option<Plan> {
        self.best.map(|(_, plan)| plan)
    }

    pub(super) fn best_cost(&self) -> Cost {
        self.best.as_ref().map_or(Cost::INFINITE, |(cost, _)| *cost)
    }

    /// Whether there is a plan that costs at most this.
    pub(super) fn has(&self, good_enough: Cost) -> bool {
        self.best
            .as_ref()
            .is_some_and(|(cost, _)| *cost <= good_enough)
    }

    /// Takes caps among the elite if they are no worse than its last.
    pub(super) fn offer(&mut self, model: &Model<'_>, caps: Caps, plan: Plan) {
        let cost = plan.cost(model);
        let place = self.elite.partition_point(|(other, _)| *other < cost);
        if place < ELITE && !self.elite.iter().any(|(_, other)| *other == caps) {
            self.elite.insert(place, (cost, caps));
            self.elite.truncate(ELITE);
        }
        self.adopt(model, plan);
    }

    /// Takes a plan that is no dearer than the best.
    pub(super) fn adopt(&mut self, model: &Model<'_>, plan: Plan) {
        let cost = plan.cost(model);
        if cost <= self.best_cost() {
            self.best = Some((cost, plan));
        }
    }

    /// New caps from old ones, and a cover under them that is not much dearer than the best.
    pub(super) fn sample(
        &self,
        model: &Model<'_>,
        budget: &Budget<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Option<(Caps, Plan)> {
        let mut caps = Caps::rough(self.rough_numbers(model, rng));
        let mut order: Vec<usize> = (0..model.servers()).collect();
        order.shuffle(rng);
        caps.grow(model, order.iter().copied());
        let last = self.elite.last().map_or(Cost::INFINITE, |(cost, _)| *cost);
        let plan = cover(model, budget, &caps, last + model.cost_step(), |server| {
            order[server] as u32
        })?;
        Some((caps, plan))
    }

    /// Elite caps with some taken back, or the middle of two.
    fn rough_numbers(&self, model: &Model<'_>, rng: &mut ChaCha8Rng) -> Vec<Delay> {
        let (one, other) = (self.pick(model, rng), self.pick(model, rng));
        let mut noise = model.half().scaled(rng.random_range(0.02..0.4));
        noise = noise.max(Delay::ZERO);
        let share = rng.random_range(0.05..0.6);
        let blend = rng.random_bool(0.5);
        let pairs = one.numbers().iter().zip(other.numbers());
        pairs
            .map(|(&one, &other)| {
                let start = if blend { (one + other).half() } else { one };
                let back = if rng.random_bool(share) {
                    noise.scaled(rng.random::<f64>())
                } else {
                    Delay::ZERO
                };
                start - back
            })
            .collect()
    }

    fn pick(&self, model: &Model<'_>, rng: &mut ChaCha8Rng) -> Caps {
        if self.elite.is_empty() || rng.random_bool(0.1) {
            return Caps::anchored(model, rng.random_range(0..model.servers()));
        }
        self.elite[rng.random_range(0..self.elite.len())].1.clone()
    }
}

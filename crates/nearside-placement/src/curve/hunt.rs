//! Many questions about one instance at different bounds, within one budget. What one has brought, no
//! other asks again.

use super::known::{Find, Known};
use crate::solver::{Budget, Counts, Goal, Model, Plan, Proof, Seating, Task, continue_proof};
use crate::{Cost, Delay, Instance, Outcome};

/// What costs are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Price {
    AsGiven,
    Servers,
}

/// How long to go on: some of the time, and so many steps of all that the hunt takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit<'b> {
    budget: Budget<'b>,
    steps: u64,
}

impl<'b> Limit<'b> {
    pub(super) fn new(budget: Budget<'b>) -> Self {
        let steps = budget.steps();
        Self { budget, steps }
    }

    /// One of so many equal parts of what is left after `used` steps.
    fn part(&self, parts: usize, used: u64) -> Self {
        Self {
            budget: self.budget.part_of_time(parts),
            steps: used + self.steps.saturating_sub(used) / parts.max(1) as u64,
        }
    }
}

/// Questions, answers and what they took.
pub(super) struct Hunt<'i> {
    instance: &'i Instance,
    price: Price,
    known: Known,
    counts: Counts,
}

/// Above this share of the delay the interval is halved; below, what is just below is tried first.
const CLOSE: f64 = 0.01;
/// The part of what is left for a question that does not decide a corner. Seven of them narrow an
/// interval to [`CLOSE`], and leave two fifths for the one that does.
const GLIMPSE: usize = 8;

impl<'i> Hunt<'i> {
    pub(super) fn new(instance: &'i Instance, price: Price) -> Self {
        Self {
            instance,
            price,
            known: Known::new(farthest_client(instance)),
            counts: Counts::default(),
        }
    }

    pub(super) const fn known(&self) -> &Known {
        &self.known
    }

    pub(super) const fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) fn is_over(&self, limit: &Limit<'_>) -> bool {
        limit.budget.time_is_up() || self.used() >= limit.steps
    }

    fn used(&self) -> u64 {
        self.counts.samples + self.counts.nodes
    }

    /// From the cheapest corner to the fastest: the smallest bound at a cost, then the cheapest
    /// allocation just below it, until there is none. `parts` says of which part of what is left the
    /// corner below a bound may use one.
    pub(super) fn walk(&mut self, limit: &Limit<'_>, parts: impl Fn(&Known, Delay) -> usize) {
        let mut bound = Delay::LONGEST;
        while bound >= Delay::ZERO && !self.is_over(limit) {
            let share = limit.part(parts(&self.known, bound), self.used());
            self.cheapest(bound, &share);
            let Some(cost) = self.known.cheapest(bound).map(|find| find.price) else {
                break;
            };
            let Some(corner) = self.fastest(cost, &share) else {
                break;
            };
            bound = corner.delay.bound_below();
        }
    }

    /// Half of the limit is for the delay at this cost, unless that is known or there is no cost yet.
    fn cheapest(&mut self, bound: Delay, limit: &Limit<'_>) {
        let found = self.known.cheapest(bound);
        let delay_is_open = found.is_some_and(|find| !self.known.is_fastest(find));
        let share = limit.part(1 + usize::from(delay_is_open), self.used());
        self.ask(bound, Goal::Optimum, &share);
    }

    /// Looks for any allocation that costs at most `most`.
    pub(super) fn any(&mut self, most: Cost, limit: &Limit<'_>) {
        self.ask(Delay::LONGEST, Goal::AtMost(most), limit);
    }

    /// Raises what is known of the smallest delay at this cost as far as goes without a search: the
    /// lower bound of a question that gets no step is cheap, and spares [`Hunt::fastest`] many.
    pub(super) fn rule_out_without_search(&mut self, most: Cost, limit: &Limit<'_>) {
        let Some(mut high) = self.known.fastest(most).map(|find| find.delay) else {
            return;
        };
        let share = self.no_steps(&limit.part(GLIMPSE, self.used()));
        loop {
            let low = self.known.least_delay(most);
            let close = low + high.scaled(CLOSE);
            if high <= close || share.budget.time_is_up() {
                return;
            }
            let middle = (low + high).half();
            self.ask(middle, Goal::AtMost(most), &share);
            if self.known.least_price(middle) <= most {
                high = middle;
            }
        }
    }

    fn no_steps<'b>(&self, limit: &Limit<'b>) -> Limit<'b> {
        Limit {
            budget: limit.budget,
            steps: self.used(),
        }
    }

    /// The fastest allocation that costs at most `most`.
    pub(super) fn fastest(&mut self, most: Cost, limit: &Limit<'_>) -> Option<Find> {
        self.any(most, limit);
        let mut best = self.known.fastest(most)?.delay;
        // What was not decided in its share is passed over, and ends below what may be proven later.
        let mut low = self.known.least_delay(most);
        let mut halve = true;
        while low < best && !self.is_over(limit) {
            let wide = best - low > best.scaled(CLOSE);
            let decisive = best.bound_below();
            let bound = match wide || halve {
                true => (best + low).half().min(decisive),
                false => decisive,
            };
            let parts = if bound == decisive { 1 } else { GLIMPSE };
            self.ask(bound, Goal::AtMost(most), &limit.part(parts, self.used()));
            let found = self.known.fastest(most)?.delay;
            halve = found < best;
            if !halve {
                low = bound.next_above_bound();
            } else if found <= low {
                // Faster than what was passed over, which is worth another look.
                low = self.known.least_delay(most);
            }
            best = found;
        }
        self.known.fastest(most).cloned()
    }

    /// Looks for an answer unless it is known, and remembers it.
    fn ask(&mut self, bound: Delay, goal: Goal, limit: &Limit<'_>) {
        if self.is_settled(bound, goal) {
            return;
        }
        let instance = self.instance;
        let mut model = Model::new(Task { instance, bound });
        if self.price == Price::Servers {
            model = model.counting_servers();
        }
        let start = self.known.cheapest(bound).map(|find| {
            let seating = Seating::of(instance, bound, &find.allocation);
            Plan::of_seating(&seating)
        });
        let proof = Proof::new(&model, start)
            .with_lower(self.known.least_price(bound))
            .with_goal(goal);
        let steps = limit.steps.saturating_sub(self.used());
        let mut counts = Counts::default();
        let proof = continue_proof(proof, &model, &limit.budget.with_steps(steps), &mut counts);
        let outcome = proof.outcome(&model, counts);
        self.counts.add(outcome.counts);
        self.known.rule_out(bound, outcome.lower_bound);
        if let Some(find) = self.find(outcome) {
            self.known.learn(find);
        }
    }

    fn is_settled(&self, bound: Delay, goal: Goal) -> bool {
        let least = self.known.least_price(bound);
        let found = self.known.cheapest(bound).map(|find| find.price);
        let good_enough = match goal {
            Goal::Optimum => least,
            Goal::AtMost(most) => most,
        };
        least == Cost::INFINITE
            || found.is_some_and(|price| price <= good_enough)
            || matches!(goal, Goal::AtMost(most) if least > most)
    }

    fn find(&self, outcome: Outcome) -> Option<Find> {
        Some(Find {
            delay: outcome.delay?,
            servers_used: outcome.servers_used,
            price: match self.price {
                Price::AsGiven => outcome.cost?,
                Price::Servers => Cost::servers(outcome.servers_used),
            },
            allocation: outcome.allocation?,
        })
    }
}

/// Nobody is faster than twice the way of the client that is farthest from every server.
fn farthest_client(instance: &Instance) -> Delay {
    let nearest = |client| {
        let row = instance.access_row(client).iter();
        row.min().copied().unwrap_or(Delay::ZERO)
    };
    let farthest = instance.client_ids().map(nearest).max();
    let farthest = farthest.unwrap_or(Delay::ZERO);
    farthest + farthest + instance.processing()
}

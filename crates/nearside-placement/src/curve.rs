//! What each further server buys: the smallest bound that k servers can keep, and the whole curve of
//! cost against bound.

use crate::solver::{Budget, Counts, Goal, Model, Proof, Task, pursue};
use crate::{Allocation, Cost, Delay, Instance, Outcome};

/// The smallest delay that a given number of servers can keep.
#[derive(Debug, Clone, PartialEq)]
pub struct MinDelay {
    /// The delay of the allocation.
    pub delay: Delay,
    /// No allocation with so few servers is faster than this. Equal to `delay` when that is proven to
    /// be the smallest.
    pub at_least: Delay,
    /// An allocation that has it.
    pub allocation: Allocation,
    /// Its servers.
    pub servers_used: usize,
    /// What it took.
    pub counts: Counts,
}

impl MinDelay {
    /// Whether nothing faster exists.
    pub fn is_proven(&self) -> bool {
        self.at_least >= self.delay
    }
}

/// The smallest bound that at most `servers` servers can keep. `None` when so few cannot serve
/// everybody at any bound, or the budget ended before anything was found.
pub fn min_delay(instance: &Instance, servers: usize, budget: &Budget<'_>) -> Option<MinDelay> {
    let mut hunt = Hunt::new(instance, *budget);
    hunt.price = Price::Servers;
    let most = Cost::servers(servers);
    let start = hunt.pursue(Delay::LONGEST, Goal::AtMost(most));
    let found = start.allocation.filter(|_| start.servers_used <= servers)?;
    let first = Find {
        allocation: found,
        delay: start.delay?,
        servers_used: start.servers_used,
        cost: start.cost?,
    };
    let (find, at_least) = hunt.fastest(most, first);
    Some(MinDelay {
        delay: find.delay,
        at_least,
        allocation: find.allocation,
        servers_used: find.servers_used,
        counts: hunt.counts,
    })
}

/// A corner of the curve: from this bound on, this cost suffices.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePoint {
    /// What it costs; the number of servers unless they have prices.
    pub cost: Cost,
    /// Servers of the allocation.
    pub servers_used: usize,
    /// The smallest bound it keeps.
    pub delay: Delay,
    /// An allocation that does.
    pub allocation: Allocation,
    /// Whether neither the cost at this bound nor the bound at this cost can be lower.
    pub is_proven: bool,
}

/// Cost against bound, from the cheapest to the fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Costs rise, delays fall.
    pub points: Vec<CurvePoint>,
    /// Whether nothing below the last delay is possible at any cost.
    pub is_complete: bool,
    /// What it took.
    pub counts: Counts,
}

/// The whole curve in one call, corner by corner: the smallest bound at a cost, then the cheapest
/// allocation just below it, until there is none.
pub fn curve(instance: &Instance, budget: &Budget<'_>) -> Curve {
    let mut hunt = Hunt::new(instance, *budget);
    let mut points = Vec::new();
    let mut is_complete = false;
    let mut bound = Delay::LONGEST;
    while bound >= Delay::ZERO {
        let cheapest = hunt.pursue(bound, Goal::Optimum);
        let Some(find) = Find::of(&cheapest) else {
            is_complete = cheapest.lower_bound == Cost::INFINITE;
            break;
        };
        let (cost, optimal) = (find.cost, cheapest.lower_bound >= find.cost);
        let (fastest, at_least) = hunt.fastest(cost, find);
        bound = fastest.delay.bound_below();
        points.push(CurvePoint {
            is_proven: optimal && at_least >= fastest.delay,
            cost: fastest.cost,
            servers_used: fastest.servers_used,
            delay: fastest.delay,
            allocation: fastest.allocation,
        });
        if budget.time_is_up() {
            break;
        }
    }
    Curve {
        is_complete: is_complete || bound < Delay::ZERO,
        points,
        counts: hunt.counts,
    }
}

/// An allocation with its figures.
#[derive(Debug, Clone)]
struct Find {
    allocation: Allocation,
    delay: Delay,
    servers_used: usize,
    cost: Cost,
}

impl Find {
    fn of(outcome: &Outcome) -> Option<Self> {
        Some(Self {
            allocation: outcome.allocation.clone()?,
            delay: outcome.delay?,
            servers_used: outcome.servers_used,
            cost: outcome.cost?,
        })
    }
}

/// What costs are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Price {
    AsGiven,
    Servers,
}

/// Many solutions of one instance at different bounds, within one budget.
struct Hunt<'i, 'b> {
    instance: &'i Instance,
    budget: Budget<'b>,
    price: Price,
    counts: Counts,
}

/// Above this share of the delay the interval is halved; below, what is just below is tried first.
const CLOSE: f64 = 0.01;

impl<'i, 'b> Hunt<'i, 'b> {
    fn new(instance: &'i Instance, budget: Budget<'b>) -> Self {
        Self {
            instance,
            budget,
            price: Price::AsGiven,
            counts: Counts::default(),
        }
    }

    fn pursue(&mut self, bound: Delay, goal: Goal) -> Outcome {
        let task = Task {
            instance: self.instance,
            bound,
        };
        let mut model = Model::new(task);
        if self.price == Price::Servers {
            model = model.counting_servers();
        }
        let used = self.counts.samples + self.counts.nodes;
        let budget = self
            .budget
            .with_steps(self.budget.steps().saturating_sub(used));
        let mut counts = Counts::default();
        let proof: Proof = pursue(&model, &budget, goal, &mut counts);
        let outcome = proof.outcome(&model, counts);
        self.counts.add(outcome.counts);
        outcome
    }

    /// The fastest allocation that costs at most `most`, and what is proven to be no slower than any.
    fn fastest(&mut self, most: Cost, first: Find) -> (Find, Delay) {
        let mut best = first;
        let mut at_least = self.farthest_client();
        let mut halve = true;
        while at_least < best.delay && !self.budget.time_is_up() {
            let wide = best.delay - at_least > best.delay.scaled(CLOSE);
            let bound = match wide || halve {
                true => (best.delay + at_least).half().min(best.delay.bound_below()),
                false => best.delay.bound_below(),
            };
            let outcome = self.pursue(bound.max(Delay::ZERO), Goal::AtMost(most));
            match Find::of(&outcome).filter(|find| find.delay < best.delay) {
                Some(find) if self.price_of(&find) <= most => {
                    best = find;
                    halve = true;
                }
                _ if outcome.lower_bound > most => {
                    at_least = bound.next_above_bound();
                    halve = false;
                }
                _ => break,
            }
        }
        (best, at_least)
    }

    fn price_of(&self, find: &Find) -> Cost {
        match self.price {
            Price::AsGiven => find.cost,
            Price::Servers => Cost::servers(find.servers_used),
        }
    }

    /// Nobody is faster than twice the way of the client that is farthest from every server.
    fn farthest_client(&self) -> Delay {
        let nearest = |client| {
            let row = self.instance.access_row(client).iter();
            row.min().copied().unwrap_or(Delay::ZERO)
        };
        let farthest = self.instance.client_ids().map(nearest).max();
        let farthest = farthest.unwrap_or(Delay::ZERO);
        farthest + farthest + self.instance.processing()
    }
}

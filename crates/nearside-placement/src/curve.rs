//! What each further server buys: the smallest bound that k servers can keep, and the whole curve of
//! cost against bound.

mod hunt;
mod known;

use hunt::{Hunt, Limit, Price};
use known::Known;
use thiserror::Error;

use crate::solver::{Budget, Counts};
use crate::{Allocation, Cost, Delay, Instance};

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

/// Why there is no smallest delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MinDelayError {
    /// So few servers cannot serve everybody, whatever the bound.
    #[error("so few servers cannot serve everybody at any bound")]
    Impossible,
    /// Nothing was found, and nothing ruled out.
    #[error("the budget ended before anything was found")]
    OutOfBudget,
}

/// The smallest bound that at most `servers` servers can keep.
///
/// # Errors
/// When there is none, or none was found in time.
pub fn min_delay(
    instance: &Instance,
    servers: usize,
    budget: &Budget<'_>,
) -> Result<MinDelay, MinDelayError> {
    let mut hunt = Hunt::new(instance, Price::Servers);
    // More than there are change nothing, and a number that is no cost could not be compared.
    let most = Cost::servers(servers.min(instance.servers().len()));
    let limit = Limit::new(*budget);
    hunt.any(most, &limit);
    hunt.rule_out_without_search(most, &limit);
    let Some(find) = hunt.fastest(most, &limit) else {
        let impossible = hunt.known().least_price(Delay::LONGEST) > most;
        return Err(match impossible {
            true => MinDelayError::Impossible,
            false => MinDelayError::OutOfBudget,
        });
    };
    Ok(MinDelay {
        delay: find.delay,
        at_least: hunt.known().least_delay(most),
        allocation: find.allocation,
        servers_used: find.servers_used,
        counts: hunt.counts(),
    })
}

/// A corner of the curve: from this bound on, this cost suffices.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePoint {
    /// What it costs; the number of servers unless they have prices.
    pub cost: Cost,
    /// Nothing that is faster than the point before costs less. Equal to `cost` where it is proven that
    /// no corner is missing in between.
    pub cost_at_least: Cost,
    /// Servers of the allocation.
    pub servers_used: usize,
    /// The smallest bound it keeps.
    pub delay: Delay,
    /// Nothing at this cost is faster. Equal to `delay` where that is proven.
    pub delay_at_least: Delay,
    /// An allocation that does.
    pub allocation: Allocation,
}

impl CurvePoint {
    /// Whether this is the next corner after the one before: neither the cost nor the bound at this cost
    /// can be lower.
    pub fn is_proven(&self) -> bool {
        self.cost_at_least >= self.cost && self.delay_at_least >= self.delay
    }
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

/// The part of what is left that a corner gets while nobody knows how many there are: 20 corners, as
/// 100 servers and 50 players have, then leave half of the budget for those that need more.
const GLIMPSE: usize = 32;

/// The whole curve in one call. The first walk along it gives every corner a glimpse; who is not proven
/// by then shares what is left with the others like it.
pub fn curve(instance: &Instance, budget: &Budget<'_>) -> Curve {
    let mut hunt = Hunt::new(instance, Price::AsGiven);
    let limit = Limit::new(*budget);
    hunt.walk(&limit, |_, _| GLIMPSE);
    while hunt.known().open_corners(Delay::LONGEST) > 0 && !hunt.is_over(&limit) {
        let before = hunt.counts();
        hunt.walk(&limit, Known::open_corners);
        // Too few steps are left to be divided.
        if hunt.counts() == before {
            break;
        }
    }
    let known = hunt.known();
    let corners = 0..known.front().len();
    Curve {
        points: corners.map(|corner| point(known, corner)).collect(),
        is_complete: known.is_complete(),
        counts: hunt.counts(),
    }
}

fn point(known: &Known, corner: usize) -> CurvePoint {
    let find = &known.front()[corner];
    CurvePoint {
        cost: find.price,
        cost_at_least: known.least_price_after(corner),
        servers_used: find.servers_used,
        delay: find.delay,
        delay_at_least: known.least_delay(find.price),
        allocation: find.allocation.clone(),
    }
}

use serde::Serialize;

use super::Seating;
use crate::{Allocation, Cost, Delay};

/// What a solver can say in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Within the bound, and nothing cheaper exists.
    Optimal,
    /// Within the bound; something cheaper may exist.
    Feasible,
    /// No allocation is within the bound; [`crate::explain`] names the clients that make it so.
    Infeasible,
    /// This heuristic does not keep the bound. That proves nothing: another way may.
    BoundUnmet,
    /// The budget ended before anything was found or ruled out.
    OutOfBudget,
}

/// What it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Virtual moves of clients (section 4, Figure 4 of the paper).
    pub migrations: u64,
    /// Servers asked whether a move would keep the bound.
    pub probes: u64,
    /// Rounds over all clients.
    pub rounds: u64,
    /// Covers that were sampled.
    pub samples: u64,
    /// Nodes of the search tree.
    pub nodes: u64,
}

impl Counts {
    /// Adds another's work.
    pub(crate) fn add(&mut self, other: Self) {
        self.migrations += other.migrations;
        self.probes += other.probes;
        self.rounds += other.rounds;
        self.samples += other.samples;
        self.nodes += other.nodes;
    }
}

/// What a solver found, what it can say about it, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How good it is.
    pub status: Status,
    /// The allocation; also one that violates the bound, so that one can look at it.
    pub allocation: Option<Allocation>,
    /// Its session delay, processing included.
    pub delay: Option<Delay>,
    /// Its servers.
    pub servers_used: usize,
    /// What they cost.
    pub cost: Option<Cost>,
    /// No allocation within the bound costs less.
    pub lower_bound: Cost,
    /// What it took.
    pub counts: Counts,
}

impl Outcome {
    /// Nothing was found.
    pub(crate) fn nothing(status: Status, lower_bound: Cost, counts: Counts) -> Self {
        Self {
            status,
            allocation: None,
            delay: None,
            servers_used: 0,
            cost: None,
            lower_bound,
            counts,
        }
    }

    /// A heuristic has no seat for somebody. That proves nothing, unless there are too few places.
    pub(crate) fn unseated(lower_bound: Cost, counts: Counts) -> Self {
        let status = match lower_bound {
            Cost::INFINITE => Status::Infeasible,
            _ => Status::BoundUnmet,
        };
        Self::nothing(status, lower_bound, counts)
    }

    /// The budget ended before a heuristic did. Too few places are so at any budget.
    pub(crate) fn out_of_budget(lower_bound: Cost, counts: Counts) -> Self {
        let status = match lower_bound {
            Cost::INFINITE => Status::Infeasible,
            _ => Status::OutOfBudget,
        };
        Self::nothing(status, lower_bound, counts)
    }

    /// Every client has a seat. What costs no more than the lower bound is optimal.
    pub(crate) fn seated(seating: &Seating<'_>, lower_bound: Cost, counts: Counts) -> Self {
        let cost = seating.cost();
        let status = match seating.holds() {
            false => Status::BoundUnmet,
            true if cost <= lower_bound => Status::Optimal,
            true => Status::Feasible,
        };
        Self {
            status,
            allocation: Some(seating.allocation()),
            delay: Some(seating.delay()),
            servers_used: seating.in_use().len(),
            cost: Some(cost),
            lower_bound,
            counts,
        }
    }

    /// Whether the allocation is within the bound.
    pub fn is_within_bound(&self) -> bool {
        matches!(self.status, Status::Optimal | Status::Feasible)
    }

    /// By what share the cost may be above the optimum at most; `None` when nothing was found.
    pub fn gap(&self) -> Option<f64> {
        self.cost
            .filter(|_| self.is_within_bound())
            .map(|cost| cost.gap_to(self.lower_bound))
    }
}

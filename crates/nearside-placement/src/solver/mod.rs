//! The solvers behind one trait: an instance and a bound in, an [`Outcome`] out, within a
//! [`Budget`].

mod anchors;
mod auto;
mod budget;
mod caps;
mod core_server;
mod cover;
mod dominance;
mod exact;
mod greedy;
mod least;
mod matching;
mod model;
mod nearest;
mod outcome;
mod plan;
mod seating;
mod tight_span;
mod zizo;

pub use anchors::Anchors;
pub use auto::Auto;
pub use budget::{Budget, Caller, Workers};
pub use core_server::core_server;
pub use exact::Exact;
pub use greedy::{Greedy, GreedyMove};
pub use nearest::Nearest;
pub use outcome::{Counts, Outcome, Status};
pub use tight_span::TightSpan;
pub use zizo::{ClientOrder, Gathering, JoinError, Migration, Persistence, Search, Zizo};

pub(crate) use auto::{continue_proof, pursue};
pub(crate) use caps::Caps;
pub(crate) use exact::{Goal, Proof};
pub(crate) use matching::Matching;
pub(crate) use model::{Model, Near};
pub(crate) use plan::Plan;
pub(crate) use seating::Seating;
pub(crate) use tight_span::neighbourhood;

use crate::{Delay, Instance};

/// What is to be solved.
#[derive(Debug, Clone, Copy)]
pub struct Task<'i> {
    /// Who and where.
    pub instance: &'i Instance,
    /// What the session delay may be at most.
    pub bound: Delay,
}

/// Finds an allocation within the bound that uses few servers.
///
/// The same task, seed and step budget give the same outcome at any number of workers. Only a
/// deadline may make a difference.
pub trait Solver {
    /// The word users choose it by.
    fn name(&self) -> &'static str;

    /// Solves within the budget. Every allocation it returns with [`Status::Optimal`] or
    /// [`Status::Feasible`] passes [`crate::verify`].
    fn solve(&self, task: Task<'_>, budget: &Budget<'_>) -> Outcome;
}

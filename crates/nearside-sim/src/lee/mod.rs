//! Lee, Ko and Calo, "Adaptive Server Selection for Large Scale Interactive Online Games" (NOSSDAV
//! 2004), figure by figure, on a network like theirs, with the proven optimum beside their curves.
//!
//! Figure 2 is a drawing of the algorithm and is not made again.

mod claims;
mod example;
mod joins;
mod method;
mod migrations;
mod servers;
mod setting;
mod sweep;
mod tables;

use crate::experiment::{Experiment, Name};

/// The paper, as users name it.
pub const LEE: &str = "lee";

/// The paper repeats every simulation so often.
pub(crate) const REPEATS: usize = 100;

/// Every figure with numbers, in the order of the paper.
pub fn server_selection() -> Vec<Box<dyn Experiment>> {
    let name = |item| Name { paper: LEE, item };
    vec![
        Box::new(example::Example(name("figure1"))),
        Box::new(servers::Servers::unbounded(name("figure3a"))),
        Box::new(servers::Servers::bounded(name("figure3b"))),
        Box::new(migrations::Migrations(name("figure4"))),
        Box::new(joins::Joins(name("figure5"))),
    ]
}

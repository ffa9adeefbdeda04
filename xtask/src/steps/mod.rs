//! The steps that need more than one cargo command.

pub(crate) mod drift;
pub(crate) mod engines;
pub(crate) mod foreign;
pub(crate) mod fuzz;
pub(crate) mod readme;
pub(crate) mod setup;
pub(crate) mod suite;
pub(crate) mod words;

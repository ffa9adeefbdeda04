//! Where servers are kept beyond the life of a process.

mod embedded;
mod memory;

use nearside_registry::Server;
use thiserror::Error;

pub use crate::keeper::Change;
pub use embedded::Embedded;
pub use memory::Memory;

/// A place to keep servers.
pub trait Store: Send {
    /// All servers that were kept. Records that cannot be read are left out and counted.
    fn load(&mut self) -> Result<Loaded, StoreError>;

    /// Writes changes as one: all of them, or none.
    fn write(&mut self, changes: &[Change]) -> Result<(), StoreError>;
}

/// What a store held.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The servers, all as remembered ones.
    pub servers: Vec<Server>,
    /// Records that could not be read.
    pub unreadable: usize,
}

/// What a store said when it failed.
#[derive(Debug, Error)]
#[error("the store {place} failed: {reason}")]
pub struct StoreError {
    /// Which.
    pub place: String,
    /// In its own words.
    pub reason: String,
}

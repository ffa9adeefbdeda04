//! Where clients, legs and sessions are kept beyond the life of a process.

mod dated;
mod embedded;
mod memory;
mod record;
mod redis;

use nearside_tunnel::service::{Change, State};
use thiserror::Error;

pub use self::redis::Redis;
pub(crate) use dated::Dated;
pub use embedded::Embedded;
pub use memory::Memory;

/// A place to keep what a directory knows.
///
/// Unlike a master's, this store is not handed whole records: a sign of life or a new leg is a few bytes
/// of a client that has kilobytes, so it takes changes and does with them what suits it.
pub trait Store: Send {
    /// All that was kept. Records that cannot be read are left out and counted.
    fn load(&mut self) -> Result<Loaded, StoreError>;

    /// Makes changes, in their order. After an error some may have been made: the same ones come again,
    /// with others, and making them twice does no harm.
    fn write(&mut self, changes: &[Change]) -> Result<(), StoreError>;

    /// What others write from the last [`Self::load`] on; `None` if nobody else can.
    fn watch(&mut self) -> Option<Box<dyn Watch>> {
        None
    }
}

/// Follows what other directories write, on a thread of its own.
pub trait Watch: Send {
    /// What is new; does not wait for it. After an error nothing is lost: what happened meanwhile comes
    /// with the next call that succeeds.
    fn next(&mut self) -> Result<News, StoreError>;
}

/// What other directories did.
#[derive(Debug)]
pub enum News {
    /// These changes, in their order.
    Changes(Vec<Change>),
    /// More than can be told one by one: this is how everything stands.
    Everything(Box<State>),
}

/// What a store held.
#[derive(Debug, Default)]
pub struct Loaded {
    /// What is known.
    pub state: State,
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

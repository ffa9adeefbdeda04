//! Where servers are kept beyond the life of a process, and shared with other front ends.

mod dated;
mod embedded;
mod memory;
mod redis;

use nearside_registry::{Secret, Server};
use nearside_types::ServerAddr;
use thiserror::Error;

pub use self::redis::Redis;
pub use crate::keeper::Change;
pub(crate) use dated::Dated;
pub use embedded::Embedded;
pub use memory::Memory;

/// A place to keep servers.
pub trait Store: Send {
    /// All servers that were kept. Records that cannot be read are left out and counted.
    fn load(&mut self) -> Result<Loaded, StoreError>;

    /// Writes changes. After an error some may have been written: the same ones come again, with
    /// others, and writing them twice does no harm.
    fn write(&mut self, changes: &[Change]) -> Result<(), StoreError>;

    /// What others write from the last [`Self::load`] on; `None` if nobody else can.
    fn watch(&mut self) -> Option<Box<dyn Watch>> {
        None
    }
}

/// Follows what other front ends write, on a thread of its own.
pub trait Watch: Send {
    /// Before the first [`Self::next`]: the key of cookies in use, which all should share.
    fn begin(&mut self, secret: Secret);

    /// What is new; does not wait for it. After an error nothing is lost: what happened meanwhile
    /// comes with the next call that succeeds.
    fn next(&mut self) -> Result<Vec<News>, StoreError>;

    /// What an operator should mend although news come; `None` if nothing.
    fn trouble(&self) -> Option<String> {
        None
    }
}

/// What other front ends did.
#[derive(Debug)]
pub enum News {
    /// Servers they heard of.
    Servers(Vec<Server>),
    /// So much was missed that parts of the store were read again. What it lacks there must be
    /// written again by whoever knows it.
    Reloaded {
        /// Which servers belong there.
        parts: Part,
        /// All that the store has of them.
        servers: Vec<Server>,
    },
    /// The key of cookies has changed.
    Secret(Secret),
}

/// Some of the parts that a store divides its servers into.
#[derive(Debug, Clone)]
pub struct Part {
    numbers: Vec<u32>,
    of: fn(ServerAddr) -> u32,
}

impl Part {
    /// The parts with these numbers, where `of` tells each address's.
    pub const fn new(numbers: Vec<u32>, of: fn(ServerAddr) -> u32) -> Self {
        Self { numbers, of }
    }

    /// Whether a server belongs there.
    pub fn has(&self, addr: ServerAddr) -> bool {
        self.numbers.contains(&(self.of)(addr))
    }
}

/// What a store held.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The servers, as remembered or vouched for.
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

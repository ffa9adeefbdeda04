//! The body of the master server: moves datagrams between sockets and the engine of
//! `nearside-registry`, and keeps its servers in a store that survives the process.
//!
//! One thread owns the engine and the sockets and never waits for a disk or a database; another
//! writes what changed, in groups at most a second apart; a third, where front ends share a store,
//! brings what the others wrote.

mod command;
mod follow;
pub mod http;
mod keeper;
mod listing;
mod operator;
mod service;
pub mod store;
pub mod upstream;
mod wall;

pub use command::{Command, Reply};
pub use keeper::{Change, Keeper, KeeperStats};
pub use listing::{Listing, Row};
pub use operator::{
    BanEntry, BanPlace, FeedStatus, LogStatus, Operator, OperatorError, OriginLayer, OriginStatus,
    SourceStatus,
};
pub use service::{Service, ServiceConfig, ServiceError, ServiceHandle, Snapshot, StoreTrouble};
pub use wall::{Wall, WallClock};

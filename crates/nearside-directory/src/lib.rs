//! The body of the detour's directory: moves datagrams between two UDP ports and the engine of
//! `nearside-tunnel`, and keeps what it knows in a store that survives the process.
//!
//! One thread owns the engine and the sockets and never waits for a disk; another writes what changed,
//! in groups at most a second apart; a third answers HTTP, for the operator and for lobbies.

mod clock;
mod command;
mod follow;
pub mod http;
mod keeper;
mod server;
pub mod store;

pub use command::{Command, Lists, Reply};
pub use keeper::{Keeper, KeeperStats};
pub use server::{Handle, Server, ServerConfig, ServerError, Snapshot, StoreTrouble};

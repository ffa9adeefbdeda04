//! Finds detours around slow paths, after Ly, Hsu and Hefeeda, "Improving Online Gaming Quality using
//! Detour Paths" (MM 2010): a third player may lie on a quicker way than the one the Internet takes.
//!
//! Opens no socket and reads no clock: the caller moves messages and tells the time.
//!
//! - [`Directory`]: the paper's server. Clients join, report what they measured, and ask for relays.
//! - [`Client`]: measures its neighbours, keeps its coordinate, reports what changed.
//! - [`PathSession`]: measures paths end to end, uses the best, switches when it lags.

pub mod client;
pub mod directory;
#[doc(hidden)]
pub mod fuzzing;
mod ids;
pub mod path;

pub use client::{Client, ClientConfig};
pub use directory::{Directory, DirectoryConfig};
pub use ids::ClientId;
pub use path::{PathConfig, PathSession};

//! Where an address comes from: its origin AS and its country, for IPv4 and IPv6.
//!
//! Bytes come in (a compact table, operator files, MRT dumps, BGP messages), immutable
//! [`Snapshot`]s come out; a [`Stack`] of them answers look-ups. Opens no file and no socket, reads
//! no clock: the caller does, and swaps one snapshot for the next when it likes.

mod asn_class;
pub mod bgp;
mod builder;
pub mod compact;
pub mod files;
pub mod fuzzing;
mod info;
mod key;
pub mod mrt;
mod paint;
mod snapshot;
mod stack;
mod table;
mod tiles;
mod timestamp;

pub use asn_class::AsnClass;
pub use builder::{AsnRule, Cleaned, RangeError, Rules, TableBuilder};
pub use info::{OriginInfo, SourceKind};
pub use snapshot::Snapshot;
pub use stack::{AgeWarning, OLD, Stack};
pub use table::{Found, RangeTable};
pub use timestamp::Timestamp;

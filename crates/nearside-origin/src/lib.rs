//! Where an address comes from: its origin AS and its country, for IPv4 and IPv6.
//!
//! Bytes come in (a compact table, operator files, MRT dumps, BGP messages), immutable
//! [`Snapshot`]s come out; a [`Stack`] of them answers look-ups. Opens no file and no socket, reads
//! no clock: the caller does, and swaps one snapshot for the next when it likes.
//!
//! ```
//! use nearside_origin::{Rules, SourceKind, Stack, Timestamp, files};
//!
//! let now = Timestamp::from_date("2026-11-15").expect("a good date");
//! let own = files::read("own.csv", b"5.9.7.0/24,,FI", Rules::default())?;
//! let table = files::read("table.csv", b"5.9.0.0/16,24940,DE", Rules::default())?;
//! let stack = Stack::new()
//!     .with(table.into_snapshot(SourceKind::File, "table.csv"))
//!     .with(own.into_snapshot(SourceKind::Override, "own.csv"));
//! let info = stack.lookup([5, 9, 7, 1].into(), now);
//! assert_eq!(info.asn.map(|asn| asn.0), Some(24940));
//! assert_eq!(info.country.map(|country| country.to_string()).as_deref(), Some("FI"));
//! # Ok::<(), files::FileError>(())
//! ```

mod asn_class;
pub mod bgp;
mod builder;
mod cell;
mod chunks;
pub mod compact;
pub mod files;
pub mod fuzzing;
mod index;
mod info;
mod key;
pub mod mrt;
mod paint;
mod rows;
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

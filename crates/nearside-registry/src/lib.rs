//! The mind of a master server: which game servers are registered, what lists of them say, and what
//! abuse is refused. Datagrams and moments come in, datagrams and changes go out; sockets, disks and
//! clocks belong to the caller.
//!
//! Three rules hold throughout:
//! - **No amplification.** Whoever has not proven its address gets no more bytes than it sent, with
//!   two exceptions that are small, budgeted for each network and named in [`Settings`].
//! - **No believing.** Nothing bad happens to an address on the word of a packet that did not prove
//!   that it came from there; a flood of unproven packets leaves no trace in the registry.
//! - **No endless scanning.** A list costs what it returns, however many servers there are: they lie
//!   in the order of pages, apart by game and by all that is yes or no, and are found by map, mode and
//!   address; what a filter selects is remembered for a second. What has to be looked for beyond that
//!   comes out of allowances, one for each network and one for all.
//!
//! Moments are counted from the Unix epoch, since expiries stand in stores that outlive a process.

mod answer;
mod bans;
mod budget;
mod candidates;
mod caps;
mod claim;
mod conditions;
mod cookie;
mod follow;
pub mod fuzzing;
mod groups;
mod hashes;
mod marks;
mod master;
pub mod packed;
mod payload;
mod probe;
mod refusals;
mod region;
mod register;
mod said;
mod scans;
mod selection;
mod server;
mod settings;
mod shelf;
mod slots;
mod told;
mod traits;
mod views;
mod web_filter;
mod wheel;

pub use bans::{Ban, BanParseError, BanTarget, Bans};
pub use claim::{Claim, ClaimAnswer, Claimed};
pub use cookie::{Cookies, Secret};
pub use follow::{FollowCounts, Followed, SourceId, Wholeness};
pub use master::Master;
pub use payload::Payload;
pub use refusals::{Refusal, Refusals};
pub use region::region_of;
pub use selection::Selection;
pub use server::{Facts, Family, Flags, Server, Standing, Text};
pub use settings::{Settings, SettingsError};
pub use shelf::Shelf;
pub use told::{Event, Output, Removal, SocketId, Tally};
pub use views::View;
pub use web_filter::WebFilter;

//! Live BGP: a receive-only session with each neighbour, and the table of who originates what.
//!
//! [`Session`] speaks with one neighbour, [`Rib`] keeps what all of them announced, [`Collector`]
//! joins the two and says when a new table is worth publishing. A shell owns the connections.

mod as_path;
mod attributes;
mod collector;
mod cursor;
mod entry;
mod frame;
pub(crate) mod fuzzing;
mod merge;
mod nlri;
mod notification;
mod open;
mod peer_table;
mod rib;
mod session;
mod sweep;
mod update;

pub use attributes::{Fault, Malformed};
pub use collector::{
    Collector, CollectorConfig, CollectorError, CollectorOutput, Neighbour, PeerEvent, Refusal,
};
pub use frame::MAX_MESSAGE;
pub use nlri::Family;
pub use notification::Notification;
pub use rib::{PeerId, PrefixLimitReached, Rib, RibConfig, Route};
pub use session::{CloseReason, Established, Event, Output, Session, SessionConfig};
pub use update::Update;

/// The octets of BGP that other readers of routes share.
pub(crate) mod wire {
    pub(crate) use super::as_path::{AsPath, AsWidth, PathOrigin};
    pub(crate) use super::attributes::{AS_PATH, read_attribute};
    pub(crate) use super::cursor::Cursor;
    pub(crate) use super::merge::Candidate;
    pub(crate) use super::nlri::read_prefix;
    pub(crate) use super::update::{Speaker, Update, UpdateOrMarker};
}

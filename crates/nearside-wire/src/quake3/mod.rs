//! The queries of the Quake 3 family (Quake III, OpenArena, Enemy Territory, Xonotic, …): `getinfo`
//! and `getstatus`, text behind `FF FF FF FF`. Lists of servers are in [`master`].
//!
//! Layouts with byte tables: `docs/wire/quake3.md`.

mod challenge;
mod heartbeat;
mod info_string;
mod info_view;
pub mod master;
mod query;

pub use challenge::Challenge;
pub(crate) use challenge::eight_characters;
pub use heartbeat::Heartbeat;
pub use info_string::InfoString;
pub use info_view::InfoView;
pub use query::{Request, Response, StatusPlayer};

/// The words of a line. Clients end requests as they like: `quakestat` sends a newline, other tools
/// a NUL, the games nothing.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let separator = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0);
    line.split(separator).filter(|word| !word.is_empty())
}

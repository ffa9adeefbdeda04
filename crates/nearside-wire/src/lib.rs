//! Codecs for what game servers and master servers say: A2S queries with their split packets, the
//! Quake 3 family, the Steam master list, and the origin extensions of both lists.
//!
//! Pure functions from bytes to meaning and back. It opens no socket, reads no clock and never
//! panics on bytes from the network; whoever owns the socket drives it. The formats are written up
//! bit by bit in `docs/wire/`.

pub mod a2s;
mod cursor;
mod error;
#[doc(hidden)]
pub mod fuzzing;
pub mod list;
pub mod quake3;
pub mod steam;
mod text;

pub use error::{DecodeError, EncodeError};
pub use text::GameText;

/// The four bytes (-1 as a little-endian `i32`) that open every unsplit message of all three
/// protocols.
pub const CONNECTIONLESS: [u8; 4] = [0xFF; 4];

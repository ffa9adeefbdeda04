//! Codecs for what game servers and master servers say: A2S queries with their split packets, the
//! Quake 3 family, the Steam master list, the origin extensions of both lists, and the frames of the
//! detour.
//!
//! Pure functions from bytes to meaning and back. It opens no socket, reads no clock and never
//! panics on bytes from the network; whoever owns the socket drives it. The formats are written up
//! bit by bit in `docs/wire/`.
//!
//! Asking a server for its rules, with the datagrams of a socket that somebody else holds:
//!
//! ```
//! use nearside_wire::a2s::{Assembled, Challenge, Reassembler, Request, Response};
//!
//! # fn main() -> Result<(), nearside_wire::DecodeError> {
//! # let received = [
//! #     &b"\xFF\xFF\xFF\xFFA\x0A\x08\x5E\xEA"[..],
//! #     b"\xFE\xFF\xFF\xFF\x0B\0\0\0\x02\x01\x07\0mp_f\x001\0",
//! #     b"\xFE\xFF\xFF\xFF\x0B\0\0\0\x02\0\x07\0\xFF\xFF\xFF\xFFE\x01\0",
//! # ];
//! let mut request = Request::Rules { challenge: Challenge::NONE };
//! let mut sent = vec![request.emit()];
//! let mut reassembler = Reassembler::new();
//! for datagram in received {
//!     let Assembled::Whole(message) = reassembler.push(datagram)? else {
//!         continue;
//!     };
//!     match Response::parse(&message)? {
//!         Response::Challenge(challenge) => {
//!             request = request.with_challenge(challenge);
//!             sent.push(request.emit());
//!         }
//!         Response::Rules(list) => assert_eq!(list.rules[0].name.to_string(), "mp_f"),
//!         other => panic!("asked for rules, got {other:?}"),
//!     }
//! }
//! assert_eq!(sent[1], b"\xFF\xFF\xFF\xFFV\x0A\x08\x5E\xEA");
//! # Ok(())
//! # }
//! ```

pub mod a2s;
pub mod claim;
pub mod compact;
mod cursor;
pub mod detour;
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

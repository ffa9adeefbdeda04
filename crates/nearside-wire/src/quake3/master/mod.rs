//! Lists from masters of the Quake 3 family: `getservers`, and dpmaster's `getserversExt` for IPv6.
//!
//! Layouts with byte tables, and the origin extensions: `docs/wire/master-lists.md`.

mod reply;
mod request;

use std::fmt;

use super::challenge::eight_characters;

pub use reply::{ListReply, MAX_REPLY_BYTES, ReplyForm, paginate};
pub use request::ListRequest;

/// Eight printable characters by which a master has a client prove its address before it sends a
/// long list; the reply that carries them is never longer than the request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListCookie([u8; 8]);

impl ListCookie {
    /// A cookie of the low 48 bits of a number, for masters to derive from a secret.
    pub fn from_bits(bits: u64) -> Self {
        Self(eight_characters(bits))
    }

    /// Checks that the bytes can stand as one word in a request.
    pub fn new(bytes: [u8; 8]) -> Option<Self> {
        bytes
            .iter()
            .all(u8::is_ascii_graphic)
            .then_some(Self(bytes))
    }

    /// The characters.
    pub const fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }

    /// The characters as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("only ASCII characters are ever stored")
    }

    fn from_word(word: &[u8]) -> Option<Self> {
        <[u8; 8]>::try_from(word).ok().and_then(Self::new)
    }
}

impl fmt::Debug for ListCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListCookie({})", self.as_str())
    }
}

use std::hash::Hasher;

use nearside_wire::detour::{CARRY_HEADER, Carry, TICKET_BYTES};
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

/// What a relay and one player share for one way: proves to the relay who sends, at every packet and
/// at little cost. It protects the relay, not the game; the seal inside does that.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopKey(pub [u8; 16]);

impl std::fmt::Debug for HopKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HopKey(…)")
    }
}

impl HopKey {
    /// The tag of a carried frame: over its header without the tag, and all that is inside.
    pub fn tag(&self, carry: &Carry<'_>) -> u64 {
        self.tag_of(&carry.header(), carry.inner)
    }

    pub(crate) fn tag_of(&self, header: &[u8; CARRY_HEADER], inner: &[u8]) -> u64 {
        let mut hasher = self.hasher();
        hasher.write(&header[..CARRY_HEADER - 8]);
        hasher.write(inner);
        hasher.finish()
    }

    /// The tag of a shown ticket.
    pub fn tag_open(&self, ticket: &[u8; TICKET_BYTES]) -> u64 {
        let mut hasher = self.hasher();
        hasher.write(b"open");
        hasher.write(ticket);
        hasher.finish()
    }

    /// The tag of a relay's word that it took the ticket.
    pub fn tag_opened(&self, hop: u32) -> u64 {
        let mut hasher = self.hasher();
        hasher.write(b"opened");
        hasher.write_u32(hop);
        hasher.finish()
    }

    /// The tag of a relay's word that it has no place.
    pub fn tag_refused(&self, hop: u32) -> u64 {
        let mut hasher = self.hasher();
        hasher.write(b"refused");
        hasher.write_u32(hop);
        hasher.finish()
    }

    /// SipHash-2-4: a keyed hash made for short inputs; one in 2^64 guesses fits, and each costs the
    /// guesser a packet.
    fn hasher(&self) -> SipHasher24 {
        SipHasher24::new_with_key(&self.0)
    }
}

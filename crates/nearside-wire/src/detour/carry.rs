//! What goes through a relay: a small header with a tag for this hop, and a frame that is none of the
//! relay's business.

use crate::DecodeError;
use crate::cursor::Cursor;

use super::Kind;

/// Bytes before the inner frame; the last eight are the tag.
pub const CARRY_HEADER: usize = 24;

/// Four microseconds: the field reaches to 262 ms.
pub const RESIDENCE_UNIT_NS: u64 = 4_000;

/// A frame on its way through a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carry<'a> {
    /// Which way it goes, and whether the relay stamps it.
    pub flags: CarryFlags,
    /// How long relays held it, in units of [`RESIDENCE_UNIT_NS`]; the largest number also
    /// stands for more.
    pub residence: u16,
    /// The number of the way through the relay.
    pub hop: u32,
    /// Which packet on this hop it is: none is taken twice.
    pub counter: u64,
    /// Under the key that the relay and this player share.
    pub tag: u64,
    /// The frame; nothing for one that only keeps the way open.
    pub inner: &'a [u8],
}

/// Bits of a carried frame; unknown ones are covered by the tag and otherwise ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CarryFlags(pub u8);

impl CarryFlags {
    /// The relay adds the time it held the frame.
    pub const STAMP: Self = Self(1);
    /// From the relay to a player; without it, from a player to the relay. So that nothing sent one
    /// way can be sent back as if it went the other.
    pub const FROM_RELAY: Self = Self(2);

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// With the bits of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl<'a> Carry<'a> {
    /// Reads a datagram that begins with [`Kind::Carry`].
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let [_, flags] = cursor.array("flags")?;
        Ok(Self {
            flags: CarryFlags(flags),
            residence: cursor.u16_be("residence")?,
            hop: cursor.u32_be("hop")?,
            counter: cursor.u64_be("counter")?,
            tag: cursor.u64_be("tag")?,
            inner: cursor.rest(),
        })
    }

    /// The header, with the tag as it is.
    pub fn header(&self) -> [u8; CARRY_HEADER] {
        let mut header = [0; CARRY_HEADER];
        header[0] = Kind::Carry as u8;
        header[1] = self.flags.0;
        header[2..4].copy_from_slice(&self.residence.to_be_bytes());
        header[4..8].copy_from_slice(&self.hop.to_be_bytes());
        header[8..16].copy_from_slice(&self.counter.to_be_bytes());
        header[16..].copy_from_slice(&self.tag.to_be_bytes());
        header
    }

    pub(super) fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.header());
        bytes.extend(self.inner);
    }
}

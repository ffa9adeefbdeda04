//! Frames of the detour: what players, relays and the directory send each other over UDP.
//!
//! Only the outside of them: which kind a frame is and where its fields stand. What is sealed inside,
//! and who may say it, is the business of the tunnel. Bit by bit in `docs/wire/detour.md`. Numbers are
//! big-endian. Fields that say 0 are ignored by those who read them, so that later versions may use
//! them.

mod carry;

use crate::DecodeError;
use crate::cursor::Cursor;

pub use carry::{CARRY_HEADER, Carry, CarryFlags, RESIDENCE_UNIT_NS};

/// The version that every frame which opens something carries.
pub const VERSION: u8 = 1;

/// Bytes of a proof that somebody receives at an address, or was introduced.
pub const PASS_BYTES: usize = 16;

/// Bytes of a ticket: opaque to all but the directory that made it and the relay it is for.
pub const TICKET_BYTES: usize = 100;

/// Bytes of the header of [`Frame::Sealed`], which the seal covers too.
pub const SEALED_HEADER: usize = 16;

/// A ping is as long as the longest pong, so that nobody gets more than they sent.
pub const PING_BYTES: usize = 112;

/// No frame that goes through a relay is longer: with IP and UDP headers it passes every link that
/// IPv6 may use (RFC 8200, section 5), so that it is never cut up.
pub const SAFE_BYTES: usize = 1_232;

/// The first byte of a frame. Chosen apart from what games and STUN send first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Begins a handshake.
    Hello = 0x91,
    /// Asks to repeat a hello with this pass.
    Retry = 0x92,
    /// Ends a handshake.
    Answer = 0x93,
    /// Sealed under the keys of a handshake.
    Sealed = 0x94,
    /// Measures a neighbour.
    Ping = 0x95,
    /// Answers a ping.
    Pong = 0x96,
    /// Shows a ticket to a relay.
    Open = 0x97,
    /// The relay takes it.
    Opened = 0x98,
    /// Goes through a relay.
    Carry = 0x99,
    /// Opens a way through the sender's own NAT.
    Punch = 0x9A,
    /// The relay has no place for a ticket, or for a game.
    Refused = 0x9B,
    /// The directory has begun anew, and knows no keys.
    Anew = 0x9C,
}

impl Kind {
    /// The kind of frame that these bytes begin, if any.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        const ALL: [Kind; 12] = [
            Kind::Hello,
            Kind::Retry,
            Kind::Answer,
            Kind::Sealed,
            Kind::Ping,
            Kind::Pong,
            Kind::Open,
            Kind::Opened,
            Kind::Carry,
            Kind::Punch,
            Kind::Refused,
            Kind::Anew,
        ];
        let first = *bytes.first()?;
        ALL.into_iter().find(|kind| *kind as u8 == first)
    }
}

/// A frame as it stands in a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Begins a handshake (Noise IK, first message).
    Hello {
        /// By which number the initiator wants to be answered.
        index: u32,
        /// The cookie of a [`Frame::Retry`], or what an introduction gave; zeros at first.
        pass: [u8; PASS_BYTES],
        /// The Noise message.
        noise: &'a [u8],
    },
    /// Not a word before the hello is repeated with this pass.
    Retry {
        /// The initiator's number.
        to: u32,
        /// What to repeat.
        pass: [u8; PASS_BYTES],
    },
    /// Ends a handshake (Noise IK, second message).
    Answer {
        /// The initiator's number.
        to: u32,
        /// The Noise message.
        noise: &'a [u8],
    },
    /// Sealed under the keys of a handshake.
    Sealed {
        /// The receiver's number of it.
        to: u32,
        /// Which packet under this key it is: its nonce.
        counter: u64,
        /// Ciphertext with its 16 bytes of proof.
        body: &'a [u8],
    },
    /// Measures a neighbour.
    Ping {
        /// Who asks.
        from: u64,
        /// To be repeated.
        nonce: u64,
        /// Under a key that only the directory gave away.
        tag: u64,
    },
    /// Answers a ping.
    Pong {
        /// The ping's.
        nonce: u64,
        /// Under the same key.
        tag: u64,
        /// The neighbour's coordinate.
        place: &'a [u8],
    },
    /// Shows a ticket to a relay.
    Open {
        /// The ticket.
        ticket: &'a [u8; TICKET_BYTES],
        /// Under the key inside the ticket.
        tag: u64,
    },
    /// The relay takes a ticket.
    Opened {
        /// The number of the way through the relay.
        hop: u32,
        /// Under the key of the ticket.
        tag: u64,
    },
    /// Goes through a relay.
    Carry(Carry<'a>),
    /// Opens a way through the sender's own NAT.
    Punch {
        /// What the introduction gave.
        pass: [u8; PASS_BYTES],
    },
    /// The relay has no place for a ticket, or for a game on a way that it only let measure.
    Refused {
        /// The number of the way through the relay.
        hop: u32,
        /// Under the key of the ticket.
        tag: u64,
    },
    /// The directory has begun anew, and knows no keys: its clients shake hands again.
    Anew {
        /// Milliseconds since 1970.
        wall_ms: u64,
        /// Under a key that only this client and its directory have.
        tag: u64,
    },
}

impl<'a> Frame<'a> {
    /// Reads a datagram.
    ///
    /// # Errors
    /// If it is no frame, or not whole.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let kind = Kind::of(bytes);
        let kind = kind.ok_or_else(|| DecodeError::unrecognised("a detour frame", bytes))?;
        let mut cursor = Cursor::new(bytes);
        cursor.u8("kind")?;
        let has_version = !matches!(
            kind,
            Kind::Sealed | Kind::Carry | Kind::Opened | Kind::Refused
        );
        let second = cursor.u8("version")?;
        if has_version && second != VERSION {
            let expected = "1, the version this program speaks (update one of both)";
            return Err(DecodeError::bad_value("version", &[second], expected));
        }
        if kind == Kind::Carry {
            return Carry::parse(bytes).map(Self::Carry);
        }
        cursor.u16_be("zeros")?;
        Self::fields(kind, &mut cursor)
    }

    fn fields(kind: Kind, cursor: &mut Cursor<'a>) -> Result<Self, DecodeError> {
        Ok(match kind {
            Kind::Hello => Self::Hello {
                index: cursor.u32_be("index")?,
                pass: cursor.array("pass")?,
                noise: cursor.rest(),
            },
            Kind::Retry => Self::Retry {
                to: cursor.u32_be("to")?,
                pass: cursor.array("pass")?,
            },
            Kind::Answer => Self::Answer {
                to: cursor.u32_be("to")?,
                noise: cursor.rest(),
            },
            Kind::Sealed => Self::Sealed {
                to: cursor.u32_be("to")?,
                counter: cursor.u64_be("counter")?,
                body: cursor.rest(),
            },
            Kind::Ping => Self::Ping {
                from: cursor.u64_be("from")?,
                nonce: cursor.u64_be("nonce")?,
                tag: padded_tag(cursor)?,
            },
            Kind::Pong => Self::Pong {
                nonce: cursor.u64_be("nonce")?,
                tag: cursor.u64_be("tag")?,
                place: cursor.rest(),
            },
            Kind::Open => Self::Open {
                ticket: cursor.chunk("ticket")?,
                tag: cursor.u64_be("tag")?,
            },
            Kind::Opened => Self::Opened {
                hop: cursor.u32_be("hop")?,
                tag: cursor.u64_be("tag")?,
            },
            Kind::Punch => Self::Punch {
                pass: cursor.array("pass")?,
            },
            Kind::Refused => Self::Refused {
                hop: cursor.u32_be("hop")?,
                tag: cursor.u64_be("tag")?,
            },
            Kind::Anew => Self::Anew {
                wall_ms: cursor.u64_be("wall_ms")?,
                tag: cursor.u64_be("tag")?,
            },
            Kind::Carry => unreachable!("has a parser of its own"),
        })
    }

    /// The datagram.
    pub fn emit(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SAFE_BYTES);
        match self {
            Self::Hello { index, pass, noise } => {
                start(&mut bytes, Kind::Hello, VERSION);
                bytes.extend(index.to_be_bytes());
                bytes.extend(pass);
                bytes.extend(*noise);
            }
            Self::Retry { to, pass } => {
                start(&mut bytes, Kind::Retry, VERSION);
                bytes.extend(to.to_be_bytes());
                bytes.extend(pass);
            }
            Self::Answer { to, noise } => {
                start(&mut bytes, Kind::Answer, VERSION);
                bytes.extend(to.to_be_bytes());
                bytes.extend(*noise);
            }
            Self::Sealed { to, counter, body } => {
                bytes.extend(sealed_header(*to, *counter));
                bytes.extend(*body);
            }
            Self::Ping { from, nonce, tag } => {
                start(&mut bytes, Kind::Ping, VERSION);
                bytes.extend([*from, *nonce, *tag].map(u64::to_be_bytes).concat());
                bytes.resize(PING_BYTES, 0);
            }
            Self::Pong { nonce, tag, place } => {
                start(&mut bytes, Kind::Pong, VERSION);
                bytes.extend([*nonce, *tag].map(u64::to_be_bytes).concat());
                bytes.extend(*place);
            }
            Self::Open { ticket, tag } => {
                start(&mut bytes, Kind::Open, VERSION);
                bytes.extend(*ticket);
                bytes.extend(tag.to_be_bytes());
            }
            Self::Opened { hop, tag } => {
                start(&mut bytes, Kind::Opened, 0);
                bytes.extend(hop.to_be_bytes());
                bytes.extend(tag.to_be_bytes());
            }
            Self::Carry(carry) => carry.emit(&mut bytes),
            Self::Punch { pass } => {
                start(&mut bytes, Kind::Punch, VERSION);
                bytes.extend(pass);
            }
            Self::Refused { hop, tag } => {
                start(&mut bytes, Kind::Refused, 0);
                bytes.extend(hop.to_be_bytes());
                bytes.extend(tag.to_be_bytes());
            }
            Self::Anew { wall_ms, tag } => {
                start(&mut bytes, Kind::Anew, VERSION);
                bytes.extend(wall_ms.to_be_bytes());
                bytes.extend(tag.to_be_bytes());
            }
        }
        bytes
    }
}

/// The header of a sealed frame: what its seal covers beside the body.
pub fn sealed_header(to: u32, counter: u64) -> [u8; SEALED_HEADER] {
    let mut header = [0; SEALED_HEADER];
    header[0] = Kind::Sealed as u8;
    header[4..8].copy_from_slice(&to.to_be_bytes());
    header[8..].copy_from_slice(&counter.to_be_bytes());
    header
}

/// Kind, version or flags, and two zeros.
fn start(bytes: &mut Vec<u8>, kind: Kind, second: u8) {
    bytes.extend([kind as u8, second, 0, 0]);
}

/// The tag of a ping; a ping without its padding would be answered by more than was sent.
fn padded_tag(cursor: &mut Cursor<'_>) -> Result<u64, DecodeError> {
    let tag = cursor.u64_be("tag")?;
    cursor.array::<{ PING_BYTES - 28 }>("padding")?;
    Ok(tag)
}

//! What stands under the seal between two players. Numbers are big-endian; times are microseconds of
//! the sender's clock, of which only differences mean something.

use thiserror::Error;

/// A packet under the seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inner<'a> {
    /// A packet of the game.
    Data {
        /// Which of the sender's local addresses it belongs to.
        flow: u16,
        /// When it was sent.
        sent: u32,
        /// Which word of the sender it is, beats included.
        word: u16,
        /// The number of the path that the sender uses, whichever a copy of it comes by.
        path: u8,
        /// The packet.
        payload: &'a [u8],
    },
    /// Says that the sender is still there while the game says nothing.
    Beat {
        /// When it was sent.
        sent: u32,
        /// Which word of the sender it is, packets of the game included.
        word: u16,
        /// The number of the path that the sender uses.
        path: u8,
        /// 1 if the sender itself has packets of a game under way, so that it listens for an answer.
        plays: u8,
    },
    /// Measures a path.
    Probe(Probe),
    /// Answers a probe on the same path.
    Echo(Echo),
    /// A message beside the game; repeated until it is confirmed.
    Talk {
        /// To be confirmed.
        id: u32,
        /// See [`crate::messages::Talk`].
        message: &'a [u8],
    },
    /// Confirms a message.
    Heard {
        /// Which.
        id: u32,
    },
}

/// See [`Inner::Probe`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// To be repeated.
    pub sequence: u32,
    /// When it was sent.
    pub sent: u32,
    /// How many packets the sender sent on this path before.
    pub count: u32,
    /// The path's place: 0 in use, 1 the first backup, 255 none.
    pub rank: u8,
}

/// See [`Inner::Echo`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// The probe's.
    pub sequence: u32,
    /// How long the answer was held back, in microseconds.
    pub held: u32,
    /// How many packets came on this path.
    pub got: u32,
    /// How many the answering end sent on it.
    pub count: u32,
    /// How long the relay held the probe, in microseconds.
    pub relayed: u32,
}

/// Bytes that are no packet, or of a later version.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[error("not a packet under a seal")]
pub struct NotInner;

/// A probe is as long as a usual packet of a game (the paper: 25 to 100 bytes), since longer packets
/// take longer.
const PROBE_BYTES: usize = 60;

const DATA: u8 = 0;
const BEAT: u8 = 1;
const PROBE: u8 = 2;
const ECHO: u8 = 3;
const TALK: u8 = 4;
const HEARD: u8 = 5;

/// Bytes before the packet of a game.
pub(crate) const DATA_HEADER: usize = 10;

/// The header of a packet of the game.
pub(crate) fn data_header(flow: u16, sent: u32, word: u16, path: u8) -> [u8; DATA_HEADER] {
    let ([f, g], [v, w]) = (flow.to_be_bytes(), word.to_be_bytes());
    let [a, b, c, d] = sent.to_be_bytes();
    [DATA, f, g, a, b, c, d, v, w, path]
}

impl<'a> Inner<'a> {
    /// Reads what was under a seal.
    ///
    /// # Errors
    /// If it is nothing of this.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, NotInner> {
        let (kind, mut rest) = bytes.split_first().ok_or(NotInner)?;
        let rest = &mut rest;
        Ok(match *kind {
            DATA => Self::Data {
                flow: u16::from_be_bytes(take(rest)?),
                sent: number(rest)?,
                word: u16::from_be_bytes(take(rest)?),
                path: byte(rest)?,
                payload: rest,
            },
            BEAT => Self::Beat {
                sent: number(rest)?,
                word: u16::from_be_bytes(take(rest)?),
                path: byte(rest)?,
                plays: byte(rest)?,
            },
            PROBE => Self::Probe(Probe {
                sequence: number(rest)?,
                sent: number(rest)?,
                count: number(rest)?,
                rank: byte(rest)?,
            }),
            ECHO => Self::Echo(Echo {
                sequence: number(rest)?,
                held: number(rest)?,
                got: number(rest)?,
                count: number(rest)?,
                relayed: number(rest)?,
            }),
            TALK => Self::Talk {
                id: number(rest)?,
                message: rest,
            },
            HEARD => Self::Heard { id: number(rest)? },
            _ => return Err(NotInner),
        })
    }

    /// The bytes to be sealed.
    pub fn emit(&self) -> Vec<u8> {
        match self {
            Self::Data {
                flow,
                sent,
                word,
                path,
                payload,
            } => [data_header(*flow, *sent, *word, *path).as_slice(), payload].concat(),
            Self::Beat {
                sent,
                word,
                path,
                plays,
            } => {
                let mut bytes = numbers(BEAT, &[*sent]);
                bytes.extend(word.to_be_bytes());
                bytes.extend([*path, *plays]);
                bytes
            }
            Self::Probe(probe) => {
                let mut bytes = numbers(PROBE, &[probe.sequence, probe.sent, probe.count]);
                bytes.push(probe.rank);
                bytes.resize(PROBE_BYTES, 0);
                bytes
            }
            Self::Echo(echo) => numbers(
                ECHO,
                &[echo.sequence, echo.held, echo.got, echo.count, echo.relayed],
            ),
            Self::Talk { id, message } => [numbers(TALK, &[*id]).as_slice(), message].concat(),
            Self::Heard { id } => numbers(HEARD, &[*id]),
        }
    }
}

fn numbers(kind: u8, numbers: &[u32]) -> Vec<u8> {
    let bytes = numbers.iter().flat_map(|number| number.to_be_bytes());
    std::iter::once(kind).chain(bytes).collect()
}

fn number(rest: &mut &[u8]) -> Result<u32, NotInner> {
    take(rest).map(u32::from_be_bytes)
}

fn byte(rest: &mut &[u8]) -> Result<u8, NotInner> {
    take(rest).map(|[byte]| byte)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], NotInner> {
    let (first, behind) = rest.split_first_chunk().ok_or(NotInner)?;
    *rest = behind;
    Ok(*first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packets_survive_their_bytes(n in any::<u32>(), payload in prop::collection::vec(any::<u8>(), 0..99)) {
            let rank = n as u8;
            let all = [
                Inner::Data { flow: n as u16, sent: n, word: n as u16, path: 3, payload: &payload },
                Inner::Beat { sent: n, word: n as u16, path: 4, plays: 1 },
                Inner::Probe(Probe { sequence: n, sent: !n, count: 1, rank }),
                Inner::Echo(Echo { sequence: n, held: !n, got: 3, count: 4, relayed: 5 }),
                Inner::Talk { id: n, message: &payload },
                Inner::Heard { id: n },
            ];
            for inner in all {
                let bytes = inner.emit();
                prop_assert_eq!(Inner::parse(&bytes), Ok(inner));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(inner) = Inner::parse(&bytes) {
                let again = inner.emit();
                prop_assert_eq!(Inner::parse(&again), Ok(inner));
            }
        }
    }
}

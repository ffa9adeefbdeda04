use std::fmt;

use super::kind;
use crate::cursor::Cursor;
use crate::{CONNECTIONLESS, DecodeError};

/// Four bytes that a server hands out and wants to see again, as proof that the client's address
/// is its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Challenge(pub [u8; 4]);

impl Challenge {
    /// What PLAYER and RULES requests carry while no challenge is known: it asks for one.
    pub const NONE: Self = Self([0xFF; 4]);
}

impl fmt::Debug for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.0;
        write!(f, "Challenge({a:02x} {b:02x} {c:02x} {d:02x})")
    }
}

/// What a client asks a game server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Request {
    /// A2S_INFO: name, map, counts. 25 bytes, or 29 with the challenge.
    Info {
        /// The challenge the server gave; `None` in the first request.
        challenge: Option<Challenge>,
    },
    /// A2S_PLAYER: who plays. 9 bytes.
    Players {
        /// The challenge the server gave to any request, or [`Challenge::NONE`].
        challenge: Challenge,
    },
    /// A2S_RULES: the server's settings. 9 bytes.
    Rules {
        /// The challenge the server gave to any request, or [`Challenge::NONE`].
        challenge: Challenge,
    },
}

/// The fixed payload of A2S_INFO, with its NUL.
const INFO_PAYLOAD: &[u8] = b"Source Engine Query\0";

impl Request {
    /// The request with `challenge` in its place: what to send after the server answered `41`.
    #[must_use]
    pub const fn with_challenge(self, challenge: Challenge) -> Self {
        match self {
            Self::Info { .. } => Self::Info {
                challenge: Some(challenge),
            },
            Self::Players { .. } => Self::Players { challenge },
            Self::Rules { .. } => Self::Rules { challenge },
        }
    }

    /// The datagram to send.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = CONNECTIONLESS.to_vec();
        match self {
            Self::Info { challenge } => {
                out.push(kind::INFO_REQUEST);
                out.extend_from_slice(INFO_PAYLOAD);
                out.extend(challenge.iter().flat_map(|challenge| challenge.0));
            }
            Self::Players { challenge } => {
                out.push(kind::PLAYERS_REQUEST);
                out.extend(challenge.0);
            }
            Self::Rules { challenge } => {
                out.push(kind::RULES_REQUEST);
                out.extend(challenge.0);
            }
        }
        out
    }

    /// Reads a request as a server does; bytes behind a whole request are padding and ignored.
    pub fn parse(datagram: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::after(datagram, &CONNECTIONLESS, "an A2S request")?;
        match cursor.u8("request type")? {
            kind::INFO_REQUEST => Self::parse_info(&mut cursor),
            kind::PLAYERS_REQUEST => Ok(Self::Players {
                challenge: Challenge(cursor.array("challenge")?),
            }),
            kind::RULES_REQUEST => Ok(Self::Rules {
                challenge: Challenge(cursor.array("challenge")?),
            }),
            _ => Err(DecodeError::unrecognised("an A2S request", datagram)),
        }
    }

    fn parse_info(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        if !cursor.skip(INFO_PAYLOAD) {
            let found = cursor.rest();
            let expected = "A2S_INFO carries `Source Engine Query` and a NUL";
            return Err(DecodeError::bad_value("INFO payload", found, expected));
        }
        let challenge = match cursor.is_empty() {
            true => None,
            false => Some(Challenge(cursor.array("challenge")?)),
        };
        Ok(Self::Info { challenge })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_sizes_of_the_protocol_document() {
        let challenge = Challenge([0x0A, 0x08, 0x5E, 0xEA]);
        let info = Request::Info { challenge: None };
        assert_eq!(info.emit(), b"\xFF\xFF\xFF\xFFTSource Engine Query\0");
        assert_eq!(info.emit().len(), 25);
        assert_eq!(info.with_challenge(challenge).emit().len(), 29);
        let players = Request::Players {
            challenge: Challenge::NONE,
        };
        assert_eq!(players.emit(), b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF");
        assert_eq!(
            Request::Rules { challenge }.emit(),
            b"\xFF\xFF\xFF\xFFV\x0A\x08\x5E\xEA"
        );
    }

    #[test]
    fn a_challenge_cut_short_is_an_error_that_names_it() {
        let mut datagram = Request::Info { challenge: None }.emit();
        datagram.extend([1, 2, 3]);
        let error = Request::parse(&datagram).unwrap_err();
        assert_eq!(
            error,
            DecodeError::Truncated {
                field: "challenge",
                offset: 25
            }
        );
    }

    #[test]
    fn obsolete_and_foreign_requests_are_not_recognised() {
        for datagram in [&b"\xFF\xFF\xFF\xFFi"[..], b"\xFF\xFF\xFF\xFFW", b"getinfo"] {
            let error = Request::parse(datagram).unwrap_err();
            assert_eq!(error.label(), "unrecognised", "{error}");
        }
        let wrong = Request::parse(b"\xFF\xFF\xFF\xFFTsource engine query\0").unwrap_err();
        assert!(
            wrong.to_string().contains("`Source Engine Query`"),
            "{wrong}"
        );
    }
}

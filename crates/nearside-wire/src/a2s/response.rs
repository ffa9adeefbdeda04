use super::{Challenge, Info, PlayerList, RuleList, kind};
use crate::cursor::Cursor;
use crate::{CONNECTIONLESS, DecodeError};

/// What a game server answers. It echoes nothing of the request: who asked what, and when, is for
/// the caller to remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// "Ask again with these four bytes." A server may say so more than once.
    Challenge(Challenge),
    /// The answer to INFO.
    Info(Box<Info>),
    /// The answer to PLAYER.
    Players(PlayerList),
    /// The answer to RULES.
    Rules(RuleList),
}

impl Response {
    /// Reads one whole message, as the [`Reassembler`](super::Reassembler) hands it out. Bytes
    /// behind what is understood are ignored.
    pub fn parse(message: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::after(message, &CONNECTIONLESS, "an A2S reply")?;
        match cursor.u8("reply type")? {
            kind::CHALLENGE => cursor
                .array("challenge")
                .map(Challenge)
                .map(Self::Challenge),
            kind::SOURCE_INFO => Info::parse_source(&mut cursor)
                .map(Box::new)
                .map(Self::Info),
            kind::GOLDSOURCE_INFO => Info::parse_goldsource(&mut cursor)
                .map(Box::new)
                .map(Self::Info),
            kind::PLAYERS => PlayerList::parse(&mut cursor).map(Self::Players),
            kind::RULES => RuleList::parse(&mut cursor).map(Self::Rules),
            _ => Err(DecodeError::unrecognised("an A2S reply", message)),
        }
    }

    /// The whole message; [`split`](super::split()) cuts it where one datagram is not enough.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = CONNECTIONLESS.to_vec();
        match self {
            Self::Challenge(challenge) => {
                out.push(kind::CHALLENGE);
                out.extend(challenge.0);
            }
            Self::Info(info) => info.emit(&mut out),
            Self::Players(list) => list.emit(&mut out),
            Self::Rules(list) => list.emit(&mut out),
        }
        out
    }
}

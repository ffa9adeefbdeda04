use super::{Challenge, InfoString, words};
use crate::cursor::Cursor;
use crate::{CONNECTIONLESS, DecodeError, GameText};

/// What a client asks a game server. Without a challenge the reply cannot be told from a forged or
/// stale one; our own requests always carry one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `getinfo`: name, map, counts. 15 bytes with a challenge of three characters.
    GetInfo {
        /// Repeated by the server.
        challenge: Option<Challenge>,
    },
    /// `getstatus`: all public settings, and who plays.
    GetStatus {
        /// Repeated by the server.
        challenge: Option<Challenge>,
    },
}

impl Request {
    /// The datagram to send.
    pub fn emit(&self) -> Vec<u8> {
        let (command, challenge) = match self {
            Self::GetInfo { challenge } => (&b"getinfo"[..], challenge),
            Self::GetStatus { challenge } => (&b"getstatus"[..], challenge),
        };
        let mut out = [&CONNECTIONLESS, command].concat();
        if let Some(challenge) = challenge {
            out.push(b' ');
            out.extend_from_slice(challenge.as_bytes());
        }
        out
    }

    /// Reads a request as a server does; what follows the challenge is ignored.
    pub fn parse(datagram: &[u8]) -> Result<Self, DecodeError> {
        let expected = "a getinfo or getstatus request";
        let cursor = Cursor::after(datagram, &CONNECTIONLESS, expected)?;
        let mut words = words(cursor.rest());
        let command = words.next().unwrap_or_default();
        let challenge = words.next().map(Challenge::new);
        match command {
            b"getinfo" => Ok(Self::GetInfo {
                challenge: challenge.transpose()?,
            }),
            b"getstatus" => Ok(Self::GetStatus {
                challenge: challenge.transpose()?,
            }),
            _ => Err(DecodeError::unrecognised(expected, datagram)),
        }
    }
}

/// What a game server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// `infoResponse`.
    Info(InfoString),
    /// `statusResponse`.
    Status {
        /// All public settings.
        info: InfoString,
        /// Who plays; lines that are not whole are left out.
        players: Vec<StatusPlayer>,
    },
}

/// A player's line in a status reply: `score ping "name"`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatusPlayer {
    /// The score.
    pub score: i32,
    /// The ping the server measured, in milliseconds; 0 for bots, 999 while connecting.
    pub ping_ms: i32,
    /// The name, with its colour codes.
    pub name: GameText,
    /// Further words that some games add before or behind the name, such as a team.
    pub extra: Vec<GameText>,
}

impl Response {
    /// The challenge the server repeated; compare it with the one that was sent.
    pub fn challenge(&self) -> Option<&[u8]> {
        match self {
            Self::Info(info) | Self::Status { info, .. } => info.challenge(),
        }
    }

    /// Reads a reply.
    pub fn parse(datagram: &[u8]) -> Result<Self, DecodeError> {
        let expected = "an infoResponse or statusResponse";
        let mut cursor = Cursor::after(datagram, &CONNECTIONLESS, expected)?;
        let status = cursor.skip(b"statusResponse");
        if !status && !cursor.skip(b"infoResponse") {
            return Err(DecodeError::unrecognised(expected, datagram));
        }
        if !cursor.is_empty() && !cursor.skip(b"\n") && !cursor.skip(b" ") {
            return Err(DecodeError::unrecognised(expected, datagram));
        }
        let text = GameText::from(cursor.rest());
        let mut lines = text.as_bytes().split(|byte| *byte == b'\n');
        let info = InfoString::parse(lines.next().unwrap_or_default());
        Ok(match status {
            true => Self::Status {
                info,
                players: lines.filter_map(StatusPlayer::parse).collect(),
            },
            false => Self::Info(info),
        })
    }

    /// The datagram to send.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = CONNECTIONLESS.to_vec();
        match self {
            Self::Info(info) => {
                out.extend(b"infoResponse\n");
                info.emit(&mut out);
            }
            Self::Status { info, players } => {
                out.extend(b"statusResponse\n");
                info.emit(&mut out);
                out.push(b'\n');
                players.iter().for_each(|player| player.emit(&mut out));
            }
        }
        out
    }
}

impl StatusPlayer {
    /// Two numbers first, the name between the first and the last quote, further words anywhere
    /// around it.
    fn parse(line: &[u8]) -> Option<Self> {
        let quote = |byte: &u8| *byte == b'"';
        let (start, end) = (line.iter().position(quote)?, line.iter().rposition(quote)?);
        let name = line.get(start + 1..end)?;
        let mut before = words(&line[..start]);
        let (score, ping_ms) = (number(before.next()?)?, number(before.next()?)?);
        let behind = words(&line[end + 1..]);
        Some(Self {
            score,
            ping_ms,
            name: GameText::from(name),
            extra: before.chain(behind).map(GameText::from).collect(),
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let name = self.name.as_bytes().iter().copied();
        out.extend(format!("{} {} \"", self.score, self.ping_ms).as_bytes());
        out.extend(name.filter(|byte| *byte != b'\n'));
        out.push(b'"');
        for word in &self.extra {
            let word = word.as_bytes().iter().copied();
            out.push(b' ');
            out.extend(word.filter(|byte| !matches!(byte, b'"' | b'\n' | b' ')));
        }
        out.push(b'\n');
    }
}

fn number(word: &[u8]) -> Option<i32> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

use super::words;
use crate::cursor::Cursor;
use crate::{CONNECTIONLESS, DecodeError, GameText};

/// A game server's sign of life to its master: `heartbeat DarkPlaces`. It proves nothing; a master
/// answers with `getinfo` and believes the reply that repeats its challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// The family of games (`QuakeArena-1`, `DarkPlaces`), or that the server goes down
    /// (`ETFlatline-1`). Empty from servers that send none.
    pub tag: GameText,
}

const COMMAND: &[u8] = b"heartbeat";

impl Heartbeat {
    /// The datagram a game server sends.
    pub fn emit(&self) -> Vec<u8> {
        [&CONNECTIONLESS, COMMAND, b" ", self.tag.as_bytes(), b"\n"].concat()
    }

    /// Whether a datagram is a heartbeat of any tag.
    pub fn is_one(datagram: &[u8]) -> bool {
        let line = datagram.strip_prefix(&CONNECTIONLESS);
        line.is_some_and(|line| words(line).next() == Some(COMMAND))
    }

    /// Reads a heartbeat as a master does; the newline may be missing.
    pub fn parse(datagram: &[u8]) -> Result<Self, DecodeError> {
        let expected = "a heartbeat";
        let cursor = Cursor::after(datagram, &CONNECTIONLESS, expected)?;
        let mut words = words(cursor.rest());
        if words.next() != Some(COMMAND) {
            return Err(DecodeError::unrecognised(expected, datagram));
        }
        let tag = GameText::from(words.next().unwrap_or_default());
        Ok(Self { tag })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeats_of_real_servers_are_read() {
        let openarena = Heartbeat::parse(b"\xFF\xFF\xFF\xFFheartbeat QuakeArena-1\n").unwrap();
        assert_eq!(openarena.tag.as_bytes(), b"QuakeArena-1");
        assert_eq!(Heartbeat::parse(&openarena.emit()), Ok(openarena));
        for (bytes, expected) in [
            (&b"\xFF\xFF\xFF\xFFheartbeat"[..], true),
            (b"\xFF\xFF\xFF\xFFheartbeats X", false),
            (b"heartbeat X", false),
        ] {
            assert_eq!(Heartbeat::parse(bytes).is_ok(), expected);
            assert_eq!(Heartbeat::is_one(bytes), expected);
        }
    }
}

use crate::cursor::Cursor;
use crate::quake3::InfoString;
use crate::{CONNECTIONLESS, DecodeError};

/// What a GoldSource or old Source game server says to its master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heartbeat {
    /// `q`: "give me a challenge". One byte.
    Ask,
    /// `0\n\protocol\48\challenge\…`: the challenge repeated, and what the server is.
    Join(InfoString),
    /// `b\n`: "I go down". Anybody can send it in another's name, so a master should not believe it.
    Leave,
}

/// The master's answer to [`Heartbeat::Ask`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinChallenge(pub u32);

/// How a join begins.
pub(crate) const JOIN: &[u8] = b"0\n";

const JOIN_CHALLENGE: [u8; 2] = [0x73, 0x0A];

impl Heartbeat {
    /// The datagram a game server sends.
    pub fn emit(&self) -> Vec<u8> {
        match self {
            Self::Ask => b"q".to_vec(),
            Self::Leave => b"b\n".to_vec(),
            Self::Join(info) => {
                let mut out = JOIN.to_vec();
                info.emit(&mut out);
                out
            }
        }
    }

    /// Reads what a master receives.
    pub fn parse(datagram: &[u8]) -> Result<Self, DecodeError> {
        match datagram {
            b"q" | b"q\n" | b"q\0" => Ok(Self::Ask),
            [b'b', b'\n', ..] => Ok(Self::Leave),
            [b'0', b'\n', info @ ..] => Ok(Self::Join(InfoString::parse(info))),
            _ => Err(DecodeError::unrecognised("a Steam heartbeat", datagram)),
        }
    }

    /// The challenge that a join repeats. Servers print it signed or unsigned.
    pub fn challenge(&self) -> Option<u32> {
        let Self::Join(info) = self else { return None };
        JoinChallenge::from_digits(info.challenge()?).map(|challenge| challenge.0)
    }
}

impl JoinChallenge {
    /// The challenge as a join repeats it, signed or unsigned.
    pub fn from_digits(digits: &[u8]) -> Option<Self> {
        let number: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        let signed = || i32::try_from(number).ok().map(i32::cast_unsigned);
        u32::try_from(number).ok().or_else(signed).map(Self)
    }

    /// The ten bytes a master answers with.
    pub fn emit(self) -> Vec<u8> {
        [&CONNECTIONLESS[..], &JOIN_CHALLENGE, &self.0.to_le_bytes()].concat()
    }

    /// Reads the answer as a game server does.
    pub fn parse(datagram: &[u8]) -> Result<Self, DecodeError> {
        let expected = "a Steam join challenge";
        let mut cursor = Cursor::after(datagram, &CONNECTIONLESS, expected)?;
        if !cursor.skip(&JOIN_CHALLENGE) {
            return Err(DecodeError::unrecognised(expected, datagram));
        }
        let bytes = cursor.array("challenge")?;
        Ok(Self(u32::from_le_bytes(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_messages_read_back() {
        let join = InfoString::new()
            .with("protocol", "48")
            .with("challenge", "-2")
            .with("gamedir", "cstrike");
        for message in [Heartbeat::Ask, Heartbeat::Leave, Heartbeat::Join(join)] {
            assert_eq!(Heartbeat::parse(&message.emit()), Ok(message));
        }
    }

    #[test]
    fn challenges_are_read_signed_and_unsigned() {
        let challenge =
            |text: &str| Heartbeat::Join(InfoString::new().with("challenge", text)).challenge();
        assert_eq!(challenge("4294967294"), Some(u32::MAX - 1));
        assert_eq!(challenge("-2"), Some(u32::MAX - 1));
        assert_eq!(challenge("4294967296"), None);
        assert_eq!(challenge("x"), None);
    }

    #[test]
    fn the_challenge_is_ten_bytes_and_reads_back() {
        let challenge = JoinChallenge(0x0403_0201);
        assert_eq!(challenge.emit(), b"\xFF\xFF\xFF\xFFs\n\x01\x02\x03\x04");
        assert_eq!(JoinChallenge::parse(&challenge.emit()), Ok(challenge));
    }
}

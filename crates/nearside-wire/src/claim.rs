//! The datagram by which a master lets whoever registers over HTTP prove its UDP port: it is sent to
//! the port, and its eight characters come back in the next request (`docs/wire/master-http.md`).

use crate::cursor::Cursor;
use crate::quake3::eight_characters;
use crate::{CONNECTIONLESS, DecodeError};

/// Eight printable characters that only a receiver of the datagram knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimChallenge([u8; 8]);

const WORD: &[u8] = b"nearside ";

impl ClaimChallenge {
    /// From the low 48 bits of a keyed hash.
    pub fn from_bits(bits: u64) -> Self {
        Self(eight_characters(bits))
    }

    /// The characters, as an HTTP request repeats them.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("only ASCII is ever stored")
    }

    /// The datagram: 21 bytes.
    pub fn emit(&self) -> Vec<u8> {
        [&CONNECTIONLESS[..], WORD, &self.0].concat()
    }

    /// Reads the datagram as a game server does.
    pub fn parse(datagram: &[u8]) -> Result<Self, DecodeError> {
        let expected = "a registration challenge";
        let mut cursor = Cursor::after(datagram, &CONNECTIONLESS, expected)?;
        if !cursor.skip(WORD) {
            return Err(DecodeError::unrecognised(expected, datagram));
        }
        let characters: [u8; 8] = cursor.array("challenge")?;
        if !characters.iter().all(u8::is_ascii_graphic) {
            let expected = "8 printable ASCII characters";
            return Err(DecodeError::bad_value("challenge", &characters, expected));
        }
        Ok(Self(characters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_21_bytes_and_reads_back() {
        let challenge = ClaimChallenge::from_bits(0xF00D_FEED_BEEF);
        assert_eq!(challenge.emit().len(), 21);
        assert_eq!(ClaimChallenge::parse(&challenge.emit()), Ok(challenge));
        assert_eq!(challenge.as_str().len(), 8);
    }

    #[test]
    fn other_datagrams_are_refused() {
        for bad in [
            &b"\xFF\xFF\xFF\xFFnearside 1234567"[..],
            b"\xFF\xFF\xFF\xFFnearside 1234567\n",
            b"\xFF\xFF\xFF\xFFgetinfo 12345678",
            b"nearside 12345678",
        ] {
            assert!(ClaimChallenge::parse(bad).is_err(), "{bad:?}");
        }
    }
}

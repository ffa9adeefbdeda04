use std::fmt;

use crate::DecodeError;

/// The nonce of a `getinfo` or `getstatus`, which the server repeats in its reply: it ties a reply
/// to its request and to the address that was asked.
///
/// 1 to 128 printable ASCII characters without `\ / ; " %`, the set dpmaster allows itself because
/// servers cut or escape the others.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Challenge(Vec<u8>);

impl Challenge {
    /// The longest challenge; ioquake3 ignores requests with longer ones.
    pub const MAX_BYTES: usize = 128;

    /// Checks a challenge.
    pub fn new(bytes: &[u8]) -> Result<Self, DecodeError> {
        let field = "challenge";
        if bytes.len() > Self::MAX_BYTES {
            let (actual, max) = (bytes.len(), Self::MAX_BYTES);
            return Err(DecodeError::TooLong { field, actual, max });
        }
        if bytes.is_empty() || !bytes.iter().all(|byte| is_allowed(*byte)) {
            let expected = "1 to 128 printable ASCII characters without \\ / ; \" %";
            return Err(DecodeError::bad_value(field, bytes, expected));
        }
        Ok(Self(bytes.to_vec()))
    }

    /// Eight characters from the low 48 bits of a random number: as many as an attacker who does
    /// not see our packets would have to guess.
    pub fn from_random(bits: u64) -> Self {
        Self(Self::characters(bits).to_vec())
    }

    /// The same characters, for those who send or compare them at once.
    pub fn characters(bits: u64) -> [u8; 8] {
        eight_characters(bits)
    }

    /// The characters.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Challenge({})", self.0.escape_ascii())
    }
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'/' | b';' | b'"' | b'%')
}

/// Six bits a character, from 64 characters that every server repeats unchanged.
pub(crate) fn eight_characters(bits: u64) -> [u8; 8] {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::array::from_fn(|place| ALPHABET[(bits >> (6 * place)) as usize & 63])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_that_servers_would_alter_are_refused() {
        assert!(Challenge::new(b"A_ch4Lleng3").is_ok());
        assert!(Challenge::new(&[b'x'; 128]).is_ok());
        assert_eq!(
            Challenge::new(&[b'x'; 129]).unwrap_err().label(),
            "too-long"
        );
        for bad in [
            &b""[..],
            b"a b",
            b"a\\b",
            b"a/b",
            b"a;b",
            b"a\"b",
            b"a%b",
            b"a\nb",
            b"\xE4",
        ] {
            assert_eq!(
                Challenge::new(bad).unwrap_err().label(),
                "bad-value",
                "{bad:?}"
            );
        }
    }

    #[test]
    fn every_random_challenge_is_allowed_and_different() {
        let challenges: Vec<_> = (0..48)
            .map(|bit| Challenge::from_random(1 << bit))
            .collect();
        for (at, challenge) in challenges.iter().enumerate() {
            assert_eq!(Challenge::new(challenge.as_bytes()).as_ref(), Ok(challenge));
            assert!(!challenges[..at].contains(challenge));
        }
    }
}

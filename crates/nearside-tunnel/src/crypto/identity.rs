use std::fmt;
use std::str::FromStr;

use nearside_detour::ClientId;
use ring::{digest, hmac};
use serde::{Deserialize, Serialize};
use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use thiserror::Error;
use zeroize::Zeroizing;

use super::Chance;

/// Who somebody is: an X25519 key, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PublicKey(pub [u8; 32]);

impl PublicKey {
    /// The number the directory knows its owner by: the beginning of the key's SHA-256.
    pub fn id(&self) -> ClientId {
        let hash = digest::digest(&digest::SHA256, &self.0);
        let first = hash.as_ref().first_chunk().expect("a hash has 32 bytes");
        ClientId(u64::from_be_bytes(*first))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text is no key.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("`{0}` is no key (write its 64 hexadecimal digits)")]
pub struct BadKey(String);

impl FromStr for PublicKey {
    type Err = BadKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        from_hex(text).map(Self)
    }
}

fn from_hex(text: &str) -> Result<[u8; 32], BadKey> {
    let bad = || BadKey(text.chars().take(80).collect());
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let digits: Option<Vec<u32>> = text.as_bytes().iter().map(digit).collect();
    let bytes: Vec<u8> = digits
        .ok_or_else(bad)?
        .chunks(2)
        .filter_map(|pair| <[u32; 2]>::try_from(pair).ok())
        .filter_map(|[high, low]| u8::try_from(high << 4 | low).ok())
        .collect();
    let whole = text.len() == 64;
    bytes.try_into().ok().filter(|_| whole).ok_or_else(bad)
}

/// A key and its secret half.
#[derive(Clone)]
pub struct Identity {
    secret: Zeroizing<[u8; 32]>,
    public: PublicKey,
}

impl Identity {
    /// A new one.
    pub fn generate(chance: &mut Chance) -> Self {
        Self::from_secret(chance.bytes())
    }

    /// The one with this secret.
    pub fn from_secret(secret: [u8; 32]) -> Self {
        let dh = DefaultResolver.resolve_dh(&DHChoice::Curve25519);
        let mut dh = dh.expect("compiled in");
        dh.set(&secret);
        let public = dh.pubkey().try_into().expect("X25519 keys have 32 bytes");
        Self {
            secret: Zeroizing::new(secret),
            public: PublicKey(public),
        }
    }

    /// The one a file holds: 64 hexadecimal digits, and maybe a line end.
    ///
    /// # Errors
    /// If it holds something else; the text is not repeated, since it may be a damaged secret.
    pub fn from_text(text: &str) -> Result<Self, BadKey> {
        let secret = from_hex(text.trim()).map_err(|_| BadKey("the file's content".to_owned()))?;
        Ok(Self::from_secret(secret))
    }

    /// The secret as a file holds it.
    pub fn to_text(&self) -> Zeroizing<String> {
        let digits = self.secret.iter().map(|byte| format!("{byte:02x}"));
        Zeroizing::new(digits.collect())
    }

    /// The half that everybody may know.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// See [`PublicKey::id`].
    pub fn id(&self) -> ClientId {
        self.public.id()
    }

    /// Another secret that hangs on this one and a label alone: the same after a restart, and of no use to
    /// find this one.
    pub fn derive(&self, label: &[u8]) -> [u8; 32] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.secret.as_slice());
        let tag = hmac::sign(&key, label);
        *tag.as_ref().first_chunk().expect("SHA-256 has 32 bytes")
    }

    pub(super) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }
}

impl fmt::Debug for Identity {
    /// Secrets do not belong into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.public)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_survive_their_files_and_keys_their_texts() {
        let one = Identity::generate(&mut Chance::from_number(1));
        let text = format!("{}\n", *one.to_text());
        let again = Identity::from_text(&text).unwrap();
        assert_eq!(again.public(), one.public());
        assert_eq!(one.public().to_string().parse(), Ok(one.public()));
        assert_ne!(one.id(), Identity::from_secret([1; 32]).id());
        assert!(!format!("{one:?}").contains(one.to_text().as_str()));
        assert_eq!(one.derive(b"a"), again.derive(b"a"));
        assert_ne!(one.derive(b"a"), one.derive(b"b"));
    }

    #[test]
    fn what_is_no_key_is_refused_without_a_panic() {
        for text in ["", "ab", &"g".repeat(64), &"é".repeat(32), &"a".repeat(65)] {
            assert!(text.parse::<PublicKey>().is_err(), "{text}");
            assert!(Identity::from_text(text).is_err(), "{text}");
        }
    }
}

use std::fmt;

use nearside_wire::detour::{SEALED_HEADER, sealed_header};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use thiserror::Error;

use super::Window;

/// Bytes that a seal adds to what it covers.
pub(crate) const SEAL_BYTES: usize = 16;

/// Seals what is sent under one key. Each packet has its own counter, which is its nonce; a key lives
/// as long as its handshake, so that no restart can count from the beginning again under an old key.
pub struct Sealer {
    key: LessSafeKey,
    to: u32,
    next: u64,
}

/// So many packets under one key, and it is used up: 2^60 is far below what the cipher bears and far
/// above what a line can carry.
const MOST: u64 = 1 << 60;

/// A key has sealed as many packets as it may.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[error("the key is used up (make a new handshake)")]
pub struct UsedUp;

impl Sealer {
    pub(super) fn new(key: &[u8; 32], to: u32) -> Self {
        Self {
            key: aead(key),
            to,
            next: 0,
        }
    }

    /// How many packets were sealed.
    pub fn sealed(&self) -> u64 {
        self.next
    }

    /// A whole frame with `plain` sealed in it, into `frame`, whatever that held before.
    ///
    /// # Errors
    /// If the key is used up.
    pub fn seal(&mut self, plain: &[&[u8]], frame: &mut Vec<u8>) -> Result<u64, UsedUp> {
        let counter = self.next;
        if counter >= MOST {
            return Err(UsedUp);
        }
        self.next += 1;
        let header = sealed_header(self.to, counter);
        frame.clear();
        frame.extend(header);
        plain.iter().for_each(|part| frame.extend(*part));
        let nonce = nonce(counter);
        let body = &mut frame[SEALED_HEADER..];
        let proof = self
            .key
            .seal_in_place_separate_tag(nonce, Aad::from(header), body)
            .expect("a datagram is shorter than the cipher's limit");
        frame.extend(proof.as_ref());
        Ok(counter)
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer(to {}, {} sealed)", self.to, self.next)
    }
}

/// Opens what the other end sealed, each packet once.
pub struct Opener {
    key: LessSafeKey,
    ours: u32,
    window: Window,
}

/// Not sealed by the other end, or seen before.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// Changed on the way, or from somebody else.
    #[error("not sealed by the other end")]
    Forged,
    /// Seen before, or so old that nobody can tell.
    #[error("seen before, or too old")]
    Replayed,
}

impl Opener {
    pub(super) fn new(key: &[u8; 32], ours: u32) -> Self {
        Self {
            key: aead(key),
            ours,
            window: Window::default(),
        }
    }

    /// Opens the body of a sealed frame in place.
    ///
    /// # Errors
    /// If it is forged or was seen before; `body` is of no use then.
    pub fn open<'a>(&mut self, counter: u64, body: &'a mut [u8]) -> Result<&'a [u8], Broken> {
        if !self.window.is_new(counter) {
            return Err(Broken::Replayed);
        }
        let header = Aad::from(sealed_header(self.ours, counter));
        let plain = self
            .key
            .open_in_place(nonce(counter), header, body)
            .map_err(|_| Broken::Forged)?;
        self.window.take(counter);
        Ok(plain)
    }

    /// The highest counter that was opened.
    pub fn highest(&self) -> Option<u64> {
        self.window.highest()
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opener(ours {})", self.ours)
    }
}

pub(super) fn aead(key: &[u8; 32]) -> LessSafeKey {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key);
    LessSafeKey::new(key.expect("ChaCha20-Poly1305 keys have 32 bytes"))
}

/// As Noise writes it (section 12.3): four zeros, then the counter, lowest byte first.
fn nonce(counter: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&counter.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

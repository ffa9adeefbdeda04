//! Frames that nobody meant.

use crate::crypto::Chance;

/// The numbers of all kinds of frames, and of one behind them.
const KINDS: std::ops::RangeInclusive<u8> = 0x91..=0x9D;

/// Random bytes under the number of any kind, of any length: neither follows from the other.
pub(super) fn any(chance: &mut Chance, kind: u8, length: u8, fine: u8) -> Vec<u8> {
    let count = KINDS.end() - KINDS.start() + 1;
    let length = usize::from(length) * 6 + usize::from(fine % 6);
    let words = (0..=length / 8).flat_map(|_| chance.number().to_be_bytes());
    let mut bytes: Vec<u8> = words.take(length).collect();
    if let Some(first) = bytes.first_mut() {
        *first = KINDS.start() + kind % count;
    }
    bytes
}

/// A frame with one bit changed, or cut off.
pub(super) fn damaged(frame: &[u8], where_: u8) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    let at = usize::from(where_) * 7 % bytes.len().max(1);
    match where_ % 8 {
        0 => bytes.truncate(at),
        bit => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
    }
    bytes
}

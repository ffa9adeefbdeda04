//! How long tiles are, as streams of bytes.

use std::hint::select_unpredictable;

use super::bytes::{Reader, put_number};
use super::column::MAX_TILES;
use super::rans::{put_stream, stream};
use super::{DecodeError, Fault};
use crate::key::Key;

/// Lengths written as `odd * 2 ^ shift`: most are powers of two, and for those the shift says all.
#[derive(Default)]
pub(super) struct Lengths {
    /// One byte for each length: the shift, and [`HAS_ODD`] where the odd factor is not 1.
    shifts: Vec<u8>,
    /// `(odd - 1) / 2` of those.
    odds: Vec<u8>,
}

/// Shifts are below 128, so the top bit is free.
const HAS_ODD: u8 = 0x80;

impl Lengths {
    pub(super) fn of<K: Key>(starts: &[K]) -> Self {
        let mut lengths = Self::default();
        for pair in starts.windows(2) {
            lengths.push(pair[1].distance_from(pair[0]).to_wide());
        }
        lengths
    }

    fn push(&mut self, length: u128) {
        let shift = length.trailing_zeros();
        let odd = length >> shift;
        let mark = if odd == 1 { 0 } else { HAS_ODD };
        let shift = u8::try_from(shift).expect("a length between two starts has at most 128 bits");
        self.shifts.push(shift | mark);
        if odd != 1 {
            put_number(&mut self.odds, odd >> 1);
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_stream(out, &self.shifts);
        put_stream(out, &self.odds);
    }

    pub(super) fn read(reader: &mut Reader<'_>, tiles: usize) -> Result<Self, DecodeError> {
        let shifts = stream(reader, MAX_TILES)?;
        if shifts.len() + 1 != tiles {
            return Err(reader.fault(Fault::Count));
        }
        let odds = stream(reader, tiles * 19)?;
        Ok(Self { shifts, odds })
    }
}

/// Adds up lengths.
///
/// This runs a million times at each program start, as do the positions of `values`. What differs from tile to tile
/// without a pattern is therefore chosen, not branched on: a wrong guess costs the processor as much
/// as all the rest.
pub(super) struct Starts<'a, K> {
    shifts: std::slice::Iter<'a, u8>,
    odds: Reader<'a>,
    next: Option<K>,
}

impl<'a, K: Key> Starts<'a, K> {
    pub(super) fn of(lengths: &'a Lengths) -> Self {
        Self {
            shifts: lengths.shifts.iter(),
            odds: Reader::new(&lengths.odds, 0),
            next: Some(K::default()),
        }
    }

    /// `None` from where a length makes no sense.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<K> {
        let start = self.next?;
        if let Some(byte) = self.shifts.next() {
            let length = self.length(*byte);
            self.next = length.and_then(|length| start.checked_add(length));
        }
        Some(start)
    }

    #[inline(always)]
    fn length(&mut self, byte: u8) -> Option<K> {
        let has_odd = byte >= HAS_ODD;
        let half = self.odds.peek();
        if has_odd && half >= 0x80 {
            return self.long_length(byte);
        }
        self.odds.skip(has_odd);
        let half = select_unpredictable(has_odd, half, 0);
        K::from_odd((u16::from(half) << 1 | 1).into(), (byte & !HAS_ODD).into())
    }

    /// The odd factor has more than a byte, or is missing.
    #[cold]
    fn long_length(&mut self, byte: u8) -> Option<K> {
        let odd = self.odds.number().ok()?.checked_mul(2)? | 1;
        K::from_odd(K::from_wide(odd)?, (byte & !HAS_ODD).into())
    }
}

//! One column of a table: the tiles of a family with their AS numbers or countries.

use std::ops::Range;

use super::bytes::{Reader, put_count};
use super::dictionary::{Dictionary, Word};
use super::lengths::{Lengths, Starts};
use super::values::{Positions, Values};
use super::{DecodeError, Fault};
use crate::key::Key;
use crate::tiles::Tiles;

/// Most tiles in a column: eight times today's largest, and a bound on what a hostile file can make
/// us allocate.
pub(super) const MAX_TILES: usize = 1 << 22;

/// Streams of a column: lengths of all tiles but the last, which ends with the address space; then
/// values.
pub(super) fn write<K: Key, V: Word>(
    out: &mut Vec<u8>,
    tiles: &Tiles<K, V>,
    dictionary: &Dictionary<V>,
) {
    put_count(out, tiles.len());
    Lengths::of(tiles.starts()).write(out);
    let positions = tiles.values().iter().map(|v| dictionary.position(*v));
    Values::encode(dictionary.len(), positions).write(out);
}

/// A column whose streams were read. Its tiles come one by one, so that a table can be made in one
/// pass: at program start, memory touched is time spent.
pub(super) struct Column {
    count: usize,
    lengths: Lengths,
    values: Values,
    /// What to say should the streams not make as many tiles as they promise.
    broken: DecodeError,
}

impl Column {
    /// `known` is the size of the dictionary.
    pub(super) fn read(reader: &mut Reader<'_>, known: usize) -> Result<Self, DecodeError> {
        let count = reader.count(MAX_TILES)?;
        Ok(Self {
            count,
            lengths: Lengths::read(reader, count)?,
            values: Values::read(reader, count, known)?,
            broken: reader.fault(Fault::Tiles),
        })
    }

    pub(super) fn tiles<'a, K: Key, V: Word>(
        &'a self,
        dictionary: &'a Dictionary<V>,
    ) -> TileReader<'a, K, V> {
        TileReader {
            column: self,
            dictionary,
            decoded: 0,
            is_over: false,
            starts: Starts::of(&self.lengths),
            positions: self.values.positions(),
            batch: [(K::default(), V::default()); BATCH],
            left: 0..0,
        }
    }
}

/// Tiles of a column in rising order, from address 0. They are decoded in batches, so that one small
/// loop does that and another can merge columns.
pub(super) struct TileReader<'a, K, V> {
    column: &'a Column,
    dictionary: &'a Dictionary<V>,
    starts: Starts<'a, K>,
    positions: Positions<'a>,
    /// How many tiles made sense so far.
    decoded: usize,
    is_over: bool,
    batch: [(K, V); BATCH],
    /// Which of the batch are still to come.
    left: Range<usize>,
}

/// Fits in the processor's first cache, with another one and what decoding needs.
const BATCH: usize = 256;

impl<K: Key, V: Word> TileReader<'_, K, V> {
    /// The next tile, which stays the next until it is skipped.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> Option<(K, V)> {
        if self.left.is_empty() {
            self.decode_batch();
        }
        self.batch[self.left.clone()].first().copied()
    }

    /// Passes over the tile that was peeked at, if `is_taken`.
    #[inline(always)]
    pub(super) fn skip(&mut self, is_taken: bool) {
        self.left.start += usize::from(is_taken);
    }

    /// Leaves the batch empty at the end of the column, and from where its streams make no sense.
    fn decode_batch(&mut self) {
        self.left = 0..0;
        if self.is_over {
            return;
        }
        for tile in &mut self.batch {
            let position = self.positions.next();
            let value = position.and_then(|position| self.dictionary.get(position));
            let Some((value, start)) = value.zip(self.starts.next()) else {
                self.is_over = true;
                break;
            };
            *tile = (start, value);
            self.left.end += 1;
        }
        self.decoded += self.left.end;
    }

    /// Whether the streams made as many tiles as they promise.
    pub(super) fn finish(self) -> Result<(), DecodeError> {
        match self.decoded == self.column.count {
            true => Ok(()),
            false => Err(self.column.broken.clone()),
        }
    }
}

//! One column of a table: the tiles of a family with their AS numbers or countries.

use super::bytes::{Reader, put_count};
use super::dictionary::{Dictionary, Word};
use super::lengths::{Lengths, Starts};
use super::values::Values;
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

    /// (start, value) in rising order, from address 0. Ends early where the streams make no sense;
    /// whoever takes the tiles has to give their number to [`Column::check`].
    pub(super) fn tiles<'a, K: Key, V: Word>(
        &'a self,
        dictionary: &'a Dictionary<V>,
    ) -> impl Iterator<Item = (K, V)> + 'a {
        let mut starts = Starts::of(&self.lengths);
        let mut positions = self.values.positions();
        std::iter::from_fn(move || {
            let value = dictionary.get(positions.next()?)?;
            Some((starts.next()?, value))
        })
    }

    pub(super) fn check(&self, taken: usize) -> Result<(), DecodeError> {
        match taken == self.count {
            true => Ok(()),
            false => Err(self.broken.clone()),
        }
    }
}

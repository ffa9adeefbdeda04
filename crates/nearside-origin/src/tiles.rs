//! One column of a table: the address space of a family cut into tiles, each with one value.

use crate::key::Key;

/// Tiles from the first address to the last, without gaps. Where nothing is known the value is the
/// default one (AS 0, country 0).
///
/// Invariants: the first tile starts at address 0, starts rise, and neighbours differ. So equal
/// knowledge makes equal tiles, whatever order it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tiles<K, V> {
    starts: Vec<K>,
    values: Vec<V>,
}

impl<K: Key, V: Copy + Eq + Default> Tiles<K, V> {
    /// One tile that knows nothing.
    pub(crate) fn unknown() -> Self {
        Self {
            starts: vec![K::default()],
            values: vec![V::default()],
        }
    }

    pub(crate) fn with_capacity(tiles: usize) -> Self {
        let mut starts = Vec::with_capacity(tiles.max(1));
        let mut values = Vec::with_capacity(tiles.max(1));
        starts.push(K::default());
        values.push(V::default());
        Self { starts, values }
    }

    /// From `start` on, the value is `value`. Starts must not fall; of several for one start the
    /// last counts.
    pub(crate) fn push(&mut self, start: K, value: V) {
        debug_assert!(self.starts.last().is_some_and(|last| *last <= start));
        if self.starts.last() == Some(&start) {
            self.starts.pop();
            self.values.pop();
        }
        if self.values.last() != Some(&value) {
            self.starts.push(start);
            self.values.push(value);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Tiles in order: where each starts, and its value.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, V)> + '_ {
        self.starts.iter().copied().zip(self.values.iter().copied())
    }

    pub(crate) fn starts(&self) -> &[K] {
        &self.starts
    }

    pub(crate) fn values(&self) -> &[V] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiles(pushes: &[(u32, u8)]) -> Vec<(u32, u8)> {
        let mut tiles = Tiles::unknown();
        for &(start, value) in pushes {
            tiles.push(start, value);
        }
        tiles.iter().collect()
    }

    #[test]
    fn neighbours_with_one_value_are_one_tile() {
        assert_eq!(
            tiles(&[(10, 1), (20, 1), (30, 0)]),
            [(0, 0), (10, 1), (30, 0)]
        );
    }

    #[test]
    fn a_tile_of_no_length_leaves_no_trace() {
        assert_eq!(
            tiles(&[(10, 1), (20, 2), (20, 1), (30, 0)]),
            [(0, 0), (10, 1), (30, 0)]
        );
        assert_eq!(tiles(&[(0, 5)]), [(0, 5)]);
        assert_eq!(tiles(&[(10, 1), (10, 0)]), [(0, 0)]);
    }
}

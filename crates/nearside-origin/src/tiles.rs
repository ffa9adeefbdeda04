//! One column of a table: the address space of a family cut into tiles, each with one value.

use std::cmp::Ordering;

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
    /// One tile that knows nothing, and room for more.
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

    /// The values of `self`, and those of `below` where it knows none.
    pub(crate) fn over(&self, below: &Self) -> Self {
        let mut tiles = Self::with_capacity(self.len() + below.len());
        zip_columns(self.iter(), below.iter(), |start, top, under| {
            let value = if top == V::default() { under } else { top };
            tiles.push(start, value);
        });
        tiles
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

/// Calls `each` wherever one of two columns changes, with the values of both from there on. Columns
/// are (start, value) in rising order, from address 0.
pub(crate) fn zip_columns<K: Key, A: Copy + Default, B: Copy + Default>(
    mut left: impl Iterator<Item = (K, A)>,
    mut right: impl Iterator<Item = (K, B)>,
    mut each: impl FnMut(K, A, B),
) {
    let (mut a, mut b) = (A::default(), B::default());
    let (mut next_a, mut next_b) = (left.next(), right.next());
    loop {
        let (start, order) = match (next_a, next_b) {
            (None, None) => return,
            (Some((start, _)), None) => (start, Ordering::Less),
            (None, Some((start, _))) => (start, Ordering::Greater),
            (Some((start_a, _)), Some((start_b, _))) => {
                (start_a.min(start_b), start_a.cmp(&start_b))
            }
        };
        if let (true, Some((_, value))) = (order.is_le(), next_a) {
            a = value;
            next_a = left.next();
        }
        if let (true, Some((_, value))) = (order.is_ge(), next_b) {
            b = value;
            next_b = right.next();
        }
        each(start, a, b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiles(pushes: &[(u32, u8)]) -> Vec<(u32, u8)> {
        let mut tiles = Tiles::with_capacity(0);
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
    fn a_column_over_another_hides_it_only_where_it_knows_something() {
        let mut top = Tiles::with_capacity(0);
        let mut below = Tiles::with_capacity(0);
        for (start, value) in [(10_u32, 1), (20, 0)] {
            top.push(start, value);
        }
        for (start, value) in [(5, 2), (15, 3), (30, 0)] {
            below.push(start, value);
        }
        let merged: Vec<(u32, u8)> = top.over(&below).iter().collect();
        assert_eq!(merged, [(0, 0), (5, 2), (10, 1), (20, 3), (30, 0)]);
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

//! Narrows a look-up down to a few rows before the search begins.
//!
//! The first 16 bits of an address lead to a bucket. Where a bucket has many rows, the next bits lead
//! on to a part of it: IPv6 lies in a few buckets only, and some of IPv4 is crowded. A binary search
//! through everything would wait for memory at almost every step; this waits two or three times.

use std::ops::RangeInclusive;

use crate::key::Key;

/// An index over the starts of rows; empty, and then of no help, for small tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Index {
    /// One for each value of the first 16 bits, and one more at the end.
    buckets: Vec<Bucket>,
    /// For each part of a crowded bucket the row in force at its first address, and one more at the
    /// end of the bucket.
    parts: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bucket {
    /// The row in force at the bucket's first address.
    row: u32,
    /// In the low 5 bits, how many bits tell the parts apart (0: not parted); above, where in the
    /// list of parts they begin.
    parts: u32,
}

const BUCKET_BITS: u32 = 16;
const BUCKETS: usize = 1 << BUCKET_BITS;

/// Below, an index would be larger than the table.
const SMALL_TABLE: usize = 1 << 12;

/// Buckets with more rows are parted, into parts of a few rows on average.
const CROWD: u32 = 16;
const ROWS_PER_PART: u32 = 4;

impl Index {
    /// For `count` rows that start where `start_of` says: the first at address 0, then rising.
    pub(crate) fn new<K: Key>(count: usize, start_of: impl Fn(usize) -> K) -> Self {
        let mut index = Self {
            buckets: Vec::new(),
            parts: Vec::new(),
        };
        if let Some(last) = u32::try_from(count)
            .ok()
            .and_then(|count| count.checked_sub(1))
            && count > SMALL_TABLE
        {
            let start_of = |row: u32| start_of(row as usize);
            index.fill_buckets(last, &start_of);
            index.fill_parts(&start_of);
            index.parts.shrink_to_fit();
        }
        index
    }

    fn fill_buckets<K: Key>(&mut self, last: u32, start_of: &impl Fn(u32) -> K) {
        let bucket = |row| Bucket { row, parts: 0 };
        let rows = in_force(0, last, 0, K::BITS - BUCKET_BITS, start_of);
        self.buckets = rows.take(BUCKETS).map(bucket).collect();
        self.buckets.push(bucket(last));
    }

    fn fill_parts<K: Key>(&mut self, start_of: &impl Fn(u32) -> K) {
        for at in 0..BUCKETS {
            let (first, last) = (self.buckets[at].row, self.buckets[at + 1].row);
            let bits = ((last - first) / ROWS_PER_PART)
                .checked_ilog2()
                .unwrap_or(0);
            let bits = bits.min(K::BITS - BUCKET_BITS).min(BUCKET_BITS);
            let begin = u32::try_from(self.parts.len() << 5);
            let (true, Ok(begin)) = (last - first > CROWD, begin) else {
                continue;
            };
            let base = (at as u128) << (K::BITS - BUCKET_BITS);
            let rows = in_force(first, last, base, K::BITS - BUCKET_BITS - bits, start_of);
            self.parts.extend(rows.take(1 << bits));
            self.parts.push(last);
            self.buckets[at].parts = begin | bits;
        }
    }

    /// Rows among which the one for `key` is: it is the last of them that does not start after `key`,
    /// and the first never does.
    #[inline]
    pub(crate) fn find<K: Key>(&self, key: K, count: usize) -> RangeInclusive<usize> {
        let at = key.bits(0, BUCKET_BITS);
        let Some(bucket) = self.buckets.get(at) else {
            return 0..=count - 1;
        };
        let bits = bucket.parts & 0x1f;
        if bits == 0 {
            return bucket.row as usize..=self.buckets[at + 1].row as usize;
        }
        let part = (bucket.parts >> 5) as usize + key.bits(BUCKET_BITS, bits);
        self.parts[part] as usize..=self.parts[part + 1] as usize
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<Bucket>() * self.buckets.capacity() + size_of::<u32>() * self.parts.capacity()
    }
}

/// Of the rows `first..=last`, those in force at `base`, `base + 2 ^ shift`, and so on.
fn in_force<K: Key>(
    first: u32,
    last: u32,
    base: u128,
    shift: u32,
    start_of: &impl Fn(u32) -> K,
) -> impl Iterator<Item = u32> {
    let mut row = first;
    (0_u128..).map(move |step| {
        let address = K::from_wide(base + (step << shift)).unwrap_or(K::LAST);
        while row < last && start_of(row + 1) <= address {
            row += 1;
        }
        row
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rows crowded into one bucket, others far apart.
    fn starts(seed: u64, count: u64) -> Vec<u128> {
        let mut starts: Vec<u128> = (1..count)
            .map(|at| {
                let noise = (at ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let crowded = 0x2a01_u128 << 112 | u128::from(noise) << 48;
                let spread = u128::from(noise) << 64;
                if noise.is_multiple_of(3) {
                    spread
                } else {
                    crowded
                }
            })
            .chain([0, u128::MAX])
            .collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20) })]

        #[test]
        fn the_row_sought_is_always_among_those_found(seed: u64, count in 1u64..20_000, keys in prop::collection::vec(any::<u128>(), 50)) {
            let starts = starts(seed, count);
            let index = Index::new(starts.len(), |row| starts[row]);
            let near = starts.iter().flat_map(|start| [*start, start.saturating_sub(1)]);
            for key in near.step_by(37).chain(keys) {
                let row = starts.partition_point(|start| *start <= key) - 1;
                let found = index.find(key, starts.len());
                prop_assert!(found.contains(&row), "{row} is not in {found:?} for {key:x}");
                prop_assert!(starts[*found.start()] <= key);
            }
        }
    }

    #[test]
    fn a_crowded_bucket_is_parted_into_a_few_rows_each() {
        let starts = starts(1, 20_000);
        let index = Index::new(starts.len(), |row| starts[row]);
        let widths = starts
            .iter()
            .map(|start| index.find(*start, starts.len()).count());
        let mut widths: Vec<usize> = widths.collect();
        widths.sort_unstable();
        assert!(
            widths[widths.len() / 2] <= 12,
            "{}",
            widths[widths.len() / 2]
        );
    }
}

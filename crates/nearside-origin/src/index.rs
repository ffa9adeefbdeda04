//! Narrows a look-up down to a few blocks of rows before the search begins.

use std::ops::RangeInclusive;

use crate::key::Head;

/// For each value of an address's first 16 bits, the block in force at the first address with these
/// bits; one more at the end. Empty, and then of no help, for small tables.
///
/// IPv4 is spread over the buckets, so that hardly anything is left to search. Most of IPv6 lies in a
/// few of them; there a search among the blocks' first rows follows, which are few enough to stay in
/// the processor's caches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Index {
    buckets: Vec<u32>,
}

const BUCKETS: usize = 1 << 16;

/// Below, an index would be larger than the table.
const FEW_BLOCKS: usize = 1 << 8;

impl Index {
    /// For blocks whose first rows have these heads: the first 0, then never falling.
    pub(crate) fn new<H: Head>(firsts: &[H]) -> Self {
        if firsts.len() <= FEW_BLOCKS {
            return Self::default();
        }
        let mut buckets = vec![0; BUCKETS + 1];
        for (block, first) in (0..).zip(firsts) {
            buckets[first.bucket() + 1] = block;
        }
        let mut in_force = 0;
        for block in &mut buckets {
            in_force = in_force.max(*block);
            *block = in_force;
        }
        Self { buckets }
    }

    /// Blocks among which the one for `head` is, of `count`: it is the last of them that does not
    /// start after `head`, and the first never does.
    #[inline]
    pub(crate) fn find<H: Head>(&self, head: H, count: usize) -> RangeInclusive<usize> {
        let bucket = head.bucket();
        match self.buckets.get(bucket..bucket + 2) {
            Some(&[first, last]) => first as usize..=last as usize,
            _ => 0..=count - 1,
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<u32>() * self.buckets.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Blocks crowded into one bucket, others far apart.
    fn firsts(seed: u64, count: u64) -> Vec<u64> {
        let mut firsts: Vec<u64> = (1..count)
            .map(|at| {
                let noise = (at ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let crowded = 0x2a01_u64 << 48 | noise >> 16;
                if noise.is_multiple_of(3) {
                    noise
                } else {
                    crowded
                }
            })
            .chain([0, u64::MAX])
            .collect();
        firsts.sort_unstable();
        firsts
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

        #[test]
        fn the_block_sought_is_always_among_those_found(seed: u64, count in 1u64..3_000, keys in prop::collection::vec(any::<u64>(), 50)) {
            let firsts = firsts(seed, count);
            let index = Index::new(&firsts);
            let near = firsts.iter().flat_map(|first| [*first, first.saturating_sub(1)]);
            for key in near.chain(keys) {
                let block = firsts.partition_point(|first| *first <= key) - 1;
                let found = index.find(key, firsts.len());
                prop_assert!(found.contains(&block), "{block} is not in {found:?} for {key:x}");
                prop_assert!(firsts[*found.start()] <= key);
            }
        }
    }

    #[test]
    fn blocks_of_other_buckets_are_left_out() {
        let firsts: Vec<u32> = (0..1000).map(|at| at << 20).collect();
        let index = Index::new(&firsts);
        for key in [0, 5 << 20, (5 << 20) + 1, 999 << 20, u32::MAX] {
            assert!(index.find(key, firsts.len()).count() <= 2, "{key:x}");
        }
    }
}

//! Resolves overlapping ranges into tiles: the narrower range lies on top of the wider one, as the
//! more specific route does in forwarding; of two equal ranges the lower value is on top.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::key::Key;
use crate::tiles::Tiles;

/// A range of addresses with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span<K, V> {
    pub(crate) first: K,
    pub(crate) last: K,
    pub(crate) value: V,
}

/// Tiles for any set of ranges; their order does not matter.
pub(crate) fn paint<K: Key, V: Copy + Ord + Default>(mut spans: Vec<Span<K, V>>) -> Tiles<K, V> {
    spans.sort_unstable();
    let mut painter = Painter {
        tiles: Tiles::with_capacity(spans.len() * 2),
        open: BinaryHeap::new(),
    };
    for span in spans {
        painter.close_before(Some(span.first));
        painter.open(span);
    }
    painter.close_before(None);
    painter.tiles
}

/// How many ranges are there twice or more with different values: prefixes of several origins.
pub(crate) fn contested<K: Key, V: Copy + Ord>(spans: &[Span<K, V>]) -> usize {
    let mut sorted: Vec<_> = spans.iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
        .chunk_by(|a, b| (a.first, a.last) == (b.first, b.last))
        .filter(|group| group.len() > 1)
        .count()
}

/// Sweeps from the first address to the last.
struct Painter<K, V> {
    tiles: Tiles<K, V>,
    /// Ranges the sweep is in, the topmost first. A range that ended while it lay below another
    /// stays until it comes up.
    open: BinaryHeap<Reverse<Open<K, V>>>,
}

/// A range the sweep is in; the order of the fields is the order of layers, the least on top.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Open<K, V> {
    width: K,
    value: V,
    last: K,
}

impl<K: Key, V: Copy + Ord + Default> Painter<K, V> {
    fn open(&mut self, span: Span<K, V>) {
        self.open.push(Reverse(Open {
            width: span.last.distance_from(span.first),
            value: span.value,
            last: span.last,
        }));
        self.tiles.push(span.first, self.visible());
    }

    /// Takes off the ranges that end before `limit` (all, if there is none), and shows what lies
    /// below them.
    fn close_before(&mut self, limit: Option<K>) {
        let ends = |last: K| limit.is_none_or(|limit| last < limit);
        while let Some(end) = self.top_end().filter(|last| ends(*last)) {
            while self.top_end().is_some_and(|last| last <= end) {
                self.open.pop();
            }
            if let Some(start) = end.next() {
                self.tiles.push(start, self.visible());
            }
        }
    }

    fn top_end(&self) -> Option<K> {
        self.open.peek().map(|Reverse(open)| open.last)
    }

    fn visible(&self) -> V {
        let top = self.open.peek();
        top.map_or(V::default(), |Reverse(open)| open.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(first: u32, last: u32, value: u8) -> Span<u32, u8> {
        Span { first, last, value }
    }

    fn painted(spans: &[Span<u32, u8>]) -> Vec<(u32, u8)> {
        paint(spans.to_vec()).iter().collect()
    }

    #[test]
    fn the_narrower_range_lies_on_top() {
        let nested = [span(0, 99, 1), span(20, 29, 2), span(25, 25, 3)];
        let expected = [(0, 1), (20, 2), (25, 3), (26, 2), (30, 1), (100, 0)];
        assert_eq!(painted(&nested), expected);
        let crossing = [span(0, 50, 1), span(40, 60, 2)];
        assert_eq!(painted(&crossing), [(0, 1), (40, 2), (61, 0)]);
    }

    #[test]
    fn of_several_origins_for_one_prefix_the_lowest_is_kept() {
        let spans = [span(5, 9, 7), span(5, 9, 3), span(5, 9, 3), span(20, 29, 1)];
        assert_eq!(painted(&spans), [(0, 0), (5, 3), (10, 0), (20, 1), (30, 0)]);
        assert_eq!(contested(&spans), 1);
    }

    #[test]
    fn a_range_up_to_the_last_address_ends_the_table() {
        assert_eq!(painted(&[span(7, u32::MAX, 4)]), [(0, 0), (7, 4)]);
    }

    /// The rule itself, address by address.
    fn expected(spans: &[Span<u32, u8>], address: u32) -> u8 {
        let over = spans
            .iter()
            .filter(|span| (span.first..=span.last).contains(&address));
        over.min_by_key(|span| (span.last - span.first, span.value))
            .map_or(0, |span| span.value)
    }

    proptest! {
        #[test]
        fn any_overlaps_follow_the_rule(
            ranges in prop::collection::vec((0u32..60, 0u32..20, 1u8..5), 0..25),
        ) {
            let spans: Vec<_> = ranges.iter().map(|&(at, more, v)| span(at, at + more, v)).collect();
            let tiles = paint(spans.clone());
            for address in 0..90 {
                let at = tiles.starts().partition_point(|start| *start <= address) - 1;
                prop_assert_eq!(tiles.values()[at], expected(&spans, address), "{}", address);
            }
        }
    }
}

//! One family's part of a table: where ranges start and what is known from there on, in order.
//!
//! Rows lie in blocks of 16: first the starts, then what is known. A look-up finds the block by its
//! first row, without touching any other, and then looks at this one block: memory that is not in the
//! processor's caches is waited for once or twice, which is most of what a look-up costs.
//!
//! Of an IPv6 address a block keeps the first 64 bits, the *head*: networks are hardly ever longer
//! (845 of 420,000 rows in the embedded table). The *tails* of rows that do start within a /64 stand
//! in a list beside the blocks.

use std::net::IpAddr;

use nearside_types::Origin;

use crate::cell::{Cell, CountryCode, Known};
use crate::chunks::Chunks;
use crate::index::Index;
use crate::key::{Head, Key, network_within};
use crate::table::Found;
use crate::tiles::{Tiles, zip_columns};

/// Sorted ranges from the first address to the last, without gaps; neighbours differ. Immutable: 8
/// bytes for a range of IPv4 addresses, 12 for one of IPv6, and a twentieth more for finding them.
///
/// Equal knowledge makes equal rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rows<K: Key> {
    blocks: Chunks<Block<K::Head>>,
    /// The head of each block's first row.
    firsts: Vec<K::Head>,
    index: Index,
    count: usize,
    tails: Vec<Tail>,
    others: Vec<Known>,
}

const BLOCK: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block<H> {
    /// Behind the last row of the table, the highest head.
    heads: [H; BLOCK],
    cells: [Cell; BLOCK],
}

/// The second half of an address at which a row starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tail {
    row: usize,
    tail: u64,
}

impl<K: Key> Rows<K> {
    /// One row that knows nothing.
    pub(crate) fn unknown() -> Self {
        RowsBuilder::new().finish()
    }

    /// A row begins wherever one of the two columns changes.
    pub(crate) fn overlay(asns: &Tiles<K, u32>, countries: &Tiles<K, CountryCode>) -> Self {
        let mut builder = RowsBuilder::new();
        zip_columns(asns.iter(), countries.iter(), |start, asn, country| {
            builder.push(start, Known { asn, country });
        });
        builder.finish()
    }

    pub(crate) fn over(&self, below: &Self) -> Self {
        let asns = self.asn_tiles().over(&below.asn_tiles());
        let countries = self.country_tiles().over(&below.country_tiles());
        Self::overlay(&asns, &countries)
    }

    pub(crate) fn lookup(&self, key: K) -> Option<Found> {
        let at = self.row_of(key);
        let origin = self.known(at).origin()?;
        let prefix = network_within(key, self.first(at), self.last(at));
        Some(Found { origin, prefix })
    }

    pub(crate) fn origin(&self, key: K) -> Origin {
        self.known(self.row_of(key)).origin().unwrap_or_default()
    }

    /// The last row that starts at or before `key`.
    #[inline]
    fn row_of(&self, key: K) -> usize {
        let head = key.head();
        let among = self.index.find(head, self.firsts.len());
        let begin = *among.start();
        let block = begin + self.firsts[among].partition_point(|first| *first <= head) - 1;
        // All 16 are counted: a loop without branches is faster than one that ends early.
        let heads = self.blocks.get(block).heads.iter();
        let not_later: u32 = heads.map(|first| u32::from(*first <= head)).sum();
        let at = (block * BLOCK + not_later as usize).min(self.count) - 1;
        if self.tails.is_empty() || self.head(at) < head {
            return at;
        }
        self.before_tails_beyond(key, at)
    }

    /// `at` is the last row with the head of `key`; goes back before rows whose tail is beyond it.
    fn before_tails_beyond(&self, key: K, at: usize) -> usize {
        let start = |tail: &Tail| K::join(self.head(tail.row), tail.tail);
        let next = self.tails.partition_point(|tail| start(tail) <= key);
        match self.tails.get(next) {
            Some(beyond) if beyond.row <= at => beyond.row - 1,
            _ => at,
        }
    }

    fn head(&self, at: usize) -> K::Head {
        self.blocks.get(at / BLOCK).heads[at % BLOCK]
    }

    fn cell(&self, at: usize) -> Cell {
        self.blocks.get(at / BLOCK).cells[at % BLOCK]
    }

    fn known(&self, at: usize) -> Known {
        self.cell(at).unpack(&self.others)
    }

    fn first(&self, at: usize) -> K {
        if !self.cell(at).has_tail() {
            return K::join(self.head(at), 0);
        }
        let found = self.tails.binary_search_by_key(&at, |tail| tail.row);
        let place = found.expect("a cell that says so has a tail");
        K::join(self.head(at), self.tails[place].tail)
    }

    fn last(&self, at: usize) -> K {
        let next = (at + 1 < self.count).then(|| self.first(at + 1));
        next.and_then(K::previous).unwrap_or(K::LAST)
    }

    pub(crate) fn ranges(&self) -> impl Iterator<Item = (IpAddr, IpAddr, Origin)> + '_ {
        (0..self.count).filter_map(|at| {
            let origin = self.known(at).origin()?;
            Some((self.first(at).to_ip(), self.last(at).to_ip(), origin))
        })
    }

    /// How many rows know something.
    pub(crate) fn known_ranges(&self) -> usize {
        let known = (0..self.count).filter(|at| self.known(*at) != Known::default());
        known.count()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.blocks.heap_bytes()
            + size_of::<K::Head>() * self.firsts.capacity()
            + size_of::<Tail>() * self.tails.capacity()
            + size_of::<Known>() * self.others.capacity()
            + self.index.heap_bytes()
    }

    /// The column of AS numbers alone, as it went into [`Rows::overlay`].
    pub(crate) fn asn_tiles(&self) -> Tiles<K, u32> {
        self.column(|known| known.asn)
    }

    /// The column of countries alone.
    pub(crate) fn country_tiles(&self) -> Tiles<K, CountryCode> {
        self.column(|known| known.country)
    }

    fn column<V: Copy + Eq + Default>(&self, value: impl Fn(Known) -> V) -> Tiles<K, V> {
        let mut tiles = Tiles::with_capacity(self.count);
        for at in 0..self.count {
            tiles.push(self.first(at), value(self.known(at)));
        }
        tiles
    }
}

/// Takes rows in order and packs them.
#[derive(Debug)]
pub(crate) struct RowsBuilder<K: Key> {
    /// Everything but the last block.
    rows: Rows<K>,
    /// The last block, not full yet.
    block: Block<K::Head>,
    /// The newest row: another for the same start takes its place.
    newest: (K, Known),
    /// What the last packed row says.
    before: Option<Known>,
}

impl<K: Key> RowsBuilder<K> {
    /// Knows nothing of any address yet.
    pub(crate) fn new() -> Self {
        Self {
            rows: Rows {
                blocks: Chunks::new(),
                firsts: Vec::new(),
                index: Index::default(),
                count: 0,
                tails: Vec::new(),
                others: Vec::new(),
            },
            block: Block::empty(),
            newest: (K::default(), Known::default()),
            before: None,
        }
    }

    /// From `start` on, this is known. Starts must not fall; of several for one start the last
    /// counts, and a row that says the same as the one before becomes part of it.
    #[inline(always)]
    pub(crate) fn push(&mut self, start: K, known: Known) {
        debug_assert!(self.newest.0 <= start, "rows come in order");
        if start != self.newest.0 {
            self.pack_newest();
        }
        self.newest = (start, known);
    }

    #[inline(always)]
    fn pack_newest(&mut self) {
        let (start, known) = self.newest;
        if self.before.replace(known) != Some(known) {
            self.append(start, known);
        }
    }

    #[inline(always)]
    fn append(&mut self, start: K, known: Known) {
        let mut cell = Cell::pack(known, &mut self.rows.others);
        if start.tail() != 0 {
            let (row, tail) = (self.rows.count, start.tail());
            self.rows.tails.push(Tail { row, tail });
            cell = cell.with_tail();
        }
        let slot = self.rows.count % BLOCK;
        self.block.heads[slot] = start.head();
        self.block.cells[slot] = cell;
        self.rows.count += 1;
        if slot + 1 == BLOCK {
            self.rows.push_block(self.block);
        }
    }

    pub(crate) fn finish(mut self) -> Rows<K> {
        self.pack_newest();
        let mut rows = self.rows;
        let last = rows.count % BLOCK;
        if last != 0 {
            self.block.heads[last..].fill(K::Head::LAST);
            self.block.cells[last..].fill(Cell::default());
            rows.push_block(self.block);
        }
        rows.blocks.shrink_to_fit();
        rows.firsts.shrink_to_fit();
        rows.tails.shrink_to_fit();
        rows.others.shrink_to_fit();
        rows.index = Index::new(&rows.firsts);
        rows
    }
}

impl<K: Key> Rows<K> {
    fn push_block(&mut self, block: Block<K::Head>) {
        self.firsts.push(block.heads[0]);
        self.blocks.push(block);
    }
}

impl<H: Head> Block<H> {
    fn empty() -> Self {
        Self {
            heads: [H::LAST; BLOCK],
            cells: [Cell::default(); BLOCK],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn known(asn: u32) -> Known {
        Known {
            asn,
            country: CountryCode::default(),
        }
    }

    fn rows<K: Key>(pushes: &[(K, u32)]) -> Rows<K> {
        let mut builder = RowsBuilder::new();
        for (start, asn) in pushes {
            builder.push(*start, known(*asn));
        }
        builder.finish()
    }

    /// The plainest look-up there is.
    fn expected<K: Key>(pushes: &[(K, u32)], key: K) -> u32 {
        let before = pushes.iter().rev().find(|(start, _)| *start <= key);
        before.map_or(0, |(_, asn)| *asn)
    }

    #[test]
    fn rows_that_say_the_same_are_one_and_the_last_word_for_a_start_counts() {
        let rows = rows(&[(0_u32, 7), (10, 7), (20, 1), (20, 7), (30, 2)]);
        assert_eq!(rows.count, 2);
        assert_eq!(rows.known(rows.row_of(29)).asn, 7);
        assert_eq!(rows.known(rows.row_of(30)).asn, 2);
    }

    #[test]
    fn many_rows_within_one_64_are_told_apart() {
        let head = 0x2001_0db8_u128 << 96;
        let pushes: Vec<(u128, u32)> = (1..100)
            .map(|at| (head | u128::from(at) << 7, at))
            .collect();
        let rows = rows(&pushes);
        for key in (0..120 << 7).map(|tail| head | tail) {
            assert_eq!(
                rows.known(rows.row_of(key)).asn,
                expected(&pushes, key),
                "{key:x}"
            );
        }
        assert_eq!(rows.known(rows.row_of(head - 1)).asn, 0);
        assert_eq!(rows.known(rows.row_of(u128::MAX)).asn, 99);
    }

    #[test]
    fn the_last_address_is_found_in_a_block_that_is_not_full() {
        let rows = rows(&[(5_u32, 1), (u32::MAX, 2)]);
        assert_eq!(rows.known(rows.row_of(u32::MAX)).asn, 2);
        assert_eq!(rows.known(rows.row_of(u32::MAX - 1)).asn, 1);
    }

    /// Starts with few different heads and tails, so that all cases of both meet.
    fn pushes() -> impl Strategy<Value = Vec<(u128, u32)>> {
        let part = prop_oneof![0_u128..4, Just(u128::from(u64::MAX))];
        let start = (part.clone(), part).prop_map(|(head, tail)| head << 64 | tail);
        let asn = prop_oneof![0_u32..3, Just(u32::MAX)];
        prop::collection::btree_map(start, asn, 0..40).prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        #[test]
        fn every_address_finds_what_was_pushed_last_before_it(pushes in pushes()) {
            let rows = rows(&pushes);
            let near = |start: u128| [start.saturating_sub(1), start, start.saturating_add(1)];
            for key in pushes.iter().flat_map(|(start, _)| near(*start)) {
                let at = rows.row_of(key);
                prop_assert_eq!(rows.known(at).asn, expected(&pushes, key));
                prop_assert!(rows.first(at) <= key && key <= rows.last(at));
            }
        }
    }
}

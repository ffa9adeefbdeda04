//! Routes as rows of a table. They come in order, a network before those inside it, so one walk over
//! the addresses is enough: nothing is collected and nothing is sorted.

use nearside_types::Asn;

use crate::cell::{CountryCode, Known};
use crate::key::{Key, last_of};
use crate::rows::{Rows, RowsBuilder};

/// A walk from the first address of a family to the last.
pub(super) struct Sweep<K: Key> {
    rows: RowsBuilder<K>,
    /// The networks the walk is in, the innermost last.
    inside: Vec<Inside<K>>,
}

struct Inside<K> {
    last: K,
    origin: Asn,
}

impl<K: Key> Sweep<K> {
    pub(super) fn new() -> Self {
        Self {
            rows: RowsBuilder::new(),
            inside: Vec::new(),
        }
    }

    /// The next route, in the order of [`Rib::routes`](super::Rib::routes).
    pub(super) fn enter(&mut self, first: K, length: u8, origin: Asn) {
        self.leave(|last| last < first);
        let last = last_of(first, length);
        self.inside.push(Inside { last, origin });
        self.show(first);
    }

    pub(super) fn finish(mut self) -> Rows<K> {
        self.leave(|_| true);
        self.rows.finish()
    }

    /// Leaves networks from the inside out, as long as their last address `is_behind` the walk.
    fn leave(&mut self, is_behind: impl Fn(K) -> bool) {
        while let Some(inside) = self.inside.pop_if(|inside| is_behind(inside.last)) {
            if let Some(next) = inside.last.next() {
                self.show(next);
            }
        }
    }

    /// From `start` on the innermost network counts.
    fn show(&mut self, start: K) {
        let origin = self.inside.last().map(|inside| inside.origin);
        let known = Known {
            asn: origin.map_or(0, |asn| asn.0),
            country: CountryCode::default(),
        };
        self.rows.push(start, known);
    }
}

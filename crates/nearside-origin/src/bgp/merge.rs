//! Many neighbours' tables as one: walks all of them in order and settles each prefix once.

use std::iter::Peekable;

use nearside_types::{Asn, Prefix};

use super::rib::Route;

/// An origin that one or more neighbours vouch for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) asn: Asn,
    pub(crate) several: bool,
    pub(crate) stale: bool,
}

impl Candidate {
    pub(crate) fn single(asn: Asn) -> Self {
        Self {
            asn,
            several: false,
            stale: false,
        }
    }

    /// Fresh wins over stale; of equals the lower number stays, so that the answer does not depend on
    /// the order in which neighbours came.
    pub(crate) fn joined(self, other: Self) -> Self {
        match (self.stale, other.stale) {
            (false, true) => self,
            (true, false) => other,
            _ => Self {
                asn: self.asn.min(other.asn),
                several: self.several || other.several || self.asn != other.asn,
                stale: self.stale,
            },
        }
    }

    pub(super) fn route(self, prefix: Prefix) -> Route {
        Route {
            prefix,
            origin: self.asn,
            multi_origin: self.several,
            stale: self.stale,
        }
    }
}

impl From<Route> for Candidate {
    fn from(route: Route) -> Self {
        Self {
            asn: route.origin,
            several: route.multi_origin,
            stale: route.stale,
        }
    }
}

/// The union of sorted tables, as routes. Neighbours are few, so the smallest key is simply looked
/// for among all of them.
pub(super) struct Merge<I: Iterator, K> {
    tables: Vec<Peekable<I>>,
    prefix: fn(K) -> Prefix,
}

impl<K: Ord + Copy, I: Iterator<Item = (K, Candidate)>> Merge<I, K> {
    pub(super) fn new(tables: impl Iterator<Item = I>, prefix: fn(K) -> Prefix) -> Self {
        Self {
            tables: tables.map(Iterator::peekable).collect(),
            prefix,
        }
    }
}

impl<K: Ord + Copy, I: Iterator<Item = (K, Candidate)>> Iterator for Merge<I, K> {
    type Item = Route;

    fn next(&mut self) -> Option<Route> {
        let keys = self.tables.iter_mut().filter_map(|table| table.peek());
        let next = keys.map(|(key, _)| *key).min()?;
        let candidates = self.tables.iter_mut().filter_map(|table| {
            let (_, candidate) = table.next_if(|(key, _)| *key == next)?;
            Some(candidate)
        });
        let settled = candidates.reduce(Candidate::joined)?;
        Some(settled.route((self.prefix)(next)))
    }
}

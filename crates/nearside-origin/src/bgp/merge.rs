//! Many neighbours' tables as one: walks all of them in order and settles each prefix once.

use std::iter::Peekable;

use nearside_types::{Asn, Prefix};

use super::rib::{Entry, Route};

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

/// A neighbour's entries still to come, and its present generation.
struct Source<I: Iterator> {
    entries: Peekable<I>,
    generation: u16,
}

/// The union of sorted tables, as routes. Neighbours are few, so the smallest key is simply looked
/// for among all of them.
pub(super) struct Merge<I: Iterator, K> {
    sources: Vec<Source<I>>,
    prefix: fn(K) -> Prefix,
}

impl<'a, K: Ord + Copy, I: Iterator<Item = (K, &'a Entry)>> Merge<I, K> {
    pub(super) fn new(tables: impl Iterator<Item = (I, u16)>, prefix: fn(K) -> Prefix) -> Self {
        let source = |(entries, generation): (I, u16)| Source {
            entries: entries.peekable(),
            generation,
        };
        Self {
            sources: tables.map(source).collect(),
            prefix,
        }
    }
}

impl<'a, K: Ord + Copy, I: Iterator<Item = (K, &'a Entry)>> Iterator for Merge<I, K> {
    type Item = Route;

    fn next(&mut self) -> Option<Route> {
        let keys = self
            .sources
            .iter_mut()
            .filter_map(|source| source.entries.peek());
        let next = keys.map(|(key, _)| *key).min()?;
        let candidates = self.sources.iter_mut().filter_map(|source| {
            let (_, entry) = source.entries.next_if(|(key, _)| *key == next)?;
            Some(entry.candidate(source.generation))
        });
        let settled = candidates.reduce(Candidate::joined)?;
        Some(settled.route((self.prefix)(next)))
    }
}

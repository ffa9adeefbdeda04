//! The look-up table: per family, where ranges start, and beside it what is known from there on.

use std::net::IpAddr;

use nearside_types::{Asn, Country, Origin, Prefix};

use crate::key::{Key, network_within};
use crate::tiles::{Tiles, zip_columns};

/// Every address of both families with its origin, in sorted columns. Immutable; 10 bytes for a
/// range of IPv4 addresses, 22 for one of IPv6.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeTable {
    pub(crate) v4: Rows<u32>,
    pub(crate) v6: Rows<u128>,
}

/// What a table knows of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The AS and the country; at least one is there.
    pub origin: Origin,
    /// The largest network around the address for which the answer is the same.
    pub prefix: Prefix,
}

impl RangeTable {
    /// What is known of `ip`. IPv4 addresses dressed up as IPv6 (`::ffff:a.b.c.d`) count as what
    /// they carry.
    pub fn lookup(&self, ip: IpAddr) -> Option<Found> {
        match ip.to_canonical() {
            IpAddr::V4(ip) => self.v4.lookup(ip.to_bits()),
            IpAddr::V6(ip) => self.v6.lookup(ip.to_bits()),
        }
    }

    /// One table of two: what this one knows, and from `below` what it leaves open, for each half.
    #[must_use]
    pub fn over(&self, below: &Self) -> Self {
        Self {
            v4: self.v4.over(&below.v4),
            v6: self.v6.over(&below.v6),
        }
    }

    /// Ranges of IPv4 and of IPv6 addresses about which something is known.
    pub fn known_ranges(&self) -> (usize, usize) {
        (self.v4.known(), self.v6.known())
    }

    /// Bytes of memory the columns take.
    pub fn heap_bytes(&self) -> usize {
        self.v4.heap_bytes() + self.v6.heap_bytes()
    }
}

impl Default for RangeTable {
    /// A table that knows nothing.
    fn default() -> Self {
        Self {
            v4: Rows::overlay(&Tiles::unknown(), &Tiles::unknown()),
            v6: Rows::overlay(&Tiles::unknown(), &Tiles::unknown()),
        }
    }
}

/// The tiles of AS and country laid over each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rows<K> {
    /// Every [`STRIDE`]th start. All of it stays in the processor's cache, so that a search touches
    /// slow memory only for the last few steps.
    guide: Vec<K>,
    starts: Vec<K>,
    /// AS numbers; 0, which nobody may announce (RFC 7607), where there is none.
    asns: Vec<u32>,
    countries: Vec<CountryCode>,
}

/// 64 starts of IPv4 are four cache lines; of 16, 32, 64 and 128 it was the fastest in
/// `examples/lookup_speed.rs`.
const STRIDE: usize = 64;

/// The two letters as a number, 0 where there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct CountryCode(pub(crate) u16);

impl From<Option<Country>> for CountryCode {
    fn from(country: Option<Country>) -> Self {
        Self(country.map_or(0, |country| u16::from_be_bytes(country.as_bytes())))
    }
}

impl CountryCode {
    pub(crate) fn country(self) -> Option<Country> {
        Country::from_bytes(self.0.to_be_bytes())
    }
}

impl<K: Key> Rows<K> {
    /// A row begins wherever one of the two columns changes.
    pub(crate) fn overlay(asns: &Tiles<K, u32>, countries: &Tiles<K, CountryCode>) -> Self {
        let most = asns.len() + countries.len();
        Self::of_columns(most, asns.iter(), countries.iter())
    }

    /// The same for columns that come one by one: (start, value) in rising order, from address 0.
    /// There will be at most `most` rows.
    pub(crate) fn of_columns(
        most: usize,
        asns: impl Iterator<Item = (K, u32)>,
        countries: impl Iterator<Item = (K, CountryCode)>,
    ) -> Self {
        let mut rows = Self {
            guide: Vec::new(),
            starts: Vec::with_capacity(most),
            asns: Vec::with_capacity(most),
            countries: Vec::with_capacity(most),
        };
        let mut before = None;
        zip_columns(asns, countries, |start, asn, country| {
            if before.replace((asn, country)) != Some((asn, country)) {
                rows.starts.push(start);
                rows.asns.push(asn);
                rows.countries.push(country);
            }
        });
        rows.shrink();
        rows.guide = rows.starts.iter().copied().step_by(STRIDE).collect();
        rows
    }

    fn over(&self, below: &Self) -> Self {
        let asns = self.asn_tiles().over(&below.asn_tiles());
        let countries = self.country_tiles().over(&below.country_tiles());
        Self::overlay(&asns, &countries)
    }

    fn shrink(&mut self) {
        self.starts.shrink_to_fit();
        self.asns.shrink_to_fit();
        self.countries.shrink_to_fit();
    }

    fn lookup(&self, key: K) -> Option<Found> {
        let row = self.row_of(key);
        let origin = self.origin(row);
        if origin == Origin::default() {
            return None;
        }
        let last = self.starts.get(row + 1).and_then(|next| next.previous());
        let prefix = network_within(key, self.starts[row], last.unwrap_or(K::LAST));
        Some(Found { origin, prefix })
    }

    /// The last row that starts at or before `key`; there is one, since the first starts at 0.
    fn row_of(&self, key: K) -> usize {
        let block = self.guide.partition_point(|start| *start <= key) - 1;
        let begin = block * STRIDE;
        let end = (begin + STRIDE).min(self.starts.len());
        begin + self.starts[begin..end].partition_point(|start| *start <= key) - 1
    }

    fn origin(&self, row: usize) -> Origin {
        let asn = self.asns[row];
        Origin {
            asn: (asn != 0).then_some(Asn(asn)),
            country: self.countries[row].country(),
        }
    }

    fn known(&self) -> usize {
        let values = self.asns.iter().zip(&self.countries);
        values
            .filter(|(asn, code)| (**asn, code.0) != (0, 0))
            .count()
    }

    fn heap_bytes(&self) -> usize {
        size_of::<K>() * (self.guide.capacity() + self.starts.capacity())
            + size_of::<u32>() * self.asns.capacity()
            + size_of::<CountryCode>() * self.countries.capacity()
    }

    /// The column of AS numbers alone, as it went into [`Rows::overlay`].
    pub(crate) fn asn_tiles(&self) -> Tiles<K, u32> {
        column(&self.starts, &self.asns)
    }

    /// The column of countries alone.
    pub(crate) fn country_tiles(&self) -> Tiles<K, CountryCode> {
        column(&self.starts, &self.countries)
    }
}

fn column<K: Key, V: Copy + Eq + Default>(starts: &[K], values: &[V]) -> Tiles<K, V> {
    let mut tiles = Tiles::with_capacity(starts.len());
    for (start, value) in starts.iter().zip(values) {
        tiles.push(*start, *value);
    }
    tiles
}

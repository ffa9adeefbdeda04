//! The look-up table: per family, where ranges start and what is known from there on, in order.

use std::net::IpAddr;

use nearside_types::{Asn, Country, Origin, Prefix};

use crate::index::Index;
use crate::key::{Key, network_within};
use crate::tiles::{Tiles, zip_columns};

/// Every address of both families with its origin, in sorted ranges. Immutable; about 14 bytes for a
/// range of IPv4 addresses, 26 for one of IPv6.
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

    /// All ranges about which something is known: first and last address, and what is known.
    pub fn ranges(&self) -> impl Iterator<Item = (IpAddr, IpAddr, Origin)> + '_ {
        self.v4.ranges().chain(self.v6.ranges())
    }

    /// Ranges of IPv4 and of IPv6 addresses about which something is known.
    pub fn known_ranges(&self) -> (usize, usize) {
        (self.v4.known(), self.v6.known())
    }

    /// Bytes of memory the ranges take.
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
pub(crate) struct Rows<K: Key> {
    rows: Vec<Row<K>>,
    index: Index,
}

/// From `start` on, this is known. All in one place, since every part that lies elsewhere would be
/// one more wait for memory in each look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row<K: Key> {
    start: K::Packed,
    /// 0, which nobody may announce (RFC 7607), where there is none.
    asn: u32,
    country: CountryCode,
}

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
        let mut rows = Vec::with_capacity(most);
        let mut before = None;
        zip_columns(asns, countries, |start, asn, country| {
            if before.replace((asn, country)) != Some((asn, country)) {
                let start = start.pack();
                rows.push(Row {
                    start,
                    asn,
                    country,
                });
            }
        });
        rows.shrink_to_fit();
        let index = Index::new(rows.len(), |at| K::unpack(rows[at].start));
        Self { rows, index }
    }

    fn over(&self, below: &Self) -> Self {
        let asns = self.asn_tiles().over(&below.asn_tiles());
        let countries = self.country_tiles().over(&below.country_tiles());
        Self::overlay(&asns, &countries)
    }

    fn lookup(&self, key: K) -> Option<Found> {
        let at = self.row_of(key);
        let origin = self.rows[at].origin()?;
        let prefix = network_within(key, self.first(at), self.last(at));
        Some(Found { origin, prefix })
    }

    /// The last row that starts at or before `key`.
    fn row_of(&self, key: K) -> usize {
        let among = self.index.find(key, self.rows.len());
        let begin = *among.start();
        let later = self.rows[among].partition_point(|row| K::unpack(row.start) <= key);
        begin + later - 1
    }

    fn first(&self, at: usize) -> K {
        K::unpack(self.rows[at].start)
    }

    fn last(&self, at: usize) -> K {
        let next = self.rows.get(at + 1);
        let before_next = next.and_then(|next| K::unpack(next.start).previous());
        before_next.unwrap_or(K::LAST)
    }

    fn ranges(&self) -> impl Iterator<Item = (IpAddr, IpAddr, Origin)> + '_ {
        self.rows.iter().enumerate().filter_map(|(at, row)| {
            let origin = row.origin()?;
            Some((self.first(at).to_ip(), self.last(at).to_ip(), origin))
        })
    }

    fn known(&self) -> usize {
        let known = self.rows.iter().filter(|row| row.origin().is_some());
        known.count()
    }

    fn heap_bytes(&self) -> usize {
        size_of::<Row<K>>() * self.rows.capacity() + self.index.heap_bytes()
    }

    /// The column of AS numbers alone, as it went into [`Rows::overlay`].
    pub(crate) fn asn_tiles(&self) -> Tiles<K, u32> {
        self.column(|row| row.asn)
    }

    /// The column of countries alone.
    pub(crate) fn country_tiles(&self) -> Tiles<K, CountryCode> {
        self.column(|row| row.country)
    }

    fn column<V: Copy + Eq + Default>(&self, value: impl Fn(&Row<K>) -> V) -> Tiles<K, V> {
        let mut tiles = Tiles::with_capacity(self.rows.len());
        for row in &self.rows {
            tiles.push(K::unpack(row.start), value(row));
        }
        tiles
    }
}

impl<K: Key> Row<K> {
    /// `None` where nothing is known.
    fn origin(&self) -> Option<Origin> {
        let origin = Origin {
            asn: (self.asn != 0).then_some(Asn(self.asn)),
            country: self.country.country(),
        };
        (origin != Origin::default()).then_some(origin)
    }
}

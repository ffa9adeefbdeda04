//! Builds a table from ranges in any order, leaving out what would mislead, and counting it.

use std::net::IpAddr;

use nearside_types::{Asn, Origin, Prefix, PrefixLengths};
use thiserror::Error;

use crate::asn_class::AsnClass;
use crate::cell::CountryCode;
use crate::key::{Key, last_of};
use crate::paint::{Span, contested, paint};
use crate::rows::Rows;
use crate::table::RangeTable;

/// What goes into a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    /// Which AS numbers count; by default those that can be announced to the world.
    pub asns: AsnRule,
    /// Prefixes longer than this are left out; by default none is.
    pub longest: Option<PrefixLengths>,
}

impl Rules {
    /// For routes heard from routers: nothing longer than /24 or /48, which the Internet at large
    /// does not carry and which only leaks from inside a network.
    pub const ROUTES: Self = Self {
        asns: AsnRule::PublicOnly,
        longest: Some(PrefixLengths { v4: 24, v6: 48 }),
    };
}

/// Which AS numbers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AsnRule {
    /// Only numbers that can be announced to the world, see [`AsnClass`].
    #[default]
    PublicOnly,
    /// All but 0: for laboratories and for an operator's own word.
    Any,
}

/// What was left out, and what had to be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cleaned {
    /// Ranges taken.
    pub taken: usize,
    /// AS numbers ignored because they are reserved, private or for documentation.
    pub reserved_asns: usize,
    /// AS numbers ignored because nobody was ever given them.
    pub unallocated_asns: usize,
    /// Ranges ignored because they cover the whole family.
    pub default_routes: usize,
    /// Prefixes ignored because they are too long.
    pub too_long: usize,
    /// Ranges for which several AS numbers were given; the lowest was taken.
    pub multi_origin: usize,
}

/// Why two addresses are not a range.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub enum RangeError {
    /// One IPv4, one IPv6.
    #[error("{first} and {last} are of different families; a range has one")]
    MixedFamilies {
        /// Given as the first address.
        first: IpAddr,
        /// Given as the last address.
        last: IpAddr,
    },
    /// The last address comes before the first.
    #[error("{last} comes before {first}; write the lower address first")]
    Reversed {
        /// Given as the first address.
        first: IpAddr,
        /// Given as the last address.
        last: IpAddr,
    },
}

/// Collects ranges; [`TableBuilder::finish`] makes the table.
///
/// AS and country are resolved apart: a narrow range that names only a country leaves the AS of a
/// wider one in force. Where ranges overlap the narrower wins, as with routes; the result does not
/// depend on the order in which they came.
#[derive(Debug, Clone, Default)]
pub struct TableBuilder {
    rules: Rules,
    v4: Spans<u32>,
    v6: Spans<u128>,
    cleaned: Cleaned,
}

/// The ranges of one family, one list for each half of an origin.
#[derive(Debug, Clone, Default)]
struct Spans<K> {
    asns: Vec<Span<K, u32>>,
    countries: Vec<Span<K, CountryCode>>,
}

impl TableBuilder {
    /// An empty builder.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            ..Self::default()
        }
    }

    /// Adds a network.
    pub fn add_prefix(&mut self, prefix: Prefix, origin: Origin) {
        if self.is_too_long(prefix) {
            self.cleaned.too_long += 1;
            return;
        }
        match prefix.network() {
            IpAddr::V4(first) => {
                let first = first.to_bits();
                self.add_v4(first, last_of(first, prefix.length()), origin);
            }
            IpAddr::V6(first) => {
                let first = first.to_bits();
                self.add_v6(first, last_of(first, prefix.length()), origin);
            }
        }
    }

    /// Adds the addresses from `first` to `last`, both included.
    pub fn add_range(
        &mut self,
        first: IpAddr,
        last: IpAddr,
        origin: Origin,
    ) -> Result<(), RangeError> {
        let (first, last) = (first.to_canonical(), last.to_canonical());
        if first.is_ipv4() == last.is_ipv4() && last < first {
            return Err(RangeError::Reversed { first, last });
        }
        match (first, last) {
            (IpAddr::V4(a), IpAddr::V4(b)) => self.add_v4(a.to_bits(), b.to_bits(), origin),
            (IpAddr::V6(a), IpAddr::V6(b)) => self.add_v6(a.to_bits(), b.to_bits(), origin),
            _ => return Err(RangeError::MixedFamilies { first, last }),
        }
        Ok(())
    }

    /// The table, and what was left out on the way.
    pub fn finish(self) -> (RangeTable, Cleaned) {
        let multi_origin = contested(&self.v4.asns) + contested(&self.v6.asns);
        let table = RangeTable {
            v4: self.v4.resolve(),
            v6: self.v6.resolve(),
        };
        let cleaned = Cleaned {
            multi_origin,
            ..self.cleaned
        };
        (table, cleaned)
    }

    fn is_too_long(&self, prefix: Prefix) -> bool {
        self.rules.longest.is_some_and(|longest| {
            let longest = match prefix.network() {
                IpAddr::V4(_) => longest.v4,
                IpAddr::V6(_) => longest.v6,
            };
            prefix.length() > longest
        })
    }

    fn add_v4(&mut self, first: u32, last: u32, origin: Origin) {
        let asn = self.accept(origin.asn);
        let added = self.v4.add(first, last, asn, origin.country.into());
        self.count(added);
    }

    fn add_v6(&mut self, first: u128, last: u128, origin: Origin) {
        let asn = self.accept(origin.asn);
        let added = self.v6.add(first, last, asn, origin.country.into());
        self.count(added);
    }

    /// The number if the rules let it in, else 0.
    fn accept(&mut self, asn: Option<Asn>) -> u32 {
        let Some(asn) = asn else { return 0 };
        match (self.rules.asns, AsnClass::of(asn)) {
            (AsnRule::Any, _) | (_, AsnClass::Public) => return asn.0,
            (_, AsnClass::Unallocated) => self.cleaned.unallocated_asns += 1,
            _ => self.cleaned.reserved_asns += 1,
        }
        0
    }

    fn count(&mut self, added: Added) {
        match added {
            Added::Taken => self.cleaned.taken += 1,
            Added::DefaultRoute => self.cleaned.default_routes += 1,
        }
    }
}

#[derive(Clone, Copy)]
enum Added {
    Taken,
    DefaultRoute,
}

impl<K: Key> Spans<K> {
    /// A default route says nothing of where an address comes from, only who carries its packets.
    fn add(&mut self, first: K, last: K, asn: u32, country: CountryCode) -> Added {
        if first == K::default() && last == K::LAST {
            return Added::DefaultRoute;
        }
        if asn != 0 {
            let value = asn;
            self.asns.push(Span { first, last, value });
        }
        if country != CountryCode::default() {
            let value = country;
            self.countries.push(Span { first, last, value });
        }
        Added::Taken
    }

    fn resolve(self) -> Rows<K> {
        Rows::overlay(&paint(self.asns), &paint(self.countries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_types::Country;

    fn origin(asn: u32, country: &str) -> Origin {
        Origin {
            asn: (asn != 0).then_some(Asn(asn)),
            country: country.parse().ok(),
        }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn prefix(text: &str) -> Prefix {
        let (network, length) = text.split_once('/').unwrap();
        Prefix::new(ip(network), length.parse().unwrap())
    }

    fn build(rules: Rules, prefixes: &[(&str, u32, &str)]) -> (RangeTable, Cleaned) {
        let mut builder = TableBuilder::new(rules);
        for (text, asn, country) in prefixes {
            builder.add_prefix(prefix(text), origin(*asn, country));
        }
        builder.finish()
    }

    fn asn_at(table: &RangeTable, at: &str) -> Option<u32> {
        table.lookup(ip(at))?.origin.asn.map(|asn| asn.0)
    }

    #[test]
    fn the_more_specific_prefix_wins_in_both_families() {
        let (table, _) = build(
            Rules::default(),
            &[
                ("8.0.0.0/8", 3356, "US"),
                ("8.8.8.0/24", 15169, "US"),
                ("2001:4860::/32", 15169, "US"),
                ("2001:4860:8000::/33", 36040, "US"),
            ],
        );
        assert_eq!(asn_at(&table, "8.8.8.8"), Some(15169));
        assert_eq!(asn_at(&table, "8.8.9.8"), Some(3356));
        assert_eq!(asn_at(&table, "2001:4860::8888"), Some(15169));
        assert_eq!(asn_at(&table, "2001:4860:8000::1"), Some(36040));
        assert_eq!(asn_at(&table, "9.9.9.9"), None);
        let found = table.lookup(ip("8.8.8.8")).unwrap();
        assert_eq!(found.prefix, prefix("8.8.8.0/24"));
    }

    #[test]
    fn mapped_addresses_are_looked_up_as_what_they_carry() {
        let (table, _) = build(Rules::default(), &[("8.8.8.0/24", 15169, "US")]);
        assert_eq!(asn_at(&table, "::ffff:8.8.8.8"), Some(15169));
        assert_eq!(
            table.lookup(ip("::ffff:8.8.8.8")),
            table.lookup(ip("8.8.8.8"))
        );
    }

    #[test]
    fn a_narrow_country_leaves_the_wider_as_in_force() {
        let (table, _) = build(
            Rules::default(),
            &[("5.9.0.0/16", 24940, "DE"), ("5.9.7.0/24", 0, "FI")],
        );
        let found = table.lookup(ip("5.9.7.1")).unwrap();
        assert_eq!(found.origin, origin(24940, "FI"));
    }

    #[test]
    fn reserved_private_and_unallocated_numbers_are_left_out_and_counted() {
        let rows = [
            ("1.0.0.0/24", 64_512, ""),
            ("1.0.1.0/24", 4_294_967_294, "AU"),
            ("1.0.2.0/24", 3_000_000, ""),
            ("1.0.3.0/24", 13_335, ""),
        ];
        let (table, cleaned) = build(Rules::default(), &rows);
        assert_eq!((cleaned.reserved_asns, cleaned.unallocated_asns), (2, 1));
        assert_eq!(asn_at(&table, "1.0.0.1"), None);
        assert_eq!(
            table.lookup(ip("1.0.1.1")).map(|found| found.origin),
            Some(origin(0, "AU")),
            "the country is kept"
        );
        assert_eq!(asn_at(&table, "1.0.3.1"), Some(13_335));
        let any = Rules {
            asns: AsnRule::Any,
            ..Rules::default()
        };
        let (table, _) = build(any, &rows);
        assert_eq!(asn_at(&table, "1.0.0.1"), Some(64_512));
    }

    #[test]
    fn default_routes_and_overlong_prefixes_are_left_out_and_counted() {
        let (table, cleaned) = build(
            Rules::ROUTES,
            &[
                ("0.0.0.0/0", 3356, ""),
                ("::/0", 3356, ""),
                ("1.0.0.0/25", 13_335, ""),
                ("2001:db8::/49", 13_335, ""),
                ("1.1.1.0/24", 13_335, ""),
            ],
        );
        assert_eq!((cleaned.default_routes, cleaned.too_long), (2, 2));
        assert_eq!(cleaned.taken, 1);
        assert_eq!(asn_at(&table, "9.9.9.9"), None);
        assert_eq!(asn_at(&table, "1.0.0.1"), None);
    }

    #[test]
    fn of_several_origins_the_lowest_is_taken_and_the_case_counted() {
        let (table, cleaned) = build(
            Rules::default(),
            &[("1.0.0.0/24", 300, ""), ("1.0.0.0/24", 200, "")],
        );
        assert_eq!(asn_at(&table, "1.0.0.1"), Some(200));
        assert_eq!(cleaned.multi_origin, 1);
    }

    #[test]
    fn ranges_of_mixed_families_or_backwards_are_refused() {
        let mut builder = TableBuilder::default();
        let mut add = |first, last| builder.add_range(ip(first), ip(last), origin(1, ""));
        assert!(matches!(
            add("1.0.0.0", "::1"),
            Err(RangeError::MixedFamilies { .. })
        ));
        assert!(matches!(
            add("1.0.0.9", "1.0.0.0"),
            Err(RangeError::Reversed { .. })
        ));
        assert_eq!(add("::ffff:1.0.0.0", "1.0.0.9"), Ok(()));
    }

    #[test]
    fn a_table_without_ranges_knows_nothing() {
        let (table, cleaned) = TableBuilder::default().finish();
        assert_eq!(
            (table.clone(), cleaned),
            (RangeTable::default(), Cleaned::default())
        );
        assert_eq!(table.lookup(ip("1.1.1.1")), None);
        assert_eq!(table.lookup(ip("2606:4700::1111")), None);
        let country: Option<Country> = None;
        assert_eq!(CountryCode::from(country).country(), None);
    }
}

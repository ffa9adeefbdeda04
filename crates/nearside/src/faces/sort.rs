use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use nearside_discover::filter::humans;
use nearside_discover::snapshot::Row;
use thiserror::Error;

/// What rows are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortKey {
    /// Nearest first.
    #[default]
    Rtt,
    /// Most people first; bots do not count.
    Players,
    /// By name, whatever its case.
    Name,
    /// By map, whatever its case.
    Map,
    /// By country code.
    Country,
    /// By the number of the origin AS.
    Asn,
}

/// Why a text is not a sort key.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("cannot sort by `{0}` (choose rtt, players, name, map, country or asn)")]
pub struct UnknownSortKey(String);

impl SortKey {
    /// Every key, in the order help texts name them.
    pub const ALL: [Self; 6] = [
        Self::Rtt,
        Self::Players,
        Self::Name,
        Self::Map,
        Self::Country,
        Self::Asn,
    ];

    /// The word users choose it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rtt => "rtt",
            Self::Players => "players",
            Self::Name => "name",
            Self::Map => "map",
            Self::Country => "country",
            Self::Asn => "asn",
        }
    }

    /// The order of two rows: by this key with unknown values last, then the nearer one, then by
    /// address. Total, so the same rows always come in the same order and none jumps about.
    pub fn compare(self, a: &Row, b: &Row) -> Ordering {
        self.compare_values(a, b)
            .then_with(|| by_rtt(a, b))
            .then_with(|| a.addr.cmp(&b.addr))
    }

    fn compare_values(self, a: &Row, b: &Row) -> Ordering {
        match self {
            Self::Rtt => by_rtt(a, b),
            Self::Players => known_first(humans(a), humans(b), |a, b| b.cmp(a)),
            Self::Name => known_first(a.name.as_deref(), b.name.as_deref(), ignoring_case),
            Self::Map => known_first(a.map.as_deref(), b.map.as_deref(), ignoring_case),
            Self::Country => known_first(a.country, b.country, Ord::cmp),
            Self::Asn => known_first(a.asn, b.asn, Ord::cmp),
        }
    }
}

fn by_rtt(a: &Row, b: &Row) -> Ordering {
    known_first(a.rtt_ms, b.rtt_ms, f64::total_cmp)
}

fn known_first<T: Copy>(
    a: Option<T>,
    b: Option<T>,
    compare: impl FnOnce(&T, &T) -> Ordering,
) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => compare(&a, &b),
        _ => b.is_some().cmp(&a.is_some()),
    }
}

fn ignoring_case(a: &&str, b: &&str) -> Ordering {
    let folded_b = b.chars().flat_map(char::to_lowercase);
    a.chars().flat_map(char::to_lowercase).cmp(folded_b)
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SortKey {
    type Err = UnknownSortKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|key| key.name() == text)
            .ok_or_else(|| UnknownSortKey(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixtures::{any_row, full_row, unknown_row};
    use super::*;

    /// The last numbers of the rows' addresses, once sorted.
    fn sorted(key: SortKey, mut rows: Vec<Row>) -> Vec<String> {
        rows.sort_by(|a, b| key.compare(a, b));
        let last = |row: &Row| {
            row.addr
                .ip()
                .to_string()
                .rsplit('.')
                .next()
                .map(String::from)
        };
        rows.iter().filter_map(last).collect()
    }

    fn row(last: u8, rtt_ms: f64) -> Row {
        let addr = format!("192.0.2.{last}:27015").parse().unwrap();
        Row {
            addr,
            rtt_ms: Some(rtt_ms),
            ..full_row()
        }
    }

    #[test]
    fn near_servers_come_first_and_silent_ones_last() {
        let silent = Row {
            rtt_ms: None,
            ..row(1, 0.0)
        };
        let rows = vec![silent, row(9, 30.0), row(2, 200.0), row(3, 30.0)];
        assert_eq!(sorted(SortKey::Rtt, rows), ["3", "9", "2", "1"]);
    }

    #[test]
    fn people_count_more_than_bots() {
        let bots = Row {
            players: Some(30),
            bots: Some(28),
            ..row(1, 1.0)
        };
        let people = Row {
            players: Some(5),
            bots: Some(0),
            ..row(2, 50.0)
        };
        let unknown = Row {
            players: None,
            ..row(3, 0.5)
        };
        assert_eq!(
            sorted(SortKey::Players, vec![bots, unknown, people]),
            ["2", "1", "3"]
        );
    }

    #[test]
    fn names_and_maps_sort_whatever_their_case_and_ties_by_distance() {
        let named = |last, rtt_ms, name: &str| Row {
            name: Some(name.into()),
            map: Some(name.into()),
            ..row(last, rtt_ms)
        };
        let rows = vec![
            named(1, 9.0, "beta"),
            named(2, 8.0, "ALPHA"),
            named(3, 7.0, "alpha"),
        ];
        assert_eq!(sorted(SortKey::Name, rows.clone()), ["3", "2", "1"]);
        assert_eq!(sorted(SortKey::Map, rows), ["3", "2", "1"]);
    }

    #[test]
    fn unknown_values_come_last_under_every_key() {
        for key in SortKey::ALL {
            assert_eq!(
                key.compare(&full_row(), &unknown_row()),
                Ordering::Less,
                "{key}"
            );
            assert_eq!(
                key.compare(&unknown_row(), &full_row()),
                Ordering::Greater,
                "{key}"
            );
        }
    }

    #[test]
    fn every_key_reads_back_from_its_name() {
        for key in SortKey::ALL {
            assert_eq!(key.to_string().parse(), Ok(key));
        }
        let message = "ping".parse::<SortKey>().unwrap_err().to_string();
        assert!(message.contains("`ping`"), "{message}");
        for key in SortKey::ALL {
            assert!(message.contains(key.name()), "{message} lacks {key}");
        }
    }

    proptest! {
        #[test]
        fn the_order_does_not_depend_on_arrival(
            rows in proptest::collection::vec(any_row(), 0..12),
            key in proptest::sample::select(SortKey::ALL.to_vec()),
        ) {
            let mut forwards = rows.clone();
            let mut backwards = rows;
            backwards.reverse();
            forwards.sort_by(|a, b| key.compare(a, b));
            backwards.sort_by(|a, b| key.compare(a, b));
            let addrs = |rows: &[Row]| rows.iter().map(|row| row.addr).collect::<Vec<_>>();
            prop_assert_eq!(addrs(&forwards), addrs(&backwards));
        }
    }
}

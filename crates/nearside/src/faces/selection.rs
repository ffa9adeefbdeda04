use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use nearside_discover::filter::Filters;
use nearside_discover::snapshot::{Row, Snapshot};
use nearside_types::ServerAddr;

use super::sort::SortKey;
use super::words::Shown;

/// Servers the user never wants hidden.
pub type Favourites = BTreeSet<ServerAddr>;

/// Which rows a face shows, and in which order. Applied in one place, so that every face shows the
/// same rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// What is wanted.
    pub filters: Filters,
    /// The order. Without one, what can be shown as it arrives is, and the rest is near first.
    pub sort: Option<SortKey>,
    /// Only this many of the first rows; favourites beyond them are shown all the same.
    pub top: Option<NonZeroUsize>,
    /// Shown whatever the filters say, and even when they do not answer.
    pub favourites: Favourites,
}

/// The rows to show, and how many there were to choose from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chosen {
    pub(crate) snapshot: Snapshot,
    /// Rows that may be shown at all.
    pub(crate) matching: usize,
    pub(crate) out_of: usize,
}

impl Chosen {
    pub(crate) fn shown(&self) -> Shown {
        Shown {
            rows: self.snapshot.servers.len(),
            matching: self.matching,
            out_of: self.out_of,
        }
    }
}

impl Selection {
    /// Whether `row` may be shown, as far as one row alone can tell.
    pub fn shows(&self, row: &Row) -> bool {
        self.is_favourite(row) || self.filters.matches(row)
    }

    /// Whether rows may be shown for good as they arrive: no later row can displace them.
    pub const fn can_stream(&self) -> bool {
        self.sort.is_none() && self.top.is_none()
    }

    /// The order of rows that are shown together.
    pub fn order(&self) -> SortKey {
        self.sort.unwrap_or_default()
    }

    /// The rows to show of all those found, in order.
    pub fn choose(&self, rows: &[Row]) -> Vec<Row> {
        let mut shown: Vec<Row> = rows.iter().filter(|row| self.shows(row)).cloned().collect();
        shown.sort_by(|a, b| self.order().compare(a, b));
        let Some(top) = self.top else { return shown };
        let kept = |(place, row): &(usize, Row)| *place < top.get() || self.is_favourite(row);
        let placed = shown.into_iter().enumerate().filter(kept);
        placed.map(|(_, row)| row).collect()
    }

    pub(crate) fn choose_from(&self, snapshot: &Snapshot) -> Chosen {
        Chosen {
            snapshot: Snapshot {
                servers: self.choose(&snapshot.servers),
                summary: snapshot.summary.clone(),
            },
            matching: snapshot
                .servers
                .iter()
                .filter(|row| self.shows(row))
                .count(),
            out_of: snapshot.servers.len(),
        }
    }

    fn is_favourite(&self, row: &Row) -> bool {
        self.favourites.contains(&row.addr)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{four_rows, full_row, unknown_row};
    use super::*;

    fn pings(rows: &[Row]) -> Vec<Option<f64>> {
        rows.iter().map(|row| row.rtt_ms).collect()
    }

    #[test]
    fn without_wishes_everything_is_shown_near_first() {
        let mut rows = four_rows();
        rows.reverse();
        let chosen = Selection::default().choose(&rows);
        assert_eq!(pings(&chosen), [Some(12.3), Some(45.1), Some(187.0), None]);
    }

    #[test]
    fn the_top_is_taken_after_sorting_and_filtering() {
        let selection = Selection {
            filters: Filters {
                not_empty: true,
                ..Filters::default()
            },
            sort: Some(SortKey::Players),
            top: NonZeroUsize::new(1),
            ..Selection::default()
        };
        assert_eq!(pings(&selection.choose(&four_rows())), [Some(12.3)]);
    }

    #[test]
    fn a_favourite_survives_filters_silence_and_the_top() {
        let selection = Selection {
            filters: Filters {
                not_empty: true,
                ..Filters::default()
            },
            top: NonZeroUsize::new(1),
            favourites: Favourites::from([unknown_row().addr]),
            ..Selection::default()
        };
        let chosen = selection.choose(&[unknown_row(), full_row()]);
        assert_eq!(chosen, [full_row(), unknown_row()]);
    }

    #[test]
    fn only_arrival_order_can_stream() {
        assert!(Selection::default().can_stream());
        let top = NonZeroUsize::new(5);
        assert!(
            !Selection {
                top,
                ..Selection::default()
            }
            .can_stream()
        );
        let sort = Some(SortKey::Rtt);
        assert!(
            !Selection {
                sort,
                ..Selection::default()
            }
            .can_stream()
        );
    }
}

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
    /// Only this many of the nearest rows that pass the filters, whatever the order; favourites
    /// beyond them are shown all the same.
    pub best: Option<usize>,
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
    /// Rows that only their distance keeps from being shown.
    pub(crate) too_far: usize,
    pub(crate) out_of: usize,
}

impl Chosen {
    pub(crate) fn shown(&self) -> Shown {
        Shown {
            rows: self.snapshot.servers.len(),
            matching: self.matching,
            too_far: self.too_far,
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
        self.sort.is_none() && self.top.is_none() && self.best.is_none()
    }

    /// The order of rows that are shown together.
    pub fn order(&self) -> SortKey {
        self.sort.unwrap_or_default()
    }

    /// The order that decides which rows a face with little room keeps until the end.
    pub(crate) fn keeping_order(&self) -> SortKey {
        match self.best {
            Some(_) => SortKey::Rtt,
            None => self.order(),
        }
    }

    /// The rows to show of all those found, in order.
    pub fn choose(&self, rows: &[Row]) -> Vec<Row> {
        self.pick(rows).into_iter().cloned().collect()
    }

    /// First the nearest, then their order, then the cut: who wants the five nearest by players does
    /// not want the five fullest of all.
    pub(crate) fn pick<'a>(&self, rows: &'a [Row]) -> Vec<&'a Row> {
        let mut shown: Vec<&Row> = rows.iter().filter(|row| self.shows(row)).collect();
        if let Some(best) = self.best {
            shown.sort_by(|a, b| SortKey::Rtt.compare(a, b));
            self.keep_nearest(&mut shown, best);
        }
        shown.sort_by(|a, b| self.order().compare(a, b));
        let Some(top) = self.top else { return shown };
        let mut place = 0..;
        shown.retain(|row| place.next() < Some(top.get()) || self.is_favourite(row));
        shown
    }

    /// Keeps the first `best` rows that pass the filters, and favourites, which take nobody's place
    /// if they do not pass.
    fn keep_nearest(&self, rows: &mut Vec<&Row>, best: usize) {
        let mut nearer = 0;
        rows.retain(|row| {
            let is_one = nearer < best && self.filters.matches(row);
            nearer += usize::from(is_one);
            is_one || self.is_favourite(row)
        });
    }

    pub(crate) fn choose_from(&self, snapshot: &Snapshot) -> Chosen {
        let rows = &snapshot.servers;
        let anywhere = Filters {
            max_rtt: None,
            ..self.filters.clone()
        };
        let is_too_far = |row: &&Row| !self.shows(row) && anywhere.matches(row);
        Chosen {
            snapshot: Snapshot {
                servers: self.choose(rows),
                summary: snapshot.summary.clone(),
            },
            matching: rows.iter().filter(|row| self.shows(row)).count(),
            too_far: rows.iter().filter(is_too_far).count(),
            out_of: rows.len(),
        }
    }

    fn is_favourite(&self, row: &Row) -> bool {
        self.favourites.contains(&row.addr)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{four_rows, full_row, snapshot, unknown_row};
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

    /// Rows 10, 20 … 50 ms away; the farther, the fuller.
    fn farther_is_fuller() -> Vec<Row> {
        let row = |place: u8| Row {
            addr: format!("192.0.2.{place}:27015").parse().unwrap(),
            rtt_ms: Some(f64::from(place) * 10.0),
            players: Some(place.into()),
            ..full_row()
        };
        (1..=5).map(row).collect()
    }

    fn best_by_players(best: usize, top: usize) -> Selection {
        Selection {
            best: Some(best),
            sort: Some(SortKey::Players),
            top: NonZeroUsize::new(top),
            ..Selection::default()
        }
    }

    #[test]
    fn the_nearest_are_taken_before_they_are_sorted_and_cut() {
        let shown = |best, top| pings(&best_by_players(best, top).choose(&farther_is_fuller()));
        assert_eq!(shown(3, 0), [Some(30.0), Some(20.0), Some(10.0)]);
        assert_eq!(shown(3, 2), [Some(30.0), Some(20.0)]);
        assert_eq!(shown(3, 9), shown(3, 0));
        assert_eq!(shown(1, 3), [Some(10.0)]);
    }

    #[test]
    fn a_favourite_that_does_not_pass_the_filters_takes_nobody_s_place() {
        let rows = farther_is_fuller();
        let selection = Selection {
            filters: Filters {
                map: "dust".parse().ok(),
                ..Filters::default()
            },
            favourites: Favourites::from([rows[0].addr, rows[4].addr]),
            ..best_by_players(2, 0)
        };
        let elsewhere = Row {
            map: Some("cs_office".into()),
            ..rows[0].clone()
        };
        let rows = [&[elsewhere], &rows[1..]].concat();
        let nearest_and_favourites = [50.0, 30.0, 20.0, 10.0].map(Some);
        assert_eq!(pings(&selection.choose(&rows)), nearest_and_favourites);
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
    fn who_would_pass_if_nearer_is_told_apart_from_who_would_not() {
        let selection = Selection {
            filters: Filters {
                not_empty: true,
                max_rtt: Some(nearside_types::Rtt::from_micros(5_000)),
                ..Filters::default()
            },
            ..Selection::default()
        };
        let far = Snapshot {
            servers: four_rows()[..3].to_vec(),
            ..snapshot()
        };
        let shown = selection.choose_from(&far).shown();
        assert_eq!((shown.matching, shown.too_far, shown.out_of), (0, 2, 3));
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
        let best = Some(5);
        assert!(
            !Selection {
                best,
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

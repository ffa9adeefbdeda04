//! Which servers the user wants. Faces show what matches, and a planner that looks for the best
//! looks for the best of those.

mod pattern;

use nearside_types::{Asn, Country, Origin, Rtt};
use serde::{Deserialize, Serialize};

pub use pattern::{ParsePatternError, Pattern};

use crate::snapshot::Row;

/// Which servers are wanted; the default wants all of them.
///
/// A server matches when every filter that is set matches. A value that is not known matches no
/// filter that needs it: who asks for German servers does not want perhaps-German ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filters {
    /// A place is free. Bots take places too.
    pub not_full: bool,
    /// Somebody is there: bots are not company.
    pub not_empty: bool,
    /// No password is needed.
    pub no_password: bool,
    /// The map.
    pub map: Option<Pattern>,
    /// The server's name.
    pub name: Option<Pattern>,
    /// One of these countries; any when empty.
    pub countries: Vec<Country>,
    /// One of these origin ASes; any when empty.
    pub asns: Vec<Asn>,
    /// At most this far away.
    pub max_rtt: Option<Rtt>,
}

impl Filters {
    /// Whether `row` is wanted.
    pub fn matches(&self, row: &Row) -> bool {
        self.matches_at_any_distance(row) && self.max_rtt.is_none_or(|most| is_within(row, most))
    }

    /// Whether `row` is wanted but for its distance. That is what a planner is told: it has its own
    /// idea of who is near, and who counts near servers among the wanted takes the others to be
    /// rarer than they are.
    pub fn matches_at_any_distance(&self, row: &Row) -> bool {
        self.matches_players(row)
            && (!self.no_password || row.password == Some(false))
            && is_found(self.map.as_ref(), row.map.as_deref())
            && is_found(self.name.as_ref(), row.name.as_deref())
            && self.want_origin(Origin {
                asn: row.asn.map(Asn),
                country: row.country,
            })
    }

    /// Whether servers of this origin are wanted, whatever else they are: nobody need probe others.
    pub fn want_origin(&self, origin: Origin) -> bool {
        is_one_of(&self.countries, origin.country) && is_one_of(&self.asns, origin.asn)
    }

    /// Whether every server is wanted.
    pub fn want_all(&self) -> bool {
        *self == Self::default()
    }

    fn matches_players(&self, row: &Row) -> bool {
        (!self.not_full || has_free_place(row))
            && (!self.not_empty || humans(row).is_some_and(|humans| humans > 0))
    }
}

/// Players that are not bots. Where a game does not tell bots apart all players count as human, as
/// everything else would hide all servers of that game. Some servers claim more bots than players.
pub fn humans(row: &Row) -> Option<u32> {
    let players = row.players?;
    Some(players.saturating_sub(row.bots.unwrap_or(0)))
}

fn has_free_place(row: &Row) -> bool {
    row.players
        .zip(row.max_players)
        .is_some_and(|(players, places)| players < places)
}

fn is_found(pattern: Option<&Pattern>, text: Option<&str>) -> bool {
    pattern.is_none_or(|pattern| text.is_some_and(|text| pattern.matches(text)))
}

fn is_one_of<T: PartialEq>(wanted: &[T], value: Option<T>) -> bool {
    wanted.is_empty() || value.is_some_and(|value| wanted.contains(&value))
}

fn is_within(row: &Row, most: Rtt) -> bool {
    row.rtt_ms
        .is_some_and(|rtt| Rtt::from_millis_f64(rtt) <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server about which everything is known.
    fn full_row() -> Row {
        Row {
            rtt_ms: Some(12.3),
            asn: Some(24_940),
            country: "DE".parse().ok(),
            name: Some("Night Owls".into()),
            map: Some("de_dust2".into()),
            game: Some("cstrike".into()),
            players: Some(12),
            bots: Some(0),
            max_players: Some(32),
            password: Some(false),
            samples: 2,
            clean: true,
            ..unknown_row()
        }
    }

    /// A server that did not answer.
    fn unknown_row() -> Row {
        Row {
            addr: "192.0.2.7:27015".parse().unwrap(),
            rtt_ms: None,
            asn: None,
            country: None,
            name: None,
            map: None,
            game: None,
            players: None,
            bots: None,
            max_players: None,
            password: None,
            samples: 0,
            clean: false,
        }
    }

    /// One filter of each kind, all of which match [`full_row`].
    fn each_filter() -> Vec<Filters> {
        let all = Filters {
            not_full: true,
            not_empty: true,
            no_password: true,
            map: "dust".parse().ok(),
            name: "night*".parse().ok(),
            countries: vec!["FR".parse().unwrap(), "DE".parse().unwrap()],
            asns: vec![Asn(24_940)],
            max_rtt: Some(Rtt::from_micros(12_300)),
        };
        let none = Filters::default();
        vec![
            Filters {
                not_full: true,
                ..none.clone()
            },
            Filters {
                not_empty: true,
                ..none.clone()
            },
            Filters {
                no_password: true,
                ..none.clone()
            },
            Filters {
                map: all.map.clone(),
                ..none.clone()
            },
            Filters {
                name: all.name.clone(),
                ..none.clone()
            },
            Filters {
                countries: all.countries.clone(),
                ..none.clone()
            },
            Filters {
                asns: all.asns.clone(),
                ..none.clone()
            },
            Filters {
                max_rtt: all.max_rtt,
                ..none
            },
            all,
        ]
    }

    #[test]
    fn every_filter_lets_a_matching_server_through() {
        for filters in each_filter() {
            assert!(filters.matches(&full_row()), "{filters:?}");
        }
    }

    #[test]
    fn filters_read_back_from_a_record() {
        for filters in each_filter() {
            let text = serde_json::to_string(&filters).unwrap();
            assert_eq!(serde_json::from_str::<Filters>(&text).unwrap(), filters);
            assert!(!filters.want_all());
        }
        assert!(serde_json::from_str::<Filters>("{}").unwrap().want_all());
        assert!(serde_json::from_str::<Filters>("{\"map\":\"\"}").is_err());
    }

    #[test]
    fn an_unknown_value_matches_no_filter_that_needs_it() {
        for filters in each_filter() {
            assert!(!filters.matches(&unknown_row()), "{filters:?}");
        }
        assert!(Filters::default().matches(&unknown_row()));
    }

    #[test]
    fn each_filter_refuses_what_it_is_for() {
        let full = Row {
            players: Some(32),
            ..full_row()
        };
        let only_bots = Row {
            players: Some(5),
            bots: Some(5),
            ..full_row()
        };
        let locked = Row {
            password: Some(true),
            ..full_row()
        };
        let other_map = Row {
            map: Some("cs_office".into()),
            ..full_row()
        };
        let other_name = Row {
            name: Some("The Night".into()),
            ..full_row()
        };
        let other_country = Row {
            country: "US".parse().ok(),
            ..full_row()
        };
        let other_as = Row {
            asn: Some(1),
            ..full_row()
        };
        let farther = Row {
            rtt_ms: Some(12.301),
            ..full_row()
        };
        let rows = [
            full,
            only_bots,
            locked,
            other_map,
            other_name,
            other_country,
            other_as,
            farther,
        ];
        for (filters, row) in each_filter().iter().zip(&rows) {
            assert!(!filters.matches(row), "{filters:?} {row:?}");
        }
    }

    #[test]
    fn players_count_as_human_where_bots_are_not_told_apart() {
        let row = Row {
            players: Some(5),
            bots: None,
            ..full_row()
        };
        assert_eq!(humans(&row), Some(5));
        let odd = Row {
            players: Some(2),
            bots: Some(9),
            ..full_row()
        };
        assert_eq!(humans(&odd), Some(0));
    }
}

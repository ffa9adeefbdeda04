//! What each cell of a table says of a server.

use nearside_discover::filter::humans;
use nearside_discover::snapshot::Row;
use nearside_types::Asn;

use super::text;

/// What stands where a value is not known.
const UNKNOWN: &str = "-";

/// `12.3`, `~45.1` when the reply cannot be attributed to one request, `?12.3` when an earlier run
/// measured it, `down` without an answer.
pub(crate) fn rtt(row: &Row) -> String {
    match row.rtt_ms {
        None => "down".to_owned(),
        Some(rtt) if is_remembered(row) => format!("?{rtt:.1}"),
        Some(rtt) if row.clean => format!("{rtt:.1}"),
        Some(rtt) => format!("~{rtt:.1}"),
    }
}

/// Whether the round-trip time is shown with a `~`.
pub(crate) fn is_doubtful(row: &Row) -> bool {
    row.rtt_ms.is_some() && !row.clean && !is_remembered(row)
}

/// A row of an earlier run: it has a round-trip time, of which this run has no sample.
pub(crate) fn remembered(row: &Row) -> Row {
    Row {
        samples: 0,
        ..row.clone()
    }
}

/// Whether an earlier run measured the round-trip time.
pub(crate) fn is_remembered(row: &Row) -> bool {
    row.rtt_ms.is_some() && row.samples == 0
}

/// People, bots where there are any, and places: `12/32`, `3+5b/16`, `12` of an unknown number.
pub(crate) fn players(row: &Row) -> String {
    let Some(humans) = humans(row) else {
        return UNKNOWN.to_owned();
    };
    let bots = row.bots.filter(|bots| *bots > 0);
    let bots = bots.map(|bots| format!("+{bots}b")).unwrap_or_default();
    let places = row.max_players.map(|places| format!("/{places}"));
    format!("{humans}{bots}{}", places.unwrap_or_default())
}

/// The map.
pub(crate) fn map(row: &Row) -> String {
    words_of_the_server(row.map.as_deref())
}

/// The name.
pub(crate) fn name(row: &Row) -> String {
    words_of_the_server(row.name.as_deref())
}

/// The country's two letters.
pub(crate) fn country(row: &Row) -> String {
    row.country.map_or(UNKNOWN.to_owned(), |c| c.to_string())
}

/// The origin AS.
pub(crate) fn asn(row: &Row) -> String {
    row.asn
        .map_or(UNKNOWN.to_owned(), |asn| Asn(asn).to_string())
}

/// The address, ready to paste into a game.
pub(crate) fn address(row: &Row) -> String {
    row.addr.to_string()
}

/// `pw` when a password is needed.
pub(crate) fn password(row: &Row) -> String {
    let locked = row.password == Some(true);
    if locked {
        "pw".to_owned()
    } else {
        String::new()
    }
}

fn words_of_the_server(text: Option<&str>) -> String {
    let shown = text::shown(text.unwrap_or_default());
    let shown = shown.trim();
    if shown.is_empty() {
        UNKNOWN.to_owned()
    } else {
        shown.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{full_row, unknown_row};
    use super::*;

    #[test]
    fn a_ping_that_is_not_clean_says_so() {
        let row = Row {
            rtt_ms: Some(507.06),
            clean: false,
            ..full_row()
        };
        assert_eq!(rtt(&row), "~507.1");
        assert_eq!(rtt(&full_row()), "12.3");
        assert_eq!(rtt(&unknown_row()), "down");
    }

    #[test]
    fn a_ping_of_an_earlier_run_says_so() {
        let row = remembered(&full_row());
        assert_eq!(rtt(&row), "?12.3");
        assert!(is_remembered(&row) && !is_doubtful(&row));
        assert!(!is_remembered(&full_row()) && !is_remembered(&unknown_row()));
    }

    #[test]
    fn people_and_bots_are_told_apart() {
        let cell = |players, bots, max_players| {
            super::players(&Row {
                players,
                bots,
                max_players,
                ..full_row()
            })
        };
        assert_eq!(cell(Some(12), Some(0), Some(32)), "12/32");
        assert_eq!(cell(Some(8), Some(5), Some(16)), "3+5b/16");
        assert_eq!(cell(Some(8), None, None), "8");
        assert_eq!(cell(None, Some(5), Some(16)), "-");
    }

    #[test]
    fn a_name_of_nothing_visible_counts_as_unknown() {
        let row = Row {
            name: Some("\u{200B} \u{7}".into()),
            ..full_row()
        };
        assert_eq!(name(&row), "-");
    }
}

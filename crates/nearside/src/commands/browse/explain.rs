//! What the planner believed of countries and ASes, and why it stopped, as a table.

use nearside_discover::planner::{
    AsView, CountryView, Explanation, GroupView, StopReason, Verdict,
};
use nearside_report::{Cell, Column, Table, text};

use crate::faces::numbers::count;

/// Countries told about, and ASes of each: what comes after them decided nothing.
const COUNTRIES: usize = 20;
const ASES: usize = 4;

/// Wide enough for all columns; a narrower terminal wraps, which keeps what belongs together in one
/// place.
const WIDTH: usize = 120;

/// The explanation as a text.
pub(super) fn explain(explanation: &Explanation) -> String {
    let mut table = Table::new("belief", why(explanation))
        .column(Column::new("country"))
        .column(Column::new("asn").heading("AS"))
        .column(Column::new("servers"))
        .column(Column::new("probed"))
        .column(Column::new("answered"))
        .column(Column::new("playable"))
        .column(Column::new("typical_ms").heading("typical RTT").unit("ms"))
        .column(Column::new("expected").heading("still expected"))
        .column(Column::new("why").heading("why no more"));
    let told = &explanation.countries[..explanation.countries.len().min(COUNTRIES)];
    for country in told {
        table.push(country_cells(country, explanation));
        for view in country.ases.iter().take(ASES) {
            table.push(as_cells(view, explanation));
        }
    }
    let mut text = text::table(&table, WIDTH);
    let untold = explanation.countries.len() - told.len();
    if untold > 0 {
        text += &format!("and {untold} countries with less\n");
    }
    if told.iter().any(has_brackets) {
        text += "RTTs in brackets are believed: nobody has answered there.\n";
    }
    text
}

fn why(explanation: &Explanation) -> String {
    let end = match explanation.verdict {
        Some(Verdict::FewMissing) => "enough of the playable servers are found",
        Some(Verdict::NotWorthIt) => "nothing promises enough playable servers for a probe",
        Some(Verdict::BestFound) => "no better server is likely",
        Some(Verdict::BetterNotWorthIt) => "no server promises enough to be a better one",
        None if explanation.stopped == Some(StopReason::Exhausted) => "every server was probed",
        None if explanation.expected_missed.is_none() => {
            "it was cut short before its first decision, so it cannot tell what is missing"
        }
        None => "it was cut short",
    };
    let expects = expects(explanation);
    format!("What the planner believed, and why it stopped: {end}.{expects}")
}

/// What it expects of those not probed; nothing where all were, or where it cannot tell.
fn expects(explanation: &Explanation) -> String {
    let (Some(missed), Some(better)) = (explanation.expected_missed, explanation.expected_better)
    else {
        return String::new();
    };
    if explanation.stopped == Some(StopReason::Exhausted) {
        return String::new();
    }
    let promise = explanation.best_promise.map_or(String::new(), |promise| {
        let of_a_hundred = 100.0 * promise;
        format!(
            "; no group promised more than {of_a_hundred:.1} playable ones for a hundred probes"
        )
    });
    format!(
        " It expects {} and {} among those not probed{promise}.",
        about(missed, "playable server"),
        about(better, "better one"),
    )
}

/// An expectation in whole ones: nobody meets a third of a server.
fn about(expected: f64, what: &str) -> String {
    match expected.round() as u64 {
        0 => format!("hardly any {what}"),
        some => format!("about {}", count(some, what)),
    }
}

fn country_cells(country: &CountryView, explanation: &Explanation) -> Vec<Cell> {
    cells(
        country.place.to_string(),
        String::new(),
        &country.all,
        explanation,
    )
}

fn as_cells(view: &AsView, explanation: &Explanation) -> Vec<Cell> {
    let asn = view.asn.map_or("?".to_owned(), |asn| asn.to_string());
    cells(String::new(), asn, &view.all, explanation)
}

fn cells(country: String, asn: String, view: &GroupView, explanation: &Explanation) -> Vec<Cell> {
    vec![
        Cell::Text(country),
        Cell::Text(asn),
        Cell::Count(view.servers.into()),
        Cell::Count(view.probed.into()),
        Cell::Count(view.answered.into()),
        Cell::Count(view.playable.into()),
        rtt(view),
        view.expected_left.map_or(Cell::Missing, |expected| {
            Cell::number(expected, if expected < 10.0 { 1 } else { 0 })
        }),
        Cell::Text(reason(view, explanation).to_owned()),
    ]
}

/// Whether an RTT of it that is told is only believed.
fn has_brackets(country: &CountryView) -> bool {
    let ases = country.ases.iter().take(ASES).map(|view| &view.all);
    let mut views = ases.chain([&country.all]);
    views.any(|view| view.typical_rtt.is_none() && view.believed_rtt.is_some())
}

/// The typical RTT of the answers; in brackets what is believed where there are none.
fn rtt(view: &GroupView) -> Cell {
    match (view.typical_rtt, view.believed_rtt) {
        (Some(typical), _) => Cell::number(typical.as_millis_f64(), 0),
        (None, Some(believed)) => Cell::Text(format!("({:.0})", believed.as_millis_f64())),
        (None, None) => Cell::Missing,
    }
}

/// Expected servers from which on a group was not left for its distance.
const SOME: f64 = 0.5;

/// Fewer silent servers than this say nothing of the others.
const FEW: u32 = 3;

/// Why no more of a group was probed.
fn reason(view: &GroupView, explanation: &Explanation) -> &'static str {
    let was_cut_short = explanation.stopped.is_none();
    let some_left = view.expected_left.is_none_or(|expected| expected >= SOME);
    let is_about_the_best = explanation.verdict.is_some_and(Verdict::is_about_the_best);
    let is_far = view
        .believed_rtt
        .is_some_and(|rtt| rtt >= explanation.rtt_stop);
    match view.probed {
        all if all == view.servers => "all probed",
        1..FEW if view.answered == 0 && is_far && !some_left => "far, to judge by its neighbours",
        1.. if view.answered == 0 && !was_cut_short => "silent",
        _ if some_left && is_about_the_best => "playable, but hardly better",
        _ if some_left && was_cut_short => "cut short",
        _ if some_left => "few expected, thinly spread",
        0 if is_far => "far, to judge by its neighbours",
        0 if was_cut_short => "cut short",
        0 => "few expected",
        _ if is_far => "far",
        _ => "the rest of it is far",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_discover::planner::PlaceName;
    use nearside_types::Rtt;

    fn view(servers: u32, probed: u32, typical_ms: Option<u32>) -> GroupView {
        GroupView {
            servers,
            probed,
            answered: typical_ms.map_or(0, |_| probed),
            playable: 0,
            typical_rtt: typical_ms.map(|ms| Rtt::from_micros(ms * 1000)),
            believed_rtt: Some(Rtt::from_micros(typical_ms.unwrap_or(140) * 1000)),
            expected_left: Some(0.04),
        }
    }

    #[test]
    fn every_group_has_its_reason() {
        let of = |servers, probed, typical| {
            let explanation = explanation(Some(Verdict::FewMissing));
            reason(&view(servers, probed, typical), &explanation)
        };
        assert_eq!(of(5, 5, Some(20)), "all probed");
        assert_eq!(of(5, 0, None), "few expected", "believed at 140 ms");
        assert_eq!(of(5, 2, None), "silent");
        assert_eq!(of(5, 2, Some(300)), "far");
        assert_eq!(of(5, 2, Some(100)), "the rest of it is far");
    }

    #[test]
    fn who_was_not_probed_is_called_far_only_if_believed_to_be() {
        let believed = |ms: u32, stopped| {
            let view = GroupView {
                believed_rtt: Some(Rtt::from_micros(ms * 1000)),
                ..view(5, 0, None)
            };
            let explanation = Explanation {
                stopped,
                ..explanation(None)
            };
            reason(&view, &explanation)
        };
        let own_end = Some(StopReason::Expected);
        assert_eq!(believed(200, own_end), "far, to judge by its neighbours");
        assert_eq!(believed(199, own_end), "few expected");
        assert_eq!(believed(199, None), "cut short");
        let silent = |probed| GroupView {
            believed_rtt: Some(Rtt::from_micros(375_000)),
            ..view(142, probed, None)
        };
        let reason = |probed| reason(&silent(probed), &explanation(Some(Verdict::FewMissing)));
        assert_eq!(reason(1), "far, to judge by its neighbours");
        assert_eq!(reason(3), "silent");
    }

    #[test]
    fn a_country_that_kept_silent_is_called_so_whatever_was_expected_of_it() {
        let silent = GroupView {
            expected_left: Some(3.0),
            ..view(677, 64, None)
        };
        for verdict in [Verdict::NotWorthIt, Verdict::BestFound] {
            assert_eq!(reason(&silent, &explanation(Some(verdict))), "silent");
        }
    }

    #[test]
    fn where_servers_are_still_expected_distance_is_no_reason() {
        let some_left = GroupView {
            expected_left: Some(3.0),
            ..view(50, 2, Some(100))
        };
        let of = |explanation: &Explanation| reason(&some_left, explanation);
        let own_end = |verdict| explanation(Some(verdict));
        assert_eq!(
            of(&own_end(Verdict::BestFound)),
            "playable, but hardly better"
        );
        assert_eq!(
            of(&own_end(Verdict::NotWorthIt)),
            "few expected, thinly spread"
        );
        let cut_short = Explanation {
            stopped: None,
            ..explanation(None)
        };
        assert_eq!(of(&cut_short), "cut short");
    }

    #[test]
    fn a_full_scan_ended_because_nothing_was_left() {
        let whole = Explanation {
            stopped: Some(StopReason::Exhausted),
            ..explanation(None)
        };
        let why = why(&whole);
        assert!(why.ends_with(": every server was probed."), "{why}");
    }

    #[test]
    fn who_was_cut_short_at_once_claims_nothing() {
        let view = GroupView {
            answered: 0,
            expected_left: None,
            ..view(50, 15, None)
        };
        let explanation = Explanation {
            stopped: None,
            expected_missed: None,
            expected_better: None,
            best_promise: None,
            ..explanation(None)
        };
        assert_eq!(reason(&view, &explanation), "cut short");
        let why = why(&explanation);
        assert!(why.contains("cut short before its first decision"), "{why}");
        assert!(!why.contains("expects"), "{why}");
    }

    #[test]
    fn a_promise_is_told_in_servers_for_probes_and_not_to_who_wants_the_best() {
        let all = explanation(Some(Verdict::NotWorthIt));
        assert!(
            why(&all).contains("promised more than 5.0 playable ones for a hundred probes"),
            "{}",
            why(&all)
        );
        let best = Explanation {
            best_promise: None,
            ..explanation(Some(Verdict::BestFound))
        };
        assert!(!why(&best).contains("promised"), "{}", why(&best));
    }

    fn explanation(verdict: Option<Verdict>) -> Explanation {
        Explanation {
            rtt_stop: Rtt::from_micros(200_000),
            stopped: Some(StopReason::Expected),
            verdict,
            expected_missed: Some(12.34),
            expected_better: Some(0.01),
            best_promise: Some(0.05),
            countries: Vec::new(),
        }
    }

    #[test]
    fn brackets_are_explained_only_where_there_are_some() {
        let country = CountryView {
            place: PlaceName::Country("AU".parse().unwrap()),
            all: view(40, 40, Some(31)),
            ases: Vec::new(),
        };
        let explanation = Explanation {
            countries: vec![country],
            ..explanation(Some(Verdict::FewMissing))
        };
        assert!(!explain(&explanation).contains("brackets"));
    }

    #[test]
    fn countries_come_with_their_ases_and_the_end_is_explained() {
        let country = CountryView {
            place: PlaceName::Country("AU".parse().unwrap()),
            all: view(40, 40, Some(31)),
            ases: vec![AsView {
                asn: None,
                all: view(7, 0, None),
            }],
        };
        let explanation = Explanation {
            countries: vec![country; 25],
            ..explanation(Some(Verdict::FewMissing))
        };
        let text = explain(&explanation);
        let text: Vec<&str> = text.split_whitespace().collect();
        let text = text.join(" ");
        for words in [
            "enough of the playable servers are found",
            "expects about 12 playable servers and hardly any better one",
            "AU",
            "all probed",
            "? 7 0 0 0 (140) 0.0 few expected",
            "and 5 countries with less",
            "in brackets are believed",
        ] {
            assert!(text.contains(words), "no `{words}` in\n{text}");
        }
    }
}

//! What the planner believed of countries and ASes, and why it stopped, as a table.

use nearside_discover::planner::{AsView, CountryView, Explanation, GroupView, Verdict};
use nearside_report::{Cell, Column, Table, text};
use nearside_types::Rtt;

/// Countries told about, and ASes of each: what comes after them decided nothing.
const COUNTRIES: usize = 20;
const ASES: usize = 4;

/// Wide enough for all columns; a narrower terminal wraps.
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
    let untold = explanation.countries.len() - told.len();
    let rest = match untold {
        0 => String::new(),
        _ => format!("and {untold} countries with less\n"),
    };
    format!("{}{rest}", text::table(&table, WIDTH))
}

fn why(explanation: &Explanation) -> String {
    let promise = 100.0 * explanation.best_promise;
    let end = match explanation.verdict {
        Some(Verdict::FewMissing) => "enough of the playable servers are found",
        Some(Verdict::NotWorthIt) => "nothing promises enough playable servers for a probe",
        Some(Verdict::BestFound) => "no better server is likely",
        None => "not by its own decision",
    };
    format!(
        "What the planner believed, and why it stopped: {end}. It expects {:.1} playable servers \
and {:.2} better ones among those not probed; the most promising probe had {promise:.1} % to find \
a playable one.",
        explanation.expected_missed, explanation.expected_better
    )
}

fn country_cells(country: &CountryView, explanation: &Explanation) -> Vec<Cell> {
    let name = country.country.map_or("?".to_owned(), |c| c.to_string());
    cells(name, String::new(), &country.all, explanation)
}

fn as_cells(view: &AsView, explanation: &Explanation) -> Vec<Cell> {
    let asn = view.asn.map_or("?".to_owned(), |asn| asn.to_string());
    cells(String::new(), asn, &view.all, explanation)
}

fn cells(country: String, asn: String, view: &GroupView, explanation: &Explanation) -> Vec<Cell> {
    let typical = view.typical_rtt.map(Rtt::as_millis_f64);
    vec![
        Cell::Text(country),
        Cell::Text(asn),
        Cell::Count(view.servers.into()),
        Cell::Count(view.probed.into()),
        Cell::Count(view.answered.into()),
        Cell::Count(view.playable.into()),
        typical.map_or(Cell::Missing, |ms| Cell::number(ms, 0)),
        Cell::number(view.expected_left, 1),
        Cell::Text(reason(view, explanation).to_owned()),
    ]
}

/// Expected servers from which on a group was not left for its distance.
const SOME: f64 = 0.5;

/// Why no more of a group was probed.
fn reason(view: &GroupView, explanation: &Explanation) -> &'static str {
    let some_left = view.expected_left >= SOME;
    match view.typical_rtt {
        _ if view.probed == view.servers => "all probed",
        _ if some_left && explanation.verdict == Some(Verdict::BestFound) => "no better one likely",
        _ if some_left && explanation.stopped.is_none() => "cut short",
        _ if some_left => "few left, thinly spread",
        None if view.probed == 0 => "far, to judge by its neighbours",
        None => "silent",
        Some(typical) if typical >= explanation.rtt_stop => "far",
        Some(_) => "the rest of it is far",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_discover::planner::StopReason;

    fn view(servers: u32, probed: u32, typical_ms: Option<u32>) -> GroupView {
        GroupView {
            servers,
            probed,
            answered: typical_ms.map_or(0, |_| probed),
            playable: 0,
            typical_rtt: typical_ms.map(|ms| Rtt::from_micros(ms * 1000)),
            expected_left: 0.04,
        }
    }

    #[test]
    fn every_group_has_its_reason() {
        let of = |servers, probed, typical| {
            let explanation = explanation(Some(Verdict::FewMissing));
            reason(&view(servers, probed, typical), &explanation)
        };
        assert_eq!(of(5, 5, Some(20)), "all probed");
        assert_eq!(of(5, 0, None), "far, to judge by its neighbours");
        assert_eq!(of(5, 2, None), "silent");
        assert_eq!(of(5, 2, Some(300)), "far");
        assert_eq!(of(5, 2, Some(100)), "the rest of it is far");
    }

    #[test]
    fn where_servers_are_still_expected_distance_is_no_reason() {
        let some_left = GroupView {
            expected_left: 3.0,
            ..view(50, 2, Some(100))
        };
        let of = |explanation: &Explanation| reason(&some_left, explanation);
        let own_end = |verdict| explanation(Some(verdict));
        assert_eq!(of(&own_end(Verdict::BestFound)), "no better one likely");
        assert_eq!(of(&own_end(Verdict::NotWorthIt)), "few left, thinly spread");
        let cut_short = Explanation {
            stopped: None,
            ..explanation(None)
        };
        assert_eq!(of(&cut_short), "cut short");
    }

    fn explanation(verdict: Option<Verdict>) -> Explanation {
        Explanation {
            rtt_stop: Rtt::from_micros(200_000),
            stopped: Some(StopReason::Expected),
            verdict,
            expected_missed: 12.34,
            expected_better: 0.01,
            best_promise: 0.05,
            countries: Vec::new(),
        }
    }

    #[test]
    fn countries_come_with_their_ases_and_the_end_is_explained() {
        let country = CountryView {
            country: "AU".parse().ok(),
            all: view(40, 40, Some(31)),
            ases: vec![AsView {
                asn: None,
                all: view(7, 2, Some(300)),
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
            "expects 12.3 playable servers",
            "AU",
            "all probed",
            "and 5 countries with less",
        ] {
            assert!(text.contains(words), "no `{words}` in\n{text}");
        }
    }
}

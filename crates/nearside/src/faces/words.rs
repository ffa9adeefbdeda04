//! The summary in words: why it stopped, what was found, what it cost beside a full scan, and to
//! how many servers the user's address was shown.

use std::io::{self, Write};

use nearside_discover::planner::{StopReason, Verdict};
use nearside_discover::snapshot::Summary;
use nearside_types::Rtt;

use super::numbers::{bytes, count, seconds, thousands};
use super::selection::Chosen;

/// How many of the rows that were found are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Rows shown.
    pub rows: usize,
    /// Rows that pass the filters.
    pub matching: usize,
    /// Rows there were.
    pub out_of: usize,
}

/// The summary, one sentence a line. `stop_rtt` is the round-trip time from which on a server does
/// not count as playable.
pub fn sentences(summary: &Summary, stop_rtt: Rtt, shown: Shown) -> Vec<String> {
    if summary.listed == 0 {
        return vec!["No server was listed, so none was probed.".to_owned()];
    }
    let mut sentences = vec![why(summary, stop_rtt), found(summary)];
    sentences.extend(near_everything(summary));
    sentences.extend(left_out(shown));
    sentences.push(cost(summary));
    sentences.push(privacy(summary));
    sentences
}

/// Writes the sentences on what was chosen.
pub(crate) fn write(notes: &mut dyn Write, chosen: &Chosen, stop_rtt: Rtt) -> io::Result<()> {
    for sentence in sentences(&chosen.snapshot.summary, stop_rtt, chosen.shown()) {
        writeln!(notes, "{sentence}")?;
    }
    notes.flush()
}

fn why(summary: &Summary, stop_rtt: Rtt) -> String {
    let Some(reason) = summary.stopped else {
        return "Still running.".to_owned();
    };
    let millis = stop_rtt.as_millis_f64();
    match reason {
        StopReason::AutoStop => {
            format!(
                "Stopped by itself (auto-stop): nearly all that is left is farther than {millis} ms, though a few nearer servers may be missed."
            )
        }
        StopReason::Exhausted => "Probed every server there was (exhausted).".to_owned(),
        StopReason::Limit => format!(
            "Stopped at the limit that was set (limit){}.",
            still_to_find(summary, ": ")
        ),
        StopReason::Interrupted => format!(
            "Stopped by you (interrupted): this is what was found until then{}.",
            still_to_find(summary, "; ")
        ),
        StopReason::Expected => expected(summary),
    }
}

/// Below 1 % of what was found a planner's guess is too good (`docs/evaluation.md`): nobody is
/// promised more than that.
const LEAST_MISSING: f64 = 0.01;

/// Playable servers that are missing, as far as the planner can honestly say.
fn missing(summary: &Summary) -> Option<f64> {
    let least = LEAST_MISSING * summary.playable as f64;
    summary.expected_missed.map(|missed| missed.max(least))
}

/// What a run that was cut short leaves behind, after `link`; nothing where nobody can tell.
fn still_to_find(summary: &Summary, link: &str) -> String {
    match missing(summary).map(|missing| missing.round() as u64) {
        None | Some(0) => String::new(),
        Some(some) => format!(
            "{link}about {} should still be to find",
            count(some, "playable server")
        ),
    }
}

fn expected(summary: &Summary) -> String {
    let missing = match missing(summary).map(|missing| missing.round() as u64) {
        None | Some(0) => "hardly any playable server".to_owned(),
        Some(some) => format!("about {}", count(some, "playable server")),
    };
    let words = match summary.verdict {
        Some(Verdict::BestFound) => best_found(summary.expected_better),
        Some(Verdict::NotWorthIt) => {
            format!("{missing} should be missing, too thinly spread to be worth looking for")
        }
        Some(Verdict::FewMissing) | None => format!("{missing} should be missing"),
    };
    format!("Stopped by itself (expected): {words}.")
}

/// The expected number of better servers as a chance that there is one.
fn best_found(better: Option<f64>) -> String {
    let chance = 100.0 * (1.0 - (-better.unwrap_or(0.0)).exp());
    format!("the chance that a better server was missed is about {chance:.0} %")
}

/// Who has nearly everything around the corner saves no probes, and should know.
fn near_everything(summary: &Summary) -> Option<String> {
    // Near servers are asked first: what answered so far says nothing of the rest.
    let alive = summary.answered as f64 / summary.probed.max(1) as f64;
    let answering = (alive * summary.listed as f64).max(1.0);
    let playable = summary.playable as f64 + summary.expected_missed.unwrap_or(0.0);
    let share = (playable / answering).min(1.0);
    let is_near = share >= 0.8 && summary.answered >= 100;
    (is_near && summary.verdict != Some(Verdict::BestFound)).then(|| {
        format!(
            "Nearly everything is near you ({:.0} % of what answers is playable), so listing it all takes nearly a full scan; --best 10 finds the ten best at once.",
            100.0 * share
        )
    })
}

fn found(summary: &Summary) -> String {
    if summary.answered == 0 {
        return "No server answered.".to_owned();
    }
    let playable = match summary.playable {
        0 => "no playable server".to_owned(),
        some => count(some as u64, "playable server"),
    };
    let answered = thousands(summary.answered as u64);
    format!("Found {playable} (of {answered} that answered).")
}

fn left_out(shown: Shown) -> Option<String> {
    let Shown {
        rows,
        matching,
        out_of,
    } = shown;
    let all = count(out_of as u64, "server");
    let number = |count: usize| thousands(count as u64);
    if matching == 0 && out_of > 0 {
        return Some(format!(
            "None of {all} passes the filters: leave one away, or look again when more are playing."
        ));
    }
    let cut = (rows < matching).then_some("--top N shows more");
    match (matching < out_of, cut) {
        (false, None) => None,
        (false, Some(cut)) => Some(format!("Showing {} of {all}; {cut}.", number(rows))),
        (true, None) => Some(format!(
            "Showing {} of {all}: the others do not pass the filters.",
            number(rows)
        )),
        (true, Some(cut)) => Some(format!(
            "Showing {} of the {} that pass the filters, of {all}; {cut}.",
            number(rows),
            number(matching)
        )),
    }
}

fn cost(summary: &Summary) -> String {
    let traffic = summary.bytes_sent.saturating_add(summary.bytes_received);
    let spent = format!(
        "Cost {}, {}, {} in {}",
        count(summary.probes_sent, "probe"),
        bytes(traffic),
        count(summary.flows, "flow"),
        seconds(summary.seconds),
    );
    if summary.probed >= summary.listed {
        return format!("{spent}: a full scan.");
    }
    let full = &summary.full_scan;
    format!(
        "{spent}; a full scan: {}, {}, {}.",
        count(full.probes, "probe"),
        bytes(full.bytes),
        seconds(full.seconds),
    )
}

fn privacy(summary: &Summary) -> String {
    let listed = count(summary.listed as u64, "server");
    if summary.probed >= summary.listed {
        return format!("Your address was shown to all of {listed}.");
    }
    let probed = thousands(summary.probed as u64);
    format!("Your address was shown to {probed} of {listed}.")
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::summary;
    use super::*;

    const STOP: Rtt = Rtt::from_micros(200_000);
    const ALL: Shown = Shown {
        rows: 4_310,
        matching: 4_310,
        out_of: 4_310,
    };

    #[test]
    fn an_early_stop_shows_what_it_saved() {
        let expected = "
Stopped by itself (auto-stop): nearly all that is left is farther than 200 ms, though a few nearer servers may be missed.
Found 1,402 playable servers (of 4,310 that answered).
Cost 4,731 probes, 1.2 MB, 4,698 flows in 35.2 s; a full scan: 28,648 probes, 6.9 MB, 204 s.
Your address was shown to 4,690 of 28,400 servers.";
        assert_eq!(
            format!("\n{}", sentences(&summary(), STOP, ALL).join("\n")),
            expected
        );
    }

    #[test]
    fn a_full_scan_is_not_compared_with_itself() {
        let whole = Summary {
            listed: 2,
            probed: 2,
            answered: 1,
            playable: 1,
            probes_sent: 4,
            bytes_sent: 212,
            bytes_received: 100,
            flows: 4,
            seconds: 3.0,
            stopped: Some(StopReason::Exhausted),
            ..summary()
        };
        let expected = "
Probed every server there was (exhausted).
Found 1 playable server (of 1 that answered).
Cost 4 probes, 312 B, 4 flows in 3.0 s: a full scan.
Your address was shown to all of 2 servers.";
        let shown = Shown {
            rows: 1,
            matching: 1,
            out_of: 1,
        };
        assert_eq!(
            format!("\n{}", sentences(&whole, STOP, shown).join("\n")),
            expected
        );
    }

    #[test]
    fn every_reason_has_its_sentence() {
        let first = |stopped, expected_missed| {
            let summary = Summary {
                stopped,
                expected_missed,
                ..summary()
            };
            sentences(&summary, STOP, ALL).swap_remove(0)
        };
        assert_eq!(first(None, None), "Still running.");
        assert_eq!(
            first(Some(StopReason::Limit), None),
            "Stopped at the limit that was set (limit)."
        );
        assert_eq!(
            first(Some(StopReason::Interrupted), None),
            "Stopped by you (interrupted): this is what was found until then."
        );
        assert_eq!(
            first(Some(StopReason::Limit), Some(120.3)),
            "Stopped at the limit that was set (limit): about 120 playable servers should still be to find."
        );
        assert_eq!(
            first(Some(StopReason::Expected), Some(0.42)),
            "Stopped by itself (expected): about 14 playable servers should be missing.",
            "never less than 1 %"
        );
        assert_eq!(
            first(Some(StopReason::Expected), None),
            "Stopped by itself (expected): hardly any playable server should be missing."
        );
    }

    #[test]
    fn the_planner_s_verdict_is_told_in_words() {
        let first = |verdict, expected_better| {
            let summary = Summary {
                stopped: Some(StopReason::Expected),
                verdict: Some(verdict),
                expected_missed: Some(25.2),
                expected_better,
                ..summary()
            };
            sentences(&summary, STOP, ALL).swap_remove(0)
        };
        assert_eq!(
            first(Verdict::NotWorthIt, None),
            "Stopped by itself (expected): about 25 playable servers should be missing, too thinly spread to be worth looking for."
        );
        assert_eq!(
            first(Verdict::BestFound, Some(0.105)),
            "Stopped by itself (expected): the chance that a better server was missed is about 10 %."
        );
    }

    #[test]
    fn who_has_everything_nearby_is_told_so() {
        let near = Summary {
            playable: 4_000,
            expected_missed: Some(20_000.0),
            ..summary()
        };
        let line = "Nearly everything is near you (92 % of what answers is playable), so listing it all takes nearly a full scan; --best 10 finds the ten best at once.";
        assert!(sentences(&near, STOP, ALL).contains(&line.to_owned()));
        let best = Summary {
            verdict: Some(Verdict::BestFound),
            ..near
        };
        assert!(!sentences(&best, STOP, ALL).contains(&line.to_owned()));
        assert!(!sentences(&summary(), STOP, ALL).contains(&line.to_owned()));
    }

    #[test]
    fn a_run_that_was_cut_short_among_near_servers_says_nothing_of_the_rest() {
        let cut_short = Summary {
            playable: 4_310,
            stopped: Some(StopReason::Limit),
            ..summary()
        };
        let said = sentences(&cut_short, STOP, ALL).concat();
        assert!(!said.contains("Nearly everything"), "{said}");
    }

    #[test]
    fn nothing_found_is_said_plainly() {
        let line = |summary: &Summary| found(summary);
        let silent = Summary {
            answered: 0,
            playable: 0,
            ..summary()
        };
        assert_eq!(line(&silent), "No server answered.");
        let far = Summary {
            playable: 0,
            ..summary()
        };
        assert_eq!(
            line(&far),
            "Found no playable server (of 4,310 that answered)."
        );
        let none = Summary {
            listed: 0,
            ..summary()
        };
        assert_eq!(
            sentences(&none, STOP, ALL),
            ["No server was listed, so none was probed."]
        );
    }

    #[test]
    fn what_is_left_out_is_said_with_its_reason() {
        let line = |rows, matching| {
            left_out(Shown {
                rows,
                matching,
                out_of: 4_310,
            })
        };
        assert_eq!(line(4_310, 4_310), None);
        let said = |rows, matching| line(rows, matching).unwrap();
        assert_eq!(
            said(20, 4_310),
            "Showing 20 of 4,310 servers; --top N shows more."
        );
        assert_eq!(
            said(7, 7),
            "Showing 7 of 4,310 servers: the others do not pass the filters."
        );
        assert_eq!(
            said(20, 100),
            "Showing 20 of the 100 that pass the filters, of 4,310 servers; --top N shows more."
        );
        assert_eq!(
            said(0, 0),
            "None of 4,310 servers passes the filters: leave one away, or look again when more are playing."
        );
    }
}

//! The summary in words: why it stopped, what was found, what it cost beside a full scan, and to
//! how many servers the user's address was shown.

use std::io::{self, Write};

use nearside_discover::planner::StopReason;
use nearside_discover::snapshot::Summary;
use nearside_types::Rtt;

use super::numbers::{bytes, count, seconds, thousands};
use super::selection::Chosen;

/// How many of the rows that were found are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Rows shown.
    pub rows: usize,
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
        StopReason::Limit => "Stopped at the limit that was set (limit).".to_owned(),
        StopReason::Interrupted => {
            "Stopped by you (interrupted): this is what was found until then.".to_owned()
        }
        StopReason::Expected => expected(summary.expected_missed),
    }
}

fn expected(missed: Option<f64>) -> String {
    let missed = missed.map_or("hardly any playable server".to_owned(), |missed| {
        format!("about {missed:.1} playable servers")
    });
    format!("Stopped by itself (expected): {missed} should be missing.")
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
    (shown.rows < shown.out_of).then(|| {
        let rows = thousands(shown.rows as u64);
        let all = count(shown.out_of as u64, "server");
        format!("Showing {rows} of {all}; filters leave some out, and --top N shows more.")
    })
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
        let shown = Shown { rows: 1, out_of: 1 };
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
            first(Some(StopReason::Expected), Some(0.42)),
            "Stopped by itself (expected): about 0.4 playable servers should be missing."
        );
        assert_eq!(
            first(Some(StopReason::Expected), None),
            "Stopped by itself (expected): hardly any playable server should be missing."
        );
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
    fn what_is_left_out_is_said() {
        let shown = Shown {
            rows: 20,
            out_of: 4_310,
        };
        let text = sentences(&summary(), STOP, shown).join("\n");
        let line =
            "\nShowing 20 of 4,310 servers; filters leave some out, and --top N shows more.\n";
        assert!(text.contains(line), "{text}");
    }
}

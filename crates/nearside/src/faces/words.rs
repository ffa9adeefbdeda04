//! The summary in words: why it stopped, what was found, what it cost beside a full scan, and to
//! how many servers the user's address was shown.

use std::io::{self, Write};

use nearside_discover::planner::{StopReason, Verdict};
use nearside_discover::snapshot::Summary;

use nearside_report::text::paragraph;

use super::goal::{Goal, Nearness};
use super::numbers::{bytes, count, seconds, thousands};
use super::selection::Chosen;

/// How many of the rows that were found are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Rows shown.
    pub rows: usize,
    /// Rows that pass the filters.
    pub matching: usize,
    /// Rows that would pass if they were nearer.
    pub too_far: usize,
    /// Rows there were.
    pub out_of: usize,
}

/// The summary of a run that looked for `goal`, one sentence a line.
pub fn sentences(summary: &Summary, goal: Goal, shown: Shown) -> Vec<String> {
    if summary.listed == 0 {
        return vec!["No server was listed, so none was probed.".to_owned()];
    }
    let mut sentences = vec![why(summary, goal, shown), found(summary)];
    sentences.extend(near_everything(summary, goal));
    sentences.extend(left_out(shown, goal));
    sentences.push(cost(summary));
    sentences.push(privacy(summary));
    sentences
}

/// Writes the sentences on what was chosen, on a terminal broken between words.
pub(crate) fn write(
    notes: &mut dyn Write,
    chosen: &Chosen,
    goal: Goal,
    width: Option<usize>,
) -> io::Result<()> {
    for sentence in sentences(&chosen.snapshot.summary, goal, chosen.shown()) {
        match width {
            Some(width) => writeln!(notes, "{}", paragraph(&sentence, width))?,
            None => writeln!(notes, "{sentence}")?,
        }
    }
    notes.flush()
}

fn why(summary: &Summary, goal: Goal, shown: Shown) -> String {
    let Some(reason) = summary.stopped else {
        return "Still running.".to_owned();
    };
    let millis = goal.stop_rtt.as_millis_f64();
    match reason {
        StopReason::AutoStop => {
            format!(
                "Stopped by itself (auto-stop): nearly all that is left is farther than {millis} ms, though a few nearer servers may be missed."
            )
        }
        StopReason::Exhausted => "Probed every server there was (exhausted).".to_owned(),
        StopReason::Limit => format!(
            "Stopped at the limit that was set (limit){}.",
            still_to_find(summary, goal, shown, ": ")
        ),
        StopReason::Interrupted => format!(
            "Stopped by you (interrupted): this is what was found until then{}.",
            still_to_find(summary, goal, shown, "; ")
        ),
        StopReason::Expected => expected(summary, goal, shown),
    }
}

/// What a run that was cut short leaves behind, after `link`; nothing where nobody can tell, or
/// nobody has answered yet. Who wants the best only is not told of all the others.
fn still_to_find(summary: &Summary, goal: Goal, shown: Shown, link: &str) -> String {
    let left = match (
        goal.only_best,
        summary.expected_better,
        summary.expected_missed,
    ) {
        (true, None, _) | (false, _, None) => return String::new(),
        _ if summary.answered == 0 => return String::new(),
        (true, Some(better), _) => better_left(better, goal, shown),
        (false, _, Some(missed)) => format!(
            "{} should still be to find{}",
            about_playable(missed),
            of_the_best(summary, goal, shown)
        ),
    };
    format!("{link}{left}")
}

fn better_left(better: f64, goal: Goal, shown: Shown) -> String {
    let wanted = shown.wanted();
    match better.round() as u64 {
        0 => {
            let chance = chance(better);
            format!("the chance that a {wanted} server is still to be found is {chance}")
        }
        some if some >= goal.best as u64 => {
            format!("most of the {} should still be to find", goal.the_best())
        }
        some => {
            let better = count(some, &format!("{wanted} server"));
            format!("about {better} should still be to find")
        }
    }
}

/// Playable servers in whole ones: nobody meets a third of a server. How far such a figure may be
/// trusted is in `docs/evaluation.md`.
fn about_playable(expected: f64) -> String {
    match expected.round() as u64 {
        0 => "hardly any playable server".to_owned(),
        some => format!("about {}", count(some, "playable server")),
    }
}

fn expected(summary: &Summary, goal: Goal, shown: Shown) -> String {
    if summary.answered == 0 {
        return "Stopped by itself: nobody answered, and hardly any of the others is expected to."
            .to_owned();
    }
    let missed = summary.expected_missed.unwrap_or(0.0);
    let missing = format!("{} should be missing", about_playable(missed));
    let of_the_best = of_the_best(summary, goal, shown);
    let words = match summary.verdict {
        Some(Verdict::BestFound | Verdict::BetterNotWorthIt) => {
            better(summary.expected_better.unwrap_or(0.0), shown.wanted())
        }
        Some(Verdict::NotWorthIt) if missed >= 0.5 => {
            format!("{missing}, too thinly spread to be worth looking for{of_the_best}")
        }
        Some(Verdict::NotWorthIt | Verdict::FewMissing) | None => {
            format!("{missing}{of_the_best}")
        }
    };
    format!("Stopped by itself, having seen enough: {words}.")
}

impl Shown {
    /// What servers are looked for: where none is found yet, any that passes the filters.
    const fn wanted(self) -> &'static str {
        match self.matching {
            0 => "matching",
            _ => "better",
        }
    }
}

/// How many better servers are missing; where one hardly is, the chance that there is one.
fn better(expected: f64, wanted: &str) -> String {
    if expected >= 1.0 {
        let some = count(expected.round() as u64, &format!("{wanted} server"));
        return format!(
            "about {some} should be missing, too thinly spread to be worth looking for"
        );
    }
    format!(
        "the chance that a {wanted} server was missed is {}",
        chance(expected)
    )
}

/// Who looked for all playable servers plays on one of the best: how many of those are missing. Where
/// nothing passes the filters there is no best yet: then, how many of the missing ones would pass.
fn of_the_best(summary: &Summary, goal: Goal, shown: Shown) -> String {
    let Some(expected) = summary.expected_better else {
        return String::new();
    };
    let (best, chance) = (goal.the_best(), chance(expected));
    match (shown.matching, expected.round() as u64) {
        (0, 0) => format!("; the chance that one of them passes the filters is {chance}"),
        (0, some) => format!("; about {} may pass the filters", thousands(some)),
        (_, 0) => format!("; the chance that one of the {best} is missing is {chance}"),
        (_, some) if some >= goal.best as u64 => format!("; most of the {best} may be missing"),
        (_, some) => format!(
            "; about {} of the {best} should be missing",
            thousands(some)
        ),
    }
}

/// The chance that there is one where so many are expected.
fn chance(expected: f64) -> String {
    let percent = 100.0 * (1.0 - (-expected).exp());
    match percent.round() {
        0.0 => "below 1 %".to_owned(),
        whole => format!("about {whole} %"),
    }
}

/// Who has nearly everything around the corner saves no probes, and should know.
fn near_everything(summary: &Summary, goal: Goal) -> Option<String> {
    let nearness = Nearness::from(summary);
    let share = nearness.nearly_all()?;
    let figure = match nearness.is_settled() {
        true => format!(" ({:.0} % of what answers is playable)", 100.0 * share),
        false => String::new(),
    };
    let so = match goal.only_best {
        true => ": you may play on nearly any server",
        false => {
            ", so listing it all takes nearly a full scan; --best 10 looks for the ten best only"
        }
    };
    Some(format!("Nearly everything is near you{figure}{so}."))
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

fn left_out(shown: Shown, goal: Goal) -> Option<String> {
    let Shown {
        rows,
        matching,
        too_far,
        out_of,
    } = shown;
    let all = count(out_of as u64, "server");
    let number = |count: usize| thousands(count as u64);
    if matching == 0 && too_far > 0 {
        return Some(format!(
            "None of {all} passes the filters; {} would if nearer: raise --max-rtt.",
            number(too_far)
        ));
    }
    if matching == 0 && out_of > 0 {
        return Some(format!(
            "None of {all} passes the filters: leave one away, or look again when more are playing."
        ));
    }
    let is_all_looked_for = goal.only_best && rows >= goal.best;
    let more = match is_all_looked_for {
        true => "a larger --best looks for more",
        false => "--top N shows more",
    };
    let cut = (rows < matching).then_some(more);
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
    use super::super::fixtures::{GOAL, summary};
    use super::*;

    const ONLY_BEST: Goal = Goal {
        only_best: true,
        ..GOAL
    };
    const ALL: Shown = Shown {
        rows: 4_310,
        matching: 4_310,
        too_far: 0,
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
            format!("\n{}", sentences(&summary(), GOAL, ALL).join("\n")),
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
            too_far: 0,
            out_of: 1,
        };
        assert_eq!(
            format!("\n{}", sentences(&whole, GOAL, shown).join("\n")),
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
            sentences(&summary, GOAL, ALL).swap_remove(0)
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
            "Stopped by itself, having seen enough: hardly any playable server should be missing."
        );
        assert_eq!(
            first(Some(StopReason::Expected), None),
            "Stopped by itself, having seen enough: hardly any playable server should be missing."
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
            sentences(&summary, GOAL, ALL).swap_remove(0)
        };
        assert_eq!(
            first(Verdict::NotWorthIt, None),
            "Stopped by itself, having seen enough: about 25 playable servers should be missing, too thinly spread to be worth looking for."
        );
        assert_eq!(
            first(Verdict::NotWorthIt, Some(1.9)),
            "Stopped by itself, having seen enough: about 25 playable servers should be missing, too thinly spread to be worth looking for; about 2 of the ten best should be missing."
        );
        assert_eq!(
            first(Verdict::NotWorthIt, Some(12.0)),
            "Stopped by itself, having seen enough: about 25 playable servers should be missing, too thinly spread to be worth looking for; most of the ten best may be missing."
        );
        assert_eq!(
            first(Verdict::FewMissing, Some(0.105)),
            "Stopped by itself, having seen enough: about 25 playable servers should be missing; the chance that one of the ten best is missing is about 10 %."
        );
        assert_eq!(
            first(Verdict::FewMissing, Some(0.004)),
            "Stopped by itself, having seen enough: about 25 playable servers should be missing; the chance that one of the ten best is missing is below 1 %."
        );
        assert_eq!(
            first(Verdict::BestFound, Some(0.105)),
            "Stopped by itself, having seen enough: the chance that a better server was missed is about 10 %."
        );
        assert_eq!(
            first(Verdict::BetterNotWorthIt, Some(1.9)),
            "Stopped by itself, having seen enough: about 2 better servers should be missing, too thinly spread to be worth looking for."
        );
    }

    #[test]
    fn who_wants_the_best_is_not_told_of_all_the_others() {
        let first = |stopped, expected_better| {
            let summary = Summary {
                stopped: Some(stopped),
                expected_missed: Some(26_728.0),
                expected_better: Some(expected_better),
                ..summary()
            };
            sentences(&summary, ONLY_BEST, ALL).swap_remove(0)
        };
        assert_eq!(
            first(StopReason::Limit, 2.7),
            "Stopped at the limit that was set (limit): about 3 better servers should still be to find."
        );
        assert_eq!(
            first(StopReason::Limit, 800.0),
            "Stopped at the limit that was set (limit): most of the ten best should still be to find."
        );
        assert_eq!(
            first(StopReason::Interrupted, 0.2),
            "Stopped by you (interrupted): this is what was found until then; the chance that a better server is still to be found is about 18 %."
        );
    }

    #[test]
    fn who_has_everything_nearby_is_told_so() {
        let near = Summary {
            playable: 4_000,
            expected_missed: Some(20_000.0),
            ..summary()
        };
        let line = "Nearly everything is near you, so listing it all takes nearly a full scan; --best 10 looks for the ten best only.";
        let says = |summary: &Summary, goal, line: &str| {
            sentences(summary, goal, ALL).contains(&line.to_owned())
        };
        assert!(says(&near, GOAL, line), "early on without a figure");
        let cut_short = Summary {
            stopped: Some(StopReason::Limit),
            ..near.clone()
        };
        assert!(!says(&cut_short, ONLY_BEST, line));
        let any = "Nearly everything is near you: you may play on nearly any server.";
        assert!(says(&cut_short, ONLY_BEST, any), "who wants the best, too");
        assert!(!says(&summary(), GOAL, line));
        let later = Summary {
            probed: 20_000,
            answered: 18_400,
            playable: 18_000,
            expected_missed: Some(6_000.0),
            ..near
        };
        let line = "Nearly everything is near you (92 % of what answers is playable), so listing it all takes nearly a full scan; --best 10 looks for the ten best only.";
        assert!(says(&later, GOAL, line));
    }

    #[test]
    fn a_run_that_was_cut_short_among_near_servers_says_nothing_of_the_rest() {
        let cut_short = Summary {
            playable: 4_310,
            stopped: Some(StopReason::Limit),
            ..summary()
        };
        let said = sentences(&cut_short, GOAL, ALL).concat();
        assert!(!said.contains("Nearly everything"), "{said}");
    }

    #[test]
    fn a_run_that_was_cut_short_says_whether_the_ten_best_are_final() {
        let first = |expected_missed, expected_better| {
            let summary = Summary {
                stopped: Some(StopReason::Limit),
                expected_missed: Some(expected_missed),
                expected_better: Some(expected_better),
                ..summary()
            };
            sentences(&summary, GOAL, ALL).swap_remove(0)
        };
        assert_eq!(
            first(120.3, 2.7),
            "Stopped at the limit that was set (limit): about 120 playable servers should still be to find; about 3 of the ten best should be missing."
        );
        assert_eq!(
            first(0.2, 0.105),
            "Stopped at the limit that was set (limit): hardly any playable server should still be to find; the chance that one of the ten best is missing is about 10 %."
        );
    }

    #[test]
    fn where_nothing_matches_nobody_speaks_of_the_best() {
        let nothing = Shown {
            rows: 0,
            matching: 0,
            ..ALL
        };
        let first = |stopped, expected_better| {
            let summary = Summary {
                stopped: Some(stopped),
                expected_missed: Some(3.2),
                expected_better: Some(expected_better),
                ..summary()
            };
            sentences(&summary, GOAL, nothing).swap_remove(0)
        };
        assert_eq!(
            first(StopReason::Expected, 0.02),
            "Stopped by itself, having seen enough: about 3 playable servers should be missing; the chance that one of them passes the filters is about 2 %."
        );
        assert_eq!(
            first(StopReason::Limit, 1.7),
            "Stopped at the limit that was set (limit): about 3 playable servers should still be to find; about 2 may pass the filters."
        );
    }

    #[test]
    fn where_nobody_answered_no_chance_is_made_up() {
        let first = |stopped| {
            let summary = Summary {
                stopped: Some(stopped),
                answered: 0,
                playable: 0,
                expected_missed: Some(3.2),
                expected_better: Some(0.17),
                ..summary()
            };
            sentences(&summary, GOAL, ALL).swap_remove(0)
        };
        assert_eq!(
            first(StopReason::Expected),
            "Stopped by itself: nobody answered, and hardly any of the others is expected to."
        );
        assert_eq!(
            first(StopReason::Limit),
            "Stopped at the limit that was set (limit)."
        );
    }

    #[test]
    fn a_few_that_are_missing_are_not_called_thinly_spread() {
        let summary = Summary {
            stopped: Some(StopReason::Expected),
            verdict: Some(Verdict::NotWorthIt),
            expected_missed: Some(0.3),
            ..summary()
        };
        assert_eq!(
            sentences(&summary, GOAL, ALL)[0],
            "Stopped by itself, having seen enough: hardly any playable server should be missing."
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
            sentences(&none, GOAL, ALL),
            ["No server was listed, so none was probed."]
        );
    }

    #[test]
    fn what_is_left_out_is_said_with_its_reason() {
        let line = |rows, matching| {
            let shown = Shown {
                rows,
                matching,
                too_far: 0,
                out_of: 4_310,
            };
            left_out(shown, GOAL)
        };
        assert_eq!(line(4_310, 4_310), None);
        let said = |rows, matching| line(rows, matching).unwrap();
        assert_eq!(
            said(20, 4_310),
            "Showing 20 of 4,310 servers; --top N shows more."
        );
        let ten = Shown {
            rows: 10,
            matching: 4_310,
            too_far: 0,
            out_of: 4_310,
        };
        assert_eq!(
            left_out(ten, ONLY_BEST).unwrap(),
            "Showing 10 of 4,310 servers; a larger --best looks for more."
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
        let too_far = Shown {
            rows: 0,
            matching: 0,
            too_far: 4_310,
            out_of: 4_310,
        };
        assert_eq!(
            left_out(too_far, GOAL).unwrap(),
            "None of 4,310 servers passes the filters; 4,310 would if nearer: raise --max-rtt."
        );
    }
}

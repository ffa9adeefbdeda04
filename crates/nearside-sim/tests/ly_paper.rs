//! Figures of the detour paper on small networks: the oracle is the ceiling, the direct path the floor,
//! traces replay, and threads do not matter.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use nearside_coords::Node;
use nearside_coords::worlds::SmallWorld;
use nearside_report::{Cell, Part, Report, Table, json};
use nearside_sim::experiment::{Setup, Size, conduct};
use nearside_sim::ly::{Laboratory, Network, Settings, Source};
use nearside_sim::{Unwatched, Volume, with_threads};
use nearside_types::{LatencyMatrix, Rtt};
use nearside_world::recorded::Trace;

fn quick(seeds: &str) -> Setup {
    Setup {
        seeds: seeds.parse().unwrap(),
        size: Size::Quick,
    }
}

fn reports(source: Source, item: &str) -> Vec<Report> {
    let lab = Laboratory::new(source, Settings::default());
    conduct(
        &Volume::detours(lab).chosen(item),
        &quick("0-1"),
        &Unwatched,
    )
}

fn report(source: Source, item: &str) -> Report {
    reports(source, item).remove(0)
}

/// The means of a column by the words of the first.
fn by_row(report: &Report, table: &str, column: &str) -> Vec<(String, f64)> {
    let table = report.tables().find(|t| t.name() == table).unwrap();
    let place = table.columns().iter().position(|c| c.name == column);
    let place = place.unwrap();
    let rows = table.rows().iter();
    rows.map(|cells| {
        let number = match &cells[place] {
            Cell::Spread(spread) => spread.mean,
            Cell::Number { value, .. } => *value,
            other => panic!("{other:?} is no number"),
        };
        let Cell::Text(name) = &cells[0] else {
            return (format!("{:?}", cells[0]), number);
        };
        (name.clone(), number)
    })
    .collect()
}

fn of(rows: &[(String, f64)], name: &str) -> f64 {
    rows.iter().find(|(row, _)| row == name).unwrap().1
}

#[test]
fn detours_lie_between_the_direct_path_and_the_oracle() {
    let report = report(Source::Generated, "figure6");
    let gains = by_row(&report, "sessions", "mean_reduction");
    let of = |name| of(&gains, name);
    assert_eq!(of("direct (current)"), 0.0);
    assert!(of("IRS (paper)") > 0.0 && of("IRS (paper)") <= of("oracle"));
    assert!(of("nearside") > 0.0 && of("nearside") <= of("oracle"));
    let shares = by_row(&report, "sessions", "share_of_oracle_gain");
    assert!(shares.iter().all(|(_, share)| (0.0..=1.0).contains(share)));
}

#[test]
fn messages_are_seconds_apart_even_while_the_schedule_is_dense() {
    let report = report(Source::Generated, "figure7a");
    let table = report.tables().find(|t| t.name() == "messages").unwrap();
    for row in &table.rows()[1..] {
        let Cell::Spread(interval) = &row[3] else {
            panic!("an interval is a spread");
        };
        assert!(interval.mean > 3.0, "{interval:?}");
    }
}

#[test]
fn a_relay_of_ours_carries_eight_sessions_at_most() {
    let report = report(Source::Generated, "load");
    let most = by_row(&report, "load-table", "most");
    assert!(of(&most, "nearside") <= 8.0, "{most:?}");
    // Few clients who play all the time, and one of them is everybody's best relay.
    let report = self::report(hubs(1, 14, 900), "load");
    let most = by_row(&report, "load-table", "most");
    assert_eq!(of(&most, "nearside"), 8.0, "{most:?}");
    assert!(of(&most, "IRS (paper)") > 8.0, "{most:?}");
}

/// Everybody is 50 ms from the first few clients and further from everybody else.
fn hubs(hubs: usize, nodes: usize, apart_ms: u32) -> Source {
    let mut matrix = LatencyMatrix::unknown(nodes);
    for a in 0..nodes {
        for b in a + 1..nodes {
            let ms = if a < hubs { 50 } else { apart_ms };
            matrix.set_both(a, b, Some(Rtt::from_micros(ms * 1000)));
        }
    }
    let network = Network::recorded("hub".to_owned(), vec![matrix]).unwrap();
    Source::Recorded(Arc::new(network))
}

#[test]
fn our_way_gains_what_the_papers_does_however_slow_direct_paths_are() {
    for apart_ms in [900, 920, 1900, 3000] {
        let report = report(hubs(8, 24, apart_ms), "figure6");
        let shares = by_row(&report, "sessions", "share_of_oracle_gain");
        assert!(
            of(&shares, "IRS (paper)") > 0.99,
            "{apart_ms} ms: {shares:?}"
        );
        assert!(of(&shares, "nearside") > 0.99, "{apart_ms} ms: {shares:?}");
    }
}

fn first_words(report: &Report) -> &str {
    match &report.parts[0] {
        Part::Text(text) => text,
        other => panic!("{other:?} comes first"),
    }
}

#[test]
fn reports_say_which_networks_and_settings_they_are_of() {
    for (item, networks) in [
        ("ranking-figure", "that of seed 0 for all seeds"),
        ("coordinates-table", "that of seed 0 for all seeds"),
        ("table1", "that of seed 0 for all seeds"),
        ("overhead", "another for every seed"),
    ] {
        let report = report(Source::Generated, item);
        assert!(first_words(&report).contains(networks), "{item}");
    }
    for (item, swept) in [("sweep-t", "T"), ("sweep-k", "K"), ("sweep-p", "P")] {
        let report = report(Source::Generated, item);
        let words = first_words(&report);
        assert!(words.contains(&format!("{swept} as below")), "{words}");
        assert!(!words.contains(&format!("{swept} = ")), "{words}");
    }
}

#[test]
fn how_many_pairs_gain_100_ms_stands_beside_the_oracle() {
    for (item, table) in [("overhead", "overheads"), ("staleness", "staleness-table")] {
        let report = report(hubs(8, 40, 400), item);
        let of = |column: &str| by_row(&report, table, column)[0].1;
        let ceiling = of("oracle_from_100");
        assert!(ceiling > 30.0 && ceiling <= 100.0, "{ceiling}");
        for way in ["irs_from_100", "nearside_from_100"] {
            assert!((0.0..=ceiling).contains(&of(way)), "{way}: {}", of(way));
        }
    }
}

#[test]
fn more_candidates_gain_more_and_overhead_costs() {
    let sweep = report(Source::Generated, "sweep-k");
    let shares = by_row(&sweep, "sweep", "nearside_share");
    let first = shares[0].1;
    let last = shares[shares.len() - 1].1;
    assert!(first < last && last <= 1.0, "{shares:?}");
    let overhead = report(Source::Generated, "overhead");
    let gains = by_row(&overhead, "overheads", "oracle_reduction");
    assert!(
        gains.windows(2).all(|pair| pair[0].1 >= pair[1].1),
        "{gains:?}"
    );
}

#[test]
fn the_number_of_threads_does_not_show_in_any_report() {
    let lab = || Laboratory::new(Source::Generated, Settings::default());
    let run = |threads| {
        let make = || {
            let items = ["figure6", "figure11", "sweep-t", "residential"];
            let chosen = items.map(|item| Volume::detours(lab()).chosen(item));
            let chosen: Vec<_> = chosen.into_iter().flatten().collect();
            conduct(&chosen, &quick("0-1"), &Unwatched)
        };
        let reports = with_threads(threads, make).unwrap();
        reports.iter().map(json::render).collect::<String>()
    };
    assert!(run(1) == run(3), "the reports differ");
}

/// Twelve homes on a line, everybody measures everybody once a minute, and 0–11 is slow.
fn trace() -> Trace {
    let mut text = "time_s,src,dst,rtt_ms\n".to_owned();
    for minute in 0..20 {
        for a in 0..12i32 {
            for b in (0..12).filter(|b| *b != a) {
                let rtt = match (a, b) {
                    (0, 11) | (11, 0) => 400,
                    _ => 5 + (a - b).abs() * 10,
                };
                let at = f64::from(minute) * 60.0 + f64::from(a * 12 + b) / 10.0;
                writeln!(text, "{at},h{a},h{b},{rtt}").unwrap();
            }
        }
    }
    Trace::read("trace", text.as_bytes()).unwrap()
}

#[test]
fn a_trace_is_replayed_and_its_one_detour_found() {
    let network = Network::replayed("trace".to_owned(), trace()).unwrap();
    let source = Source::Recorded(Arc::new(network));
    let report = report(source, "sweep-delta");
    let gains = by_row(&report, "sweep", "nearside_reduction");
    let oracle = by_row(&report, "sweep", "oracle_reduction");
    assert!(oracle[0].1 > 0.0);
    assert!(gains[0].1 > 0.5 * oracle[0].1, "{gains:?} of {oracle:?}");
}

/// How a trace was recorded: whatever it is, everybody measured everybody and the one detour is there.
struct Recorded {
    /// What the recorder's clock said first.
    begin_s: f64,
    /// Lost measurements of every pair before the first that is answered.
    losses: u32,
    times: u32,
}

/// Twelve homes on a line, 0–11 slow, every pair measured within ten minutes.
fn recorded(how: &Recorded) -> Trace {
    let mut text = "time_s,src,dst,rtt_ms\n".to_owned();
    for round in 0..how.losses + how.times {
        for a in 0..12i32 {
            for b in (0..12).filter(|b| *b != a) {
                let rtt = match (a, b) {
                    _ if round < how.losses => String::new(),
                    (0, 11) | (11, 0) => "400".to_owned(),
                    _ => (5 + (a - b).abs() * 10).to_string(),
                };
                let at = how.begin_s + f64::from(round) * 30.0 + f64::from(a * 12 + b) / 10.0;
                writeln!(text, "{at},h{a},h{b},{rtt}").unwrap();
            }
        }
    }
    Trace::read("trace", text.as_bytes()).unwrap()
}

/// What both ways gain on a replayed trace with Δ = 8 ms, as shares of the oracle's gain.
fn shares_on(trace: Trace) -> [f64; 2] {
    let network = Network::replayed("trace".to_owned(), trace).unwrap();
    let report = report(Source::Recorded(Arc::new(network)), "sweep-delta");
    ["irs_share", "nearside_share"].map(|column| by_row(&report, "sweep", column)[0].1)
}

#[test]
fn pairs_that_were_measured_once_are_learnt_from() {
    let once = Recorded {
        begin_s: 0.0,
        losses: 0,
        times: 1,
    };
    assert_eq!(shares_on(recorded(&once)), [1.0; 2]);
}

#[test]
fn a_neighbour_that_was_silent_four_times_is_taken_back_when_it_answers() {
    let lost = Recorded {
        begin_s: 0.0,
        losses: 4,
        times: 3,
    };
    assert_eq!(shares_on(recorded(&lost)), [1.0; 2]);
}

#[test]
fn a_trace_may_begin_at_any_time() {
    for begin_s in [5.0 * 3600.0, 1.26e9] {
        let late = Recorded {
            begin_s,
            losses: 0,
            times: 5,
        };
        assert_eq!(shares_on(recorded(&late)), [1.0; 2], "from {begin_s} s on");
    }
}

/// All the words of a report.
fn words(report: &Report) -> String {
    let texts = report.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Table(_) | Part::Figure(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The trace whose only detour is measured after fifteen hours: before, 0 and 11 measure nobody.
fn late_detour() -> Trace {
    let mut trace = recorded(&Recorded {
        begin_s: 0.0,
        losses: 0,
        times: 2,
    });
    let end = |node: &String| node == "h0" || node == "h11";
    let ends: Vec<bool> = trace.nodes.iter().map(end).collect();
    for sample in &mut trace.samples {
        if ends[sample.from] || ends[sample.to] {
            sample.at += Duration::from_secs(15 * 3600);
        }
    }
    trace
}

#[test]
fn a_full_run_lasts_as_long_as_its_trace_and_a_quick_one_says_what_it_leaves_out() {
    let network = Network::replayed("trace".to_owned(), late_detour()).unwrap();
    let source = || Source::Recorded(Arc::new(network.clone()));
    for item in ["sweep-delta", "figure6"] {
        let quick = report(source(), item);
        let left = "84 of the trace's 264 measurements lie beyond";
        assert!(words(&quick).contains(left), "{}", words(&quick));
        let full = Setup {
            seeds: "0".parse().unwrap(),
            size: Size::Full,
        };
        let lab = Laboratory::new(source(), Settings::default());
        let full = conduct(&Volume::detours(lab).chosen(item), &full, &Unwatched).remove(0);
        assert!(!words(&full).contains("lie beyond"), "{}", words(&full));
        let found = match item {
            "figure6" => of(&by_row(&full, "sessions", "mean_reduction"), "nearside"),
            _ => by_row(&full, "sweep", "nearside_reduction")[0].1,
        };
        assert!(found > 0.0, "{item}: the detour was not found");
    }
}

#[test]
fn what_a_client_may_report_is_the_traces_and_not_ns() {
    // 80 homes that all measured each other; N is 32, so 64 legs were taken of 79.
    let world = SmallWorld::random(80, 200.0, 0.3, 3);
    let mut text = "time_s,src,dst,rtt_ms\n".to_owned();
    for a in 0..80 {
        for b in (0..80).filter(|b| *b != a) {
            let rtt = world.rtt(Node::at(a), Node::at(b)).as_millis_f64();
            writeln!(text, "{},h{a},h{b},{rtt}", a * 5).unwrap();
        }
    }
    let trace = || Trace::read("trace", text.as_bytes()).unwrap();
    let shares = |neighbours| {
        let network = Network::replayed("trace".to_owned(), trace()).unwrap();
        let settings = Settings {
            neighbours,
            candidates: 8,
            ..Settings::default()
        };
        let lab = Laboratory::new(Source::Recorded(Arc::new(network)), settings);
        let chosen = Volume::detours(lab).chosen("sweep-delta");
        let report = conduct(&chosen, &quick("0"), &Unwatched).remove(0);
        by_row(&report, "sweep", "nearside_share")
    };
    assert_eq!(shares(32), shares(79));
}

/// Six homes, half an hour, every pair measured every 30 s; only 0–1 has a detour. Medians are the same
/// however round trips swing.
fn six_homes(swings: [f64; 3]) -> Trace {
    let mut text = "time_s,src,dst,rtt_ms\n".to_owned();
    for round in 0..60usize {
        for a in 0..6i32 {
            for b in (0..6).filter(|b| *b != a) {
                let rtt = match a + b {
                    1 => 300.0,
                    _ => 40.0 + 5.0 * f64::from((a - b).abs()),
                };
                let at = round as f64 * 30.0 + f64::from(a * 6 + b) / 10.0;
                writeln!(text, "{at},h{a},h{b},{}", rtt * swings[round % 3]).unwrap();
            }
        }
    }
    Trace::read("trace", text.as_bytes()).unwrap()
}

#[test]
fn tanks_are_driven_by_the_traces_round_trips_and_only_pairs_that_gain_are_shown() {
    let table = |swings| {
        let network = Network::replayed("trace".to_owned(), six_homes(swings)).unwrap();
        let report = report(Source::Recorded(Arc::new(network)), "table1");
        assert!(words(&report).contains("plays 5 minutes"));
        let column = |name| by_row(&report, "tanks", name);
        (column("rtt"), column("deviation"), column("hit_fraction"))
    };
    let (still, swinging) = (table([1.0; 3]), table([0.2, 1.0, 3.0]));
    // One pair on four paths, not once more for the way back.
    assert_eq!(still.0.len(), 4);
    assert_eq!(still.0[0], ("1–2".to_owned(), 300.0));
    assert!(swinging.0[0].1 > 310.0, "{swinging:?}");
    assert!(swinging.1[0].1 > still.1[0].1, "{still:?} {swinging:?}");
    assert_ne!(still.2, swinging.2);
}

#[test]
fn the_files_of_a_report_say_which_part_they_are() {
    for item in ["load", "staleness", "overhead", "ranking-figure"] {
        let report = report(Source::Generated, item);
        let figures = report.figures().map(|figure| figure.name.as_str());
        let mut names: Vec<&str> = report.tables().map(Table::name).chain(figures).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{names:?}");
    }
}

/// Clients that know few of the others, so that lies about legs matter.
fn sparse() -> (Source, Settings) {
    let world = SmallWorld::random(150, 200.0, 0.05, 20);
    let mut matrix = LatencyMatrix::unknown(150);
    for a in 0..150 {
        for b in a + 1..150 {
            matrix.set_both(a, b, Some(world.rtt(Node::at(a), Node::at(b))));
        }
    }
    let network = Network::recorded("sparse".to_owned(), vec![matrix]).unwrap();
    let settings = Settings {
        neighbours: 20,
        pings: 300,
        overhead: Rtt::from_micros(200),
        ..Settings::default()
    };
    (Source::Recorded(Arc::new(network)), settings)
}

#[test]
fn liars_cost_something_and_weighing_what_they_say_costs_less() {
    let (source, settings) = sparse();
    let chosen = Volume::detours(Laboratory::new(source, settings)).chosen("liars");
    let report = conduct(&chosen, &quick("0"), &Unwatched).remove(0);
    let of = |column| by_row(&report, "liars-table", column);
    let (believing, weighing) = (of("nearside_believing"), of("nearside"));
    let names: Vec<&str> = weighing.iter().map(|(name, _)| name.as_str()).collect();
    // Nobody, then each lie by 10 and by 30 %.
    assert_eq!(names.len(), 9);
    assert_eq!((names[0], names[4], names[8]), ("none", "deflate", "boil"));
    for many in [4, 8] {
        assert!(believing[many].1 < believing[0].1, "{believing:?}");
        assert!(
            weighing[many].1 > believing[many].1,
            "{weighing:?} {believing:?}"
        );
    }
}

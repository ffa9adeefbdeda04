//! `nearside sim ly`: rows for scripts, and refusals with place and reason.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fmt::Write as _;
use std::fs;

use common::{Folder, nearside};
use serde_json::Value;

/// Twelve clients on a line, and a slow path between the first and the last.
fn matrix() -> String {
    let mut text = String::new();
    for a in 0..12i32 {
        let cell = |b: i32| match (a, b) {
            (0, 11) | (11, 0) => 400,
            _ => (a - b).abs() * 10,
        };
        let cells: Vec<String> = (0..12).map(|b| cell(b).to_string()).collect();
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    text
}

fn rows(arguments: &[&str]) -> Vec<Value> {
    let folder = Folder::new();
    let file = folder.write("rtts.csv", matrix());
    let all = [
        &["sim", "ly"],
        arguments,
        &["--matrix", &file, "--layout", "csv"],
        &["--neighbours", "4", "--seeds", "0-1", "--format", "json"],
    ];
    let done = nearside(&all.concat()).expect_code(0);
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn ranking_gives_a_row_for_each_ranking_and_k() {
    let rows = rows(&["ranking", "--k", "2,8", "--pairs", "200"]);
    assert_eq!(rows.len(), 6 * 2);
    for row in &rows {
        let share = row["share_of_oracle_gain"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&share), "{row}");
        assert_eq!(row["pairs"], 400);
        assert_eq!(row["judged_on"], "rtts.csv csv");
        assert_eq!(row["seeds"], "0-1");
    }
    let names: Vec<&str> = rows
        .iter()
        .map(|row| row["ranking"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"equation-1") && names.contains(&"mixed"));
}

#[test]
fn coordinates_give_a_row_for_each_estimator() {
    let rows = rows(&["coordinates", "--dimensions", "2", "--ranks", "4"]);
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["estimator"], "vivaldi");
    assert_eq!(rows[0]["matrix"], "rtts.csv csv");
    assert_eq!(rows[1]["dimensions"], 4);
    assert!(rows[0]["median_relative_error"].as_f64().unwrap() > 0.0);
}

#[test]
fn bad_files_and_layouts_are_refused_with_the_place() {
    let folder = Folder::new();
    let file = folder.write("rtts.csv", "0,1\nx,0\n");
    let base = ["sim", "ly", "ranking", "--matrix", &file, "--layout"];
    let bad = nearside(&[&base[..], &["csv"]].concat()).expect_code(2);
    assert!(bad.stderr.contains("line 2"), "{}", bad.stderr);
    let bad = nearside(&[&base[..], &["square"]].concat()).expect_code(2);
    assert!(bad.stderr.contains("upper-u32-us"), "{}", bad.stderr);
    let gone = [
        "sim",
        "ly",
        "coordinates",
        "--matrix",
        "nowhere.gz",
        "--layout",
        "csv",
    ];
    let bad = nearside(&gone).expect_code(2);
    assert!(bad.stderr.contains("nowhere.gz"), "{}", bad.stderr);
}

#[test]
fn a_figure_runs_on_a_matrix_and_says_on_which() {
    let folder = Folder::new();
    let file = folder.write("rtts.csv", matrix());
    let out = folder.join("pictures");
    let arguments = [
        &["sim", "ly", "figure6", "--quick", "--seeds", "0"][..],
        &["--matrix", &file, "--layout", "csv"],
        &["--neighbours", "4", "--candidates", "8", "--out", &out],
    ];
    let printed = nearside(&arguments.concat()).expect_code(0).stdout;
    for words in [
        "rtts.csv",
        "12 nodes",
        "IRS (paper)",
        "oracle",
        "assumed",
        "--matrix rtts.csv --layout csv --neighbours 4 --candidates 8",
    ] {
        assert!(printed.contains(words), "{words} is missing in {printed}");
    }
    let svg = fs::read_to_string(format!("{out}/ly-figure6-figure6.svg")).unwrap();
    assert!(svg.contains("nearside"));
}

#[test]
fn lags_are_looked_for_in_labelled_series() {
    let folder = Folder::new();
    let mut text = "probe;epoch_utc;rtt_ms;change_point\n".to_owned();
    for minute in 0..60 {
        let rtt = if minute < 40 { 30 } else { 90 };
        let label = u8::from(minute == 40);
        writeln!(text, "1;14/11/2016 10:{minute:02};{rtt};{label}").unwrap();
    }
    let file = folder.write("series.csv", &text);
    let arguments = ["sim", "ly", "lag", "--series", &file, "--margins", "10"];
    let done = nearside(&[&arguments[..], &["--format", "json"]].concat()).expect_code(0);
    let rows: Vec<Value> = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1]["detector"], "nearside");
    assert_eq!(rows[1]["detected"], 1);
    assert_eq!(rows[1]["median_delay_s"], 120.0);
}

#[test]
fn browsed_addresses_and_pings_become_a_trace_and_a_matrix() {
    let folder = Folder::new();
    let json = r#"{"servers":[{"addr":"192.0.2.1:27015"},{"addr":"192.0.2.9:27015"}]}"#;
    let csv = "addr,rtt_ms\n198.51.100.7:27015,30\n203.0.113.5:27015,\n";
    let pings = "time_s,src,dst,rtt_ms\n0,192.0.2.1,198.51.100.7,25\n1,192.0.2.9,203.0.113.5,0.3\n\
                 2,198.51.100.7,203.0.113.5,40\n";
    let files = [
        folder.write("a.json", json),
        folder.write("b.csv", csv),
        folder.write("pings.csv", pings),
    ];
    let out = folder.join("collected");
    let arguments = [
        &[
            "sim", "ly", "collect", "--browse", &files[0], "--browse", &files[1],
        ][..],
        &["--pings", &files[2], "--out", &out],
    ];
    let done = nearside(&arguments.concat()).expect_code(0);
    assert!(done.stdout.contains("4 addresses in 3 subnets"), "{done}");
    assert!(done.stdout.contains("1 below 1 ms"), "{done}");
    let matrix = fs::read_to_string(format!("{out}/matrix.csv")).unwrap();
    assert_eq!(matrix.lines().next(), Some("0.000,25.000,"));
    let trace = format!("{out}/trace.csv");
    let again = ["sim", "ly", "sweep-k", "--quick", "--seeds", "0", "--trace"];
    nearside(&[&again[..], &[trace.as_str()]].concat()).expect_code(0);
    let bad = folder.write("c.csv", "name\nx\n");
    let refused = ["sim", "ly", "collect", "--browse", &bad, "--out", &out];
    let refused = nearside(&refused).expect_code(2);
    assert!(refused.stderr.contains("c.csv"), "{}", refused.stderr);
}

#[test]
fn files_with_nothing_in_them_are_refused() {
    let folder = Folder::new();
    let file = folder.write("empty.csv", ",,\n,,\n,,\n");
    let base = ["sim", "ly", "coordinates", "--matrix", &file];
    let bad = nearside(&[&base[..], &["--layout", "csv"]].concat()).expect_code(2);
    assert!(bad.stderr.contains("no pair is known"), "{}", bad.stderr);
    let file = folder.write("series.csv", "probe;epoch_utc;rtt_ms;change_point\n");
    let bad = nearside(&["sim", "ly", "lag", "--series", &file]).expect_code(2);
    assert!(bad.stderr.contains("no sample in it"), "{}", bad.stderr);
}

#[test]
fn slices_that_a_file_does_not_have_are_named() {
    let folder = Folder::new();
    // Three nodes, two slices: three pairs of four bytes each.
    let file = folder.write("two.u32le", [7u8, 0, 1, 0].repeat(3 * 2));
    let base = ["sim", "ly", "ranking", "--matrix", &file, "--layout"];
    let judge = ["upper-u32-us:3:1", "--judge", "upper-u32-us:3:99"];
    let bad = nearside(&[&base[..], &judge].concat()).expect_code(2);
    let words = "no such slice as upper-u32-us:3:99 (the file has 2)";
    assert!(bad.stderr.contains(words), "{}", bad.stderr);
    let figure = [
        &["sim", "ly", "overhead", "--quick", "--seeds", "0"][..],
        &["--matrix", &file, "--layout", "upper-u32-us:3:2"],
        &["--slices", "6"],
    ];
    let done = nearside(&figure.concat()).expect_code(0);
    let words = "6 slices were asked for, and 1 are used";
    assert!(done.stderr.contains(words), "{}", done.stderr);
}

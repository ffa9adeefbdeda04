//! `nearside sim PAPER WHAT` and `nearside sim all`: tables on standard output, files in a folder.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::fs;

use common::{Folder, nearside};

fn names(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_table_is_printed_with_paper_method_baseline_and_oracle_side_by_side() {
    let arguments = ["sim", "armitage-as", "table2", "--quick", "--seeds", "3"];
    let printed = nearside(&arguments).expect_code(0).stdout;
    for words in [
        "nearside sim armitage-as table2 --seeds 3 --quick",
        "(development)",
        "fitted",
        "conventional",
        "oracle",
        "3,374",
    ] {
        assert!(printed.contains(words), "{words} is missing in {printed}");
    }
}

#[test]
fn a_figure_is_written_as_svg_csv_and_json() {
    let folder = Folder::new();
    let out = folder.join("deep/pictures");
    let arguments = ["sim", "armitage-country", "figure7", "--quick"];
    let printed = nearside(&[&arguments[..], &["--out", &out]].concat()).expect_code(0);
    assert!(printed.stdout.contains("Figure 7"), "{printed}");
    let written = names(&out);
    let stem = "armitage-country-figure7";
    for name in [
        format!("{stem}.json"),
        format!("{stem}-figure7.svg"),
        format!("{stem}-figure7.csv"),
        format!("{stem}-stop.csv"),
    ] {
        assert!(written.contains(&name), "{name} is missing in {written:?}");
    }
    let svg = fs::read_to_string(format!("{out}/{stem}-figure7.svg")).unwrap();
    for words in ["RTT_bottom", "auto-stop", "re-ordered probes"] {
        assert!(svg.contains(words), "{words} is missing in the figure");
    }
}

#[test]
fn several_reports_are_one_array() {
    let arguments = [
        "sim",
        "armitage-country",
        "all",
        "--quick",
        "--seeds",
        "0",
        "--format",
        "json",
    ];
    let printed = nearside(&arguments).expect_code(0).stdout;
    let reports: Vec<serde_json::Value> = serde_json::from_str(&printed).unwrap();
    assert_eq!(reports.len(), 10, "table 1, figures 2 to 9, table 2");
}

#[test]
fn json_on_standard_output_is_the_file() {
    let folder = Folder::new();
    let out = folder.join("out");
    let arguments = ["sim", "armitage-country", "table1", "--format", "json"];
    let printed = nearside(&[&arguments[..], &["--out", &out]].concat()).expect_code(0);
    let file = fs::read_to_string(format!("{out}/armitage-country-table1.json")).unwrap();
    assert_eq!(printed.stdout, file);
    let report: serde_json::Value = serde_json::from_str(&file).unwrap();
    assert_eq!(report["parts"][0]["table"]["rows"][0]["client"], "AU-ET");
}

#[test]
fn the_page_links_every_file_that_is_written_beside_it() {
    let folder = Folder::new();
    let out = folder.join("page");
    let arguments = ["sim", "all", "--quick", "--seeds", "4", "--out", &out];
    nearside(&arguments).expect_code(0);
    let page = fs::read_to_string(format!("{out}/index.html")).unwrap();
    let mut written = names(&out);
    assert!(written.remove("index.html"));
    assert!(written.len() > 100, "{} files", written.len());
    for paper in ["armitage-as", "armitage-country"] {
        let command = format!("nearside sim {paper} table2 --seeds 4 --quick");
        assert!(page.contains(&command), "{command} is missing");
    }
    for name in written.iter().filter(|name| name.ends_with(".csv")) {
        assert!(page.contains(name.as_str()), "{name} is not linked");
    }
}

#[test]
fn what_a_paper_does_not_have_is_answered_with_what_it_has() {
    for (arguments, words) in [
        (&["sim", "armitage-as", "figure9"][..], "section5"),
        (&["sim", "armitage-country", "section5"], "figure9"),
        (&["sim", "armitage-as"], "<WHAT>"),
        (&["sim", "all"], "--out <DIR>"),
        (&["sim", "armitage-as", "table1", "--seeds", "x"], "0-19"),
    ] {
        let refused = nearside(arguments).expect_code(2).expect_stderr(words);
        assert_eq!(refused.stdout, "");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named_before_anything_is_run() {
    let folder = Folder::new();
    let file = folder.write("file", "in the way");
    let out = format!("{file}/below");
    nearside(&["sim", "all", "--out", &out])
        .expect_code(3)
        .expect_stderr(&out);
}

//! `nearside bench detour` as a whole, for a moment: every way carries packets, and all come back as
//! they were. Times are not judged here: a busy machine says nothing about them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::foreign::program;
use common::{LONG, process};
use serde_json::Value;

const OURS: [&str; 7] = [
    "loopback",
    "proxy, plain",
    "proxy and expose, sealed",
    "library, sealed",
    "sealed link",
    "sealed link by relay",
    "bare forwarder",
];

fn table<'a>(report: &'a Value, name: &str) -> &'a Vec<Value> {
    let parts = report["parts"].as_array().unwrap();
    let mut tables = parts.iter().map(|part| &part["table"]);
    let table = tables.find(|table| table["name"] == name);
    let table = table.unwrap_or_else(|| panic!("no table {name} in {report}"));
    table["rows"].as_array().unwrap()
}

#[test]
fn every_way_carries_packets_and_changes_none() {
    let test = "every_way_carries_packets_and_changes_none";
    let mut ways = OURS.to_vec();
    if program(test, "socat", "socat").is_some() {
        ways.extend(["socat", "two socats in a row"]);
    }
    if program(test, "nginx", "nginx").is_some() {
        ways.push("nginx stream");
    }
    let arguments = ["bench", "detour", "--rounds", "1", "--seconds", "0.2"];
    let bench = process::nearside(&[&arguments[..], &["--json"]].concat());
    let finished = bench.finish(b"", LONG);
    // 1: a target was missed, which is to be expected of such a short and crowded run.
    assert!(matches!(finished.code, Some(0 | 1)), "{finished}");
    let report: Value = serde_json::from_str(&finished.stdout).unwrap();
    for name in ["latency-60", "latency-1000", "full-rate"] {
        let rows = table(&report, name);
        for way in &ways {
            let row = rows.iter().find(|row| row["way"] == *way);
            let row = row.unwrap_or_else(|| panic!("no {way} in {name}: {finished}"));
            assert!(row["packets"].as_f64().unwrap() >= 5.0, "{name}: {row}");
            assert_eq!(row["corrupted"].as_f64(), Some(0.0), "{name}: {row}");
        }
    }
    assert!(!table(&report, "targets").is_empty());
}

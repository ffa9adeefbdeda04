//! `nearside place online`: a session as a file, and as a conversation.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead, BufReader, Write};

use common::{Folder, LONG, is_refused, nearside, process};
use serde_json::Value;

const SETUP: &str = r#"{"delay_bound_ms": 20, "servers": [{"name": "west"}, {"name": "east"}], "server_server_ms": [[0, 10], [10, 0]]}"#;

fn join(client: &str, west: u32, east: u32) -> String {
    format!(
        r#"{{"event": "join", "client": "{client}", "latencies_ms": {{"west": {west}, "east": {east}}}}}"#
    )
}

fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

#[test]
fn the_shipped_session_plays_the_same_every_time() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/place/session.ndjson"
    );
    let finished = nearside(&["place", "online", file]).expect_code(0);
    let events = std::fs::read_to_string(file).unwrap().lines().count() - 1;
    let reports = lines(&finished.stdout);
    assert_eq!(reports.len(), events);
    let results: Vec<&str> = reports
        .iter()
        .map(|report| report["result"].as_str().unwrap())
        .collect();
    assert!(
        results.contains(&"refused"),
        "eva is too far away: {results:?}"
    );
    assert!(
        reports.iter().any(|report| {
            let moves = report["moves"].as_array().unwrap();
            moves.iter().any(|moved| !moved["from"].is_null())
        }),
        "somebody moves"
    );
    assert_eq!(nearside(&["place", "online", file]).stdout, finished.stdout);
}

#[test]
fn a_program_is_answered_line_by_line() {
    let mut running = process::nearside(&["place", "online", "-"]).start();
    let mut input = running.child.stdin.take().unwrap();
    let mut output = BufReader::new(running.stdout());
    writeln!(input, "{SETUP}").unwrap();
    let mut ask = |line: &str| -> Value {
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    assert_eq!(ask(&join("anna", 1, 30))["result"], "kept");
    let report = ask(&join("bert", 30, 2));
    assert_eq!(
        (&report["servers_used"], &report["delay_ms"]),
        (&2.into(), &13.0.into())
    );
    let refused = ask(&join("carl", 50, 50));
    assert_eq!(refused["result"], "refused");
    assert_eq!(refused["reason"]["clients"][0], "carl");
    let unmet = ask(r#"{"event": "server_down", "server": "east"}"#);
    assert_eq!(
        (&unmet["result"], &unmet["waiting"][0]),
        (&"unmet".into(), &"bert".into())
    );
    drop(input);
    running.finish(LONG).expect_code(1);
}

#[test]
fn the_last_state_can_be_all_that_is_shown() {
    let folder = Folder::new();
    let file = folder.write("session.ndjson", [SETUP, &join("anna", 1, 30)].join("\n"));
    let finished = nearside(&["place", "online", &file, "--view", "--quiet"]).expect_code(0);
    let view: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(view["clients"][0]["server"], "west");
    assert_eq!(view["kept"], true);
}

#[test]
fn a_bad_line_is_named() {
    let folder = Folder::new();
    let bad = folder.write("bad.ndjson", [SETUP, "", r#"{"event": "jump"}"#].join("\n"));
    let refused = nearside(&["place", "online", &bad]).expect_code(2);
    assert!(
        refused.stderr.contains("line 3, column") && refused.stderr.contains("jump"),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains("line 1"), "{}", refused.stderr);
    let empty = folder.write("empty.ndjson", "\n");
    is_refused(&["place", "online", &empty], &["set-up"]);
}

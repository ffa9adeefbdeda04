//! Rows arrive while the run goes on; Ctrl-C prints what was found; a reader that goes away ends it
//! quietly.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use common::process::{self, Running};
use common::{LONG, ndjson, one_lab_at_a_time, snapshot};
use nearside_discover::planner::StopReason;
use nearside_discover::snapshot::Row;

/// A run that takes many seconds if nobody ends it.
fn slow_browse(flags: &[&str]) -> Running {
    let mut arguments = vec![
        "browse",
        "--lab",
        "JP",
        "--lab-servers",
        "600",
        "--pace",
        "50",
        "--no-auto-stop",
    ];
    arguments.extend(flags);
    process::nearside(&arguments).start()
}

/// Ends the run by Ctrl-C; it must obey at once.
fn interrupt(running: Running) -> process::Finished {
    let begin = Instant::now();
    running.interrupt();
    let finished = running.finish(LONG).expect_code(130);
    assert!(
        begin.elapsed() < Duration::from_secs(3),
        "{:?}",
        begin.elapsed()
    );
    finished
}

/// `timeout -s INT` signals a program and its group: two signals, one wish.
#[test]
fn two_signals_at_once_are_one_ctrl_c() {
    let _alone = one_lab_at_a_time();
    let mut running = slow_browse(&[]);
    let mut out = BufReader::new(running.stdout());
    let mut text = String::new();
    out.read_line(&mut text).unwrap();
    running.interrupt();
    running.interrupt();
    out.read_to_string(&mut text).unwrap();
    let (rows, summary) = ndjson(&text);
    assert!(!rows.is_empty());
    assert_eq!(summary.stopped, Some(StopReason::Interrupted));
    running.finish(LONG).expect_code(130);
}

#[test]
fn ndjson_rows_arrive_long_before_the_end() {
    let _alone = one_lab_at_a_time();
    let begin = Instant::now();
    let mut running = slow_browse(&["--max-time", "6"]);
    let mut out = BufReader::new(running.stdout());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    let first_after = begin.elapsed();
    let row: Row = serde_json::from_str(&first).unwrap();
    assert!(row.rtt_ms.is_some(), "{row:?}");
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let (rows, summary) = ndjson(&rest);
    assert_eq!(rows.len() + 1, summary.answered);
    assert_eq!(summary.stopped, Some(StopReason::Limit));
    assert!(
        first_after < begin.elapsed() / 2,
        "{first_after:?} of {:?}",
        begin.elapsed()
    );
    running.finish(LONG).expect_code(0);
}

#[test]
fn ctrl_c_prints_what_was_found_and_exits_with_130() {
    let _alone = one_lab_at_a_time();
    let running = slow_browse(&["--format", "json"]);
    std::thread::sleep(Duration::from_secs(3));
    let found = snapshot(&interrupt(running));
    assert_eq!(found.summary.stopped, Some(StopReason::Interrupted));
    assert!(found.servers.len() > 20, "{}", found.servers.len());
    assert_eq!(found.servers.len(), found.summary.answered);
    assert!(found.summary.probed < found.summary.listed);
}

#[test]
fn ctrl_c_while_rows_stream_still_brings_the_summary() {
    let _alone = one_lab_at_a_time();
    let running = slow_browse(&[]);
    std::thread::sleep(Duration::from_secs(2));
    let (rows, summary) = ndjson(&interrupt(running).stdout);
    assert_eq!(rows.len(), summary.answered);
    assert_eq!(summary.stopped, Some(StopReason::Interrupted));
}

/// While a list is on its way there is nothing to show but what is remembered.
#[test]
fn ctrl_c_before_the_list_is_there_ends_tidily_too() {
    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    let list = format!("http://{}/list.json", web.local_addr().unwrap());
    let running = process::nearside(&["browse", "--from", &list, "--format", "json"]).start();
    let _never_answered = web.accept().unwrap();
    let found = snapshot(&interrupt(running));
    assert_eq!(found.summary.stopped, Some(StopReason::Interrupted));
    assert_eq!(found.summary.listed, 0);
}

/// As in `nearside browse … | head -1`.
#[test]
fn a_closed_pipe_ends_the_run_quietly() {
    let _alone = one_lab_at_a_time();
    let mut running = slow_browse(&[]);
    let mut out = BufReader::new(running.stdout());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    drop(out);
    let begin = Instant::now();
    let finished = running.finish(LONG);
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(finished.stderr, "", "{finished}");
    assert_eq!(finished.code, Some(0), "{finished}");
}

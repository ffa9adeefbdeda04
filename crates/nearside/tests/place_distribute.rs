//! `nearside place distribute`: seventy processes on loopback agree with the library.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use common::{Folder, nearside};
use serde_json::Value;

/// Ports are fixed: one session at a time.
fn alone() -> MutexGuard<'static, ()> {
    static PORTS: Mutex<()> = Mutex::new(());
    PORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn distribute(seed: &str, bound: &str, flags: &[&str]) -> Value {
    let folder = Folder::new();
    let file = folder.join("instance.json");
    let size = [
        "--servers",
        "20",
        "--clients",
        "50",
        "--seed",
        seed,
        "--bound",
        bound,
    ];
    let made = [&["place", "generate", "--out", &file], &size[..]].concat();
    nearside(&made).expect_code(0);
    let finished = nearside(&[&["place", "distribute", &file, "--json"], flags].concat());
    serde_json::from_str(&finished.expect_code(0).stdout).unwrap()
}

fn assert_same(run: &Value, clients: u64) {
    assert_eq!(run["committed"], true, "{run}");
    assert_eq!(run["same_as_library"], true, "{run}");
    assert_eq!(run["clients"], clients, "{run}");
}

#[test]
fn twenty_servers_and_fifty_players_agree_with_the_library() {
    let _alone = alone();
    let run = distribute("3", "30", &[]);
    assert_same(&run, 50);
    assert!(run["servers_used"].as_u64() > Some(1), "too easy: {run}");
}

#[test]
fn lost_messages_and_crashed_nodes_do_not_change_what_the_others_agree_on() {
    let _alone = alone();
    let flags = [
        "--loss",
        "0.05",
        "--crash",
        "server-4@1",
        "--crash",
        "client-8@1.5",
        "--time",
        "80",
    ];
    assert_same(&distribute("3", "40", &flags), 49);
}

#[test]
fn datagrams_that_are_lost_doubled_and_reordered_do_no_harm() {
    let _alone = alone();
    let flags = [
        "--loss",
        "0.05",
        "--duplicates",
        "0.2",
        "--jitter",
        "15",
        "--time",
        "80",
    ];
    assert_same(&distribute("3", "30", &flags), 50);
}

#[test]
fn virtual_time_also_loses_doubles_and_reorders_messages() {
    let flags = [
        "--virtual",
        "--loss",
        "0.1",
        "--duplicates",
        "0.1",
        "--jitter",
        "30",
    ];
    assert_same(&distribute("3", "30", &flags), 50);
}

#[test]
fn without_a_living_player_it_ends_at_once() {
    let _alone = alone();
    let folder = Folder::new();
    let one = folder.write(
        "one.json",
        r#"{"clients": ["c0"], "servers": [{"name": "x"}], "delay_bound_ms": 30,
            "client_server_ms": [[10]], "server_server_ms": [[0]]}"#,
    );
    for flags in [&[][..], &["--virtual"]] {
        let arguments = ["place", "distribute", &one, "--crash", "c0@0.05"];
        let started = Instant::now();
        let finished = nearside(&[&arguments[..], flags].concat()).expect_code(1);
        let words = &finished.stdout;
        assert!(words.contains("no player lives"), "{words}");
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}

//! `nearside place distribute`: seventy processes on loopback agree with the library.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use common::process;
use common::{Folder, LONG, nearside};
use serde_json::Value;

/// Ports are fixed: one session at a time.
fn alone() -> MutexGuard<'static, ()> {
    static PORTS: Mutex<()> = Mutex::new(());
    PORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is agreed on, as JSON; the same in virtual time.
fn in_both_times(file: &str, flags: &[&str]) -> Value {
    let run = |time: &[&str]| -> Value {
        let finished = nearside(&[&["place", "distribute", file, "--json"], flags, time].concat());
        serde_json::from_str(&finished.stdout)
            .unwrap_or_else(|error| panic!("{error}: {finished:?}"))
    };
    let (real, simulated) = (run(&["--time", "40"]), run(&["--virtual"]));
    for field in [
        "committed",
        "bound_unmet",
        "servers_used",
        "delay_ms",
        "same_as_library",
        "clients",
    ] {
        assert_eq!(real[field], simulated[field], "{field}: {real} {simulated}");
    }
    real
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

/// The core of this instance is server-10; server-12 is none, and the census waits for it in vain.
#[test]
fn survivors_form_again_whoever_crashes_and_whenever() {
    let _alone = alone();
    for crash in ["server-12@0.1", "server-10@0.1", "server-10@7"] {
        let run = distribute("5", "40", &["--crash", crash, "--time", "40"]);
        assert_same(&run, 50);
    }
    let run = distribute("5", "40", &["--crash", "client-48@0.05", "--time", "40"]);
    assert_same(&run, 49);
}

#[test]
fn nobody_stays_at_a_server_that_crashed_after_the_commit() {
    let _alone = alone();
    let folder = Folder::new();
    let three = folder.write(
        "three.json",
        r#"{"clients": ["a", "b"], "servers": [{"name": "x"}, {"name": "y"}, {"name": "z"}],
            "client_server_ms": [[10, 5, 12], [10, 5, 12]], "delay_bound_ms": 100,
            "server_server_ms": [[0, 5, 5], [5, 0, 5], [5, 5, 0]]}"#,
    );
    for crash in ["y@1", "z@1", "x@1"] {
        let run = in_both_times(&three, &["--crash", crash]);
        assert_same(&run, 2);
    }
    let run = in_both_times(&three, &["--crash", "y@0.5", "--crash", "x@1.5"]);
    assert_same(&run, 2);
}

#[test]
fn the_documented_crash_ends_as_in_virtual_time() {
    let _alone = alone();
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/place/four-players.json"
    );
    for crash in ["tokyo@1", "tokyo@5"] {
        in_both_times(file, &["--crash", crash]);
    }
}

#[test]
fn no_file_is_left_for_others_to_find() {
    let _alone = alone();
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/place/four-players.json"
    );
    let mut program = process::nearside(&["place", "distribute", file]);
    program.0.env("TMPDIR", "/nowhere/to/write");
    program.start().finish(LONG).expect_code(0);
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

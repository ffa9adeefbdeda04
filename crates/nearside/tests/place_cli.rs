//! `nearside place`: what it is fed, what it answers, and how it ends.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::process::{self, Finished};
use common::{Folder, LONG, is_refused, nearside};
use serde::Deserialize;
use serde_json::Value;

/// The contract of `solve`: these fields and no other.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    status: String,
    servers_used: Option<usize>,
    delay_ms: Option<f64>,
    bound_ms: f64,
    lower_bound: Option<f64>,
    gap: Option<f64>,
    assignment: Option<BTreeMap<String, String>>,
    solver: String,
    seconds: f64,
    seed: u64,
    cost: Option<f64>,
    impossible: Option<Impossible>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Impossible {
    clients: Vec<String>,
    possible_from_ms: Option<f64>,
    r#move: Vec<String>,
    move_is_minimal: bool,
}

/// The example that ships with the repository, from where the tests run.
fn example() -> String {
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/place/four-players.json"
    )
    .to_owned()
}

fn place(arguments: &[&str]) -> Finished {
    nearside(&[&["place"], arguments].concat())
}

fn answer(finished: &Finished) -> Answer {
    serde_json::from_str(&finished.stdout).unwrap()
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap()
}

#[test]
fn the_shipped_example_needs_two_sites() {
    let found = answer(&place(&["solve", &example()]).expect_code(0));
    assert_eq!(found.status, "optimal");
    assert_eq!(
        (found.servers_used, found.lower_bound),
        (Some(2), Some(2.0))
    );
    assert_eq!((found.delay_ms, found.bound_ms), (Some(60.0), 60.0));
    assert_eq!((found.gap, found.solver.as_str()), (Some(0.0), "auto"));
    let seats = found.assignment.unwrap();
    assert_eq!(seats["anna (Berlin)"], "frankfurt");
    assert_eq!(seats["dai (Tokyo)"], "tokyo");
}

#[test]
fn an_impossible_bound_names_the_players_and_a_regrouping() {
    let finished = place(&["solve", &example(), "--bound", "40"]).expect_code(1);
    let found = answer(&finished);
    assert_eq!(found.status, "infeasible");
    assert_eq!(found.assignment, None);
    let why = found.impossible.unwrap();
    assert!(why.clients.len() >= 2, "{why:?}");
    assert!(why.possible_from_ms.unwrap() > 40.0);
    assert!(why.move_is_minimal && !why.r#move.is_empty(), "{why:?}");
    let words = place(&["solve", &example(), "--bound", "40", "--format", "table"]).expect_code(1);
    for name in why.clients {
        assert!(words.stdout.contains(&name), "{}", words.stdout);
    }
    assert!(words.stdout.contains("another session"), "{}", words.stdout);
}

#[test]
fn every_solvers_seats_pass_the_judge() {
    let folder = Folder::new();
    let instance = folder.join("instance.json");
    let size = [
        "--servers",
        "20",
        "--clients",
        "12",
        "--systems",
        "5",
        "--routers",
        "20",
    ];
    let made = [
        &[
            "generate", "--seed", "3", "--bound", "40", "--out", &instance,
        ],
        &size[..],
    ];
    place(&made.concat()).expect_code(0);
    for solver in [
        "auto",
        "exact",
        "tight_span",
        "anchors",
        "greedy",
        "zizo",
        "zizo-tr-s",
        "nearest",
    ] {
        let finished = place(&["solve", &instance, "--solver", solver]);
        let within = finished.code == Some(0);
        let seats = folder.write("seats.json", &finished.stdout);
        let judged = place(&["verify", &instance, &seats, "--json"]);
        assert_eq!(
            judged.code == Some(0),
            within,
            "{solver}: {}",
            judged.stdout
        );
        let (found, verdict) = (answer(&finished), json(&judged));
        assert_eq!(verdict["delay_ms"].as_f64(), found.delay_ms, "{solver}");
        assert_eq!(
            verdict["servers_used"].as_u64(),
            found.servers_used.map(|n| n as u64)
        );
    }
}

#[test]
fn the_judge_names_what_is_wrong() {
    let folder = Folder::new();
    let crowded = folder.write(
        "crowded.json",
        r#"{"anna (Berlin)": "tokyo", "bert (Madrid)": "tokyo", "cho (Seoul)": "tokyo", "dai (Tokyo)": "tokyo"}"#,
    );
    let judged = place(&["verify", &example(), &crowded]).expect_code(1);
    assert!(
        judged.stdout.contains("`tokyo` has 4 clients and 3 places"),
        "{}",
        judged.stdout
    );
    assert!(
        judged.stdout.contains("bert (Madrid) > tokyo"),
        "{}",
        judged.stdout
    );
    let partial = folder.write("partial.json", r#"{"anna (Berlin)": "tokyo"}"#);
    is_refused(
        &["place", "verify", &example(), &partial],
        &["has no server"],
    );
    let stranger = folder.write("stranger.json", r#"{"zoe": "tokyo"}"#);
    is_refused(&["place", "verify", &example(), &stranger], &["`zoe`"]);
}

#[test]
fn the_curve_gets_cheaper_to_the_right_and_is_drawn() {
    let folder = Folder::new();
    let picture = folder.join("curve.svg");
    let finished = place(&["sweep", &example(), "--svg", &picture]).expect_code(0);
    let curve = json(&finished);
    assert_eq!(curve["complete"], true);
    let rows = curve["rows"].as_array().unwrap();
    let corners = rows.iter().map(|row| {
        assert_eq!(row["status"], "optimal");
        (
            row["bound_ms"].as_f64().unwrap(),
            row["servers_used"].as_u64().unwrap(),
        )
    });
    let corners: Vec<(f64, u64)> = corners.collect();
    assert!(corners.len() >= 2, "{corners:?}");
    for pair in corners.windows(2) {
        assert!(
            pair[0].0 > pair[1].0 && pair[0].1 < pair[1].1,
            "{corners:?}"
        );
    }
    let picture = std::fs::read_to_string(picture).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("servers"));
    assert!(!picture.contains(".5<"), "half a server: {picture}");

    // Every corner is what min-delay says about its number of servers.
    for (bound, servers) in corners {
        let found = place(&["min-delay", &example(), "--servers", &servers.to_string()]);
        let found = json(&found.expect_code(0));
        assert_eq!(found["delay_ms"].as_f64(), Some(bound));
        assert_eq!(found["proven"], true);
    }
}

#[test]
fn solvers_are_compared_at_chosen_bounds() {
    let arguments = [
        "sweep",
        &example(),
        "--bounds",
        "40,60-140/40",
        "--solver",
        "auto,nearest",
        "--format",
        "csv",
    ];
    let finished = place(&arguments).expect_code(0);
    let rows: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(rows.len(), 1 + 4 * 2, "{}", finished.stdout);
    assert_eq!(
        rows[0],
        "bound_ms,solver,status,servers_used,cost,delay_ms,lower_bound"
    );
    // A heuristic proves nothing but that somebody needs a server.
    let by_nearest = rows.iter().find(|row| row.contains("nearest,feasible"));
    assert!(by_nearest.unwrap().ends_with(",1"), "{rows:?}");
    assert!(
        rows.iter()
            .any(|row| row.starts_with("60") && row.contains("auto,optimal,2"))
    );
}

#[test]
fn tables_lists_and_maps_are_the_same_instance() {
    let folder = Folder::new();
    let table = folder.write("ping.csv", "player,fra,iad\nanna,12,90\nbert,80,20\n");
    let map = folder.write(
        "ping.json",
        r#"{"anna": {"fra": 12, "iad": 90}, "bert": {"fra": 80, "iad": 20}}"#,
    );
    let matchmaking = folder.write(
        "match.json",
        r#"[{"PlayerId": "anna", "LatencyInMs": {"fra": 12, "iad": 90}},
            {"PlayerId": "bert", "LatencyInMs": {"fra": 80, "iad": 20}}]"#,
    );
    let sites = folder.write("sites.csv", "site,fra,iad\nfra,0,40\niad,40,0\n");
    for file in [&table, &map, &matchmaking] {
        let flags = [
            "--latency",
            "round-trip",
            "--between",
            &sites,
            "--bound",
            "40",
        ];
        let found = answer(&place(&[&["solve", file], &flags[..]].concat()).expect_code(0));
        // Half of 12 + 40 + 20 milliseconds there and back.
        assert_eq!(
            (found.servers_used, found.delay_ms),
            (Some(2), Some(36.0)),
            "{file}"
        );
    }
    let even = [
        "solve",
        &table,
        "--latency",
        "one-way",
        "--between-ms",
        "5",
        "--bound",
        "40",
    ];
    // Nobody is farther from themselves than bert, who hears his own echo after 40 ms.
    assert_eq!(answer(&place(&even).expect_code(0)).delay_ms, Some(40.0));
    is_refused(
        &[
            "place",
            "solve",
            &table,
            "--between-ms",
            "5",
            "--bound",
            "9",
        ],
        &["--latency"],
    );
    is_refused(
        &[
            "place",
            "solve",
            &table,
            "--latency",
            "one-way",
            "--bound",
            "9",
        ],
        &["--between"],
    );
}

#[test]
fn a_matrix_of_round_trips_is_drawn_from_by_seed() {
    let folder = Folder::new();
    let nodes = 12u32;
    let cells = (0..nodes).flat_map(|from| (from + 1..nodes).map(move |to| (to - from) * 1000));
    let bytes: Vec<u8> = cells.flat_map(u32::to_le_bytes).collect();
    let file = folder.write("rtts.bin", bytes);
    let solve = |seed: &str| {
        let flags = [
            "solve",
            "--matrix",
            &file,
            "--layout",
            "upper-u32-us:12",
            "--draw-servers",
            "5",
            "--draw-clients",
            "5",
            "--bound",
            "11",
            "--seed",
            seed,
        ];
        answer(&place(&flags).expect_code(0))
    };
    let (one, again, other) = (solve("1"), solve("1"), solve("2"));
    assert_eq!(one.assignment, again.assignment);
    assert_ne!(one.assignment, other.assignment);
    // The whole line is 11 ms long, there and back: one server always does.
    assert_eq!(one.servers_used, Some(1));
    is_refused(
        &[
            "place",
            "solve",
            "--matrix",
            &file,
            "--layout",
            "upper-u32-us:13",
            "--bound",
            "9",
        ],
        &["bytes"],
    );
}

#[test]
fn the_same_seed_and_steps_give_the_same_bytes_at_any_thread_count() {
    let folder = Folder::new();
    let instance = folder.join("instance.json");
    place(&[
        "generate",
        "--servers",
        "30",
        "--clients",
        "20",
        "--bound",
        "25",
        "--out",
        &instance,
    ]);
    let solve = |threads: &str| {
        let effort = ["--steps", "2000", "--time", "80", "--threads", threads];
        let finished = place(&[&["solve", &instance], &effort[..]].concat());
        let text = finished
            .stdout
            .lines()
            .filter(|line| !line.contains("\"seconds\""));
        text.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(solve("1"), solve("4"));
}

#[test]
fn ctrl_c_shows_what_was_found() {
    let folder = Folder::new();
    let instance = folder.join("large.json");
    let size = [
        "--servers",
        "300",
        "--clients",
        "1500",
        "--bound",
        "20",
        "--out",
        &instance,
    ];
    place(&[&["generate"], &size[..]].concat()).expect_code(0);
    let running = process::nearside(&["place", "solve", &instance, "--time", "80"]).start();
    std::thread::sleep(Duration::from_millis(1500));
    running.interrupt();
    let finished = running.finish(LONG).expect_code(130);
    let found = answer(&finished);
    assert!(found.seconds < 60.0);
    assert!(["feasible", "out_of_budget"].contains(&found.status.as_str()));
}

#[test]
fn mistakes_name_the_place_and_the_fix() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(example()).unwrap();
    let cell = folder.write("cell.json", text.replace("[14, 64, 124]", "[14, -64, 124]"));
    is_refused(
        &["place", "solve", &cell],
        &["client_server_ms[1][1]", "-64"],
    );
    let unbound = folder.write("unbound.json", text.replace("\"delay_bound_ms\": 60,", ""));
    is_refused(&["place", "solve", &unbound], &["--bound"]);
    is_refused(&["place", "solve", "nowhere.json"], &["nowhere.json"]);
    is_refused(
        &["place", "solve", &example(), "--solver", "simplex"],
        &["zizo-sr-c"],
    );
    is_refused(
        &[
            "place",
            "solve",
            &example(),
            "--matrix",
            "m",
            "--layout",
            "csv",
        ],
        &["not both"],
    );
    is_refused(
        &[
            "place",
            "generate",
            "--servers",
            "90",
            "--systems",
            "2",
            "--routers",
            "9",
        ],
        &["--systems"],
    );
    for alone in [
        ["--layout", "csv"],
        ["--draw-servers", "5"],
        ["--draw-clients", "5"],
    ] {
        is_refused(
            &[&["place", "solve", &example()], &alone[..]].concat(),
            &["--matrix"],
        );
    }
    is_refused(
        &["place", "solve", &example(), "--capacity", "0"],
        &["--capacity"],
    );
    is_refused(&["place", "generate", "--capacity", "0"], &["--capacity"]);
    let bad_picture = folder.join("missing/curve.svg");
    place(&["sweep", &example(), "--svg", &bad_picture]).expect_code(3);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_the_worlds_fault_and_said() {
    let session = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/place/session.ndjson"
    );
    for arguments in [
        &["solve", &example()][..],
        &["sweep", &example(), "--format", "csv"],
        &["online", session],
        &["generate", "--servers", "5", "--clients", "5"],
    ] {
        let mut program = process::nearside(&[&["place"], arguments].concat());
        let full = std::fs::File::create("/dev/full").unwrap();
        let finished = program.0.stdout(full).output().unwrap();
        assert_eq!(finished.status.code(), Some(3), "{arguments:?}");
        let told = String::from_utf8_lossy(&finished.stderr);
        assert!(told.contains("space"), "{arguments:?}: {told}");
    }
}

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
    reason: String,
    players: Option<usize>,
    places: Option<usize>,
    clients: Vec<String>,
    clients_is_minimal: bool,
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
    assert_eq!((why.reason.as_str(), why.places), ("delay", None));
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
fn a_path_that_is_not_there_takes_no_milliseconds() {
    let folder = Folder::new();
    let apart = folder.write(
        "apart.json",
        r#"{"clients": ["a", "b"], "servers": [{"name": "x"}, {"name": "y"}], "delay_bound_ms": 60,
            "client_server_ms": [[1, null], [null, 4]], "server_server_ms": [[0, null], [null, 0]]}"#,
    );
    let seats = folder.write("seats.json", r#"{"a": "x", "b": "y"}"#);
    let judged = place(&["verify", &apart, &seats]).expect_code(1);
    let words = &judged.stdout;
    assert!(
        words.contains("2 servers, unreachable at any bound."),
        "{words}"
    );
    assert!(words.contains("no path from server `x`"), "{words}");
    assert!(!words.contains("2000000"), "{words}");
    let nearest = ["solve", &apart, "--solver", "nearest", "--format", "table"];
    let solved = place(&nearest).expect_code(1);
    assert!(!solved.stdout.contains("2000000"), "{}", solved.stdout);
}

#[test]
fn processing_is_named_where_it_takes_the_time() {
    let folder = Folder::new();
    let slow = folder.write(
        "slow.json",
        r#"{"clients": ["a"], "servers": [{"name": "x"}], "delay_bound_ms": 60, "processing_ms": 100,
            "client_server_ms": [[1]], "server_server_ms": [[0]]}"#,
    );
    let solved = place(&["solve", &slow, "--format", "table"]).expect_code(1);
    let words = &solved.stdout;
    assert!(
        words.contains("Processing alone takes 100.00 ms"),
        "{words}"
    );
    assert!(words.contains("102.00 ms"), "{words}");
    assert!(
        !words.contains("too far") && !words.contains("another session"),
        "{words}"
    );
    let solved = answer(&place(&["solve", &slow]));
    assert_eq!(solved.impossible.unwrap().reason, "processing");
    let far = place(&["solve", &slow, "--bound", "101", "--format", "table"]).expect_code(1);
    let words = &far.stdout;
    let told =
        "a alone is too far from every server below 102.00 ms, 100.00 ms of it for processing.";
    assert!(words.contains(told), "{words}");
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
        assert_eq!(row["proven"], true);
        assert_eq!(row["at_least_ms"], row["delay_ms"]);
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
fn short_of_time_the_whole_curve_is_sketched_and_says_what_is_proven() {
    let folder = Folder::new();
    let instance = folder.join("instance.json");
    let size = ["--servers", "200", "--clients", "300"];
    let made = [&["generate", "--seed", "3", "--out", &instance], &size[..]];
    place(&made.concat()).expect_code(0);
    let picture = folder.join("curve.svg");
    let flags = ["--time", "1", "--svg", &picture];
    let curve = json(&place(&[&["sweep", &instance], &flags[..]].concat()).expect_code(0));
    let rows = curve["rows"].as_array().unwrap();
    // How many a slow machine gets to is its own business; more than the first corner.
    assert!(rows.len() >= 2, "{curve}");
    assert!(rows.iter().any(|row| row["proven"] == false), "{curve}");
    for row in rows {
        let proven = row["lower_bound"] == row["cost"] && row["at_least_ms"] == row["delay_ms"];
        assert_eq!(row["proven"], proven, "{row}");
    }
    let picture = std::fs::read_to_string(picture).unwrap();
    assert!(picture.contains("not proven"));
    let words = place(&["sweep", &instance, "--time", "1", "--format", "table"]).expect_code(0);
    assert!(words.stdout.contains("rows are proven"), "{}", words.stdout);

    // Each of several bounds has its share too.
    let flags = ["--time", "1", "--bounds", "24-32/2"];
    let sweep = json(&place(&[&["sweep", &instance], &flags[..]].concat()).expect_code(0));
    let found = |row: &Value| row["servers_used"].is_u64();
    assert!(
        sweep["rows"].as_array().unwrap().iter().all(found),
        "{sweep}"
    );
    assert!(
        sweep["seconds"].as_f64().unwrap() < 20.0,
        "nobody watched the clock"
    );
}

#[test]
fn prices_are_what_the_picture_counts() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(example()).unwrap();
    let priced = text.replacen("\"capacity\": 3", "\"capacity\": 3, \"cost\": 2.5", 1);
    assert_ne!(priced, text);
    let priced = folder.write("priced.json", priced);
    let picture = folder.join("curve.svg");
    place(&["sweep", &priced, "--svg", &picture]).expect_code(0);
    let picture = std::fs::read_to_string(picture).unwrap();
    assert!(picture.contains(">cost<") && !picture.contains(">servers<"));
}

#[test]
fn too_few_places_are_the_reason_and_nobody_is_blamed() {
    let map = r#"{"anna": {"fra": 1}, "bert": {"fra": 2}, "carl": {"fra": 3}, "dora": {"fra": 4}}"#;
    let folder = Folder::new();
    let map = folder.write("ping.json", map);
    let flags = [
        "--latency",
        "one-way",
        "--between-ms",
        "1",
        "--capacity",
        "3",
        "--bound",
        "500",
    ];
    for solver in ["auto", "exact", "tight-span", "greedy", "zizo", "nearest"] {
        let asked = [&["solve", &map, "--solver", solver], &flags[..]].concat();
        let found = answer(&place(&asked).expect_code(1));
        assert_eq!(found.status, "infeasible", "{solver}");
        let why = found.impossible.unwrap();
        assert_eq!(why.reason, "places");
        assert_eq!((why.players, why.places), (Some(4), Some(3)));
        assert!(why.clients.is_empty(), "{why:?}");
        assert_eq!((why.r#move.len(), why.move_is_minimal), (1, true));
    }
    let words = place(&[&["solve", &map, "--format", "table"], &flags[..]].concat());
    let words = words.expect_code(1).stdout;
    assert!(
        words.contains("4 players are more than the 3 places"),
        "{words}"
    );
    assert!(
        !words.contains("500"),
        "the bound is not the reason: {words}"
    );
}

#[test]
fn a_crowd_around_a_small_server_is_told_by_name() {
    let map = r#"{"anna": {"fra": 1}, "bert": {"fra": 2}, "carl": {"fra": 3, "iad": 1}}"#;
    let folder = Folder::new();
    let map = folder.write("ping.json", map);
    let flags = [
        "--latency",
        "one-way",
        "--between-ms",
        "1",
        "--capacity",
        "1",
        "--bound",
        "500",
    ];
    let crowd = place(
        &[
            &["solve", &map, "--capacity", "2"],
            &flags[..4],
            &flags[6..],
        ]
        .concat(),
    );
    crowd.expect_code(0);
    let map = folder.write(
        "ping3.json",
        r#"{"anna": {"fra": 1}, "bert": {"fra": 2}, "carl": {"iad": 1}, "dora": {"gru": 1}}"#,
    );
    let found = answer(&place(&[&["solve", &map], &flags[..]].concat()).expect_code(1));
    let why = found.impossible.unwrap();
    assert_eq!(why.reason, "places");
    assert_eq!((why.players, why.places), (Some(4), Some(3)));
}

#[test]
fn a_server_without_places_is_not_too_far_away() {
    let folder = Folder::new();
    let instance = |far: &str| {
        let text = format!(
            r#"{{"delay_bound_ms": 500, "clients": ["x"],
                "servers": [{{"name": "shut", "capacity": 0}}, {{"name": "far"}}],
                "client_server_ms": [[1, {far}]], "server_server_ms": [[0, 1], [1, 0]]}}"#
        );
        folder.write("instance.json", text)
    };
    let shut = place(&["solve", &instance("null")]).expect_code(1);
    let why = answer(&shut).impossible.unwrap();
    assert_eq!(why.reason, "places");
    assert_eq!((why.players, why.places), (Some(1), Some(0)));
    assert_eq!(
        (&why.clients[..], why.possible_from_ms),
        (&["x".to_owned()][..], None)
    );
    let words = place(&["solve", &instance("null"), "--format", "table"]).expect_code(1);
    let words = words.stdout;
    assert!(
        words.contains("x reaches servers with 0 places in all"),
        "{words}"
    );
    let far = answer(&place(&["solve", &instance("300")]).expect_code(1));
    let why = far.impossible.unwrap();
    assert_eq!(
        (why.reason.as_str(), why.possible_from_ms),
        ("delay", Some(600.0))
    );
}

#[test]
fn who_is_too_far_alone_is_named_first_and_in_time() {
    let folder = Folder::new();
    let instance = folder.join("instance.json");
    let size = ["--servers", "300", "--clients", "3000", "--seed", "3"];
    place(&[&["generate", "--out", &instance], &size[..]].concat()).expect_code(0);
    let asked = ["solve", &instance, "--bound", "9", "--time", "0.2"];
    let found = answer(&place(&asked).expect_code(1));
    assert_eq!(found.status, "infeasible");
    let why = found.impossible.unwrap();
    assert_eq!(
        (why.clients.len(), why.clients_is_minimal),
        (1, true),
        "{:?}",
        why.clients
    );
    assert!(why.possible_from_ms.unwrap() > 9.0);
    assert!(why.r#move.contains(&why.clients[0]));
    assert!(found.seconds < 20.0, "{}", found.seconds);
}

#[test]
fn min_delay_tells_impossible_from_out_of_time() {
    let example = example();
    // Three players at most at each of three servers.
    let asked = |servers, more: &[&str]| {
        let flags = [
            "min-delay",
            &example,
            "--capacity",
            "3",
            "--servers",
            servers,
        ];
        place(&[&flags[..], more].concat())
    };
    let impossible = json(&asked("1", &[]).expect_code(1));
    assert_eq!(impossible["status"], "infeasible");
    let words = asked("1", &["--format", "table"]).expect_code(1).stdout;
    assert!(words.starts_with("Impossible: 1 server cannot"), "{words}");
    for more_than_there_are in ["18446744073710", "18446744073709551615"] {
        let found = json(&asked(more_than_there_are, &[]).expect_code(0));
        assert_eq!(found["status"], "optimal");
    }
    let hurried = ["--time", "0.000000001", "--format"];
    let csv = asked("2", &[&hurried[..], &["csv"]].concat())
        .expect_code(1)
        .stdout;
    assert!(csv.trim_end().ends_with("false,out_of_budget"), "{csv}");
    let words = asked("2", &[&hurried[..], &["table"]].concat())
        .expect_code(1)
        .stdout;
    assert!(
        words.contains("so far") && words.contains("--time"),
        "{words}"
    );
}

#[test]
fn a_sweep_without_rows_claims_no_proof_of_them() {
    let folder = Folder::new();
    let map = folder.write(
        "ping.json",
        r#"{"anna": {"fra": 1}, "bert": {"fra": null}}"#,
    );
    let flags = ["--latency", "one-way", "--between-ms", "1"];
    let asked = [&["sweep", &map, "--format", "table"], &flags[..]].concat();
    let words = place(&asked).expect_code(1).stdout;
    assert!(
        words.contains("Nothing is possible at any bound"),
        "{words}"
    );
    assert!(!words.contains("proven. "), "{words}");
}

#[test]
fn the_search_for_who_is_to_blame_counts_as_time() {
    let folder = Folder::new();
    let instance = folder.join("instance.json");
    place(&["generate", "--seed", "2", "--out", &instance]).expect_code(0);
    let started = std::time::Instant::now();
    let asked = ["solve", &instance, "--bound", "12", "--time", "2"];
    let found = answer(&place(&asked).expect_code(1));
    let took = started.elapsed().as_secs_f64();
    assert_eq!(found.status, "infeasible");
    // The rest is reading the file and starting.
    assert!(
        found.seconds <= took && found.seconds > took - 0.6,
        "{} of {took}",
        found.seconds
    );
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
        "bound_ms,solver,status,servers_used,cost,delay_ms,lower_bound,at_least_ms,proven"
    );
    // A heuristic proves nothing but that somebody needs a server.
    let by_nearest = rows.iter().find(|row| row.contains("nearest,feasible"));
    assert!(by_nearest.unwrap().ends_with(",1,,false"), "{rows:?}");
    assert!(
        rows.iter()
            .any(|row| row.starts_with("60") && row.contains("auto,optimal,2"))
    );
    // The words of the JSON.
    let has = |text: &str| rows.iter().any(|row| row.contains(text));
    assert!(
        has("auto,infeasible,") && has("nearest,bound_unmet,"),
        "{rows:?}"
    );
}

#[test]
fn solvers_that_ended_by_themselves_are_not_promised_more_from_more_time() {
    let arguments = [
        "sweep",
        &example(),
        "--bounds",
        "60,140",
        "--solver",
        "auto,greedy,nearest",
        "--format",
        "table",
    ];
    let finished = place(&arguments).expect_code(0);
    let words = &finished.stdout;
    assert!(words.contains("ended without a proof"), "{words}");
    assert!(!words.contains("--time"), "{words}");
}

/// One player at 10.0004 ms from a server, so that nothing is below 20.0008 ms.
fn between_two_thousandths(folder: &Folder) -> String {
    folder.write(
        "fine.json",
        r#"{"clients": ["a"], "servers": [{"name": "x"}],
            "client_server_ms": [[10.0004]], "server_server_ms": [[0]]}"#,
    )
}

#[test]
fn a_delay_that_is_shown_as_a_bound_can_be_kept() {
    let folder = Folder::new();
    let file = between_two_thousandths(&folder);
    let sweep = place(&["sweep", &file, "--format", "table"]).expect_code(0);
    assert!(sweep.stdout.contains("20.001"), "{}", sweep.stdout);
    let smallest = place(&["min-delay", &file, "--servers", "1", "--format", "table"]);
    let smallest = smallest.expect_code(0).stdout;
    assert!(smallest.starts_with("20.01 ms"), "{smallest}");
    let refused = place(&["solve", &file, "--bound", "20.0001", "--format", "table"]);
    let refused = refused.expect_code(1).stdout;
    assert!(refused.contains("keeps 20.0001 ms"), "{refused}");
    assert!(refused.contains("below 20.01 ms"), "{refused}");
    let exact = place(&["sweep", &file, "--format", "csv"]).expect_code(0);
    assert!(
        exact.stdout.contains("\n20.0008,auto,optimal,1"),
        "{}",
        exact.stdout
    );
    for bound in ["20.001", "20.01", "20.0008"] {
        place(&["solve", &file, "--bound", bound]).expect_code(0);
    }
}

#[test]
fn rows_without_seats_come_with_a_reason() {
    let finished = place(&["solve", &example(), "--bound", "40", "--format", "csv"]);
    let finished = finished.expect_code(1);
    assert!(finished.stdout.starts_with("client,server"));
    assert!(
        finished.stderr.contains("cannot be together"),
        "{}",
        finished.stderr
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
fn a_player_without_latencies_is_impossible_and_not_forgotten() {
    let folder = Folder::new();
    let map = r#"{"a": {"x": null}, "b": {"x": 1}}"#;
    let list =
        r#"[{"PlayerId": "a", "LatencyInMs": {}}, {"PlayerId": "b", "LatencyInMs": {"x": 1}}]"#;
    for text in [map, list] {
        let file = folder.write("pings.json", text);
        let flags = ["--latency", "one-way", "--between-ms", "5", "--bound", "95"];
        let found = answer(&place(&[&["solve", &file], &flags[..]].concat()).expect_code(1));
        assert_eq!(found.status, "infeasible", "{text}");
        assert_eq!(found.impossible.unwrap().clients, ["a"], "{text}");
    }
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
    for idle in [
        ["--latency", "one-way"],
        ["--between", "sites.csv"],
        ["--between-ms", "5"],
    ] {
        is_refused(
            &[
                &["place", "solve", "--matrix", "m", "--layout", "csv"],
                &idle[..],
            ]
            .concat(),
            &[idle[0], "cannot be used with", "--matrix"],
        );
    }
    let twice = folder.write("twice.json", r#"{"anna": {"fra": 1, "iad": 2, "fra": 3}}"#);
    is_refused(
        &["place", "solve", &twice, "--latency", "one-way"],
        &["twice.json", "`anna`: `fra` is there twice"],
    );
    let places = text.replacen("\"capacity\": 3", "\"capacity\": -1", 1);
    assert_ne!(places, text);
    let places = folder.write("places.json", places);
    is_refused(
        &["place", "solve", &places],
        &["servers[0]: ", "`-1`", "a whole number of players from 0"],
    );
    is_refused(&["place", "solve", "-"], &["in standard input: "]);
    is_refused(
        &["place", "verify", "-", "-"],
        &["standard input", "one of the two"],
    );
    let word = folder.write("word.json", r#"{"assignment": 7}"#);
    is_refused(
        &["place", "verify", &example(), &word],
        &["word.json", "expected the JSON of `solve`", "7 is not"],
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
    let table = place(&["sweep", &example(), "--svg", &bad_picture]).expect_code(3);
    assert_eq!(json(&table)["complete"], true);
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

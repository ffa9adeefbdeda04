//! `nearside browse` against a small lab inside the process: formats, choice of rows, sources and
//! the numbers of the summary.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;

use common::lab::Lab;
use common::process::Finished;
use common::{Folder, ndjson, nearside, one_lab_at_a_time, snapshot};
use nearside_discover::journal::replay;
use nearside_discover::planner::StopReason;
use nearside_discover::snapshot::{Row, Summary};

/// Two tries: servers that never answer cost two seconds less.
const LAB: [&str; 8] = [
    "browse",
    "--lab",
    "AU",
    "--lab-servers",
    "400",
    "--tries",
    "2",
    "--seed=3",
];

/// Browses the small lab with more flags.
fn browse_lab(flags: &[&str]) -> Finished {
    ended_lab(flags).expect_code(0)
}

/// The same, however it ended.
fn ended_lab(flags: &[&str]) -> Finished {
    let _alone = one_lab_at_a_time();
    let mut arguments = LAB.to_vec();
    if !flags.contains(&"--pace") {
        arguments.push("--pace=unlimited");
    }
    arguments.extend(flags);
    nearside(&arguments)
}

fn rtts(rows: &[Row]) -> Vec<f64> {
    rows.iter().map(|row| row.rtt_ms.unwrap()).collect()
}

/// What must hold in every run.
fn assert_consistent(summary: &Summary) {
    assert!(summary.probed <= summary.listed, "{summary:?}");
    assert!(summary.answered <= summary.probed, "{summary:?}");
    assert!(summary.playable <= summary.answered, "{summary:?}");
    assert!(summary.probes_sent >= summary.probed as u64, "{summary:?}");
    assert!(summary.flows <= summary.probes_sent, "{summary:?}");
    // A request is 25 bytes and 28 of headers, at least.
    assert!(
        summary.bytes_sent >= 53 * summary.probes_sent,
        "{summary:?}"
    );
    assert!(
        summary.full_scan.probes >= summary.probes_sent,
        "{summary:?}"
    );
    assert!(
        summary.full_scan.seconds >= summary.seconds * 0.999,
        "{summary:?}"
    );
}

#[test]
fn json_is_the_documented_contract_and_its_numbers_agree() {
    let finished = browse_lab(&["--format", "json", "--no-auto-stop"]);
    let found = snapshot(&finished);
    assert_consistent(&found.summary);
    assert_eq!(found.summary.planner, "adaptive");
    assert_eq!(found.summary.stopped, Some(StopReason::Exhausted));
    assert_eq!(found.summary.answered, 400);
    assert_eq!(found.servers.len(), 400);
    assert!(rtts(&found.servers).is_sorted(), "near first");
    let near = found
        .servers
        .iter()
        .filter(|row| row.rtt_ms.unwrap() < 200.0);
    assert_eq!(near.count(), found.summary.playable);
    for row in &found.servers {
        assert!(row.name.is_some() && row.map.is_some(), "{row:?}");
        assert!(row.asn.is_some() && row.country.is_some(), "{row:?}");
        assert!(row.players <= row.max_players, "{row:?}");
        assert!(row.clean && row.samples == 1, "{row:?}");
    }
}

#[test]
fn piped_output_is_ndjson_without_escape_bytes_and_ends_with_the_summary() {
    let finished = browse_lab(&["--no-auto-stop"]);
    let (rows, summary) = ndjson(&finished.stdout);
    assert_consistent(&summary);
    assert_eq!(rows.len(), summary.answered);
    let addresses: BTreeSet<_> = rows.iter().map(|row| row.addr).collect();
    assert_eq!(addresses.len(), rows.len(), "each server once");
    for stream in [&finished.stdout, &finished.stderr] {
        assert!(!stream.contains('\x1b') && !stream.contains('\r'));
    }
}

#[test]
fn csv_has_a_heading_and_the_fields_of_the_json() {
    let finished = browse_lab(&["--format", "csv", "--top", "20"]);
    let mut reader = csv::Reader::from_reader(finished.stdout.as_bytes());
    let heading = reader.headers().unwrap().iter().collect::<Vec<_>>();
    let expected =
        "addr,rtt_ms,asn,country,name,map,game,players,bots,max_players,password,samples,clean";
    assert_eq!(heading.join(","), expected);
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), 20);
    let pings = records
        .iter()
        .map(|record| record[1].parse::<f64>().unwrap());
    assert!(pings.is_sorted());
}

#[test]
fn the_table_comes_with_the_summary_in_words() {
    let finished = browse_lab(&["--format", "table", "--top", "7"]);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert!(lines[0].starts_with("RTT ms"), "{finished}");
    assert_eq!(lines.len(), 8, "{finished}");
    for words in ["Found ", "Cost ", "Your address was shown to ", "seed 3\n"] {
        assert!(finished.stderr.contains(words), "no `{words}`: {finished}");
    }
    assert!(!finished.stdout.contains('\x1b'), "{finished}");
}

#[test]
fn quiet_leaves_standard_error_empty() {
    let finished = browse_lab(&["--format", "table", "--top", "1", "--quiet"]);
    assert_eq!(finished.stderr, "", "{finished}");
    assert_eq!(finished.stdout.lines().count(), 2, "{finished}");
}

#[test]
fn filters_choose_and_sort_orders() {
    let flags = [
        "--format",
        "json",
        "--no-auto-stop",
        "--not-full",
        "--not-empty",
        "--no-password",
        "--map",
        "de_*",
        "--country",
        "us,DE",
        "--sort",
        "players",
    ];
    let found = snapshot(&browse_lab(&flags));
    assert!(!found.servers.is_empty());
    for row in &found.servers {
        let (players, bots) = (row.players.unwrap(), row.bots.unwrap());
        assert!(players < row.max_players.unwrap(), "not full: {row:?}");
        assert!(players > bots, "not empty: {row:?}");
        assert_eq!(row.password, Some(false), "{row:?}");
        assert!(row.map.as_ref().unwrap().starts_with("de_"), "{row:?}");
        let country = row.country.unwrap().to_string();
        assert!(["US", "DE"].contains(&country.as_str()), "{row:?}");
    }
    let humans = found
        .servers
        .iter()
        .map(|row| row.players.unwrap() - row.bots.unwrap());
    assert!(humans.rev().is_sorted(), "most people first");
    assert!(found.servers.len() < found.summary.answered);
}

#[test]
fn max_rtt_hides_what_is_farther() {
    let found = snapshot(&browse_lab(&["--format", "json", "--max-rtt", "180"]));
    let pings = rtts(&found.servers);
    assert!(!pings.is_empty());
    assert!(pings.iter().all(|&rtt| rtt <= 180.0), "{pings:?}");
}

#[test]
fn filters_that_nobody_passes_are_a_clear_no() {
    let finished = ended_lab(&["--format", "table", "--map", "no_such_map"]).expect_code(1);
    finished.expect_stderr("passes the filters");
    ended_lab(&["--format", "json", "--max-rtt", "1"]).expect_code(1);
}

/// Slowly enough that some of the fifty answer before the last is sent.
#[test]
fn the_limits_that_were_set_end_the_run() {
    let flags = ["--format", "json", "--pace", "dsl", "--max-probes", "50"];
    let found = snapshot(&browse_lab(&flags));
    assert_eq!(found.summary.stopped, Some(StopReason::Limit));
    assert_eq!(found.summary.probes_sent, 50, "{:?}", found.summary);
}

/// The addresses of the first draw in a record, without ports: a lab moves to others when its own
/// are taken.
fn draw(record: &str) -> Vec<IpAddr> {
    let lines = BufReader::new(File::open(record).unwrap()).lines();
    let entries = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    let prober = replay(entries.collect::<Vec<_>>()).unwrap().prober;
    let draw = prober.plan().calibration_draw;
    draw.into_iter()
        .map(|server| prober.listed(server).addr.ip())
        .collect()
}

#[test]
fn the_same_seed_draws_the_same_sample_and_another_seed_another() {
    let folder = Folder::new();
    let lab = Lab::start(&["--place", "AU", "--servers", "400", "--base-port", "31400"]);
    let list = lab.list();
    let draw_with = |seed: &str, name: &str| {
        let record = folder.join(name);
        let arguments = [
            "browse",
            "--file",
            &list,
            "--lan",
            "--pace",
            "unlimited",
            "--tries",
            "1",
            "--planner",
            "as",
            "--seed",
            seed,
            "--record",
            &record,
        ];
        nearside(&arguments).expect_code(0);
        nearside(&["replay", &record]).expect_code(0);
        draw(&record)
    };
    let first = draw_with("7", "first");
    assert!(first.len() > 10, "{}", first.len());
    assert_eq!(first, draw_with("7", "second"));
    assert_ne!(first, draw_with("8", "third"));
}

#[test]
fn several_sources_are_merged_without_duplicates() {
    let lab = Lab::start(&["--place", "DE", "--servers", "100", "--base-port", "31400"]);
    let (some, others) = lab.servers.split_at(60);
    let first = lab.folder().write("first.txt", some.join("\n"));
    let qstat: String = others.iter().map(|addr| format!("A2S {addr}\n")).collect();
    let second = lab.folder().write("second.txt", qstat + &some[0]);
    let arguments = [
        "browse",
        "--file",
        &first,
        "--file",
        &second,
        "--master",
        "127.0.0.1:27011",
        "--lan",
        "--pace",
        "unlimited",
        "--tries",
        "2",
        "--no-auto-stop",
        "--format",
        "json",
    ];
    let found = snapshot(&nearside(&arguments).expect_code(0));
    assert_eq!(found.summary.listed, lab.servers.len());
    assert_eq!(found.summary.answered, lab.answering);
}

#[test]
fn a_master_that_wants_cookies_is_read_in_both_protocols() {
    for (game, master, base_port) in [
        ("css", "127.0.0.1:27011", "31400"),
        ("et", "127.0.0.1:27950", "31400"),
    ] {
        let lab = Lab::start(&[
            "--place",
            "DE",
            "--servers",
            "300",
            "--game",
            game,
            "--cookies",
            "--base-port",
            base_port,
        ]);
        let arguments = [
            "browse",
            "--master",
            master,
            "--game",
            game,
            "--lan",
            "--pace",
            "unlimited",
            "--tries",
            "2",
            "--no-auto-stop",
            "--format",
            "json",
        ];
        let found = snapshot(&nearside(&arguments).expect_code(0));
        assert_eq!(found.summary.listed, lab.servers.len(), "{game}");
        assert_eq!(found.summary.answered, lab.answering, "{game}");
        assert!(found.servers.iter().all(|row| row.asn.is_some()), "{game}");
    }
}

#[test]
fn a_plain_list_gets_its_origins_from_the_machines_tables() {
    let _lab = Lab::start(&["--place", "DE", "--servers", "50", "--base-port", "31400"]);
    let folder = Folder::new();
    let table = folder.write("table.csv", "127.0.0.0/9,3356,SE\n127.128.0.0/9,174,FI\n");
    // List order asks the master plainly: what the rows say comes from the table alone.
    let finished = nearside(&[
        "browse",
        "--master",
        "127.0.0.1:27011",
        "--lan",
        "--asn-db",
        &table,
        "--planner",
        "conventional",
        "--tries",
        "1",
        "--pace",
        "unlimited",
        "--format",
        "json",
    ])
    .expect_code(0);
    let rows = snapshot(&finished).servers;
    assert!(rows.len() > 20, "{finished}");
    for row in rows {
        let IpAddr::V4(ip) = row.addr.ip() else {
            panic!("{row:?}");
        };
        let expected = if ip.octets()[1] < 128 { 3356 } else { 174 };
        assert_eq!(row.asn, Some(expected), "{row:?}");
    }
}

#[test]
fn the_users_own_word_comes_before_the_masters() {
    let _lab = Lab::start(&["--place", "DE", "--servers", "50", "--base-port", "31400"]);
    let folder = Folder::new();
    let own = folder.write("own.csv", "127.0.0.0/8,64500,\n");
    let finished = nearside(&[
        "browse",
        "--master",
        "127.0.0.1:27011",
        "--lan",
        "--origins",
        &own,
        "--planner",
        "as",
        "--tries",
        "1",
        "--pace",
        "unlimited",
        "--format",
        "json",
    ])
    .expect_code(0);
    let rows = snapshot(&finished).servers;
    assert!(!rows.is_empty(), "{finished}");
    assert!(rows.iter().all(|row| row.asn == Some(64_500)), "{rows:?}");
}

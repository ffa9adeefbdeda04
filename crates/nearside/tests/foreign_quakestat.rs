//! Debian's quakestat (qstat 2.17) reads the lab's servers and both of its masters and gets every
//! server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;

use common::LONG;
use common::foreign::program;
use common::lab::Lab;

/// What quakestat says about one address.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It answered with a name.
    Up(String),
    /// It did not answer.
    Silent,
    /// Not a server: a master, with the number of servers it listed.
    Master(usize),
}

/// Not in any server's name.
const DELIMITER: &str = "\t";

/// Runs quakestat; `None` when it may be missing.
fn quakestat(test: &str, arguments: &[&str]) -> Option<BTreeMap<String, Verdict>> {
    let mut program = program(test, "quakestat", "quakestat")?;
    program.0.args(["-raw", DELIMITER, "-maxsim", "100"]);
    program.0.args(arguments);
    let finished = program.finish(b"", LONG).expect_code(0);
    let lines = finished.stdout.lines().filter(|line| !line.is_empty());
    Some(lines.map(verdict).collect())
}

fn verdict(line: &str) -> (String, Verdict) {
    let fields: Vec<&str> = line.split(DELIMITER).collect();
    let verdict = match fields[..] {
        [_, _, "TIMEOUT" | "DOWN"] => Verdict::Silent,
        [_, _, count] => Verdict::Master(count.parse().unwrap()),
        [_, _, name, ..] => Verdict::Up(name.to_owned()),
        _ => panic!("not a line of quakestat: {line}"),
    };
    (fields[1].to_owned(), verdict)
}

fn answered(verdicts: &BTreeMap<String, Verdict>) -> usize {
    let up = |verdict: &&Verdict| matches!(verdict, Verdict::Up(_));
    verdicts.values().filter(up).count()
}

/// Reads the list file and wants to hear from every server that answers at all.
fn every_server_of_the_list_answers(test: &str, arguments: &[&str]) {
    let mut all = vec!["--place", "DE", "--no-noise", "--base-port", "31000"];
    all.extend(arguments);
    let lab = Lab::start(&all);
    let list = lab.list();
    let Some(verdicts) = quakestat(test, &["-f", &list]) else {
        return;
    };
    assert_eq!(verdicts.len(), lab.servers.len());
    assert_eq!(answered(&verdicts), lab.answering);
}

/// Asks a master and wants exactly the servers of the list, which also shows that a plain client
/// meets no AS marker.
fn every_server_of_the_master_answers(test: &str, lab: &Lab, flag: &str, master: &str) {
    let Some(mut verdicts) = quakestat(test, &["-mi", "0.5", flag, master]) else {
        return;
    };
    let count = verdicts.remove(master);
    assert_eq!(count, Some(Verdict::Master(lab.servers.len())));
    let mut expected = lab.servers.clone();
    expected.sort();
    assert!(
        verdicts.keys().eq(&expected),
        "{} of {} servers",
        verdicts.len(),
        expected.len()
    );
    assert_eq!(answered(&verdicts), lab.answering);
}

#[test]
fn quakestat_reads_every_a2s_server_that_never_challenges() {
    every_server_of_the_list_answers(
        "quakestat_reads_every_a2s_server_that_never_challenges",
        &["--servers", "300", "--challenge", "never"],
    );
}

#[test]
fn quakestat_reads_every_a2s_server_that_challenges_info() {
    every_server_of_the_list_answers(
        "quakestat_reads_every_a2s_server_that_challenges_info",
        &["--servers", "300", "--challenge", "always"],
    );
}

#[test]
fn quakestat_reads_every_enemy_territory_server() {
    every_server_of_the_list_answers(
        "quakestat_reads_every_enemy_territory_server",
        &["--servers", "300", "--game", "et"],
    );
}

/// 500 servers are three pages of at most 231. The filter is given because qstat without one sends
/// garbage behind the seed of the second page.
#[test]
fn quakestat_gets_every_server_from_the_steam_master() {
    let test = "quakestat_gets_every_server_from_the_steam_master";
    let lab = Lab::start(&[
        "--place",
        "DE",
        "--servers",
        "500",
        "--no-noise",
        "--base-port",
        "31000",
    ]);
    every_server_of_the_master_answers(test, &lab, "-stma2s,game=cstrike", "127.0.0.1:27011");
}

#[test]
fn quakestat_gets_every_server_from_the_quake3_master() {
    let test = "quakestat_gets_every_server_from_the_quake3_master";
    let lab = Lab::start(&[
        "--place",
        "DE",
        "--servers",
        "450",
        "--game",
        "et",
        "--no-noise",
        "--base-port",
        "31000",
    ]);
    every_server_of_the_master_answers(test, &lab, "-woetm", "127.0.0.1:27950");
}

/// For a byte beyond ASCII, quakestat's raw output has a backslash where ours says "unknown".
#[test]
fn quakestat_and_nearside_read_the_same_names() {
    let test = "quakestat_and_nearside_read_the_same_names";
    let lab = Lab::start(&[
        "--place",
        "DE",
        "--servers",
        "200",
        "--no-noise",
        "--base-port",
        "31000",
    ]);
    let list = lab.list();
    let Some(verdicts) = quakestat(test, &["-f", &list]) else {
        return;
    };
    let ours = common::nearside(&[
        "browse",
        "--file",
        &list,
        "--lan",
        "--pace",
        "unlimited",
        "--timeout",
        "500",
        "--no-auto-stop",
        "--format",
        "json",
    ])
    .expect_code(0);
    let ours = common::snapshot(&ours);
    assert_eq!(ours.servers.len(), lab.answering);
    for row in ours.servers {
        let theirs = &verdicts[&row.addr.to_string()];
        let name = row.name.unwrap().replace(char::REPLACEMENT_CHARACTER, "\\");
        assert_eq!(theirs, &Verdict::Up(name), "{}", row.addr);
    }
}

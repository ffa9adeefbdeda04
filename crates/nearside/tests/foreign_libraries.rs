//! Two client libraries nobody here wrote, python-a2s and gamedig, read lab servers and agree with
//! what `nearside query` says.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;

use common::LONG;
use common::foreign::{node_modules, program, python};
use common::lab::Lab;
use serde::Deserialize;

/// What all three programs can say about a server.
#[derive(Debug, PartialEq, Deserialize)]
struct Account {
    name: String,
    map: String,
    /// Name and score, in order.
    players: Vec<(String, i32)>,
    /// Only python-a2s is asked for them.
    rules: Option<BTreeMap<String, String>>,
}

/// The JSON of `nearside query --json`, as far as it is compared.
#[derive(Deserialize)]
struct Queried {
    info: Vec<(String, String)>,
    players: Vec<QueriedPlayer>,
    rules: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct QueriedPlayer {
    name: String,
    score: i32,
}

fn our_account(server: &str) -> Account {
    let finished = common::nearside(&["query", server, "--json"]).expect_code(0);
    let queried: Queried = serde_json::from_str(&finished.stdout).unwrap();
    let info: BTreeMap<String, String> = queried.info.into_iter().collect();
    let mut players: Vec<(String, i32)> = queried
        .players
        .into_iter()
        .map(|player| (player.name, player.score))
        .collect();
    players.sort();
    Account {
        name: info["name"].clone(),
        map: info["map"].clone(),
        players,
        rules: Some(queried.rules.into_iter().collect()),
    }
}

/// Servers that answer and have players, so that there is something to compare.
fn lively_servers(lab: &Lab, most: usize) -> Vec<String> {
    let list = lab.list();
    let finished = common::nearside(&[
        "browse",
        "--file",
        &list,
        "--lan",
        "--pace",
        "unlimited",
        "--timeout",
        "500",
        "--not-empty",
        "--no-auto-stop",
        "--format",
        "json",
    ])
    .expect_code(0);
    let rows = common::snapshot(&finished).servers;
    assert!(rows.len() >= most, "{} servers have players", rows.len());
    rows[..most]
        .iter()
        .map(|row| row.addr.to_string())
        .collect()
}

fn lab(challenge: &str) -> Lab {
    Lab::start(&[
        "--place",
        "DE",
        "--servers",
        "60",
        "--no-noise",
        "--base-port",
        "31200",
        "--challenge",
        challenge,
    ])
}

const PYTHON_SCRIPT: &str = r#"
import json, sys
import a2s
host, port = sys.argv[1].rsplit(":", 1)
server = (host, int(port))
info = a2s.info(server, timeout=5)
players = a2s.players(server, timeout=5)
rules = a2s.rules(server, timeout=5)
print(json.dumps({
    "name": info.server_name,
    "map": info.map_name,
    "players": sorted((player.name, player.score) for player in players),
    "rules": rules,
}))
"#;

fn python_a2s_agrees(test: &str, challenge: &str) {
    let lab = lab(challenge);
    for server in lively_servers(&lab, 4) {
        let Some(mut python) = python(test) else {
            return;
        };
        python.0.args(["-c", PYTHON_SCRIPT, &server]);
        let finished = python.finish(b"", LONG).expect_code(0);
        let theirs: Account = serde_json::from_str(&finished.stdout).unwrap();
        assert!(!theirs.players.is_empty());
        assert!(theirs.rules.as_ref().is_some_and(|rules| !rules.is_empty()));
        assert_eq!(theirs, our_account(&server), "{server}");
    }
}

#[test]
fn python_a2s_agrees_about_info_players_and_rules() {
    python_a2s_agrees("python_a2s_agrees_about_info_players_and_rules", "classic");
}

#[test]
fn python_a2s_agrees_when_info_is_challenged() {
    python_a2s_agrees("python_a2s_agrees_when_info_is_challenged", "always");
}

const NODE_SCRIPT: &str = r#"
const { GameDig } = require("gamedig");
const [host, port] = process.argv[1].split(":");
const question = {
  type: "css", host, port: Number(port), givenPortOnly: true,
  socketTimeout: 5000, attemptTimeout: 20000,
};
GameDig.query(question).then((state) => {
  const everybody = state.players.concat(state.bots);
  console.log(JSON.stringify({
    name: state.name,
    map: state.map,
    players: everybody.map((player) => [player.name, player.raw.score]),
  }));
});
"#;

fn gamedig_agrees(test: &str, challenge: &str) {
    let Some(modules) = node_modules(test) else {
        return;
    };
    let lab = lab(challenge);
    for server in lively_servers(&lab, 3) {
        let Some(mut node) = program(test, "gamedig", "node") else {
            return;
        };
        node.0.env("NODE_PATH", &modules);
        node.0.args(["-e", NODE_SCRIPT, &server]);
        let finished = node.finish(b"", LONG).expect_code(0);
        let mut theirs: Account = serde_json::from_str(&finished.stdout)
            .unwrap_or_else(|error| panic!("{error}: {finished}"));
        theirs.players.sort();
        assert!(!theirs.players.is_empty());
        let ours = Account {
            rules: None,
            ..our_account(&server)
        };
        assert_eq!(theirs, ours, "{server}");
    }
}

#[test]
fn gamedig_agrees_about_info_and_players() {
    gamedig_agrees("gamedig_agrees_about_info_and_players", "classic");
}

#[test]
fn gamedig_agrees_when_info_is_challenged() {
    gamedig_agrees("gamedig_agrees_when_info_is_challenged", "always");
}

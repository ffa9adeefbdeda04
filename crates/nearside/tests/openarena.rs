//! A real OpenArena server is read by `nearside query` and `nearside browse`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::LONG;
use common::openarena::OpenArena;
use serde_json::Value;

/// A server for each test: ioquake3 answers ten questions of one address at once and then one a
/// second, and both tests stay below that.
#[test]
fn a_real_openarena_server_is_read_by_query_and_browse() {
    let test = "a_real_openarena_server_is_read_by_query_and_browse";
    let Some(server) = OpenArena::start(test, &[]) else {
        return;
    };
    query_says_it_in_words(&server.addr);
    query_says_it_in_json(&server.addr);
    browse_lists_it(&server.addr);
}

#[test]
fn the_quality_of_the_path_to_a_real_openarena_server_is_that_of_loopback() {
    let test = "the_quality_of_the_path_to_a_real_openarena_server_is_that_of_loopback";
    let Some(server) = OpenArena::start(test, &[]) else {
        return;
    };
    quality_is_that_of_loopback(&server.addr);
}

fn query_says_it_in_words(addr: &str) {
    let finished = common::nearside(&["query", addr, "--game", "openarena"]).expect_code(0);
    let text = &finished.stdout;
    assert!(text.starts_with(&format!("{addr}  ")), "{finished}");
    let says = |key: &str, value: &str| {
        let mut lines = text.lines().map(|line| line.trim().split_once(' '));
        lines.any(|line| line.is_some_and(|(k, v)| k == key && v.trim() == value))
    };
    assert!(says("sv_hostname", "Nearside test"), "{finished}");
    assert!(says("mapname", "oa_dm1"), "{finished}");
    assert!(says("fraglimit", "17"), "a rule, by getstatus: {finished}");
    assert!(text.contains("players: 0\n"), "{finished}");
}

fn query_says_it_in_json(addr: &str) {
    let arguments = ["query", addr, "--game", "openarena", "--json"];
    let finished = common::nearside(&arguments).expect_code(0);
    let json: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(json["addr"], addr);
    assert_eq!(json["answered"], true);
    assert!(json["rtt_ms"].as_f64().unwrap() < 100.0, "{finished}");
    assert_eq!(json["players"], Value::Array(Vec::new()));
    assert_eq!(json["players_partial"], false);
    let info = json["info"].as_array().unwrap();
    let value = |key: &str| info.iter().find(|pair| pair[0] == key).map(|pair| &pair[1]);
    assert_eq!(value("sv_hostname").unwrap(), "Nearside test");
    assert_eq!(value("sv_maxclients").unwrap(), "12");
    assert!(value("challenge").is_none(), "our nonce is no news");
}

fn browse_lists_it(addr: &str) {
    let list = format!("# one server\n{addr}\n");
    let arguments = [
        "browse",
        "--file",
        "-",
        "--game",
        "openarena",
        "--lan",
        "--format",
        "json",
    ];
    let program = common::process::nearside(&arguments);
    let finished = program.finish(list.as_bytes(), LONG).expect_code(0);
    let found = common::snapshot(&finished);
    assert_eq!(found.servers.len(), 1, "{finished}");
    let row = &found.servers[0];
    assert_eq!(row.addr.to_string(), addr);
    assert_eq!(row.name.as_deref(), Some("Nearside test"));
    assert_eq!(row.map.as_deref(), Some("oa_dm1"));
    assert_eq!((row.players, row.max_players), (Some(0), Some(12)));
    assert_eq!(row.password, Some(false));
    assert!(row.clean && row.rtt_ms.unwrap() < 100.0, "{row:?}");
}

fn quality_is_that_of_loopback(addr: &str) {
    let arguments = [
        "query",
        addr,
        "--game",
        "openarena",
        "--json",
        "--quality",
        "--probes",
        "5",
    ];
    let finished = common::nearside(&arguments).expect_code(0);
    let json: Value = serde_json::from_str(&finished.stdout).unwrap();
    let quality = &json["quality"];
    assert_eq!(quality["sent"], 5, "{finished}");
    assert_eq!(quality["lost"], 0, "{finished}");
    let at = |name: &str| quality[name].as_f64().unwrap();
    let percentiles = ["min_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms"].map(at);
    assert!(percentiles.is_sorted(), "{finished}");
    assert!(percentiles[1] < 100.0, "{finished}");
}

//! Names with control bytes, colour codes or broken UTF-8 cannot disturb the terminal, in any
//! format.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::fake::FakeServer;
use common::process::Finished;
use common::{LONG, nearside, process, snapshot};

/// Clears the screen, sets the title, rings, breaks lines, moves left, runs text backwards, uses an
/// 8-bit control byte and ends in the middle of a character.
const NAME: &[u8] =
    b"evil\x1b[2J\x1b]0;owned\x07 \r\nline\x08\t\x9b31m\xe2\x80\xaetxt \xff\xfe\xc3";
const MAP: &[u8] = b"de_\x1b[31mdust";

fn browse(server: &FakeServer, format: &str) -> Finished {
    let arguments = ["browse", "--file", "-", "--lan", "--format", format];
    let list = format!("{}\n", server.addr);
    process::nearside(&arguments)
        .finish(list.as_bytes(), LONG)
        .expect_code(0)
}

/// Characters that move a cursor, ring, or turn the direction of text.
fn disturbs(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
fn is_harmless(text: &str) {
    let bad: Vec<char> = text.chars().filter(|&c| disturbs(c) && c != '\n').collect();
    assert!(bad.is_empty(), "{bad:?} in {text:?}");
}

#[test]
fn hostile_names_are_harmless_in_every_format() {
    let server = FakeServer::a2s(NAME, MAP, b"Counter\x07-Strike");
    let table = browse(&server, "table");
    is_harmless(&table.stdout);
    assert_eq!(table.stdout.lines().count(), 2, "{table}");
    let csv = browse(&server, "csv");
    is_harmless(&csv.stdout);
    assert_eq!(csv.stdout.lines().count(), 2, "{csv}");
    for format in ["json", "ndjson"] {
        is_harmless(&browse(&server, format).stdout);
    }
    let row = snapshot(&browse(&server, "json")).servers.remove(0);
    for text in [row.name.unwrap(), row.map.unwrap(), row.game.unwrap()] {
        assert!(!text.contains(disturbs), "decoded from JSON: {text:?}");
    }
}

#[test]
fn what_is_readable_in_a_hostile_name_stays() {
    let server = FakeServer::a2s(NAME, MAP, b"game");
    let row = snapshot(&browse(&server, "json")).servers.remove(0);
    let name = row.name.unwrap();
    assert!(
        name.starts_with("evil") && name.contains("line"),
        "{name:?}"
    );
    assert!(row.map.unwrap().ends_with("dust"));
}

#[test]
fn query_shows_hostile_names_harmlessly() {
    let server = FakeServer::a2s(NAME, MAP, b"game");
    let addr = server.addr.to_string();
    is_harmless(&nearside(&["query", &addr]).expect_code(0).stdout);
    is_harmless(&nearside(&["query", &addr, "--json"]).expect_code(0).stdout);
}

#[test]
fn colour_codes_are_removed_from_names() {
    let server = FakeServer::a2s(b"^1Red ^7name", b"map", b"game");
    let row = snapshot(&browse(&server, "json")).servers.remove(0);
    assert_eq!(row.name.as_deref(), Some("Red name"));
}

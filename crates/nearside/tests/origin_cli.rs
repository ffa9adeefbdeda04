//! `nearside origin`: look-ups in every form, sources in their order of trust, and what a user
//! installs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::process::{self, Finished, Program};
use common::{Folder, LONG, is_refused};
use serde::Deserialize;

/// The contract: these fields and no other.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    addr: String,
    asn: Option<u32>,
    country: Option<String>,
    prefix: Option<String>,
    source: Option<String>,
    age_days: Option<u64>,
}

/// A user without any file of their own, on a machine without GeoIP folders worth naming.
struct User {
    home: Folder,
}

impl User {
    fn new() -> Self {
        Self {
            home: Folder::new(),
        }
    }

    fn nearside(&self, arguments: &[&str], stdin: &str) -> Finished {
        self.program(arguments).finish(stdin.as_bytes(), LONG)
    }

    fn program(&self, arguments: &[&str]) -> Program {
        let mut program = process::nearside(arguments);
        let home = self.home.path();
        program.0.env("HOME", home).env_remove("XDG_DATA_HOME");
        program.0.env_remove("XDG_CONFIG_HOME");
        program.0.env("GEOIP_DIR", home.join("geoip"));
        program
    }

    fn origin(&self, arguments: &[&str]) -> Finished {
        self.nearside(&[&["origin"], arguments].concat(), "")
    }

    fn row(&self, arguments: &[&str]) -> Row {
        rows(&self.origin(arguments).expect_code(0)).remove(0)
    }
}

fn rows(finished: &Finished) -> Vec<Row> {
    let rows = finished.stdout.lines().map(serde_json::from_str);
    rows.collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{error} in {finished}"))
}

#[test]
fn the_program_knows_public_addresses_by_itself() {
    let row = User::new().row(&["8.8.8.8"]);
    assert_eq!(row.addr, "8.8.8.8");
    assert_eq!(row.asn, Some(15_169));
    assert_eq!(row.country.as_deref(), Some("US"));
    assert_eq!(row.source.as_deref(), Some("embedded"));
    assert!(row.prefix.unwrap().starts_with("8.8."));
    assert!(row.age_days.is_some());
}

#[test]
fn mapped_addresses_and_ports_are_taken_off() {
    let user = User::new();
    let found = rows(&user.origin(&["::ffff:8.8.8.8", "8.8.8.8:27015"]));
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|row| row.addr == "8.8.8.8"), "{found:?}");
}

#[test]
fn nothing_known_is_a_clear_no() {
    let finished = User::new().origin(&["10.0.0.1"]).expect_code(1);
    let row = rows(&finished).remove(0);
    assert_eq!((row.asn, row.country, row.source), (None, None, None));
}

#[test]
fn every_form_says_the_same() {
    let user = User::new();
    let addresses = ["8.8.8.8", "1.1.1.1", "10.0.0.1"];
    let form = |form: &str| {
        let arguments = [&["--format", form], &addresses[..]].concat();
        user.origin(&arguments).expect_code(0).stdout
    };
    let json: Vec<Row> = serde_json::from_str(&form("json")).unwrap();
    assert_eq!(json, rows(&user.origin(&addresses)));
    let csv = form("csv");
    assert!(csv.starts_with("addr,asn,country,prefix,source,age_days\n"));
    assert!(csv.contains("\n8.8.8.8,15169,US,"), "{csv}");
    assert!(csv.ends_with("\n10.0.0.1,,,,,\n"), "{csv}");
    let table = form("table");
    assert_eq!(table.lines().count(), 4);
    assert!(table.lines().nth(1).unwrap().contains("AS15169"));
}

#[test]
fn broken_lines_are_told_with_their_number_and_the_rest_is_answered() {
    let stdin = "# servers\n8.8.8.8:27015 css\n\nserver.example\n2001:4860:4860::8888\n";
    let finished = User::new().nearside(&["origin", "-"], stdin).expect_code(2);
    assert_eq!(rows(&finished).len(), 2);
    assert!(
        finished
            .stderr
            .contains("standard input, line 4: \"server.example\""),
        "{finished}"
    );
}

#[test]
fn ten_thousand_addresses_come_back_in_their_order() {
    let addresses: Vec<String> = (0..10_000_u32)
        .map(|number| std::net::Ipv4Addr::from(0x0800_0000 + number * 256).to_string())
        .collect();
    let user = User::new();
    let list = user.home.write("list", addresses.join("\n"));
    let mut running = user.program(&["origin", "-"]).start();
    let mut stdin = running.child.stdin.take().unwrap();
    let mut file = std::fs::File::open(list).unwrap();
    let writer = std::thread::spawn(move || std::io::copy(&mut file, &mut stdin));
    let finished = running.finish(LONG).expect_code(0);
    writer.join().unwrap().unwrap();
    let answered: Vec<String> = rows(&finished).into_iter().map(|row| row.addr).collect();
    assert_eq!(answered, addresses);
}

#[test]
fn the_operators_word_comes_before_tables_and_tables_before_the_program() {
    let user = User::new();
    let table = user
        .home
        .write("table.tsv", "8.8.8.0\t8.8.8.255\t3356\tSE\tname\n");
    let own = user
        .home
        .write("own.csv", "8.8.8.8/32,,FI\n8.8.8.9/32,64500,\n");
    let flags = ["--asn-db", &table, "--origins", &own];
    let row = |addr: &str| user.row(&[&flags[..], &[addr]].concat());
    let first = row("8.8.8.8");
    assert_eq!(first.asn, Some(3356), "the override says nothing of the AS");
    assert_eq!(first.country.as_deref(), Some("FI"));
    assert_eq!(first.source.as_deref(), Some("file"));
    assert_eq!(first.age_days, Some(0), "without a date, that of the file");
    let second = row("8.8.8.9");
    assert_eq!(
        second.asn,
        Some(64_500),
        "private numbers are the operator's"
    );
    assert_eq!(second.source.as_deref(), Some("override"));
    assert_eq!(row("1.1.1.1").source.as_deref(), Some("embedded"));
}

#[test]
fn only_given_sources_are_asked_when_the_user_says_so() {
    let user = User::new();
    let table = user.home.write("table.csv", "8.8.8.0/24,3356,SE\n");
    let flags = ["--only-given", "--asn-db", &table];
    assert_eq!(
        user.row(&[&flags[..], &["8.8.8.8"]].concat()).asn,
        Some(3356)
    );
    user.origin(&[&flags[..], &["1.1.1.1"]].concat())
        .expect_code(1);
}

#[test]
fn malformed_sources_are_refused_with_place_and_reason() {
    let folder = Folder::new();
    let table = folder.write("t.csv", "8.8.8.0/24,1,US\n9.0.0.0/8,two,US\n");
    let place = format!("{table}, line 2");
    for flag in ["--origins", "--asn-db"] {
        is_refused(&["origin", flag, &table, "8.8.8.8"], &[&place, "`two`"]);
    }
    is_refused(
        &["origin", "--mrt", &table, "8.8.8.8"],
        &["not an MRT file"],
    );
    is_refused(&["origin", "use", &table], &[&place]);
    let gone = folder.join("gone.mmdb");
    is_refused(
        &["origin", "--asn-db", &gone, "8.8.8.8"],
        &["cannot read", &gone],
    );
    let config = folder.write("c.toml", "[sources]\ntable = []\n");
    is_refused(
        &["origin", "--origin-config", &config, "8.8.8.8"],
        &[&config, "line 2", "tables"],
    );
}

#[test]
fn a_broken_file_in_a_usual_folder_is_passed_over_with_a_note() {
    let user = User::new();
    std::fs::create_dir(user.home.path().join("geoip")).unwrap();
    user.home
        .write("geoip/GeoLite2-ASN.mmdb", b"\xFF no database");
    let finished = user.origin(&["8.8.8.8"]).expect_code(0);
    assert_eq!(rows(&finished)[0].source.as_deref(), Some("embedded"));
    assert!(finished.stderr.contains("passed over"), "{finished}");
    assert!(finished.stderr.contains("GeoLite2-ASN.mmdb"), "{finished}");

    // A broken file does not hide a good one under a less favoured name.
    user.home
        .write("geoip/dbip-asn-lite-2026-11.mmdb", "8.8.8.0/24,3356,\n");
    assert_eq!(user.row(&["8.8.8.8"]).asn, Some(3356));
}

/// One record of RFC 6396.
fn mrt_record(kind: u16, subtype: u16, body: &[u8]) -> Vec<u8> {
    let [seconds, length] = [1_780_272_000, body.len() as u32].map(u32::to_be_bytes);
    let [kind, subtype] = [kind, subtype].map(u16::to_be_bytes);
    [&seconds[..], &kind, &subtype, &length, body].concat()
}

/// ORIGIN, an AS_PATH of one AS in four octets, and NEXT_HOP.
fn attributes(asn: u32) -> Vec<u8> {
    let path = [&[0x40, 2, 6, 2, 1][..], &asn.to_be_bytes()].concat();
    [&[0x40, 1, 1, 0][..], &path, &[0x40, 3, 4, 10, 0, 0, 1]].concat()
}

/// A table in which 10.0.0.1 in AS 65000 announces 9.9.9.0/24 from AS 3356.
fn mrt_table() -> Vec<u8> {
    let peer = [2, 10, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0xFD, 0xE8];
    let index = [&[10, 0, 0, 9, 0, 0, 0, 1][..], &peer].concat();
    let attributes = attributes(3356);
    let entry = [
        &[0, 0, 0, 0, 0, 0, 0, attributes.len() as u8][..],
        &attributes,
    ]
    .concat();
    let route = [&[0, 0, 0, 0, 24, 9, 9, 9, 0, 1][..], &entry].concat();
    [mrt_record(13, 1, &index), mrt_record(13, 2, &route)].concat()
}

/// The same neighbour withdraws a prefix or announces it from another AS.
fn mrt_update(withdrawn: &[u8], announced: Option<u32>) -> Vec<u8> {
    let attributes = announced.map(attributes).unwrap_or_default();
    let nlri: &[u8] = announced.map_or(&[], |_| &[24, 9, 9, 9]);
    let lengths = (withdrawn.len() as u16, attributes.len() as u16);
    let (lengths, attributes_length) = (lengths.0.to_be_bytes(), lengths.1.to_be_bytes());
    let body = [
        &lengths[..],
        withdrawn,
        &attributes_length,
        &attributes,
        nlri,
    ]
    .concat();
    let length = (19 + body.len() as u16).to_be_bytes();
    let message = [&[0xFF; 16][..], &length, &[2], &body].concat();
    let head = [
        0, 0, 0xFD, 0xE8, 0, 0, 0xFC, 0, 0, 0, 0, 1, 10, 0, 0, 1, 10, 0, 0, 9,
    ];
    mrt_record(16, 4, &[&head[..], &message].concat())
}

#[test]
fn a_routing_dump_and_the_updates_since_are_one_source() {
    let user = User::new();
    let table = user.home.write("rib.mrt", mrt_table());
    let moved = user.home.write("updates1.mrt", mrt_update(&[], Some(6939)));
    let gone = user
        .home
        .write("updates2.mrt", mrt_update(&[24, 9, 9, 9], None));
    let mut flags = vec!["--only-given", "--mrt", &table];
    let row = user.row(&[&flags[..], &["9.9.9.9"]].concat());
    assert_eq!((row.asn, row.source.as_deref()), (Some(3356), Some("mrt")));
    assert_eq!(row.prefix.as_deref(), Some("9.9.9.0/24"));
    flags.extend(["--mrt", &moved]);
    assert_eq!(
        user.row(&[&flags[..], &["9.9.9.9"]].concat()).asn,
        Some(6939)
    );
    flags.extend(["--mrt", &gone]);
    user.origin(&[&flags[..], &["9.9.9.9"]].concat())
        .expect_code(1);
}

#[test]
fn a_truncated_dump_gives_what_it_holds_and_says_so() {
    let user = User::new();
    let whole = [mrt_table(), mrt_update(&[], Some(6939))].concat();
    let cut = user.home.write("cut.mrt", &whole[..whole.len() - 3]);
    let finished = user
        .origin(&["--only-given", "--mrt", &cut, "9.9.9.9"])
        .expect_code(0);
    assert_eq!(rows(&finished)[0].asn, Some(3356));
    assert!(finished.stderr.contains("breaks off"), "{finished}");
}

#[test]
fn what_is_left_out_of_a_table_is_said() {
    let user = User::new();
    let table = user
        .home
        .write("t.csv", "8.8.8.0/24,64512,US\n0.0.0.0/0,1,US\n");
    let finished = user.origin(&["--only-given", "--asn-db", &table, "8.8.8.8"]);
    let words = "left out 1 reserved or private AS numbers, 1 ranges that cover everything";
    assert!(finished.stderr.contains(words), "{finished}");
}

#[test]
fn hostile_files_and_lines_are_quoted_short_and_harmless() {
    let user = User::new();
    let field = format!("\u{1b}[31m{}", "x".repeat(1_000_000));
    let table = user.home.write("t.csv", format!("8.8.8.0/24,{field},US\n"));
    let refused = user.origin(&["--asn-db", &table, "8.8.8.8"]).expect_code(2);
    assert!(
        refused.stderr.len() < 1_000,
        "{} bytes",
        refused.stderr.len()
    );
    assert!(!refused.stderr.contains('\u{1b}'));
    let folder = user.home.path().display().to_string();
    for flag in ["--asn-db", "--mrt", "--origins"] {
        let refused = user.origin(&[flag, &folder, "8.8.8.8"]).expect_code(2);
        assert!(refused.stderr.contains("not a regular file"), "{refused}");
    }
}

#[test]
fn an_installed_table_is_used_until_it_is_removed() {
    let user = User::new();
    let asns = user.home.write("asn.csv", "8.8.8.0/24,3356,\n");
    let countries = user.home.write("country.csv", "8.8.8.0/24,,SE\n");
    let installed = user
        .origin(&["use", &asns, "--date", "2026-11-01"])
        .expect_code(0);
    assert!(
        installed.stdout.contains("AS numbers of 2026-11-01"),
        "{installed}"
    );
    user.origin(&["use", &countries]).expect_code(0);
    let row = user.row(&["8.8.8.8"]);
    assert_eq!((row.asn, row.country.as_deref()), (Some(3356), Some("SE")));
    assert_eq!(row.source.as_deref(), Some("file"));
    assert!(row.age_days.unwrap() >= 14);

    let both = user.home.write("both.csv", "8.8.8.0/24,174,FI\n");
    user.origin(&["use", &both]).expect_code(0);
    let row = user.row(&["8.8.8.8"]);
    assert_eq!((row.asn, row.country.as_deref()), (Some(174), Some("FI")));

    user.origin(&["use", "--remove"]).expect_code(0);
    assert_eq!(user.row(&["8.8.8.8"]).source.as_deref(), Some("embedded"));
    user.origin(&["use", "--remove"]).expect_code(1);
}

#[test]
fn a_refused_table_leaves_the_installed_one() {
    let user = User::new();
    let good = user.home.write("good.csv", "8.8.8.0/24,3356,SE\n");
    user.origin(&["use", &good]).expect_code(0);
    let bad = user.home.write("bad.csv", "8.8.8.0/99,3356,SE\n");
    user.origin(&["use", &bad]).expect_code(2);
    assert_eq!(user.row(&["8.8.8.8"]).asn, Some(3356));
}

#[test]
fn a_configuration_names_files_from_where_it_stands() {
    let user = User::new();
    let folder = user.home.path().join(".config/nearside");
    std::fs::create_dir_all(&folder).unwrap();
    user.home
        .write(".config/nearside/own.csv", "8.8.8.0/24,3356,SE\n");
    user.home.write(
        ".config/nearside/origin.toml",
        "[sources]\noverrides = [\"own.csv\"]\nembedded = false\n",
    );
    assert_eq!(user.row(&["8.8.8.8"]).source.as_deref(), Some("override"));
    user.origin(&["1.1.1.1"]).expect_code(1);
}

#[test]
fn files_that_change_are_read_again_while_addresses_come_in() {
    use std::io::{BufRead, BufReader, Write};
    let user = User::new();
    let table = user.home.write("t.csv", "8.8.8.0/24,1,US\n");
    let mut running = user.program(&["origin", "-", "--asn-db", &table]).start();
    let mut stdin = running.child.stdin.take().unwrap();
    let mut answers = BufReader::new(running.stdout()).lines();
    let mut ask = || {
        stdin.write_all(b"8.8.8.8\n").unwrap();
        let line = answers.next().unwrap().unwrap();
        serde_json::from_str::<Row>(&line).unwrap().asn.unwrap()
    };
    assert_eq!(ask(), 1);
    // Another length, so that also a file system with coarse times shows the change.
    user.home.write("t.csv", "8.8.8.0/24,22222,US\n");
    let changed = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        ask() == 22_222
    });
    assert!(changed, "ten seconds later still the old table");
    user.home.write("t.csv", "8.8.8.0/24,broken line,US\n");
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    assert_eq!(ask(), 22_222, "a broken file leaves the last good content");
    drop(stdin);
    running.finish(LONG).expect_code(0);
}

#[test]
fn stats_name_every_source_and_the_attribution() {
    let user = User::new();
    let table = user.home.write("t.csv", "8.8.8.0/24,1,US\n");
    let told = user.origin(&["stats", "--asn-db", &table]).expect_code(0);
    assert!(told.stdout.contains("embedded") && told.stdout.contains(&table));
    assert!(told.stdout.contains("DB-IP"), "{told}");
    let json = user.origin(&["stats", "--json", "--only-given", "--asn-db", &table]);
    let json: serde_json::Value = serde_json::from_str(&json.expect_code(0).stdout).unwrap();
    assert_eq!(json["sources"].as_array().unwrap().len(), 1);
    assert_eq!(json["sources"][0]["ases"], 1);
    assert_eq!(json["sources"][0]["ranges_v4"], 1);
}

#[test]
fn the_version_carries_the_attribution() {
    let told = User::new().nearside(&["--version"], "").expect_code(0);
    assert!(told.stdout.contains("https://db-ip.com"), "{told}");
    assert!(told.stdout.contains("CC BY 4.0"), "{told}");
}

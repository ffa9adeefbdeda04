//! What cannot work is refused: exit code, place and reason, and a next step.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::net::UdpSocket;

use common::{Folder, is_refused, ndjson, nearside, one_lab_at_a_time};

#[test]
fn bad_flags_are_refused_with_what_would_be_right() {
    is_refused(&["browse"], &["nothing to browse", "--lab PLACE"]);
    is_refused(&["browse", "--planer", "as"], &["--planer", "'--planner'"]);
    is_refused(&["browse", "--lab", "XX"], &["`XX`", "AU, CH, DE"]);
    is_refused(&["browse", "--lab", "AU", "--game", "tetris"], &["css, et"]);
    is_refused(&["browse", "--lab", "AU", "--format", "xml"], &["ndjson"]);
    is_refused(&["browse", "--lab", "AU", "--top", "0"], &["--top"]);
    is_refused(
        &["browse", "--lab", "AU", "--lab-loss", "2"],
        &["--lab-loss", "from 0 to 1"],
    );
    is_refused(&["browse", "--lab", "AU", "--pace", "warp"], &["--pace"]);
    let none = ["browse", "--lab", "AU", "--max-probes", "0"];
    is_refused(&none, &["--max-probes"]);
    is_refused(&["browse", "--master", "localhost"], &["add the port"]);
    is_refused(&["query", "localhost"], &["is not an address with a port"]);
    is_refused(
        &["lab", "--challenge", "sometimes"],
        &["never, classic, always"],
    );
}

#[test]
fn bad_filters_are_refused_with_the_reason() {
    let filter = |flag: &str, value: &str, words: &[&str]| {
        is_refused(&["browse", "--lab", "AU", flag, value], words);
    };
    filter("--country", "XYZ", &["`XYZ`", "two-letter country code"]);
    filter("--as", "foo", &["`foo`", "AS number"]);
    filter("--map", "", &["the pattern is empty"]);
    filter("--sort", "luck", &["`luck`", "choose rtt"]);
    filter("--max-rtt", "0", &["--max-rtt", "above 0"]);
}

#[test]
fn settings_of_another_planner_are_refused_with_the_way_out() {
    let flags = |flags: &[&str], words: &[&str]| {
        is_refused(&[&["browse", "--lab", "AU"], flags].concat(), words);
    };
    flags(&["--window", "50"], &["--window", "--planner as"]);
    flags(&["--planner", "as", "--best", "5"], &["--best", "adaptive"]);
    flags(
        &["--objective", "luck"],
        &["`luck`", "thorough, fast or best"],
    );
    flags(
        &["--best", "5", "--no-auto-stop"],
        &["--best", "--no-auto-stop"],
    );
}

#[test]
fn a_missing_file_is_named() {
    for flag in ["--file", "--favourites"] {
        is_refused(&["browse", flag, "no-such-list.txt"], &["no-such-list.txt"]);
    }
    is_refused(
        &["browse", "--lab", "AU", "--lab-population", "no-such.csv"],
        &["no-such.csv"],
    );
    is_refused(&["replay", "no-such-record"], &["no-such-record"]);
}

#[test]
fn a_malformed_list_is_refused_with_file_line_and_reason() {
    let folder = Folder::new();
    for (line, reason) in [
        ("A2S 192.0.2.1", "`192.0.2.1` is not an address with a port"),
        ("192.0.2.1:99999", "`192.0.2.1:99999`"),
        ("WOETS 192.0.2.1:27960", "another protocol"),
        ("XYZ 192.0.2.1:27960", "XYZ"),
    ] {
        let text = format!("# my servers\n192.0.2.7:27015\n\n{line}\n");
        let list = folder.write("list.txt", text);
        let place = format!("{list}, line 4: ");
        is_refused(&["browse", "--file", &list], &[&place, reason]);
        is_refused(&["browse", "--favourites", &list], &[&place, reason]);
    }
}

#[test]
fn a_list_that_is_not_text_is_refused() {
    let folder = Folder::new();
    let list = folder.write("list.txt", b"192.0.2.1:27015\n\xff\xfe\x00");
    is_refused(&["browse", "--file", &list], &[&list, "UTF-8"]);
}

#[test]
fn a_malformed_population_is_refused_with_line_and_column() {
    let folder = Folder::new();
    let heading = "addr,port,asn,country,rtt_ms:AU";
    for (text, reason) in [
        (
            format!("{heading}\n192.0.2.1,27015,1,AU,30\n192.0.2.2,99999,1,AU,30\n"),
            "line 3: column `port`",
        ),
        (
            format!("{heading}\n192.0.2.1,27015,1,AU,soon\n"),
            "line 2: column `rtt_ms:AU`",
        ),
        (
            format!("{heading}\n192.0.2.1,27015,1,AUS,30\n"),
            "line 2: column `country`",
        ),
        ("addr,port,country\n".to_owned(), "line 1"),
    ] {
        let file = folder.write("population.csv", text);
        let words = [file.as_str(), reason];
        is_refused(&["lab", "--population", &file], &words);
        is_refused(
            &["browse", "--lab", "AU", "--lab-population", &file],
            &words,
        );
    }
}

#[test]
fn malformed_origins_are_refused_with_line_and_reason() {
    let folder = Folder::new();
    let list = folder.write("list.txt", "192.0.2.1:27015\n");
    let origins = folder.write("origins.csv", "192.0.2.0/24,64500,AU\n192.0.2.0/40,1,AU\n");
    let place = format!("{origins}, line 2");
    is_refused(
        &["browse", "--file", &list, "--origins", &origins],
        &[&place, "192.0.2.0/40"],
    );
}

#[test]
fn a_file_that_is_no_record_is_refused() {
    let folder = Folder::new();
    let file = folder.write("record", "{}\n");
    is_refused(&["replay", &file], &[&format!("{file}, line 1")]);
}

#[test]
fn finding_nothing_is_a_clear_no() {
    let folder = Folder::new();
    let down = folder.write("down.txt", "127.0.0.1:9\n");
    let finished = nearside(&["browse", "--file", &down, "--lan"]).expect_code(1);
    let (rows, summary) = ndjson(&finished.stdout);
    assert!(rows.is_empty());
    assert_eq!((summary.probed, summary.answered), (1, 0));
    nearside(&["query", "127.0.0.1:9"]).expect_code(1);
}

#[test]
fn private_addresses_are_not_probed_unless_asked_for() {
    let folder = Folder::new();
    let list = folder.write("list.txt", "127.0.0.1:9\n10.1.2.3:27015\n0.0.0.0:27015\n");
    let finished = nearside(&["browse", "--file", &list])
        .expect_code(1)
        .expect_stderr("3 not probed")
        .expect_stderr("--lan");
    let (_, summary) = ndjson(&finished.stdout);
    assert_eq!((summary.listed, summary.probes_sent), (0, 0));
}

#[test]
fn crowded_addresses_are_capped_and_reported() {
    let folder = Folder::new();
    let crowd: String = (1..=40).map(|port| format!("127.0.0.1:{port}\n")).collect();
    let list = folder.write("list.txt", crowd);
    let limited = [
        "browse",
        "--file",
        &list,
        "--lan",
        "--max-probes",
        "1",
        "--timeout",
        "50",
    ];
    let finished = nearside(&limited)
        .expect_code(1)
        .expect_stderr("8 not probed: too many on one address");
    let (_, summary) = ndjson(&finished.stdout);
    assert_eq!(summary.listed, 32);
}

#[test]
fn a_taken_port_is_the_worlds_failure() {
    let _alone = one_lab_at_a_time();
    // Whoever holds it, we or another lab: it is taken.
    let _held = UdpSocket::bind("127.0.0.1:27011");
    nearside(&["lab", "--servers", "10", "--base-port", "31600"])
        .expect_code(3)
        .expect_stderr("27011");
}

#[test]
fn a_silent_master_is_the_worlds_failure() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let addr = silent.local_addr().unwrap().to_string();
    nearside(&["browse", "--master", &addr])
        .expect_code(3)
        .expect_stderr(&format!("no list came from {addr}"));
}

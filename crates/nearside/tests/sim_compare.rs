//! `nearside sim compare`: rows for scripts, tables for people, refusals with place and reason.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Folder, nearside};
use nearside_sim::compare::{CalibratedBy, Calibration, Row};

/// A world of two /16s: one near AU, one near DE, and a server that answers nobody.
const POPULATION: &str = "addr,port,asn,country,rtt_ms:AU,rtt_ms:DE
198.51.100.1,27015,64500,AU,20,310
198.51.100.2,27015,64500,AU,25,320
203.0.113.1,27015,64501,DE,300,15
203.0.113.2,27015,64501,DE,305,12
203.0.113.3,27015,64501,DE,,
";

fn compare(arguments: &[&str]) -> String {
    let all = [&["sim", "compare"], arguments].concat();
    nearside(&all).expect_code(0).stdout
}

fn rows(json: &str) -> Vec<Row> {
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_population_file_gives_one_row_for_each_client_planner_and_seed() {
    let folder = Folder::new();
    let file = folder.write("world.csv", POPULATION);
    let base = ["--population", &file, "--planner", "conventional,oracle"];
    let arguments = [&base[..], &["--seeds", "3,7-8", "--format", "json"]].concat();
    let rows = rows(&compare(&arguments));
    assert_eq!(rows.len(), 2 * 2 * 3);
    let row = &rows[0];
    assert_eq!(
        (row.planner.as_str(), row.client.as_str(), row.seed),
        ("conventional", "AU", 3)
    );
    assert_eq!((row.listed, row.answering, row.playable), (5, 4, 2));
    assert_eq!((row.probes, row.found, row.recall), (5, 2, 1.0));
    assert_eq!(row.expected_missed, None);
    assert!(
        row.seconds > 3.0,
        "three tries of a second for the silent one"
    );
    let oracle = rows.iter().find(|row| row.planner == "oracle").unwrap();
    assert_eq!((oracle.probes, oracle.found), (2, 2));
    assert_eq!(oracle.probes_to_50, Some(1));
}

#[test]
fn every_form_shows_the_same_rows() {
    let folder = Folder::new();
    let file = folder.write("world.csv", POPULATION);
    let of = |form| compare(&["--population", &file, "--client", "de", "--format", form]);
    let from_json = rows(&of("json"));
    let lines = of("ndjson");
    let from_lines: Vec<Row> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(from_json, from_lines);
    let csv = of("csv");
    assert_eq!(
        csv.lines().next().unwrap(),
        "planner,client,seed,listed,answering,playable,probes,found,recall,expected_missed,\
         probes_to_50,probes_to_90,probes_to_99,probes_to_10_best,\
         best_found,better,expected_better,seconds,stopped"
    );
    let from_csv: Vec<Row> = csv::Reader::from_reader(csv.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(from_json, from_csv);
    let table = of("table");
    for words in ["conventional", "of oracle", "mean ± standard deviation"] {
        assert!(table.contains(words), "{table}");
    }
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let of = |threads: &str| {
        let world = ["--servers", "300", "--client", "AU,JP", "--seeds", "0-3"];
        compare(&[&world[..], &["--loss", "0.05", "--threads", threads]].concat())
    };
    assert_eq!(of("1"), of("2"));
}

#[test]
fn a_gzipped_population_is_the_same_world() {
    let folder = Folder::new();
    let (plain, packed) = (folder.join("world.csv"), folder.join("world.csv.gz"));
    for file in [&plain, &packed] {
        let lab = ["lab", "--servers", "200", "--write-population", file];
        nearside(&lab).expect_code(0);
    }
    let of = |file: &str| compare(&["--population", file, "--client", "UK", "--format", "csv"]);
    assert_eq!(of(&plain), of(&packed));
}

#[test]
fn a_stop_that_is_nearer_makes_fewer_servers_playable() {
    let folder = Folder::new();
    let file = folder.write("world.csv", POPULATION);
    let playable = |stop| {
        let arguments = ["--population", &file, "--client", "AU", "--stop", stop];
        rows(&compare(&[&arguments[..], &["--format", "json"]].concat()))[0].playable
    };
    assert_eq!(
        (playable("22"), playable("200"), playable("400")),
        (1, 2, 4)
    );
}

#[test]
fn what_planners_say_of_what_they_miss_is_set_beside_the_truth() {
    let base = ["--servers", "500", "--client", "AU,DE", "--seeds", "0-1"];
    let flags = ["--planner", "as,adaptive", "--stop", "200,50"];
    let of = |form| {
        let rest = ["--calibration", "--format", form];
        compare(&[&base[..], &flags, &rest].concat())
    };
    let means: Vec<Calibration> = serde_json::from_str(&of("json")).unwrap();
    assert!(means.iter().all(|mean| mean.planner == "adaptive"));
    for (by, rows) in [
        (CalibratedBy::Client, 4),
        (CalibratedBy::Said, 5),
        (CalibratedBy::Missing, 5),
    ] {
        let own: Vec<&Calibration> = means.iter().filter(|mean| mean.by == by).collect();
        assert_eq!(own.len(), rows, "{by:?}");
        assert_eq!(own.iter().map(|mean| mean.runs).sum::<usize>(), 8, "{by:?}");
    }
    let csv = of("csv");
    let from_csv: Vec<Calibration> = csv::Reader::from_reader(csv.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .unwrap();
    // The JSON reader may be off by the last bit of a number.
    let rounded = |means: &[Calibration]| -> Vec<_> {
        let figures = |m: &Calibration| [m.said, m.missing, m.said_better, m.better];
        let round = |figure: Option<f64>| figure.map(|figure| (1e6 * figure).round());
        let names = means.iter().map(|m| (m.by, m.client.clone(), m.runs));
        names
            .zip(means.iter().map(|m| figures(m).map(round)))
            .collect()
    };
    assert_eq!(rounded(&from_csv), rounded(&means));
    let table = of("table");
    for words in [
        "AU below 200 ms",
        "that said 30 and more",
        "that missed below 1",
    ] {
        assert!(table.contains(words), "no `{words}` in\n{table}");
    }
    is_refused(&["--stop", "200,50"], &["--calibration"]);
    let silent = ["--planner", "as,oracle", "--calibration"];
    is_refused(&silent, &["none of these says so"]);
}

#[test]
fn labels_can_be_left_off_the_list() {
    let probes = |without: &[&str]| {
        let base = ["--servers", "2000", "--client", "AU", "--seeds", "3"];
        let rest = ["--planner", "country,adaptive", "--format", "json"];
        let rows = rows(&compare(&[&base[..], &rest, without].concat()));
        rows.iter().map(|row| row.probes).collect::<Vec<_>>()
    };
    let (all, bare) = (probes(&[]), probes(&["--without", "country,as"]));
    assert_ne!(all[0], bare[0]);
    assert_ne!(all[1], bare[1]);
    is_refused(&["--without", "city"], &["country or as"]);
}

/// Who can join one server in twenty has to look at more of them for the ten nearest.
#[test]
fn the_best_can_be_the_best_of_those_that_pass_filters() {
    let row = |matching: &[&str]| {
        let base = ["--servers", "4000", "--client", "JP", "--seeds", "3"];
        let rest = ["--planner", "adaptive", "--best", "10", "--format", "json"];
        rows(&compare(&[&base[..], &rest, matching].concat())).remove(0)
    };
    let (all, few) = (row(&[]), row(&["--matching", "0.05"]));
    assert!(few.probes > all.probes, "{} and {}", few.probes, all.probes);
    assert!(few.best_found >= 8, "{few:?}");
    assert_eq!((all.playable, all.answering), (few.playable, few.answering));
}

#[test]
fn straight_lines_bring_europe_near_japan() {
    let playable = |world| {
        let arguments = ["--world", world, "--client", "JP", "--servers", "1000"];
        let rest = ["--planner", "oracle", "--seeds", "0", "--format", "json"];
        rows(&compare(&[&arguments[..], &rest].concat()))[0].playable
    };
    let (hub, straight) = (playable("hub"), playable("great-circle"));
    assert!(hub < 350 && straight > 900, "{hub} and {straight} of 1000");
}

/// Three nodes: the second is near the first, the third is far from both.
const MATRIX: &str = "0,20,250\n20,0,260\n250,260,0\n";

const TRACE: &str = "time_s,src,dst,rtt_ms\n0,a,b,20\n1,a,c,250\n2,b,c,260\n";

#[test]
fn a_matrix_or_a_trace_says_how_far_generated_servers_are() {
    let folder = Folder::new();
    let matrix = folder.write("matrix.csv", MATRIX);
    let trace = folder.write("trace.csv", TRACE);
    let base = ["--servers", "400", "--planner", "oracle", "--seeds", "2"];
    let of = |flags: &[&str]| {
        let all = [&base[..], flags, &["--format", "json"]].concat();
        rows(&compare(&all)).remove(0)
    };
    let near = of(&["--matrix", &matrix]);
    assert_eq!((near.client.as_str(), near.answering), ("1", 400));
    let far = of(&["--matrix", &matrix, "--client", "3"]);
    assert_eq!(near.playable + far.playable, 400, "each is near one side");
    let traced = of(&["--trace", &trace, "--client", "a"]);
    assert_eq!(traced.playable, near.playable);
}

#[test]
fn the_loss_of_a_world_counts_unless_told_otherwise() {
    let folder = Folder::new();
    let lossy = folder.write("lossy.toml", "[weather]\nloss = 0.4\n");
    let base = ["--client", "DE", "--servers", "300", "--seeds", "0"];
    let found = |flags: &[&str]| {
        let rest = ["--planner", "conventional", "--format", "json"];
        rows(&compare(&[&base[..], flags, &rest].concat()))[0].found
    };
    let fair = found(&[]);
    assert!(found(&["--world", &lossy]) < fair);
    assert_eq!(found(&["--world", &lossy, "--loss", "0"]), fair);
}

/// Refused with code 2, all of these words and nothing on standard output.
#[track_caller]
fn is_refused(arguments: &[&str], words: &[&str]) {
    let all = [&["sim", "compare"], arguments].concat();
    let mut finished = nearside(&all).expect_code(2);
    for words in words {
        finished = finished.expect_stderr(words);
    }
    assert_eq!(finished.stdout, "");
}

#[test]
fn a_malformed_population_is_refused_with_file_line_and_reason() {
    let folder = Folder::new();
    for (old, new, line, reason) in [
        ("203.0.113.1,", "203.0.113,", "line 4", "an IP address"),
        ("64501,DE,305", "64501,DE,far", "line 5", "rtt_ms:AU"),
        ("addr,port", "addr,gate", "line 1", "`gate`"),
        ("AU,25,320", "AU,25", "line 3", "5 fields"),
    ] {
        let file = folder.write("bad.csv", POPULATION.replace(old, new));
        is_refused(&["--population", &file], &[&file, line, reason]);
    }
    is_refused(
        &["--population", "no-such.csv"],
        &["no-such.csv", "cannot open"],
    );
}

#[test]
fn what_does_not_exist_is_answered_with_the_choices() {
    is_refused(
        &["--planner", "as,psychic"],
        &["`psychic`", "conventional, steam, as, country"],
    );
    is_refused(&["--client", "MARS"], &["`MARS`", "AU, CH, DE"]);
    is_refused(&["--world", "moon.toml"], &["moon.toml", "hub"]);
    is_refused(&["--seeds", "9-3"], &["`9-3`", "0-19"]);
    is_refused(&["--stop", "0"], &["--stop", "above 0"]);
    is_refused(&["--loss", "2"], &["--loss", "from 0 to 1"]);
    is_refused(&["--wrong-labels", "1.5"], &["--wrong-labels"]);
    is_refused(&["--format", "xml"], &["ndjson"]);
    is_refused(
        &["--population", "a.csv", "--world", "hub"],
        &["--population", "--world"],
    );
}

#[test]
fn a_malformed_recording_is_refused_with_the_place() {
    let folder = Folder::new();
    let matrix = folder.write("matrix.csv", "0,1\nx,0\n");
    is_refused(&["--matrix", &matrix], &[&matrix, "line 2", "column 1"]);
    let layout = ["--matrix", &matrix, "--layout", "upper-u32-us:50:2"];
    is_refused(&layout, &[&matrix, "slice 1", "50 nodes"]);
    is_refused(&["--layout", "round:3", "--matrix", "m"], &["upper-u32-us"]);
    let trace = folder.write("trace.csv", TRACE.replace("250", "far"));
    is_refused(&["--trace", &trace], &[&trace, "line 3", "rtt_ms"]);
    let trace = folder.write("trace.csv", TRACE);
    is_refused(&["--trace", &trace, "--client", "d"], &["`d`", "a to c"]);
}

#[test]
fn a_malformed_world_is_refused_with_the_key() {
    let folder = Folder::new();
    let file = folder.write("world.toml", "[population]\nanswers = 3\n");
    is_refused(&["--world", &file], &[&file, "answers"]);
}

//! The figures of the paper on server selection, on small sessions: nobody beats the optimum, proofs
//! are complete, and threads change nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nearside_report::{Cell, Report, Table, json};
use nearside_sim::experiment::{Setup, Size, conduct};
use nearside_sim::{Unwatched, Volume, lee, with_threads};

fn reports(item: &str, seeds: &str) -> Vec<Report> {
    let setup = Setup {
        seeds: seeds.parse().unwrap(),
        size: Size::Quick,
    };
    let experiments = Volume::find(lee::LEE).unwrap().chosen(item);
    conduct(&experiments, &setup, &Unwatched)
}

fn table<'r>(report: &'r Report, name: &str) -> &'r Table {
    report.tables().find(|table| table.name() == name).unwrap()
}

fn cells<'t>(table: &'t Table, column: &str) -> impl Iterator<Item = &'t Cell> {
    let mut columns = table.columns().iter();
    let place = columns.position(|known| known.name == column).unwrap();
    table.rows().iter().map(move |row| &row[place])
}

fn means(table: &Table, column: &str) -> Vec<Option<f64>> {
    let mean = |cell: &Cell| match cell {
        Cell::Spread(spread) => Some(spread.mean),
        _ => None,
    };
    cells(table, column).map(mean).collect()
}

fn counts(table: &Table, column: &str) -> Vec<u64> {
    let count = |cell: &Cell| match cell {
        Cell::Count(count) => *count,
        other => panic!("{other:?} is no count"),
    };
    cells(table, column).map(count).collect()
}

#[test]
fn nobody_uses_fewer_servers_than_the_optimum() {
    let methods = [
        "nearest",
        "sr_c",
        "sr_s",
        "tr_c",
        "tr_s",
        "greedy",
        "tight_span",
    ];
    for (item, methods) in [
        ("figure3a", &methods[..]),
        ("figure3b", &methods[..]),
        ("figure5", &["sr_c", "sr_s", "tr_c", "tr_s", "session"]),
    ] {
        let report = reports(item, "0-3").remove(0);
        let servers = table(&report, "servers");
        let optimum = means(servers, "optimum");
        assert!(optimum.iter().flatten().count() > 6, "{item}: {optimum:?}");
        for method in methods {
            for (used, fewest) in means(servers, method).into_iter().zip(&optimum) {
                assert!(used >= *fewest, "{item}: {method} {used:?} {fewest:?}");
            }
        }
        let factors = table(&report, "factors");
        assert_eq!(factors.rows().len(), 4);
        for method in methods {
            assert!(
                means(factors, method)
                    .into_iter()
                    .flatten()
                    .all(|ratio| ratio >= 1.0)
            );
        }
    }
}

#[test]
fn every_optimum_is_proven_and_nobody_finds_what_does_not_exist() {
    for item in ["figure3a", "figure3b"] {
        let report = reports(item, "0-3").remove(0);
        let feasible = table(&report, "feasible");
        assert_eq!(counts(feasible, "proven"), [4; 12], "{item}");
        let solvable = counts(feasible, "optimum");
        for method in ["nearest", "sr_c", "greedy", "tight_span"] {
            let found = counts(feasible, method);
            assert!(found.iter().zip(&solvable).all(|(found, all)| found <= all));
        }
    }
}

#[test]
fn zooming_starts_from_the_nearest_servers_and_saves_some() {
    let report = reports("figure3a", "0-3").remove(0);
    let servers = table(&report, "servers");
    let (nearest, sr_c) = (means(servers, "nearest"), means(servers, "sr_c"));
    assert!(
        nearest
            .iter()
            .zip(&sr_c)
            .all(|(nearest, sr_c)| sr_c <= nearest)
    );
    assert!(sr_c.last() < nearest.last());
    let moves = reports("figure4", "0-3").remove(0);
    let moves = means(table(&moves, "migrations"), "sr_c");
    assert!(moves.last().unwrap().unwrap() > 0.0);
}

#[test]
fn reports_are_the_same_at_any_number_of_threads() {
    let make = |threads| {
        let reports = with_threads(threads, || reports(Volume::ALL, "2-3")).unwrap();
        reports.iter().map(json::render).collect::<String>()
    };
    assert!(make(1) == make(3), "the reports differ");
}

#[test]
fn the_paper_repeats_everything_a_hundred_times() {
    let volume = Volume::find(lee::LEE).unwrap();
    assert_eq!(volume.usual_seeds(Size::Full).to_string(), "1000-1099");
    assert_eq!(volume.usual_seeds(Size::Quick).to_string(), "0-1");
}

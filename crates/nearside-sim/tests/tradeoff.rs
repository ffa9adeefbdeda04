//! The trade-off study on small worlds: complete, consistent with itself, and the same at any number
//! of threads.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::LazyLock;

use nearside_report::{Cell, Heat, Plot, Report, Table, json};
use nearside_sim::experiment::{Setup, Size, conduct};
use nearside_sim::{Unwatched, Volume, tradeoff, with_threads};

fn study(items: &[&str], seeds: &str) -> Vec<Report> {
    let setup = Setup {
        seeds: seeds.parse().unwrap(),
        size: Size::Quick,
    };
    let chosen = items.iter().flat_map(|item| {
        let volume = Volume::find(tradeoff::TRADE_OFF).unwrap();
        volume.chosen(item)
    });
    conduct(&chosen.collect::<Vec<_>>(), &setup, &Unwatched)
}

/// Most of it, on two seeds; the tests look at it together.
static STUDY: LazyLock<Vec<Report>> = LazyLock::new(|| {
    study(
        &["clusters", "samples", "splits", "windows", "claims"],
        "0-1",
    )
});

fn part(item: &str) -> &'static Report {
    let name = format!("{}-{item}", tradeoff::TRADE_OFF);
    STUDY.iter().find(|report| report.name == name).unwrap()
}

fn table<'a>(report: &'a Report, name: &str) -> &'a Table {
    report.tables().find(|table| table.name() == name).unwrap()
}

fn heat<'a>(report: &'a Report, name: &str) -> &'a Heat {
    let figure = report.figures().find(|figure| figure.name == name);
    match &figure.unwrap().plot {
        Plot::Heat(heat) => heat,
        Plot::Chart(_) => panic!("{name} is a chart"),
    }
}

/// The mean in a column of the first row that has all of these texts.
fn mean(table: &Table, texts: &[&str], column: &str) -> f64 {
    let is_row = |row: &&Vec<Cell>| texts.iter().all(|text| row.contains(&Cell::from(*text)));
    let row = table.rows().iter().find(is_row).unwrap();
    let place = table.columns().iter().position(|c| c.name == column);
    match &row[place.unwrap()] {
        Cell::Spread(spread) => spread.mean,
        other => panic!("{other:?} is no spread"),
    }
}

fn cell(heat: &Heat, row: &str, column: &str) -> f64 {
    let row = heat.rows.iter().position(|name| name == row).unwrap();
    let column = heat.columns.iter().position(|name| name == column).unwrap();
    heat.values[row][column]
}

#[test]
fn what_is_published_has_the_same_numbers_in_every_table_and_map() {
    let [clusters, samples, splits, windows] =
        ["clusters", "samples", "splits", "windows"].map(part);
    for (place, anchor) in [("AU", "au"), ("JP", "jp")] {
        for (measure, column) in [
            ("probes", "probes"),
            ("recall", "recall"),
            ("equal", "equal"),
        ] {
            let expected = mean(table(clusters, "css"), &[place, "AS"], column);
            let name = format!("{measure}-{anchor}");
            let shown = [
                cell(heat(samples, &name), "√n", "/16"),
                cell(heat(splits, &name), "40 ms", "/16"),
                cell(heat(windows, &name), "100", "2 %"),
            ];
            for shown in shown {
                assert!(
                    (shown - expected).abs() < 1e-9,
                    "{name}: {shown}, {expected}"
                );
            }
        }
    }
}

#[test]
fn at_equal_recall_nobody_beats_the_oracle_and_all_beat_list_order() {
    let css = table(part("clusters"), "css");
    for place in ["AU", "JP"] {
        let oracle = mean(css, &[place, "oracle"], "to_90");
        for clusters in ["AS", "country + /8", "country", "/16"] {
            let cost = mean(css, &[place, clusters], "to_90");
            let list_order = mean(css, &[place, "none (list order)"], "to_90");
            assert!(
                (oracle..list_order).contains(&cost),
                "{place}, {clusters}: {cost}"
            );
        }
    }
}

#[test]
fn small_worlds_and_two_seeds_give_every_claim_its_numbers_and_decide_none() {
    let claims = table(part("claims"), "claims");
    assert!(claims.rows().len() >= 12);
    for row in claims.rows() {
        let [
            Cell::Text(claim),
            _,
            Cell::Text(verdict),
            Cell::Text(because),
        ] = row.as_slice()
        else {
            panic!("four texts expected in {row:?}")
        };
        assert_eq!(verdict, "undecided", "{claim}");
        assert!(
            because.contains(|c: char| c.is_ascii_digit()),
            "{claim}: {because}"
        );
    }
}

#[test]
fn the_study_is_the_same_at_any_number_of_threads() {
    let reports = |threads| {
        let items = ["smooth-run", "rtt-stop", "bytes"];
        let reports = with_threads(threads, || study(&items, "2-3")).unwrap();
        reports.iter().map(json::render).collect::<String>()
    };
    assert!(reports(1) == reports(2), "the reports differ");
}

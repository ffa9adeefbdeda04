//! Every table and figure of the two discovery papers, on small worlds: complete, not empty, and the
//! same at any number of threads.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nearside_report::{Cell, Figure, Part, Plot, Report, Shape, json};
use nearside_sim::experiment::{Setup, Size, conduct};
use nearside_sim::ly::Laboratory;
use nearside_sim::{
    Unwatched, Volume, armitage, catalogue, everything, lee, ly, tradeoff, with_threads,
};

fn quick(seeds: &str) -> Setup {
    Setup {
        seeds: seeds.parse().unwrap(),
        size: Size::Quick,
    }
}

fn report(paper: &str, item: &str, setup: &Setup) -> Report {
    let experiments = Volume::find(paper).unwrap().chosen(item);
    let mut reports = conduct(&experiments, setup, &Unwatched);
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

fn items(paper: &str) -> Vec<&'static str> {
    Volume::find(paper).unwrap().items().collect()
}

#[test]
fn every_table_and_figure_of_the_papers_is_there() {
    assert_eq!(
        items(armitage::AS_CLUSTERS),
        [
            "table1", "figure2", "figure3", "figure4", "table2", "figure5", "figure6", "figure7",
            "section5", "all"
        ]
    );
    assert_eq!(
        items(armitage::COUNTRY_CLUSTERS),
        [
            "table1", "figure2", "figure3", "figure4", "figure5", "figure6", "figure7", "figure8",
            "figure9", "table2", "all"
        ]
    );
    assert_eq!(
        items(lee::LEE),
        [
            "figure1", "figure3a", "figure3b", "figure4", "figure5", "all"
        ]
    );
    assert_eq!(
        items(ly::LY),
        [
            "figure6",
            "figure7a",
            "figure7b",
            "figure8a",
            "figure8b",
            "figure9",
            "residential",
            "table1",
            "figure11",
            "sweep-delta",
            "sweep-t",
            "sweep-k",
            "sweep-p",
            "sweep-n",
            "load",
            "overhead",
            "staleness",
            "liars",
            "ranking-figure",
            "coordinates-table",
            "lag-table",
            "all"
        ]
    );
}

#[test]
fn the_whole_page_has_every_report_with_its_command_and_no_empty_figure() {
    let footer = "made by a test".to_owned();
    let lab = Laboratory::new(ly::Source::Generated, ly::Settings::default());
    let page = everything(&quick("0"), lab, footer, &Unwatched);
    let reports: Vec<&Report> = page.chapters.iter().flat_map(|c| &c.reports).collect();
    let expected: usize = catalogue().iter().map(|v| v.experiments.len()).sum();
    assert_eq!(reports.len(), expected);
    assert!(page.lead.iter().any(|part| matches!(part, Part::Table(_))));
    for report in reports {
        assert!(
            report.command.ends_with("--seeds 0 --quick"),
            "{}",
            report.command
        );
        let is_study = report.name.starts_with(tradeoff::TRADE_OFF);
        let is_figure = report.name.contains("figure") || report.name.contains("sweep");
        let figures = report.figures().count();
        let expected = match report.name.as_str() {
            "ly-figure11" => 3, // one for each threshold
            "ly-residential" | "ly-load" | "ly-overhead" | "ly-staleness" => 1,
            _ => usize::from(is_figure),
        };
        assert!(is_study || figures == expected, "{}", report.name);
        for figure in report.figures() {
            assert_is_drawn(&report.name, figure);
        }
        for table in report.tables() {
            assert!(
                !table.rows().is_empty(),
                "{}: {}",
                report.name,
                table.name()
            );
        }
    }
}

/// Every layer of a chart has marks; every row of a heat map has a number.
fn assert_is_drawn(report: &str, figure: &Figure) {
    match &figure.plot {
        Plot::Chart(chart) => {
            for layer in &chart.layers {
                assert!(marks(&layer.shape) > 0, "{report}: {}", layer.label);
            }
        }
        Plot::Heat(heat) => {
            assert_eq!(heat.values.len(), heat.rows.len(), "{report}");
            for (name, row) in heat.rows.iter().zip(&heat.values) {
                assert_eq!(row.len(), heat.columns.len(), "{report}: {name}");
                assert!(
                    row.iter().any(|value| value.is_finite()),
                    "{report}: {name}"
                );
            }
        }
    }
}

fn marks(shape: &Shape) -> usize {
    match shape {
        Shape::Points(points) | Shape::Line(points) | Shape::Steps(points) => points.len(),
        Shape::Band(spans) => spans.len(),
        Shape::Vertical { .. } | Shape::Horizontal { .. } => 1,
    }
}

#[test]
fn reports_are_the_same_at_any_number_of_threads() {
    let reports = |threads| {
        let experiments = Volume::find(armitage::COUNTRY_CLUSTERS).unwrap();
        let experiments = experiments.chosen(Volume::ALL);
        let make = || conduct(&experiments, &quick("2-3"), &Unwatched);
        let reports = with_threads(threads, make).unwrap();
        reports.iter().map(json::render).collect::<String>()
    };
    assert!(reports(1) == reports(2), "the reports differ");
}

/// The column of a table of a report, by the names of both.
fn column(report: &Report, table: &str, column: &str) -> Vec<Cell> {
    let mut tables = report.tables();
    let table = tables.find(|candidate| candidate.name() == table).unwrap();
    let mut columns = table.columns().iter();
    let place = columns
        .position(|candidate| candidate.name == column)
        .unwrap();
    table.rows().iter().map(|row| row[place].clone()).collect()
}

fn means(cells: &[Cell]) -> Vec<f64> {
    let mean = |cell: &Cell| match cell {
        Cell::Spread(spread) => spread.mean,
        other => panic!("{other:?} is no spread"),
    };
    cells.iter().map(mean).collect()
}

#[test]
fn request_bytes_of_table_1_are_exact() {
    let report = report(armitage::AS_CLUSTERS, "table1", &quick("0-1"));
    let (sent, off) = (
        column(&report, "requests", "sent"),
        column(&report, "requests", "off"),
    );
    assert_eq!(sent.len(), 6);
    for (sent, off) in sent.iter().zip(&off) {
        let (Cell::Spread(sent), Cell::Spread(off)) = (sent, off) else {
            panic!("spreads expected")
        };
        assert!(sent.mean > 0.0 && sent.mean % 53.0 == 0.0, "{sent:?}");
        assert_eq!((off.mean, off.deviation, off.worst), (0.0, 0.0, 0.0));
    }
    let replies = means(&column(&report, "replies", "conventional"));
    let lost = means(&column(&report, "lost", "conventional"));
    for (sent, (replies, lost)) in means(&sent).iter().zip(replies.iter().zip(&lost)) {
        assert_eq!(*sent, 53.0 * (replies + lost));
    }
}

#[test]
fn nobody_costs_less_than_the_oracle_or_more_than_conventional_discovery() {
    let report = report(armitage::AS_CLUSTERS, "table2", &quick("0-1"));
    let of = |method| means(&column(&report, "auto-stop-css", method));
    let (oracle, conventional) = (of("oracle"), of("conventional"));
    for (place, cost) in of("as").into_iter().enumerate() {
        assert!((oracle[place]..=conventional[place]).contains(&cost));
        assert_eq!(conventional[place], 100.0);
    }
}

/// A full-size world, one seed: what the papers' numbers are about must be near them.
#[test]
fn markers_add_some_four_percent_and_pay_after_some_55_replies() {
    let setup = Setup {
        size: Size::Full,
        ..quick("0")
    };
    let report = report(armitage::AS_CLUSTERS, "section5", &setup);
    let measured = means(&column(&report, "growth", "measured"));
    let names = column(&report, "growth", "what");
    let of = |name: &str| {
        let place = names.iter().position(|cell| *cell == Cell::from(name));
        measured[place.unwrap()]
    };
    assert!((3.5..5.0).contains(&of("growth, %")), "{measured:?}");
    let break_even = of("break-even, replies avoided");
    assert!((50.0..65.0).contains(&break_even), "{break_even}");
}

//! The page in a real browser: every figure is there, and one without data is noticed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chromium;
mod gallery;

use std::path::Path;

use chromium::{Chromium, Scheme};
use nearside_report::{Axis, Figure, Layer, Page, Part, Point, html};

fn chromium(test: &str) -> Option<Chromium> {
    Chromium::find(test, Path::new(env!("CARGO_TARGET_TMPDIR")))
}

/// The gallery with only these figures in it.
fn page_of(figures: Vec<Figure>) -> Page {
    let mut page = gallery::page();
    page.chapters.truncate(1);
    page.chapters[0].reports.truncate(1);
    page.chapters[0].reports[0].parts = figures.into_iter().map(Part::from).collect();
    page
}

fn chart(name: &str) -> Figure {
    let (x, y) = (
        Axis::linear("x").range(0.0, 1.0),
        Axis::linear("y").range(0.0, 1.0),
    );
    Figure::chart(name, "A caption.", x, y)
}

#[test]
fn every_figure_of_the_gallery_is_shown() {
    let Some(browser) = chromium("every_figure_of_the_gallery_is_shown") else {
        return;
    };
    let seen = browser.look_at(&html::render(&gallery::page()));
    let anchors: Vec<&str> = seen.iter().map(|seen| seen.figure.as_str()).collect();
    let expected = [
        "figure5..re-ordered",
        "figure4..cdf",
        "heat..heat",
        "sweep..window",
    ];
    assert_eq!(anchors, expected);
    for figure in seen {
        assert!(figure.is_shown(), "{figure:?}");
        assert!(figure.inked > 1_000, "{figure:?}");
    }
}

#[test]
fn a_figure_without_marks_is_noticed() {
    let Some(browser) = chromium("a_figure_without_marks_is_noticed") else {
        return;
    };
    let beyond = Point::from((7.0, 7.0));
    let inside = Point::from((0.5, 0.5));
    let figures = vec![
        chart("none"),
        chart("unseen").layer(Layer::points("out of range", [beyond])),
        chart("numberless").layer(Layer::line("gaps", [Point::from((0.5, f64::NAN))])),
        chart("dot").layer(Layer::points("one", [inside])),
    ];
    let seen = browser.look_at(&html::render(&page_of(figures)));
    let shown: Vec<bool> = seen.iter().map(chromium::Seen::is_shown).collect();
    assert_eq!(shown, [false, false, false, true], "{seen:#?}");
}

#[test]
fn the_page_looks_different_on_light_and_on_dark_paper() {
    let Some(browser) = chromium("the_page_looks_different_on_light_and_on_dark_paper") else {
        return;
    };
    let page = html::render(&gallery::page());
    let [light, dark] = [Scheme::Light, Scheme::Dark]
        .map(|scheme| std::fs::read(browser.photograph(&page, scheme, 4_000)).unwrap());
    for picture in [&light, &dark] {
        assert_eq!(&picture[..8], b"\x89PNG\r\n\x1a\n");
        // An empty page of this size has less than 30 kB.
        assert!(picture.len() > 100_000, "{} bytes", picture.len());
    }
    assert_ne!(light, dark);
}

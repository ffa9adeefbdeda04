//! The page of `nearside sim all --quick` in a real browser: every figure is there, and none is
//! empty. Pictures of it in light and dark stay in the target folder, to be looked at.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../nearside-report/tests/chromium/mod.rs"]
mod chromium;
mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use chromium::{Chromium, Scheme};
use common::{Folder, nearside};

#[test]
fn every_figure_of_the_page_is_shown_and_not_empty() {
    let test = "every_figure_of_the_page_is_shown_and_not_empty";
    let Some(browser) = Chromium::find(test, Path::new(env!("CARGO_TARGET_TMPDIR"))) else {
        return;
    };
    let folder = Folder::new();
    let out = folder.join("page");
    nearside(&["sim", "all", "--quick", "--out", &out]).expect_code(0);
    let page = fs::read_to_string(format!("{out}/index.html")).unwrap();
    let written = fs::read_dir(&out).unwrap().map(|file| file.unwrap().path());
    let pictures = written.filter(|path| path.extension().is_some_and(|ending| ending == "svg"));

    let seen = browser.look_at(&page);

    assert_eq!(seen.len(), pictures.count(), "figures beside SVG files");
    for figure in &seen {
        assert!(figure.is_shown(), "{figure:?}");
    }
    let anchors: BTreeSet<&str> = seen.iter().map(|seen| seen.figure.as_str()).collect();
    assert_eq!(anchors.len(), seen.len());
    for figure in expected() {
        assert!(anchors.contains(figure.as_str()), "{figure} is missing");
    }
    for scheme in [Scheme::Light, Scheme::Dark] {
        let picture = fs::read(browser.photograph(&page, scheme, 8_000)).unwrap();
        assert!(picture.starts_with(b"\x89PNG"), "{scheme:?}");
    }
}

/// Every figure of the two discovery papers but their drawings, by its anchor.
fn expected() -> Vec<String> {
    let papers = [("armitage-as", 2..=7), ("armitage-country", 2..=9)];
    let of_paper = |(paper, numbers): (&str, std::ops::RangeInclusive<u32>)| {
        let anchor = |n| format!("{paper}-figure{n}..figure{n}");
        numbers.map(anchor).collect::<Vec<_>>()
    };
    papers.into_iter().flat_map(of_paper).collect()
}

//! Figures of a full list stay small enough for a page that has many of them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod gallery;

use nearside_report::{Axis, Figure, Layer, Point, svg};

/// What the papers' lists had, and a few more.
const SERVERS: u32 = 30_000;

fn scattered() -> impl Iterator<Item = Point> {
    let share = |n: u32, step: f64| (f64::from(n) * step).fract();
    // Multiples of irrational numbers: as even as chance, and no two on one place.
    (0..SERVERS).map(move |n| Point::from((share(n, 0.618_033_9), share(n, 0.414_213_5))))
}

fn chart() -> Figure {
    Figure::chart("f", "", Axis::linear("x"), Axis::linear("y"))
}

#[test]
fn thirty_thousand_scattered_points_take_less_than_200_kb() {
    let image = svg::render(&chart().layer(Layer::points("", scattered())));
    assert!(image.len() < 200_000, "{} bytes", image.len());
    assert_eq!(
        image.matches("<path").count(),
        3,
        "grid, axes and one path of dots"
    );
}

#[test]
fn a_line_of_thirty_thousand_wild_points_takes_less_than_50_kb() {
    let mut points: Vec<Point> = scattered().collect();
    points.sort_unstable_by(|one, other| one.x.total_cmp(&other.x));
    let image = svg::render(&chart().layer(Layer::line("", points)));
    assert!(image.len() < 50_000, "{} bytes", image.len());
}

#[test]
fn a_distribution_of_thirty_thousand_values_takes_less_than_30_kb() {
    let values: Vec<f64> = scattered().map(|point| point.y.powi(3)).collect();
    let image = svg::render(&chart().layer(Layer::distribution("", &values)));
    assert!(image.len() < 30_000, "{} bytes", image.len());
}

#[test]
fn the_same_reports_give_the_same_page() {
    let page = || nearside_report::html::render(&gallery::page());
    assert_eq!(page(), page());
}

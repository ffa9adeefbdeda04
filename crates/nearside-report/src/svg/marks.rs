//! Shapes as path data: what falls on the same place of the grid is drawn once, and of a line that
//! crosses one column many times only the outline is kept, which looks the same.

use std::collections::BTreeSet;

use super::path::{Path, Place};
use super::ruler::Ruler;
use crate::model::{Point, Shape, Span};

/// The plane of a chart: two rulers over a grid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plane {
    pub(super) x: Ruler,
    pub(super) y: Ruler,
    /// Grid steps from left to right.
    pub(super) width: i32,
    /// Grid steps from top to bottom.
    pub(super) height: i32,
}

/// Lines may leave the plane by so many of its sizes; beyond, their slope does not matter.
const FAR: f64 = 20.0;

impl Plane {
    /// The path of a shape; empty if there is nothing to see.
    pub(super) fn path(&self, shape: &Shape) -> String {
        match shape {
            Shape::Points(points) => self.dots(points),
            Shape::Line(points) => self.polyline(points, |line| line),
            Shape::Steps(points) => self.polyline(points, |line| stairs(&line)),
            Shape::Band(spans) => self.band(spans),
            Shape::Vertical { at } => self.vertical(*at),
            Shape::Horizontal { at } => self.horizontal(*at),
        }
    }

    /// The grid place of a point, however far outside; `None` for what is no place at all.
    fn place(&self, x: f64, y: f64) -> Option<Place> {
        let (across, up) = (self.x.share(x), self.y.share(y));
        if across.is_nan() || up.is_nan() {
            return None;
        }
        Some((along(across, self.width), along(1.0 - up, self.height)))
    }

    fn contains(&self, (x, y): Place) -> bool {
        (0..=self.width).contains(&x) && (0..=self.height).contains(&y)
    }

    /// Sorted, which hides the order of the data but makes the moves short.
    fn dots(&self, points: &[Point]) -> String {
        let places = points
            .iter()
            .filter_map(|point| self.place(point.x, point.y));
        let places: BTreeSet<Place> = places.filter(|&place| self.contains(place)).collect();
        let mut path = Path::default();
        places.into_iter().for_each(|place| path.dot(place));
        path.finish()
    }

    fn polyline(&self, points: &[Point], shape: fn(Vec<Place>) -> Vec<Place>) -> String {
        let mut path = Path::default();
        for line in self.lines(points, |point| (point.x, point.y)) {
            let line = outline(&shape(line));
            match *line.as_slice() {
                // A lone point of a line would have no length and no looks.
                [only] => path.dot(only),
                _ => draw(&mut path, &line),
            }
        }
        path.finish()
    }

    fn band(&self, spans: &[Span]) -> String {
        let mut path = Path::default();
        let is_whole = |span: &Span| !(span.low.is_nan() || span.high.is_nan());
        for spans in spans.split(|span| !is_whole(span)) {
            let upper = self.lines(spans, |span| (span.x, span.high));
            let lower = self.lines(spans, |span| (span.x, span.low));
            for (upper, lower) in upper.into_iter().zip(lower) {
                let edge = outline(&upper)
                    .into_iter()
                    .chain(outline(&lower).into_iter().rev());
                draw(&mut path, &edge.collect::<Vec<_>>());
                path.close();
            }
        }
        path.finish()
    }

    fn vertical(&self, at: f64) -> String {
        let place = self
            .place(at, self.y.low())
            .filter(|&place| self.contains(place));
        let line = place.map(|(x, _)| [(x, self.height), (x, 0)]);
        line.map_or_else(String::new, |line| single(&line))
    }

    fn horizontal(&self, at: f64) -> String {
        let place = self
            .place(self.x.low(), at)
            .filter(|&place| self.contains(place));
        let line = place.map(|(_, y)| [(0, y), (self.width, y)]);
        line.map_or_else(String::new, |line| single(&line))
    }

    /// The places of the data, cut where a point has no place.
    fn lines<T>(&self, data: &[T], coordinates: fn(&T) -> (f64, f64)) -> Vec<Vec<Place>> {
        let places = data.iter().map(|point| {
            let (x, y) = coordinates(point);
            self.place(x, y)
        });
        let places: Vec<Option<Place>> = places.collect();
        let runs = places.split(Option::is_none).filter(|run| !run.is_empty());
        runs.map(|run| run.iter().copied().flatten().collect())
            .collect()
    }
}

fn along(share: f64, length: i32) -> i32 {
    (share.clamp(-FAR, FAR) * f64::from(length)).round() as i32
}

/// Level until the next point, then up or down.
fn stairs(points: &[Place]) -> Vec<Place> {
    let mut corners: Vec<Place> = points.first().copied().into_iter().collect();
    for pair in points.windows(2) {
        corners.push((pair[1].0, pair[0].1));
        corners.push(pair[1]);
    }
    corners
}

/// Of neighbours in one column of the grid: the first, the highest, the lowest and the last.
fn outline(points: &[Place]) -> Vec<Place> {
    let mut kept = Vec::new();
    for column in points.chunk_by(|one, next| one.0 == next.0) {
        let height = |place: &usize| column[*place].1;
        let last = column.len() - 1;
        let highest = (0..=last).min_by_key(height).unwrap_or(0);
        let lowest = (0..=last).max_by_key(height).unwrap_or(0);
        let (one, other) = (highest.min(lowest), highest.max(lowest));
        kept.extend([0, one, other, last].map(|place| column[place]));
    }
    kept.dedup();
    kept
}

fn draw(path: &mut Path, line: &[Place]) {
    let Some((&first, others)) = line.split_first() else {
        return;
    };
    path.move_to(first);
    others.iter().for_each(|&place| path.line_to(place));
}

fn single(line: &[Place]) -> String {
    let mut path = Path::default();
    draw(&mut path, line);
    path.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Axis;

    fn plane() -> Plane {
        let axis = Axis::linear("").range(0.0, 100.0);
        let ruler = Ruler::new(&axis, std::iter::empty());
        Plane {
            x: ruler,
            y: ruler,
            width: 100,
            height: 100,
        }
    }

    fn path(shape: fn(Vec<Point>) -> Shape, points: &[(f64, f64)]) -> String {
        plane().path(&shape(points.iter().copied().map(Point::from).collect()))
    }

    #[test]
    fn points_on_one_place_are_drawn_once_and_points_outside_not_at_all() {
        let drawn = path(
            Shape::Points,
            &[(5.0, 90.0), (5.1, 90.2), (5.0, 101.0), (f64::NAN, 1.0)],
        );
        assert_eq!(drawn, "m5 10h0");
    }

    #[test]
    fn a_line_breaks_where_there_is_no_number() {
        let gap = [(0.0, 0.0), (10.0, 10.0), (20.0, f64::NAN), (30.0, 30.0)];
        assert_eq!(path(Shape::Line, &gap), "m0 100l10-10m20-20h0");
    }

    #[test]
    fn steps_stay_level_until_the_next_point() {
        let steps = [(0.0, 0.0), (10.0, 50.0), (20.0, 100.0)];
        assert_eq!(path(Shape::Steps, &steps), "m0 100h10v-50h10v-50");
    }

    #[test]
    fn of_a_crowded_column_only_the_outline_is_kept() {
        let noise = (0..1000)
            .map(|n| (50.0, f64::from(n * 37 % 101)))
            .chain([(60.0, 0.0)]);
        let drawn = path(Shape::Line, &noise.collect::<Vec<_>>());
        assert!(drawn.len() < 40, "{drawn}");
        assert!(drawn.contains("v-100") || drawn.contains("v100"), "{drawn}");
    }

    #[test]
    fn a_band_goes_there_along_the_top_and_back_along_the_bottom() {
        let span = |x, low, high| Span { x, low, high };
        let band = Shape::Band(vec![
            span(0.0, 10.0, 20.0),
            span(50.0, 20.0, 40.0),
            span(60.0, f64::NAN, 40.0),
        ]);
        assert_eq!(plane().path(&band), "m0 80l50-20v20l-50 10z");
    }

    #[test]
    fn straight_lines_cross_the_whole_plane_or_are_not_there() {
        assert_eq!(plane().path(&Shape::Vertical { at: 35.0 }), "m35 100v-100");
        assert_eq!(plane().path(&Shape::Horizontal { at: 25.0 }), "m0 75h100");
        assert_eq!(plane().path(&Shape::Horizontal { at: 250.0 }), "");
        assert_eq!(plane().path(&Shape::Vertical { at: f64::NAN }), "");
    }
}

//! The coordinates of many nodes, laid out for a look at all of them.

use nearside_types::Rtt;

use crate::estimate::{Estimate, Estimator, Node, RelativeError};
use crate::vivaldi::{Coordinate, Refused};

/// Coordinates of a directory's nodes in one space, 4 bytes a number: 24 MB for a million nodes in
/// four dimensions.
#[derive(Debug, Clone)]
pub struct CoordinateMap {
    dimensions: usize,
    /// `dimensions` positions for each node, in milliseconds.
    positions: Vec<f32>,
    rest: Vec<Rest>,
}

/// What a coordinate has beside its position, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Rest {
    /// Height and adjustment; not a number where the node is not on the map.
    above: f32,
    height: f32,
    error: f32,
}

const ABSENT: Rest = Rest {
    above: f32::NAN,
    height: f32::NAN,
    error: 1.0,
};

impl CoordinateMap {
    /// An empty map of a space.
    pub fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            positions: Vec::new(),
            rest: Vec::new(),
        }
    }

    /// Puts a node where it says it is.
    ///
    /// # Errors
    /// If the coordinate is of another space.
    pub fn place(&mut self, node: Node, coordinate: &Coordinate) -> Result<(), Refused> {
        let (ours, theirs) = (self.dimensions, coordinate.dimensions());
        if ours != theirs {
            return Err(Refused::Dimensions { ours, theirs });
        }
        self.make_room(node);
        let start = node.index() * self.dimensions;
        let places = &mut self.positions[start..start + ours];
        for (place, value) in places.iter_mut().zip(coordinate.position_ms()) {
            *place = *value as f32;
        }
        self.rest[node.index()] = Rest {
            above: (coordinate.height_ms() + coordinate.adjustment_ms()) as f32,
            height: coordinate.height_ms() as f32,
            error: coordinate.error().share() as f32,
        };
        Ok(())
    }

    /// Takes a node that left off the map.
    pub fn forget(&mut self, node: Node) {
        if let Some(rest) = self.rest.get_mut(node.index()) {
            *rest = ABSENT;
        }
    }

    fn make_room(&mut self, node: Node) {
        if self.rest.len() <= node.index() {
            self.rest.resize(node.index() + 1, ABSENT);
            let numbers = self.rest.len() * self.dimensions;
            self.positions.resize(numbers, 0.0);
        }
    }

    fn position(&self, node: Node) -> &[f32] {
        let start = node.index() * self.dimensions;
        &self.positions[start..start + self.dimensions]
    }

    fn on_map(&self, node: Node) -> Option<(&[f32], Rest)> {
        let rest = *self.rest.get(node.index())?;
        (!rest.above.is_nan()).then(|| (self.position(node), rest))
    }
}

fn distance(a: (&[f32], Rest), b: (&[f32], Rest)) -> f32 {
    let squares = a.0.iter().zip(b.0).map(|(a, b)| (a - b) * (a - b));
    let plane = squares.sum::<f32>().sqrt();
    let adjusted = plane + (a.1.above + b.1.above);
    // As Coordinate::estimate: an adjustment never turns a distance round.
    match adjusted > 0.0 {
        true => adjusted,
        false => plane + (a.1.height + b.1.height),
    }
}

impl Estimator for CoordinateMap {
    fn estimate(&self, a: Node, b: Node) -> Option<Estimate> {
        let (a, b) = (self.on_map(a)?, self.on_map(b)?);
        Some(Estimate {
            rtt: Rtt::from_millis_f64(f64::from(distance(a, b))),
            error: RelativeError::new(f64::from(a.1.error.max(b.1.error))),
        })
    }

    fn estimate_row(&self, from: Node, row: &mut [f32]) {
        row.fill(f32::INFINITY);
        let Some(from) = self.on_map(from) else {
            return;
        };
        let positions = self.positions.chunks_exact(self.dimensions);
        for ((cell, position), rest) in row.iter_mut().zip(positions).zip(&self.rest) {
            if !rest.above.is_nan() {
                *cell = distance(from, (position, *rest));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vivaldi::CoordinateParts;

    fn at(x: f64, height_ms: f64) -> Coordinate {
        Coordinate::try_from(CoordinateParts {
            position_ms: vec![x, 0.0],
            height_ms,
            adjustment_ms: 0.0,
            error: 0.2,
        })
        .unwrap()
    }

    #[test]
    fn the_map_predicts_what_its_coordinates_do_and_forgets_who_left() {
        let mut map = CoordinateMap::new(2);
        map.place(Node(0), &at(10.0, 1.0)).unwrap();
        map.place(Node(2), &at(40.0, 2.0)).unwrap();
        let estimate = map.estimate(Node(0), Node(2)).unwrap();
        assert_eq!(estimate.rtt, Rtt::from_micros(33_000));
        assert_eq!(map.estimate(Node(0), Node(1)), None);
        let mut row = [0.0; 4];
        map.estimate_row(Node(2), &mut row);
        assert_eq!(row, [33.0, f32::INFINITY, 4.0, f32::INFINITY]);
        map.forget(Node(2));
        assert_eq!(map.estimate(Node(0), Node(2)), None);
    }

    #[test]
    fn coordinates_of_another_space_stay_off_the_map() {
        let mut map = CoordinateMap::new(3);
        let refused = Refused::Dimensions { ours: 3, theirs: 2 };
        assert_eq!(map.place(Node(0), &at(1.0, 1.0)), Err(refused));
    }
}

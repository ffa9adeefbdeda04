//! The little vector arithmetic that coordinates need.

use rand::{Rng, RngExt};

pub(super) fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Only axes that both have count; callers check that spaces agree.
pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b));
    squares.sum::<f64>().sqrt()
}

/// Adds `share` of the way from `other` to `vector`.
pub(super) fn move_away(vector: &mut [f64], other: &[f64], share: f64) {
    for (own, other) in vector.iter_mut().zip(other) {
        *own += (*own - other) * share;
    }
}

pub(super) fn add(vector: &mut [f64], direction: &[f64], length: f64) {
    for (own, along) in vector.iter_mut().zip(direction) {
        *own += along * length;
    }
}

pub(super) fn scale(vector: &mut [f64], by: f64) {
    for own in vector {
        *own *= by;
    }
}

/// A vector of length 1 in a random direction, uniform enough to part two nodes.
pub(super) fn random_direction(dimensions: usize, random: &mut impl Rng) -> Vec<f64> {
    let mut vector: Vec<f64> = (0..dimensions)
        .map(|_| random.random_range(-1.0..1.0))
        .collect();
    let length = norm(&vector);
    match length > 1e-3 {
        true => scale(&mut vector, 1.0 / length),
        false => vector[0] = 1.0,
    }
    vector
}

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Serialize, Serializer};

/// What using servers costs, in millionths of whatever unit the operator counts in. By default every
/// server costs one, and the cost of an allocation is its number of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Cost(u64);

/// Millionths in a unit.
const PARTS: u64 = 1_000_000;

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// One server, where nobody says otherwise.
    pub const ONE: Self = Self(PARTS);
    /// More than any allocation costs.
    pub const INFINITE: Self = Self(u64::MAX);
    /// The dearest server: sums over a million of them do not overflow.
    const DEAREST: f64 = 1e6;

    /// `None` for negative numbers, NaN and what is above a million.
    pub fn from_units(units: f64) -> Option<Self> {
        (0.0..=Self::DEAREST)
            .contains(&units)
            .then(|| Self((units * PARTS as f64).round() as u64))
    }

    /// That many servers at the default price; more than can be counted are infinitely dear.
    pub const fn servers(number: usize) -> Self {
        Self((number as u64).saturating_mul(PARTS))
    }

    /// In the operator's unit.
    pub fn as_units(self) -> f64 {
        self.0 as f64 / PARTS as f64
    }

    /// By what share this could be lower at most, given that nothing is below `lower`.
    pub fn gap_to(self, lower: Self) -> f64 {
        match self.0 {
            0 => 0.0,
            parts => parts.saturating_sub(lower.0) as f64 / parts as f64,
        }
    }

    pub(crate) const fn parts(self) -> u64 {
        self.0
    }

    pub(crate) const fn of_parts(parts: u64) -> Self {
        Self(parts)
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Never below nothing.
impl Sub for Cost {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_units().fmt(f)
    }
}

/// Whole numbers stay whole, so that a number of servers reads as one.
impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 % PARTS {
            0 => serializer.serialize_u64(self.0 / PARTS),
            _ => serializer.serialize_f64(self.as_units()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_prices_are_costs() {
        for not_a_price in [-1.0, f64::NAN, f64::INFINITY, 1e6 + 1.0] {
            assert_eq!(Cost::from_units(not_a_price), None);
        }
        assert_eq!(Cost::from_units(1.0), Some(Cost::ONE));
    }

    #[test]
    fn a_million_of_the_dearest_servers_can_be_added_up() {
        let dearest = Cost::from_units(1e6).unwrap();
        let all: Cost = std::iter::repeat_n(dearest, 1_000_000).sum();
        assert_eq!(all.as_units(), 1e12);
    }

    #[test]
    fn any_number_of_servers_has_a_cost() {
        assert_eq!(Cost::servers(usize::MAX), Cost::INFINITE);
        assert!(Cost::servers(18_446_744_073_710) > Cost::servers(1_000_000));
    }

    #[test]
    fn the_gap_is_a_share_of_what_was_found() {
        assert_eq!(Cost::servers(4).gap_to(Cost::servers(3)), 0.25);
        assert_eq!(Cost::servers(4).gap_to(Cost::servers(4)), 0.0);
        assert_eq!(Cost::ZERO.gap_to(Cost::ZERO), 0.0);
    }

    #[test]
    fn whole_costs_are_written_as_whole_numbers() {
        let written = |cost: Cost| serde_json::to_string(&cost).unwrap();
        assert_eq!(written(Cost::servers(3)), "3");
        assert_eq!(written(Cost::from_units(2.5).unwrap()), "2.5");
    }
}

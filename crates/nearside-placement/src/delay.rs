use std::fmt;
use std::ops::{Add, Sub};

use serde::{Serialize, Serializer};

/// A length of time on a path, on a grid of 10⁻⁹ ms.
///
/// The grid is finer than any measurement, and integers make every rearrangement of
/// `r_j + d(j,k) + r_k ≤ Δ` agree: solvers may compare a radius with a cap and the verifier a sum
/// with the bound, and both see the same allocation as good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Delay(i64);

/// Grid steps in a millisecond.
const STEPS: f64 = 1e9;

impl Delay {
    /// No delay at all.
    pub const ZERO: Self = Self(0);

    /// What an unusable cell holds. Larger than any delay, and small enough that sums of four do
    /// not overflow.
    pub const UNREACHABLE: Self = Self(2_000_000_000_000_000_000);

    /// The one epsilon of this crate: each of the three terms of a delay and the bound itself may
    /// be off by half a grid step after rounding.
    pub const TOLERANCE: Self = Self(2);

    /// The longest delay, 10⁹ ms: eleven days, which is a mistake of units and no latency.
    pub const LONGEST: Self = Self(1_000_000_000_000_000_000);

    /// `None` for negative numbers, NaN and what is longer than [`Delay::LONGEST`].
    pub fn from_millis(millis: f64) -> Option<Self> {
        let longest = Self::LONGEST.as_millis();
        (0.0..=longest)
            .contains(&millis)
            .then(|| Self((millis * STEPS).round() as i64))
    }

    /// Milliseconds, for people and files.
    pub fn as_millis(self) -> f64 {
        self.0 as f64 / STEPS
    }

    /// Half of it, rounded down: `2·x ≤ self` and `x ≤ self.half()` mean the same.
    #[must_use]
    pub const fn half(self) -> Self {
        Self(self.0.div_euclid(2))
    }

    /// A share of it, rounded to the grid; what is unreachable stays so.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        if self.is_usable() {
            Self((self.0 as f64 * factor).round() as i64)
        } else {
            self
        }
    }

    /// Whether there is a path at all.
    pub const fn is_usable(self) -> bool {
        self.0 < Self::UNREACHABLE.0
    }

    /// Grid steps, as messages carry them.
    pub(crate) const fn steps(self) -> i64 {
        self.0
    }

    /// `None` for what is neither a delay nor unreachable.
    pub(crate) fn from_steps(steps: i64) -> Option<Self> {
        let known = (0..=Self::LONGEST.0).contains(&steps) || steps == Self::UNREACHABLE.0;
        known.then_some(Self(steps))
    }

    /// The largest bound that this delay does not meet, tolerance included.
    #[must_use]
    pub fn bound_below(self) -> Self {
        (self - Self::TOLERANCE).just_below()
    }

    /// The smallest delay that does not meet this bound, tolerance included.
    #[must_use]
    pub(crate) fn next_above_bound(self) -> Self {
        Self(self.0 + Self::TOLERANCE.0 + 1)
    }

    /// The next smaller value on the grid.
    #[must_use]
    pub(crate) const fn just_below(self) -> Self {
        Self(self.0 - 1)
    }
}

impl Add for Delay {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Delay {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_usable() {
            write!(f, "{:.3} ms", self.as_millis())
        } else {
            f.write_str("unreachable")
        }
    }
}

/// Milliseconds, or null where there is no path: the form of instance files.
impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.is_usable()
            .then(|| self.as_millis())
            .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_lengths_of_time_are_delays() {
        for not_a_delay in [-0.001, f64::NAN, f64::INFINITY, 1e9 + 1.0] {
            assert_eq!(Delay::from_millis(not_a_delay), None, "{not_a_delay}");
        }
        assert_eq!(Delay::from_millis(0.0), Some(Delay::ZERO));
        assert_eq!(Delay::from_millis(1e9), Some(Delay::LONGEST));
    }

    #[test]
    fn sums_of_unreachable_delays_stay_above_every_bound() {
        let far = Delay::UNREACHABLE;
        assert!(far + far + far + far > Delay::LONGEST);
        assert!(!far.is_usable());
        assert!(!far.scaled(0.25).is_usable());
    }

    proptest! {
        #[test]
        fn milliseconds_survive_to_the_grid(millis in 0.0f64..1e6) {
            let delay = Delay::from_millis(millis).unwrap();
            prop_assert!((delay.as_millis() - millis).abs() < 1e-9);
            prop_assert_eq!(Delay::from_millis(delay.as_millis()), Some(delay));
        }

        #[test]
        fn halving_keeps_the_meaning_of_a_bound(bound in 0i64..1_000_000, radius in 0i64..1_000_000) {
            prop_assert_eq!(2 * radius <= bound, Delay(radius) <= Delay(bound).half());
        }
    }
}

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A share between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Fraction(f64);

impl Fraction {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);

    /// The share as a number between 0 and 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// A number is no share of anything.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("{0} is not a share: write a number from 0 to 1")]
pub struct NotAFraction(f64);

impl TryFrom<f64> for Fraction {
    type Error = NotAFraction;

    fn try_from(value: f64) -> Result<Self, Self::Error> {
        match (0.0..=1.0).contains(&value) {
            true => Ok(Self(value)),
            false => Err(NotAFraction(value)),
        }
    }
}

impl From<Fraction> for f64 {
    fn from(fraction: Fraction) -> Self {
        fraction.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shares_are_fractions() {
        for share in [0.0, 0.5, 1.0] {
            assert_eq!(Fraction::try_from(share).map(Fraction::get), Ok(share));
        }
        for other in [-0.1, 1.1, f64::INFINITY] {
            assert_eq!(Fraction::try_from(other), Err(NotAFraction(other)));
        }
        assert!(Fraction::try_from(f64::NAN).is_err());
    }
}

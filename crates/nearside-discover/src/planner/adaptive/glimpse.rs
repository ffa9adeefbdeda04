//! What a single noisy answer says about where its server truly stands.
//!
//! Where hundreds of servers stand just beyond the RTT to stop at, the noise of probes lifts some of
//! their answers below it. Those are no hits: what is known of their neighbours tells them from
//! servers that are near.

use std::ops::{AddAssign, Mul};

use super::scale::normal_below;

/// An answer, how noisy it is, and the z below which its server would be playable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Glimpse {
    pub(super) z: f32,
    /// The variance of a single probe.
    pub(super) noise: f32,
    pub(super) threshold: f32,
}

/// How well an answer fits some servers, and those of them that are truly below the threshold: two
/// densities, up to a common factor.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Fit {
    all: f32,
    below: f32,
}

impl Glimpse {
    /// Whether the answer alone leaves no doubt.
    pub(super) fn is_clear(&self) -> bool {
        (self.z - self.threshold).abs() >= CLEAR * self.noise.sqrt()
    }

    /// What the answer says if nobody knows anything else.
    pub(super) fn at_face_value(&self) -> f32 {
        f32::from(u8::from(self.z < self.threshold))
    }

    /// How well it fits servers that stand around `mean`, normally with this variance.
    pub(super) fn at(&self, mean: f32, variance: f32) -> Fit {
        let total = variance + self.noise;
        let distance = self.z - mean;
        let all = (-0.5 * distance * distance / total).exp() / total.sqrt();
        // The server's true z, given both, is normal again.
        let between = mean + distance * variance / total;
        let deviation = (variance * self.noise / total).sqrt();
        Fit {
            all,
            below: all * normal_below((self.threshold - between) / deviation),
        }
    }
}

impl Fit {
    /// The mean of answers that weigh `weight` together and of `strength` times the group above.
    pub(super) fn mixed(self, weight: f32, strength: f32, above: Self) -> Self {
        let share = 1.0 / (weight + strength);
        Self {
            all: (self.all + strength * above.all) * share,
            below: (self.below + strength * above.below) * share,
        }
    }

    /// The chance that the server is truly below the threshold, if anything fits at all.
    pub(super) fn chance(self) -> Option<f32> {
        (self.all > f32::MIN_POSITIVE).then(|| (self.below / self.all).min(1.0))
    }
}

impl AddAssign for Fit {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.below += other.below;
    }
}

impl Mul<f32> for Fit {
    type Output = Self;

    fn mul(self, weight: f32) -> Self {
        Self {
            all: self.all * weight,
            below: self.below * weight,
        }
    }
}

/// Deviations of noise beyond which nobody is in doubt.
const CLEAR: f32 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;

    const JUST_BELOW: Glimpse = Glimpse {
        z: 4.95,
        noise: 0.01,
        threshold: 5.0,
    };

    #[test]
    fn an_answer_just_below_the_limit_is_a_hit_where_its_neighbours_are() {
        let chance = |mean| JUST_BELOW.at(mean, 0.0004).chance().unwrap();
        assert!(chance(5.1) < 0.05, "all others stand beyond it");
        assert!(chance(4.9) > 0.95);
    }

    #[test]
    fn far_from_the_limit_and_without_noise_an_answer_is_what_it_says() {
        let far = Glimpse {
            z: 5.5,
            ..JUST_BELOW
        };
        assert!(far.is_clear() && !JUST_BELOW.is_clear());
        assert_eq!(far.at_face_value(), 0.0);
        let exact = Glimpse {
            noise: 0.0,
            ..JUST_BELOW
        };
        assert!(exact.is_clear());
        assert_eq!(exact.at_face_value(), 1.0);
    }
}

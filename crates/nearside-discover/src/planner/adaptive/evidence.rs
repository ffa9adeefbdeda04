//! What answers say about one group of servers: a histogram that holds only the bins in use.

use super::glimpse::{Fit, Glimpse};
use super::scale::{bin_of, centre_of, normal_below};
use super::size::HeapBytes;

/// Answers of a group, each with the weight it has there.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Evidence {
    /// Bin and weight, in order of bins.
    bins: Vec<(u16, f32)>,
    weight: f32,
    /// Weighted sums of z − [`MIDDLE`] and of its square; from the middle, so that single
    /// precision suffices.
    sum: f32,
    squares: f32,
}

/// About ln(130 ms + 20 ms).
const MIDDLE: f32 = 5.0;

/// No smear is narrower than this: half a bin.
const NARROWEST: f32 = 0.004;

/// How an answer is blurred into a belief.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Blur {
    /// The deviation of each answer's smear.
    pub(super) bandwidth: f32,
    /// Answers are drawn towards their mean until this share of their distance is left: the rest
    /// is noise of single probes and says nothing about the next server.
    pub(super) keep: f32,
}

impl Evidence {
    pub(super) fn add(&mut self, z: f32, weight: f32) {
        self.add_bin(bin_of(z), weight);
        let offset = z - MIDDLE;
        self.weight += weight;
        self.sum += weight * offset;
        self.squares += weight * offset * offset;
    }

    fn add_bin(&mut self, bin: u16, weight: f32) {
        match self.bins.binary_search_by_key(&bin, |entry| entry.0) {
            Ok(at) => self.bins[at].1 += weight,
            Err(at) => {
                if self.bins.len() == self.bins.capacity() {
                    // Most groups stay small; doubling from four wastes memory in the many.
                    self.bins.reserve_exact(1 + self.bins.len() / 2);
                }
                self.bins.insert(at, (bin, weight));
            }
        }
    }

    pub(super) fn weight(&self) -> f32 {
        self.weight
    }

    pub(super) fn bins(&self) -> &[(u16, f32)] {
        &self.bins
    }

    pub(super) fn mean(&self) -> Option<f32> {
        (self.weight > 0.0).then(|| MIDDLE + self.sum / self.weight)
    }

    /// The variance around the mean, if one more answer had shown `guess`.
    pub(super) fn variance(&self, guess: f32) -> f32 {
        let about_middle = self.sum * self.sum / self.weight.max(f32::MIN_POSITIVE);
        let own = (self.squares - about_middle).max(0.0);
        (own + guess) / (self.weight + 1.0)
    }

    /// The weight of answers no farther than `reach` from `z`.
    pub(super) fn within(&self, z: f32, reach: f32) -> f32 {
        let near = |&&(bin, _): &&(u16, f32)| (centre_of(bin) - z).abs() <= reach;
        let near = self.bins.iter().filter(near);
        near.map(|&(_, weight)| weight).sum()
    }

    /// The weight below `z` after the blur.
    pub(super) fn below(&self, z: f32, blur: Blur) -> f32 {
        let Some(mean) = self.mean() else { return 0.0 };
        // Drawing every answer towards the mean is the same as pushing `z` away from it.
        let z = mean + (z - mean) / blur.keep;
        let scale = blur.keep / blur.bandwidth.max(NARROWEST);
        let mut below = 0.0;
        for &(bin, weight) in &self.bins {
            let distance = (z - centre_of(bin)) * scale;
            if distance < -BEYOND {
                break; // bins are in order: the rest lies even higher
            }
            below += match distance > BEYOND {
                true => weight,
                false => weight * normal_below(distance),
            };
        }
        below
    }

    /// How well an answer at `glimpse.z` fits, and how well one of a server that is truly below the
    /// threshold, added up over all answers after the blur.
    pub(super) fn fit(&self, glimpse: &Glimpse, blur: Blur) -> Fit {
        let Some(mean) = self.mean() else {
            return Fit::default();
        };
        let variance = blur.bandwidth.max(NARROWEST).powi(2);
        let reach = BEYOND * (variance + glimpse.noise).sqrt();
        let mut fit = Fit::default();
        for &(bin, weight) in &self.bins {
            let centre = mean + (centre_of(bin) - mean) * blur.keep;
            if (glimpse.z - centre).abs() < reach {
                fit += glimpse.at(centre, variance) * weight;
            }
        }
        fit
    }
}

impl HeapBytes for Evidence {
    fn heap_bytes(&self) -> usize {
        self.bins.heap_bytes()
    }
}

/// Deviations beyond which a smear has no more weight worth counting.
const BEYOND: f32 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHARP: Blur = Blur {
        bandwidth: 0.0,
        keep: 1.0,
    };

    fn evidence(answers: &[f32]) -> Evidence {
        let mut evidence = Evidence::default();
        for &z in answers {
            evidence.add(z, 1.0);
        }
        evidence
    }

    #[test]
    fn without_answers_nothing_is_below_anything() {
        assert_eq!(Evidence::default().below(5.0, SHARP), 0.0);
        assert_eq!(Evidence::default().mean(), None);
    }

    #[test]
    fn answers_count_below_their_place_and_half_at_it() {
        let group = evidence(&[4.5, 5.5]);
        assert!(group.below(4.0, SHARP) < 1e-3);
        assert!((group.below(5.0, SHARP) - 1.0).abs() < 1e-3);
        assert!((group.below(6.0, SHARP) - 2.0).abs() < 1e-3);
        let wide = Blur {
            bandwidth: 0.5,
            keep: 1.0,
        };
        let lone = evidence(&[5.0]);
        assert!((lone.below(5.0, wide) - 0.5).abs() < 0.01);
    }

    #[test]
    fn noise_taken_out_draws_answers_to_their_mean() {
        let group = evidence(&[4.9, 5.1]);
        let clean = Blur {
            bandwidth: 0.02,
            keep: 0.2,
        };
        assert!(group.below(4.95, clean) < 0.1, "both are really at 5.0");
        assert!(group.below(5.05, clean) > 1.9);
    }

    #[test]
    fn variance_is_that_of_the_answers_and_the_guess() {
        let group = evidence(&[4.9, 5.1]);
        assert!((group.variance(0.01) - (0.02 + 0.01) / 3.0).abs() < 1e-5);
    }

    proptest! {
        #[test]
        fn the_weight_below_grows_with_z_and_never_exceeds_the_whole(
            answers in proptest::collection::vec(2.0f32..8.0, 1..40),
            low in 2.0f32..8.0,
            step in 0.0f32..3.0,
            bandwidth in 0.0f32..1.0,
            keep in 0.2f32..1.0,
        ) {
            let group = evidence(&answers);
            let blur = Blur { bandwidth, keep };
            let (a, b) = (group.below(low, blur), group.below(low + step, blur));
            prop_assert!(a >= 0.0 && a <= b + 1e-3, "{} then {}", a, b);
            prop_assert!(b <= group.weight() * 1.0001);
            prop_assert!(group.bins.is_sorted_by(|a, b| a.0 < b.0));
        }
    }
}

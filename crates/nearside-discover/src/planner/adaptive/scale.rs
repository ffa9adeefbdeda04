//! The scale the model thinks on: z = ln(RTT + 20 ms), cut into bins, and the normal distribution.
//!
//! On it a path is about as noisy far away as nearby, and the 20 ms keep differences between the
//! very nearest servers, which nobody feels, from looking large.

use nearside_types::Rtt;

/// Bins are 0.0085 wide, which is 2 ms at 200 ms.
const BINS: f32 = 512.0;
/// ln 20: an RTT of nothing.
const LOWEST: f32 = 2.995_732_3;
/// ln 1520: half a second beyond the longest path on Earth.
const HIGHEST: f32 = 7.326_466;
const BIN_WIDTH: f32 = (HIGHEST - LOWEST) / BINS;
const OFFSET_MS: f32 = 20.0;

/// z of an RTT.
pub(super) fn z_of(rtt: Rtt) -> f32 {
    (rtt.as_millis_f64() as f32 + OFFSET_MS).ln()
}

/// The RTT that has this z.
pub(super) fn rtt_of(z: f32) -> Rtt {
    Rtt::from_millis_f64(f64::from(z.exp() - OFFSET_MS))
}

/// The bin z falls into; what lies beyond the scale counts at its ends.
pub(super) fn bin_of(z: f32) -> u16 {
    ((z - LOWEST) / BIN_WIDTH).clamp(0.0, BINS - 1.0) as u16
}

/// The middle of a bin.
pub(super) fn centre_of(bin: u16) -> f32 {
    LOWEST + (f32::from(bin) + 0.5) * BIN_WIDTH
}

/// The share of a standard normal distribution below x, to 0.0002: a logistic function of a cubic
/// (Bowling, Khasawneh, Kaewkuekool and Cho, 2009).
pub(super) fn normal_below(x: f32) -> f32 {
    1.0 / (1.0 + (-x * (1.5976 + 0.070_566 * x * x)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_reads_back_within_a_bin() {
        for millis in [0.0, 5.0, 38.0, 200.0, 1400.0] {
            let z = z_of(Rtt::from_millis_f64(millis));
            let back = rtt_of(centre_of(bin_of(z))).as_millis_f64();
            assert!(
                (back - millis).abs() <= 0.005 * (millis + 20.0),
                "{millis} became {back}"
            );
        }
        assert_eq!(bin_of(z_of(Rtt::from_micros(u32::MAX))), 511);
        assert_eq!(bin_of(f32::NEG_INFINITY), 0);
    }

    #[test]
    fn the_normal_distribution_has_its_known_quantiles() {
        for (x, below) in [(0.0, 0.5), (1.0, 0.8413), (-1.96, 0.025), (3.0, 0.99865)] {
            assert!((normal_below(x) - below).abs() < 0.0003, "{x}");
        }
        assert_eq!(normal_below(f32::INFINITY), 1.0);
        assert_eq!(normal_below(f32::NEG_INFINITY), 0.0);
    }
}

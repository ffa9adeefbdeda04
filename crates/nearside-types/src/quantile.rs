/// The `q`-quantile of sorted values by linear interpolation between order statistics (the method
/// the calibration rules call for: rank `q·(n−1)`, interpolated). `None` without values.
///
/// The caller sorts; `q` outside `0..=1` is clamped.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    debug_assert!(sorted.is_sorted(), "quantile needs sorted values");
    let last = sorted.len().checked_sub(1)?;
    let rank = q.clamp(0.0, 1.0) * last as f64;
    let below = rank.floor() as usize;
    let above = rank.ceil() as usize;
    let weight = rank - rank.floor();
    Some(sorted[below] + (sorted[above] - sorted[below]) * weight)
}

/// The middle of sorted values, the mean of the two middle ones where their number is even.
pub fn median(sorted: &[f64]) -> Option<f64> {
    quantile(sorted, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn interpolates_between_neighbours() {
        let values = [10.0, 20.0, 40.0];
        assert_eq!(quantile(&values, 0.0), Some(10.0));
        assert_eq!(quantile(&values, 0.25), Some(15.0));
        assert_eq!(quantile(&values, 0.8), Some(32.0));
        assert_eq!(quantile(&values, 1.0), Some(40.0));
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
        assert_eq!(median(&[]), None);
    }

    proptest! {
        #[test]
        fn lies_between_the_extremes_and_rises_with_q(
            mut values in proptest::collection::vec(0.0f64..1e6, 1..50),
            a in 0.0f64..=1.0,
            b in 0.0f64..=1.0,
        ) {
            values.sort_by(f64::total_cmp);
            let (low, high) = (a.min(b), a.max(b));
            let at_low = quantile(&values, low).unwrap();
            let at_high = quantile(&values, high).unwrap();
            prop_assert!(at_low <= at_high + 1e-6);
            prop_assert!(values[0] - 1e-6 <= at_low);
            prop_assert!(at_high <= values[values.len() - 1] + 1e-6);
        }
    }
}

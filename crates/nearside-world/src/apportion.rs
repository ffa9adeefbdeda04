//! Sharing out whole things in proportion to weights.

/// Splits `total` by largest remainders (Hamilton's method), ties to the smaller index: the parts
/// add up to `total` exactly and each lies within one of its exact share.
pub(crate) fn apportion(total: usize, weights: &[f64]) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    let exact = |index: usize| total as f64 * weights[index] / sum;
    let mut parts: Vec<usize> = (0..weights.len()).map(|i| exact(i) as usize).collect();
    let mut by_remainder: Vec<usize> = (0..weights.len()).collect();
    by_remainder.sort_by(|&a, &b| exact(b).fract().total_cmp(&exact(a).fract()));
    let missing = total.saturating_sub(parts.iter().sum());
    for &index in by_remainder.iter().cycle().take(missing) {
        parts[index] += 1;
    }
    parts
}

/// Splits `total` so that every part is at least 1 and at most `cap`; what the cap cuts off goes to
/// the others by weight. A cap that leaves no room for `total` is raised to the least that does.
///
/// # Panics
/// If there are more parts than things to share.
pub(crate) fn apportion_capped(total: usize, weights: &[f64], cap: usize) -> Vec<usize> {
    assert!(weights.len() <= total, "every part needs at least one");
    let cap = cap.max(total.div_ceil(weights.len().max(1)));
    let mut parts = vec![1; weights.len()];
    let mut left = total - weights.len();
    while left > 0 {
        let open: Vec<usize> = (0..parts.len()).filter(|&i| parts[i] < cap).collect();
        let open_weights: Vec<f64> = open.iter().map(|&i| weights[i]).collect();
        let offers = apportion(left, &open_weights);
        for (&index, offer) in open.iter().zip(offers) {
            let taken = offer.min(cap - parts[index]);
            parts[index] += taken;
            left -= taken;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn remainders_decide_who_gets_the_last_one() {
        assert_eq!(apportion(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(apportion(7, &[5.0, 1.0]), [6, 1]);
        assert_eq!(apportion(0, &[5.0, 1.0]), [0, 0]);
    }

    #[test]
    fn what_the_cap_cuts_off_goes_to_the_others() {
        assert_eq!(apportion_capped(20, &[100.0, 1.0, 1.0], 10), [10, 5, 5]);
        assert_eq!(apportion_capped(9, &[100.0, 1.0, 1.0], 1), [3, 3, 3]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_bounds_hold(
            weights in proptest::collection::vec(0.001f64..100.0, 1..60),
            extra in 0usize..5000,
            cap in 1usize..400,
        ) {
            let total = weights.len() + extra;
            let parts = apportion_capped(total, &weights, cap);
            let bound = cap.max(total.div_ceil(weights.len()));
            prop_assert_eq!(parts.iter().sum::<usize>(), total);
            prop_assert!(parts.iter().all(|&part| (1..=bound).contains(&part)));
        }
    }
}

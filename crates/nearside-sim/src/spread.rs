//! A figure over many seeds.

/// Which of two values is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Costs.
    Lower,
    /// Recall.
    Higher,
}

/// Mean, deviation and the worst of a figure over seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the sample (n − 1); 0 for a single value.
    pub deviation: f64,
    /// The value of the worst seed.
    pub worst: f64,
}

impl Spread {
    /// The spread of these values; `None` without any.
    pub fn of(values: impl IntoIterator<Item = f64>, better: Better) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let worst = values.iter().copied().reduce(match better {
            Better::Lower => f64::max,
            Better::Higher => f64::min,
        })?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let freedom = (values.len() - 1).max(1) as f64;
        Some(Self {
            mean,
            deviation: (squares / freedom).sqrt(),
            worst,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_depends_on_what_is_good() {
        let values = [2.0, 4.0, 9.0];
        let cost = Spread::of(values, Better::Lower).unwrap();
        assert_eq!((cost.mean, cost.worst), (5.0, 9.0));
        assert!((cost.deviation - 13f64.sqrt()).abs() < 1e-12, "{cost:?}");
        assert_eq!(Spread::of(values, Better::Higher).unwrap().worst, 2.0);
    }

    #[test]
    fn one_value_deviates_by_nothing_and_none_has_no_spread() {
        assert_eq!(Spread::of([3.0], Better::Lower).unwrap().deviation, 0.0);
        assert_eq!(Spread::of([], Better::Lower), None);
    }
}

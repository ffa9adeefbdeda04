//! The orders in which servers can be probed: Algorithm 1 with every parameter that the papers leave
//! to future work.

use nearside_discover::planner::{
    ClusterBy, ClusterConfig, PlannerConfig, PlannerKind, SampleSize,
};
use nearside_types::{PrefixLengths, Rtt};

use super::stops::Stops;
use crate::experiment::{Crowd, Job};
use crate::method::Method;

/// What makes a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grouping {
    /// The AS paper.
    As,
    /// The country paper: large prefixes of a country apart; /8 there.
    CountryAnd(u8),
    /// The idea of 2006.
    Country,
    /// Addresses alone, without knowing where anything is.
    Prefix(u8),
}

/// An order to probe in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ordering {
    pub(super) grouping: Grouping,
    /// How many members of a cluster are sampled.
    pub(super) sample: SampleSize,
    /// Wide clusters are split by prefixes of this length …
    pub(super) split: u8,
    /// … when their samples are farther apart than this; `None`: never.
    pub(super) above: Option<u32>,
}

/// The rules for N_sample; the papers' is √n.
pub(super) const SAMPLES: [SampleSize; 6] = [
    SampleSize::Fixed { samples: 1 },
    SampleSize::Logarithm,
    SampleSize::ScaledSquareRoot { factor: 0.5 },
    SampleSize::SquareRoot,
    SampleSize::ScaledSquareRoot { factor: 2.0 },
    SampleSize::Share { share: 0.1 },
];

/// Lengths of the prefix that splits a cluster; the papers' is 16.
pub(super) const SPLITS: [u8; 5] = [12, 14, 16, 20, 24];

/// Spreads that make a cluster too wide, in milliseconds; the papers' is 40.
pub(super) const THRESHOLDS: [Option<u32>; 7] = [
    Some(10),
    Some(20),
    Some(30),
    Some(40),
    Some(60),
    Some(80),
    None,
];

impl Grouping {
    /// What the issue asks to set beside each other; list order stands for "none".
    pub(super) const RIVALS: [Self; 4] = [
        Self::As,
        Self::CountryAnd(8),
        Self::Country,
        Self::Prefix(16),
    ];

    fn rule(self) -> ClusterBy {
        match self {
            Self::As => ClusterBy::As,
            Self::CountryAnd(bits) => ClusterBy::CountryAndPrefix {
                prefix: lengths(bits, 20),
            },
            Self::Country => ClusterBy::Country,
            Self::Prefix(bits) => ClusterBy::Prefix {
                prefix: lengths(bits, 32),
            },
        }
    }

    /// The planner that is configured; clusters by prefix have none of their own.
    fn kind(self) -> PlannerKind {
        match self {
            Self::As | Self::Prefix(_) => PlannerKind::As,
            Self::CountryAnd(_) => PlannerKind::Country,
            Self::Country => PlannerKind::CountryOnly,
        }
    }

    /// As tables show it.
    pub(super) fn words(self) -> String {
        match self {
            Self::As => "AS".to_owned(),
            Self::CountryAnd(bits) => format!("country + /{bits}"),
            Self::Country => "country".to_owned(),
            Self::Prefix(bits) => format!("/{bits}"),
        }
    }
}

/// IPv6 lengths stay as published: the worlds have none.
const fn lengths(v4: u8, v6: u8) -> PrefixLengths {
    PrefixLengths { v4, v6 }
}

impl Ordering {
    /// A paper's Algorithm 1 as it stands.
    pub(super) const fn published(grouping: Grouping) -> Self {
        Self {
            grouping,
            sample: SampleSize::SquareRoot,
            split: 16,
            above: Some(40),
        }
    }

    /// The clusters with this order and no stop.
    fn method(&self) -> Method {
        let clusters = ClusterConfig {
            sample_size: self.sample,
            split_prefix: lengths(self.split, 32),
            split_above: self.above.map_or(Rtt::from_micros(u32::MAX), ms),
            stop: None,
            ..ClusterConfig::published(self.grouping.rule())
        };
        Method::Planner(PlannerConfig {
            clusters,
            ..PlannerConfig::published(self.grouping.kind())
        })
    }

    /// Everything in this order, and what a set of stops would have made of it.
    pub(super) fn job(&self, crowd: Crowd, place: &'static str, stops: Stops) -> Job {
        Job::new(crowd, place, self.method()).judging(stops.all())
    }

    /// What differs from the paper that has this grouping.
    pub(super) fn words(&self) -> String {
        let published = Self::published(self.grouping);
        let mut words = vec![self.grouping.words()];
        if self.sample != published.sample {
            words.push(format!("N_sample {}", sample_words(self.sample)));
        }
        if self.split != published.split {
            words.push(format!("split by /{}", self.split));
        }
        if self.above != published.above {
            words.push(match self.above {
                Some(above) => format!("split above {above} ms"),
                None => "never split".to_owned(),
            });
        }
        words.join(", ")
    }
}

/// A rule for N_sample in a few letters.
pub(super) fn sample_words(rule: SampleSize) -> String {
    match rule {
        SampleSize::SquareRoot => "√n".to_owned(),
        SampleSize::ScaledSquareRoot { factor } => format!("{factor}·√n"),
        SampleSize::Logarithm => "log₂ n + 1".to_owned(),
        SampleSize::Fixed { samples } => samples.to_string(),
        SampleSize::Share { share } => format!("{} % of n", 100.0 * share),
    }
}

/// A spread above which clusters are split, as rows of a heat map are named.
pub(super) fn threshold_words(above: Option<u32>) -> String {
    above.map_or("never".to_owned(), |above| format!("{above} ms"))
}

pub(super) const fn ms(millis: u32) -> Rtt {
    Rtt::from_micros(millis * 1000)
}

/// N_sample against the prefix of splits, row by row.
pub(super) fn sample_grid() -> Vec<Vec<Ordering>> {
    grid(&SAMPLES, |sample, split| Ordering {
        sample,
        split,
        ..Ordering::published(Grouping::As)
    })
}

/// The spread that splits against the prefix of splits, row by row.
pub(super) fn threshold_grid() -> Vec<Vec<Ordering>> {
    grid(&THRESHOLDS, |above, split| Ordering {
        above,
        split,
        ..Ordering::published(Grouping::As)
    })
}

fn grid<T: Copy>(rows: &[T], order: impl Fn(T, u8) -> Ordering) -> Vec<Vec<Ordering>> {
    let row = |&value: &T| SPLITS.iter().map(|&split| order(value, split)).collect();
    rows.iter().map(row).collect()
}

/// One parameter of the country paper's algorithm at a time, its boundary at /8 included.
pub(super) fn country_variants() -> Vec<Ordering> {
    let published = Ordering::published(Grouping::CountryAnd(8));
    let samples = SAMPLES.map(|sample| Ordering {
        sample,
        ..published
    });
    let splits = SPLITS.map(|split| Ordering { split, ..published });
    let thresholds = THRESHOLDS.map(|above| Ordering { above, ..published });
    let boundaries = [6, 10, 12, 16].map(|bits| Ordering::published(Grouping::CountryAnd(bits)));
    let all = samples.into_iter().chain(splits).chain(thresholds);
    once_each(all.chain(boundaries))
}

/// Every order that is studied, once.
pub(super) fn all() -> Vec<Ordering> {
    let rivals = Grouping::RIVALS.map(Ordering::published);
    let grids = sample_grid().into_iter().chain(threshold_grid()).flatten();
    once_each(rivals.into_iter().chain(grids).chain(country_variants()))
}

fn once_each(orderings: impl IntoIterator<Item = Ordering>) -> Vec<Ordering> {
    let mut once: Vec<Ordering> = Vec::new();
    for ordering in orderings {
        if !once.contains(&ordering) {
            once.push(ordering);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_papers_publish_is_among_what_is_studied() {
        for (grouping, kind) in [
            (Grouping::As, PlannerKind::As),
            (Grouping::CountryAnd(8), PlannerKind::Country),
            (Grouping::Country, PlannerKind::CountryOnly),
        ] {
            let ordering = Ordering::published(grouping);
            assert!(all().contains(&ordering));
            let mut published = PlannerConfig::published(kind);
            published.clusters.stop = None;
            assert_eq!(ordering.method(), Method::Planner(published));
        }
    }

    #[test]
    fn an_order_is_called_by_what_is_special_about_it() {
        let published = Ordering::published(Grouping::CountryAnd(8));
        assert_eq!(published.words(), "country + /8");
        let other = Ordering {
            sample: SampleSize::Fixed { samples: 1 },
            above: None,
            split: 20,
            ..published
        };
        let words = "country + /8, N_sample 1, split by /20, never split";
        assert_eq!(other.words(), words);
    }

    #[test]
    fn no_two_orders_have_one_name() {
        let mut names: Vec<String> = all().iter().map(Ordering::words).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}

//! Which members of a cluster are sampled, and what the samples say.

use nearside_types::{PrefixLengths, median, quantile};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::clusters::group_members;
use super::{Listed, ServerId};

/// How many members of a cluster of n are sampled (N_sample; both papers use √n and leave others
/// to future work).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleSize {
    /// ⌊√n⌋.
    SquareRoot,
    /// ⌊factor·√n⌋.
    ScaledSquareRoot {
        /// What √n is multiplied by.
        factor: f64,
    },
    /// ⌊log₂ n⌋ + 1.
    Logarithm,
    /// The same number for every cluster.
    Fixed {
        /// That number.
        samples: usize,
    },
    /// A share of the cluster.
    Share {
        /// That share, 0 to 1.
        share: f64,
    },
}

impl SampleSize {
    /// The sample size for a cluster of `members`: at least 1, at most all.
    pub fn for_cluster(self, members: usize) -> usize {
        let n = members as f64;
        let wanted = match self {
            Self::SquareRoot => members.isqrt(),
            Self::ScaledSquareRoot { factor } => (factor * n.sqrt()).floor() as usize,
            Self::Logarithm => members.checked_ilog2().map_or(0, |log| log as usize + 1),
            Self::Fixed { samples } => samples,
            Self::Share { share } => (share * n).floor() as usize,
        };
        wanted.clamp(1, members.max(1))
    }
}

/// How the papers' "one from each /16" is read where a cluster has fewer /16s than samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrawRule {
    /// Go round the /16s again until the sample is full. This reproduces the papers' number of
    /// calibration probes.
    GoRound,
    /// Never two of one /16, even if the sample stays smaller.
    Strict,
}

/// The members of a cluster in the order they are drawn: the /16s shuffled, one random server from
/// each, then round again. The first `n` of it are the sample, the next ones replace silent servers.
///
/// Members are sorted by address before the draw, so that it depends on the seed and on which
/// servers there are, and not on the order in which a master happened to list them.
pub(super) fn draw_order(
    members: &[ServerId],
    servers: &[Listed],
    split: PrefixLengths,
    rng: &mut ChaCha8Rng,
) -> Vec<ServerId> {
    let mut groups = group_members(members, servers, split);
    for group in &mut groups {
        group.sort_unstable_by_key(|server| servers[server.index()].addr);
        group.shuffle(rng);
    }
    groups.shuffle(rng);
    round_robin(&groups)
}

fn round_robin(groups: &[Vec<ServerId>]) -> Vec<ServerId> {
    let rounds = groups.iter().map(Vec::len).max().unwrap_or(0);
    (0..rounds)
        .flat_map(|round| groups.iter().filter_map(move |group| group.get(round)))
        .copied()
        .collect()
}

/// How many samples the strict reading allows: one for each /16.
pub(super) fn distinct_prefixes(
    members: &[ServerId],
    servers: &[Listed],
    split: PrefixLengths,
) -> usize {
    group_members(members, servers, split).len()
}

/// The median of a cluster's answered samples and how far their P20 and P80 are apart, both in
/// milliseconds; `None` if nothing answered.
pub(super) fn centre_and_spread(samples: &mut [f64]) -> Option<(f64, f64)> {
    samples.sort_by(f64::total_cmp);
    let centre = median(samples)?;
    let spread = quantile(samples, 0.8)? - quantile(samples, 0.2)?;
    Some((centre, spread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_types::{Origin, Prefix};
    use proptest::prelude::*;
    use rand::SeedableRng;

    const SPLIT: PrefixLengths = PrefixLengths { v4: 16, v6: 32 };

    fn servers(addresses: &[(u8, u8)]) -> Vec<Listed> {
        addresses
            .iter()
            .map(|&(sixteen, host)| Listed {
                addr: format!("9.{sixteen}.0.{host}:27015").parse().unwrap(),
                origin: Origin::default(),
            })
            .collect()
    }

    fn draw(servers: &[Listed], seed: u64) -> Vec<ServerId> {
        let members: Vec<ServerId> = (0..servers.len()).map(ServerId::from_index).collect();
        draw_order(
            &members,
            servers,
            SPLIT,
            &mut ChaCha8Rng::seed_from_u64(seed),
        )
    }

    #[test]
    fn sample_sizes_are_at_least_one_and_never_more_than_the_cluster() {
        assert_eq!(SampleSize::SquareRoot.for_cluster(1), 1);
        assert_eq!(SampleSize::SquareRoot.for_cluster(99), 9);
        assert_eq!(SampleSize::Fixed { samples: 5 }.for_cluster(3), 3);
        assert_eq!(SampleSize::Share { share: 0.1 }.for_cluster(5), 1);
        assert_eq!(SampleSize::Logarithm.for_cluster(8), 4);
        assert_eq!(
            SampleSize::ScaledSquareRoot { factor: 2.0 }.for_cluster(100),
            20
        );
    }

    #[test]
    fn each_sixteen_comes_once_before_any_comes_twice() {
        let servers = servers(&[(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1)]);
        let order = draw(&servers, 3);
        let sixteens: Vec<Prefix> = order
            .iter()
            .map(|id| servers[id.index()].addr.prefix(SPLIT))
            .collect();
        assert_eq!(distinct_prefixes(&order, &servers, SPLIT), 3);
        let mut first_round = sixteens[..3].to_vec();
        first_round.sort_unstable();
        first_round.dedup();
        assert_eq!(first_round.len(), 3);
    }

    proptest! {
        #[test]
        fn the_draw_is_a_permutation_that_ignores_list_order(
            addresses in proptest::collection::btree_set((0u8..8, 1u8..40), 1..60),
            seed: u64,
        ) {
            let forward: Vec<(u8, u8)> = addresses.into_iter().collect();
            let backward: Vec<(u8, u8)> = forward.iter().rev().copied().collect();
            let (forward, backward) = (servers(&forward), servers(&backward));
            let names = |list: &[Listed]| -> Vec<_> {
                draw(list, seed).iter().map(|id| list[id.index()].addr).collect()
            };
            prop_assert_eq!(names(&forward), names(&backward));
            let mut all = draw(&forward, seed);
            all.sort_unstable();
            prop_assert_eq!(all, (0..forward.len()).map(ServerId::from_index).collect::<Vec<_>>());
        }
    }
}

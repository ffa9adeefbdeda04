//! Contexts with about the same frequencies, put together.
//!
//! A table of frequencies for each of 256 contexts is a megabyte, and a decoder that jumps about in a
//! megabyte waits for memory at each step. A few tables stay near the processor, and describing them
//! takes less room in the file as well.

/// How often each symbol occurs.
pub(super) type Counts = [u64; 256];

/// Contexts that share their frequencies.
pub(super) struct Group {
    /// In rising order.
    pub(super) contexts: Vec<u8>,
    pub(super) counts: Counts,
}

/// The embedded table has 1,772 kB with 16, 1,794 with 8, 1,782 with 32 and 1,817 with 256.
const MOST_GROUPS: usize = 16;

/// Contexts move to groups that suit them better this often. More changed nothing.
const ROUNDS: usize = 3;

/// Puts the contexts that occur into groups. `counts` has one for each of the 256. Calculates in
/// whole numbers, so that the result is the same on every machine.
pub(super) fn group(counts: &[Counts]) -> Vec<Group> {
    let mut contexts: Vec<usize> = (0..counts.len())
        .filter(|context| total(&counts[*context]) > 0)
        .collect();
    contexts.sort_by_key(|context| std::cmp::Reverse(total(&counts[*context])));
    // The most frequent ones make a start.
    let mut centres: Vec<Counts> = contexts.iter().map(|context| counts[*context]).collect();
    centres.truncate(MOST_GROUPS);
    let mut members = Vec::new();
    for _ in 0..ROUNDS {
        let prices: Vec<Prices> = centres.iter().map(prices).collect();
        members = vec![Vec::new(); centres.len()];
        for context in &contexts {
            members[cheapest(&counts[*context], &prices)].push(*context);
        }
        centres = members.iter().map(|group| sum(counts, group)).collect();
    }
    let groups = members.into_iter().zip(centres);
    let groups = groups.filter(|(members, _)| !members.is_empty());
    groups
        .map(|(members, counts)| Group::new(&members, counts))
        .collect()
}

impl Group {
    fn new(members: &[usize], counts: Counts) -> Self {
        let mut contexts: Vec<u8> = members.iter().map(|context| *context as u8).collect();
        contexts.sort_unstable();
        Self { contexts, counts }
    }
}

/// What each symbol costs, in 256ths of a bit.
type Prices = [u64; 256];

/// One more of each symbol is counted, so that what a centre lacks is dear but not impossible.
fn prices(centre: &Counts) -> Prices {
    let all = log2(total(centre) + 256);
    centre.map(|count| all - log2(count + 1))
}

/// Where a context is coded in the fewest bits.
fn cheapest(counts: &Counts, prices: &[Prices]) -> usize {
    let cost = |prices: &Prices| -> u64 {
        let symbols = counts.iter().zip(prices);
        symbols.map(|(count, price)| count * price).sum()
    };
    let costs = prices.iter().map(cost).enumerate();
    costs.min_by_key(|(_, cost)| *cost).map_or(0, |(at, _)| at)
}

fn total(counts: &Counts) -> u64 {
    counts.iter().sum()
}

fn sum(counts: &[Counts], members: &[usize]) -> Counts {
    std::array::from_fn(|symbol| members.iter().map(|context| counts[*context][symbol]).sum())
}

/// The logarithm in 256ths. The mantissa is squared again and again; each time it passes 2, a bit of
/// the logarithm is 1.
fn log2(number: u64) -> u64 {
    let whole = number.max(1).ilog2();
    let mut mantissa = u128::from(number.max(1)) << (63 - whole);
    let mut logarithm = u64::from(whole);
    for _ in 0..8 {
        mantissa = (mantissa * mantissa) >> 63;
        let carry = (mantissa >> 64) as u64;
        mantissa >>= carry;
        logarithm = logarithm << 1 | carry;
    }
    logarithm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_within_a_256th() {
        for number in [1, 2, 3, 7, 10, 1000, 4096, 123_456_789, u64::MAX] {
            let exact = (number as f64).log2() * 256.0;
            let ours = log2(number) as f64;
            assert!((exact - ours).abs() <= 1.0, "{number}: {ours}, not {exact}");
        }
        assert_eq!(log2(0), 0);
    }

    #[test]
    fn contexts_that_are_alike_share_a_group_and_each_is_in_one() {
        let mut counts = vec![[0; 256]; 256];
        for (context, counts) in counts.iter_mut().enumerate().take(200) {
            let favourite = if context % 2 == 0 { 10 } else { 20 };
            counts[favourite] = 900 + context as u64;
            counts[99] = 50;
        }
        let groups = group(&counts);
        let mut all: Vec<u8> = groups
            .iter()
            .flat_map(|group| group.contexts.clone())
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..200).collect::<Vec<u8>>());
        for group in &groups {
            let parity = group.contexts[0] % 2;
            assert!(group.contexts.iter().all(|context| context % 2 == parity));
        }
        assert!(groups.len() <= MOST_GROUPS);
    }
}

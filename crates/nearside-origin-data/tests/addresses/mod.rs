//! Random addresses: half IPv4, drawn from all of it; half IPv6, drawn inside known ranges, since
//! most of IPv6 is empty.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nearside_origin::RangeTable;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) fn draw(table: &RangeTable, count: usize, seed: u64) -> Vec<IpAddr> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let ranges: Vec<(u128, u128)> = table
        .ranges()
        .filter_map(|(first, last, _)| match (first, last) {
            (IpAddr::V6(first), IpAddr::V6(last)) => Some((first.to_bits(), last.to_bits())),
            _ => None,
        })
        .collect();
    let mut draw = |at: usize| -> IpAddr {
        if at.is_multiple_of(2) {
            return Ipv4Addr::from_bits(random.random()).into();
        }
        let (first, last) = ranges[random.random_range(0..ranges.len())];
        Ipv6Addr::from_bits(random.random_range(first..=last)).into()
    };
    (0..count).map(&mut draw).collect()
}

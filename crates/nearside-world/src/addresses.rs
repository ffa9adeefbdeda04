//! Plausible public IPv4 addresses for a generated population.
//!
//! Every /16 goes to one AS only (until a registry's space runs out, which takes worlds many times
//! larger than any real list), and each country uses a few /8s, as the country paper found.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};

use nearside_types::{AddrClass, Country};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use crate::params::WorldParams;

/// The first two octets of a /16.
pub(crate) type Block = [u8; 2];

/// Hands out /16s, and addresses inside them, each once.
#[derive(Debug)]
pub(crate) struct AddressPlan<'a> {
    params: &'a WorldParams,
    /// The /8s of each country, the main one first.
    first_octets: HashMap<Country, Vec<u8>>,
    /// Unused second octets of each /8 that is in use, shuffled.
    free: HashMap<u8, Vec<u8>>,
    used: HashSet<Ipv4Addr>,
}

impl<'a> AddressPlan<'a> {
    pub(crate) fn new(params: &'a WorldParams) -> Self {
        Self {
            params,
            first_octets: HashMap::new(),
            free: HashMap::new(),
            used: HashSet::new(),
        }
    }

    /// A fresh /16 in a country: from one of its /8s, each half as likely as the one before; then
    /// from any /8 of its registry; then, if all are gone, one that another AS has already.
    pub(crate) fn block(&mut self, country: Country, rng: &mut impl Rng) -> Block {
        let own = self.octets_of(country, rng).to_vec();
        let rank = (0..own.len()).find(|_| rng.random_bool(0.5)).unwrap_or(0);
        let pool = &self.params.registry(country).first_octets;
        let candidates = [own[rank]]
            .into_iter()
            .chain(own)
            .chain(pool.iter().copied());
        for first in candidates {
            let halves = self.free.entry(first);
            let halves = halves.or_insert_with(|| shuffled(public_halves(first), rng));
            if let Some(second) = halves.pop() {
                return [first, second];
            }
        }
        let first = pool[rng.random_range(0..pool.len())];
        let halves = public_halves(first);
        [first, halves[rng.random_range(0..halves.len())]]
    }

    fn octets_of(&mut self, country: Country, rng: &mut impl Rng) -> &[u8] {
        let params = self.params;
        self.first_octets.entry(country).or_insert_with(|| {
            let mut octets = shuffled(params.registry(country).first_octets.clone(), rng);
            octets.truncate(params.prefixes.first_octets_per_country);
            octets
        })
    }

    /// An address of the /16 that was not given out yet, in the /24 asked for if it has room.
    pub(crate) fn host(&mut self, [a, b]: Block, third: u8, rng: &mut impl Rng) -> Ipv4Addr {
        let mut third = third;
        loop {
            for _ in 0..32 {
                let addr = Ipv4Addr::new(a, b, third, rng.random_range(1..=254));
                let public = AddrClass::of(IpAddr::V4(addr)) == AddrClass::Public;
                if public && self.used.insert(addr) {
                    return addr;
                }
            }
            third = rng.random();
        }
    }
}

/// The second octets under which all of `first.second.0.0/16` is public.
fn public_halves(first: u8) -> Vec<u8> {
    let is_public = |&second: &u8| {
        (0..=255).all(|third| {
            AddrClass::of(IpAddr::V4(Ipv4Addr::new(first, second, third, 1))) == AddrClass::Public
        })
    };
    (0..=255).filter(is_public).collect()
}

fn shuffled(mut octets: Vec<u8>, rng: &mut impl Rng) -> Vec<u8> {
    octets.shuffle(rng);
    octets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::stream;

    #[test]
    fn no_block_is_given_out_twice_while_the_registry_has_space() {
        let params = WorldParams::builtin();
        let mut rng = stream(3, "addresses");
        let mut plan = AddressPlan::new(&params);
        let germany: Country = "DE".parse().unwrap();
        let blocks: Vec<Block> = (0..3000).map(|_| plan.block(germany, &mut rng)).collect();
        let distinct: HashSet<Block> = blocks.iter().copied().collect();
        assert_eq!(distinct.len(), blocks.len());
    }

    #[test]
    fn a_registry_without_space_shares_blocks_rather_than_fail() {
        let params = WorldParams::builtin();
        let mut rng = stream(3, "addresses");
        let mut plan = AddressPlan::new(&params);
        let egypt: Country = "EG".parse().unwrap();
        let blocks: Vec<Block> = (0..600).map(|_| plan.block(egypt, &mut rng)).collect();
        assert!(blocks.iter().all(|&[first, _]| first == 41 || first == 196));
    }

    #[test]
    fn documentation_and_test_networks_are_left_out() {
        assert!(!public_halves(198).contains(&18));
        assert!(!public_halves(198).contains(&51));
        assert!(!public_halves(192).contains(&0));
        assert_eq!(public_halves(62).len(), 256);
    }
}

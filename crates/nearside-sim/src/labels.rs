//! Wrong and missing origins: what a look-up table that is out of date, simply mistaken, or not there
//! does to a list.

use std::collections::BTreeMap;
use std::str::FromStr;

use nearside_types::{Country, Listed, Prefix, PrefixLengths};
use nearside_world::Fraction;
use rand::SeedableRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

/// What a list tells of a server beside its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// Its country.
    Country,
    /// Its origin AS.
    As,
}

/// No label has this name.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("there is no label `{0}` (choose country or as)")]
pub struct UnknownLabel(String);

impl FromStr for Label {
    type Err = UnknownLabel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "country" => Ok(Self::Country),
            "as" => Ok(Self::As),
            _ => Err(UnknownLabel(text.to_owned())),
        }
    }
}

/// Takes labels off every server of a list: most masters tell addresses only.
pub fn unlabel(list: &mut [Listed], labels: &[Label]) {
    for origin in list.iter_mut().map(|listed| &mut listed.origin) {
        for label in labels {
            match label {
                Label::Country => origin.country = None,
                Label::As => origin.asn = None,
            }
        }
    }
}

/// Country databases err by blocks, not by servers.
const BLOCK: PrefixLengths = PrefixLengths { v4: 16, v6: 32 };

/// Sets these draws apart from all others that start from the same seed.
const PURPOSE: u64 = 0x006c_6162_656c;

/// Gives this share of the list's /16s the country of a random server from elsewhere; origin ASes
/// stay. Which blocks and countries it hits does not depend on the order of the list.
pub fn mislabel(list: &mut [Listed], share: Fraction, seed: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ PURPOSE);
    let mut countries: Vec<Country> = list.iter().filter_map(|l| l.origin.country).collect();
    countries.sort_unstable();
    let mut blocks: Vec<Vec<usize>> = by_block(list).into_values().collect();
    let wrong = (share.get() * blocks.len() as f64).round() as usize;
    blocks.shuffle(&mut rng);
    for members in &blocks[..wrong] {
        let own: Vec<_> = members.iter().map(|&m| list[m].origin.country).collect();
        let mut elsewhere = countries.clone();
        elsewhere.retain(|country| !own.contains(&Some(*country)));
        if let Some(&mistaken) = elsewhere.choose(&mut rng) {
            for &member in members {
                list[member].origin.country = Some(mistaken);
            }
        }
    }
}

fn by_block(list: &[Listed]) -> BTreeMap<Prefix, Vec<usize>> {
    let mut blocks: BTreeMap<Prefix, Vec<usize>> = BTreeMap::new();
    for (index, listed) in list.iter().enumerate() {
        let block = listed.addr.prefix(BLOCK);
        blocks.entry(block).or_default().push(index);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_types::{Asn, Origin};
    use std::collections::BTreeSet;

    /// Forty /16s of three servers each, in three countries.
    fn list() -> Vec<Listed> {
        let server = |index: usize| Listed {
            addr: format!("9.{}.0.{}:1", index / 3, index % 3)
                .parse()
                .unwrap(),
            origin: Origin {
                asn: Some(Asn(7)),
                country: ["DE", "FR", "NL"][index / 3 % 3].parse().ok(),
            },
        };
        (0..120).map(server).collect()
    }

    fn mislabelled(mut list: Vec<Listed>, share: f64) -> Vec<Listed> {
        mislabel(&mut list, share.try_into().unwrap(), 5);
        list
    }

    #[test]
    fn whole_blocks_change_their_country_and_nothing_else() {
        let (before, after) = (list(), mislabelled(list(), 0.25));
        let changed = before.iter().zip(&after).filter(|(b, a)| b != a);
        let blocks: Vec<Prefix> = changed
            .map(|(before, after)| {
                assert_eq!(before.addr, after.addr);
                assert_eq!(before.origin.asn, after.origin.asn);
                assert_ne!(before.origin.country, after.origin.country);
                before.addr.prefix(BLOCK)
            })
            .collect();
        assert_eq!(blocks.len(), 30, "a quarter of forty blocks of three");
        assert_eq!(blocks.into_iter().collect::<BTreeSet<_>>().len(), 10);
    }

    #[test]
    fn the_order_of_the_list_does_not_matter() {
        let mut backward = list();
        backward.reverse();
        let mut changed = mislabelled(backward, 0.5);
        changed.reverse();
        assert_eq!(changed, mislabelled(list(), 0.5));
    }

    #[test]
    fn labels_are_taken_off_one_by_one() {
        let without = |labels: &[Label]| {
            let mut list = list();
            unlabel(&mut list, labels);
            let origins = list.iter().map(|listed| listed.origin);
            let with = |has: fn(&Origin) -> bool| origins.clone().filter(has).count();
            (with(|o| o.country.is_some()), with(|o| o.asn.is_some()))
        };
        assert_eq!(without(&[]), (120, 120));
        assert_eq!(without(&[Label::Country]), (0, 120));
        assert_eq!(without(&[Label::As]), (120, 0));
        assert_eq!(without(&[Label::As, Label::Country]), (0, 0));
        let error = "city".parse::<Label>().unwrap_err().to_string();
        assert!(error.contains("choose country or as"), "{error}");
    }

    #[test]
    fn no_share_and_a_single_country_change_nothing() {
        assert_eq!(mislabelled(list(), 0.0), list());
        let mut one = list();
        one.iter_mut()
            .for_each(|l| l.origin.country = "DE".parse().ok());
        assert_eq!(mislabelled(one.clone(), 1.0), one);
    }
}

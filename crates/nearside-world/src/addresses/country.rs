//! The part of one country's pages that a world uses. Its servers keep to a few /8s, as the country
//! paper found, and some of its /16s are shared by several ASes.

use std::collections::{BTreeSet, HashSet};

use nearside_types::{Asn, Country};
use rand::seq::{IndexedRandom, IteratorRandom};
use rand::{Rng, RngExt};

use crate::address_book::{AsPage, Block, BlockPage, CountryPages};
use crate::chance::Weighted;
use crate::fraction::Fraction;
use crate::params::WorldParams;

/// What is chosen from in one country, and what was.
#[derive(Debug)]
pub(super) struct CountryPlan<'a> {
    pages: &'a CountryPages,
    /// The /8s servers are put in first, the main one first.
    main: Vec<u8>,
    /// Those of the registry, or all the country has if it has none of these.
    usual: BTreeSet<u8>,
    shared: Fraction,
    /// The /16s that have servers, and the order they were chosen in.
    in_use: HashSet<Block>,
    in_use_order: Vec<Block>,
    used: HashSet<(Asn, Block)>,
}

impl<'a> CountryPlan<'a> {
    pub(super) fn new(
        pages: &'a CountryPages,
        country: Country,
        servers: usize,
        params: &WorldParams,
        rng: &mut impl Rng,
    ) -> Self {
        let prefixes = &params.prefixes;
        let octets = (servers / prefixes.servers_per_first_octet)
            .clamp(1, prefixes.first_octets_per_country);
        let all: BTreeSet<u8> = pages.by_block.iter().map(|&([a, _], _)| a).collect();
        let registry = &params.registry(country).first_octets;
        let mut usual: BTreeSet<u8> = registry
            .iter()
            .copied()
            .filter(|a| all.contains(a))
            .collect();
        if usual.is_empty() {
            usual = all;
        }
        Self {
            main: draw_octets(pages, &usual, octets, rng),
            pages,
            usual,
            shared: prefixes.shared_fraction,
            in_use: HashSet::new(),
            in_use_order: Vec::new(),
            used: HashSet::new(),
        }
    }

    /// An AS that is `free` and has `sixteens` /16s in the main /8s; if there is none, the one that
    /// has most /16s at all; any of the country if none is free.
    pub(super) fn choose_as(
        &self,
        sixteens: usize,
        free: impl Fn(Asn) -> bool,
        rng: &mut impl Rng,
    ) -> Asn {
        let small = match sixteens {
            0 | 1 => self.choose_small(&free, rng),
            _ => None,
        };
        small
            .or_else(|| self.choose_large(sixteens, &free, rng))
            .or_else(|| self.largest(&free))
            .unwrap_or_else(|| {
                let any = self.pages.ases.choose(rng);
                any.expect("a country of the book has an AS").asn
            })
    }

    /// An AS for a few servers: by chance one in a /16 where others have servers, else any with a
    /// network in one of the main /8s.
    fn choose_small(&self, free: impl Fn(Asn) -> bool, rng: &mut impl Rng) -> Option<Asn> {
        let neighbours = match self.in_use_order.choose(rng) {
            Some(&block) if rng.random_bool(self.shared.get()) => {
                self.free_between(block, block, &free, rng)
            }
            _ => None,
        };
        neighbours.or_else(|| {
            let octet = self.draw_main(rng);
            self.free_between([octet, 0], [octet, 255], &free, rng)
        })
    }

    /// A random free AS with a network between two /16s.
    fn free_between(
        &self,
        first: Block,
        last: Block,
        free: impl Fn(Asn) -> bool,
        rng: &mut impl Rng,
    ) -> Option<Asn> {
        let there = self.pages.between(first, last).iter();
        let asns = there.map(|&(_, at)| self.pages.ases[at].asn);
        asns.filter(|&asn| free(asn)).choose(rng)
    }

    /// A random free AS with that many /16s in the main /8s.
    pub(super) fn choose_large(
        &self,
        sixteens: usize,
        free: impl Fn(Asn) -> bool,
        rng: &mut impl Rng,
    ) -> Option<Asn> {
        let fits = |page: &&AsPage| free(page.asn) && self.in_main(page) >= sixteens;
        let ases = self.pages.ases.iter().filter(fits);
        ases.map(|page| page.asn).choose(rng)
    }

    /// The free AS with most /16s in the main /8s, then at all.
    fn largest(&self, free: impl Fn(Asn) -> bool) -> Option<Asn> {
        let ases = self.pages.ases.iter().filter(|page| free(page.asn));
        let size = |page: &&AsPage| (self.in_main(page), page.blocks.len());
        ases.max_by_key(size).map(|page| page.asn)
    }

    /// How many /16s of an AS its servers may be spread over: those in the main /8s, if it has any.
    pub(super) fn room(&self, asn: Asn) -> usize {
        let page = self.pages.page(asn);
        page.map_or(0, |page| match self.in_main(page) {
            0 => page.blocks.len(),
            main => main,
        })
    }

    fn in_main(&self, page: &AsPage) -> usize {
        let blocks = page.blocks.iter();
        let main = blocks.filter(|page| self.main.contains(&page.block[0]));
        main.count()
    }

    /// A /16 of the AS, not used before while there are any: by chance one where others have
    /// servers, else in the main /8s, else in the usual ones, else anywhere.
    ///
    /// # Panics
    /// If the AS has no page in the country.
    pub(super) fn choose_block(&mut self, asn: Asn, rng: &mut impl Rng) -> &'a BlockPage {
        let page = self
            .pages
            .page(asn)
            .expect("only ASes of the country are chosen");
        let unused = |page: &&BlockPage| !self.used.contains(&(asn, page.block));
        let mut left: Vec<&BlockPage> = page.blocks.iter().filter(unused).collect();
        if left.is_empty() {
            left = page.blocks.iter().collect();
        }
        let chosen = self.prefer(&left, rng);
        if self.in_use.insert(chosen.block) {
            self.in_use_order.push(chosen.block);
        }
        self.used.insert((asn, chosen.block));
        chosen
    }

    fn prefer(&self, left: &[&'a BlockPage], rng: &mut impl Rng) -> &'a BlockPage {
        let octet = self.draw_main(rng);
        let shares = rng.random_bool(self.shared.get());
        let wishes: [&dyn Fn(Block) -> bool; 5] = [
            &|block| shares && self.in_use.contains(&block),
            &|[a, _]| a == octet,
            &|[a, _]| self.main.contains(&a),
            &|[a, _]| self.usual.contains(&a),
            &|_| true,
        ];
        let granted = |wish: &&dyn Fn(Block) -> bool| {
            let wanted = left.iter().filter(|page| wish(page.block));
            wanted.choose(rng).copied()
        };
        wishes
            .iter()
            .find_map(granted)
            .expect("the last wish takes any, and there is one")
    }

    /// One of the main /8s, each half as likely as the one before.
    fn draw_main(&self, rng: &mut impl Rng) -> u8 {
        let tosses = 0..self.main.len();
        let rank = tosses.into_iter().find(|_| rng.random_bool(0.5));
        self.main[rank.unwrap_or(0)]
    }
}

/// Draws `count` of the /8s without putting any back, in proportion to the networks in them.
fn draw_octets(
    pages: &CountryPages,
    usual: &BTreeSet<u8>,
    count: usize,
    rng: &mut impl Rng,
) -> Vec<u8> {
    let networks = |octet: u8| pages.between([octet, 0], [octet, 255]).len() as f64;
    let mut left: Vec<(u8, f64)> = usual
        .iter()
        .map(|&octet| (octet, networks(octet)))
        .collect();
    let mut drawn = Vec::new();
    while drawn.len() < count && !left.is_empty() {
        let octet = Weighted::new(left.iter().copied()).draw(rng);
        left.retain(|&(other, _)| other != octet);
        drawn.push(octet);
    }
    drawn
}

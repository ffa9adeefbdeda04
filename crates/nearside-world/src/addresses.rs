//! The networks of one world: which ASes of the address book run servers, in which of their /16s,
//! and on which addresses.
//!
//! Each AS of the world is another AS of the book, and each address is given out once. Where the
//! book is too small for a world, networks are shared rather than invented.

mod country;

use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};

use nearside_types::{AddrClass, Asn, Country};
use rand::{Rng, RngExt};

use self::country::CountryPlan;
use crate::address_book::AddressBook;
use crate::params::WorldParams;

/// Hands out ASes, /16s of theirs, and addresses in these.
#[derive(Debug)]
pub(crate) struct AddressPlan<'a> {
    countries: Countries<'a>,
    taken: HashSet<Asn>,
    hosts: HashSet<Ipv4Addr>,
}

/// The networks of one AS inside one /16, to put servers in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a>(&'a [(u32, u32)]);

/// Neighbouring addresses of a site, at most a /24.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rack {
    first: u32,
    last: u32,
}

/// How often a free address is looked for before one is shared.
const ATTEMPTS: usize = 64;

impl<'a> AddressPlan<'a> {
    /// A plan for so many servers in each country.
    pub(crate) fn new(
        book: &'a AddressBook,
        params: &'a WorldParams,
        servers: BTreeMap<Country, usize>,
    ) -> Self {
        Self {
            countries: Countries {
                book,
                params,
                servers,
                plans: BTreeMap::new(),
            },
            taken: HashSet::new(),
            hosts: HashSet::new(),
        }
    }

    /// An AS of the country that was not handed out yet, with that many /16s there or as many as
    /// can be had.
    pub(crate) fn found_as(
        &mut self,
        country: Country,
        sixteens: usize,
        rng: &mut impl Rng,
    ) -> Asn {
        let plan = self.countries.plan(country, rng);
        let asn = plan.choose_as(sixteens, |asn| !self.taken.contains(&asn), rng);
        self.taken.insert(asn);
        asn
    }

    /// The same for a company that also stands in other countries of the world, if there is one
    /// left: its AS, and these countries.
    pub(crate) fn found_multinational(
        &mut self,
        country: Country,
        sixteens: usize,
        rng: &mut impl Rng,
    ) -> Option<(Asn, Vec<Country>)> {
        let Countries { book, params, .. } = self.countries;
        let abroad = |asn| -> Vec<Country> {
            let others = book.countries_of(asn).iter().copied();
            let in_world = |other: &Country| params.country_shares.contains_key(other);
            others
                .filter(|other| *other != country)
                .filter(in_world)
                .collect()
        };
        let fits = |asn| !self.taken.contains(&asn) && abroad(asn).len() >= MIN_ABROAD;
        let plan = self.countries.plan(country, rng);
        let asn = plan.choose_large(sixteens, fits, rng)?;
        self.taken.insert(asn);
        Some((asn, abroad(asn)))
    }

    /// How many /16s an AS has in the country, as far as its servers may be spread over them.
    pub(crate) fn room(&mut self, country: Country, asn: Asn, rng: &mut impl Rng) -> usize {
        self.countries.plan(country, rng).room(asn)
    }

    /// A /16 of the AS in the country, another each time while there are any.
    ///
    /// # Panics
    /// If the AS has none there.
    pub(crate) fn site(&mut self, country: Country, asn: Asn, rng: &mut impl Rng) -> Site<'a> {
        let page = self.countries.plan(country, rng).choose_block(asn, rng);
        Site(self.countries.book.spans(page))
    }

    /// A free address of the rack, else of the site; only if that is full, one that is taken.
    pub(crate) fn host(&mut self, site: Site<'_>, rack: Rack, rng: &mut impl Rng) -> Ipv4Addr {
        let mut rack = rack;
        let mut addr = site.any(rack, rng);
        for attempt in 1..ATTEMPTS {
            if self.hosts.insert(addr) {
                return addr;
            }
            if attempt % 8 == 0 {
                rack = site.rack(rng);
            }
            addr = site.any(rack, rng);
        }
        addr
    }
}

/// The plans of all countries, made when they are first asked for.
#[derive(Debug)]
struct Countries<'a> {
    book: &'a AddressBook,
    params: &'a WorldParams,
    servers: BTreeMap<Country, usize>,
    plans: BTreeMap<Country, CountryPlan<'a>>,
}

impl<'a> Countries<'a> {
    fn plan(&mut self, country: Country, rng: &mut impl Rng) -> &mut CountryPlan<'a> {
        let (book, params) = (self.book, self.params);
        self.plans.entry(country).or_insert_with(|| {
            let pages = book.pages(country);
            let pages = pages.expect("countries the book does not cover were refused");
            let servers = self.servers.get(&country).copied().unwrap_or(0);
            CountryPlan::new(pages, country, servers, params, rng)
        })
    }
}

/// "Other countries" of a multinational.
const MIN_ABROAD: usize = 2;

impl Site<'_> {
    /// The /24, or what the site has of it, around a random address.
    pub(crate) fn rack(self, rng: &mut impl Rng) -> Rack {
        let addresses: u32 = self.0.iter().map(|&(first, last)| last - first + 1).sum();
        let mut offset = rng.random_range(0..addresses);
        for &(first, last) in self.0 {
            let size = last - first + 1;
            if offset < size {
                let addr = first + offset;
                return Rack {
                    first: first.max(addr & !0xff),
                    last: last.min(addr | 0xff),
                };
            }
            offset -= size;
        }
        unreachable!("the offset is below the sum of all sizes")
    }

    /// A random address of the rack that can be a server's; the rack's first if that has none.
    fn any(self, rack: Rack, rng: &mut impl Rng) -> Ipv4Addr {
        let draws = (0..ATTEMPTS).map(|_| rng.random_range(rack.first..=rack.last));
        let usable = draws.map(Ipv4Addr::from_bits).find(is_usable);
        usable.unwrap_or(Ipv4Addr::from_bits(rack.first))
    }
}

/// Public, and neither the first nor the last of a /24, which look like a network's own.
fn is_usable(addr: &Ipv4Addr) -> bool {
    let [.., last] = addr.octets();
    (1..=254).contains(&last) && AddrClass::of(IpAddr::V4(*addr)) == AddrClass::Public
}

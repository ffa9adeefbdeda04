//! Companies, their /16s, and the machines in them.

use std::collections::HashSet;
use std::net::Ipv4Addr;

use nearside_types::{Asn, Country};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::outline::AsPlan;
use crate::addresses::{AddressPlan, Block};
use crate::apportion::apportion_capped;
use crate::chance::{Weighted, exponential, gamma, stream};
use crate::cities::{Cities, CityId};
use crate::params::{Game, WorldParams};

/// What kind of company runs an AS.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AsKind {
    /// Rents out machines: several servers on an address, most /16s in the home city.
    Hosting,
    /// Connects homes: one server on an address, customers everywhere.
    Isp,
}

/// A machine with its servers.
pub(super) struct Machine {
    /// The number of its AS, counted as they were founded.
    pub(super) as_index: usize,
    pub(super) asn: Asn,
    pub(super) country: Country,
    pub(super) city: CityId,
    pub(super) access_ms: f64,
    pub(super) ip: Ipv4Addr,
    pub(super) ports: Vec<u16>,
}

/// One AS while its machines are being placed.
struct AsSite {
    index: usize,
    asn: Asn,
    kind: AsKind,
    country: Country,
    home: CityId,
    multinational: bool,
}

/// One /16 while its machines are being placed.
struct PrefixSite {
    block: Block,
    country: Country,
    city: CityId,
}

pub(super) struct Builder<'a> {
    params: &'a WorldParams,
    game: Game,
    cities: &'a Cities,
    countries: Weighted<Country>,
    rng: ChaCha8Rng,
    addresses: AddressPlan<'a>,
    asns: HashSet<Asn>,
    machines: Vec<Machine>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(params: &'a WorldParams, game: Game, cities: &'a Cities, seed: u64) -> Self {
        let shares = params.country_shares.iter();
        Self {
            params,
            game,
            cities,
            countries: Weighted::new(shares.map(|(&country, &share)| (country, share))),
            addresses: AddressPlan::new(params),
            rng: stream(seed, "servers"),
            asns: HashSet::new(),
            machines: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Vec<Machine> {
        self.machines
    }

    pub(super) fn add_as(&mut self, plan: &AsPlan) {
        let site = self.found_as(plan);
        for servers in self.split_over_prefixes(plan.servers) {
            let prefix = self.found_prefix(&site);
            self.fill_prefix(&site, &prefix, servers);
        }
    }

    fn found_as(&mut self, plan: &AsPlan) -> AsSite {
        let population = &self.params.population;
        let kind = match self.rng.random_bool(population.isp_fraction.get()) {
            true => AsKind::Isp,
            false => AsKind::Hosting,
        };
        let large = plan.servers > MULTINATIONAL_ABOVE;
        let multinational = self
            .rng
            .random_bool(population.multinational_fraction.get())
            && large;
        AsSite {
            index: self.asns.len(),
            asn: self.fresh_asn(),
            kind,
            country: plan.country,
            home: self.draw_city(kind, plan.country),
            multinational,
        }
    }

    /// A number of 16 bits, as all were in 2007, while there are plenty of them.
    fn fresh_asn(&mut self) -> Asn {
        loop {
            let crowded = self.asns.len() > 30_000;
            let range = if crowded {
                131_072..4_200_000
            } else {
                1000..64_496
            };
            let asn = Asn(self.rng.random_range(range));
            if asn != AS_TRANS && self.asns.insert(asn) {
                return asn;
            }
        }
    }

    fn draw_city(&mut self, kind: AsKind, country: Country) -> CityId {
        match kind {
            AsKind::Hosting => self.cities.of_hosting(country).draw(&mut self.rng),
            AsKind::Isp => self.cities.of_people(country).draw(&mut self.rng),
        }
    }

    /// Shares an AS's servers over its /16s: one each, the rest unevenly, as address space fills.
    fn split_over_prefixes(&mut self, servers: usize) -> Vec<usize> {
        let prefixes = &self.params.prefixes;
        let spread = prefixes.spread_scale * (servers as f64).powf(prefixes.spread_exponent);
        let count = (spread.round() as usize).clamp(1, servers);
        let weights: Vec<f64> = (0..count)
            .map(|_| exponential(&mut self.rng, 1.0) + 1e-6)
            .collect();
        apportion_capped(servers, &weights, servers)
    }

    fn found_prefix(&mut self, site: &AsSite) -> PrefixSite {
        let abroad = self.params.prefixes.multinational_abroad_fraction;
        let leaves = site.multinational && self.rng.random_bool(abroad.get());
        let country = if leaves {
            self.countries.draw(&mut self.rng)
        } else {
            site.country
        };
        let home = self.params.population.hosting_home_city_fraction;
        let stays = site.kind == AsKind::Hosting && self.rng.random_bool(home.get());
        let city = if stays && country == site.country {
            site.home
        } else {
            self.draw_city(site.kind, country)
        };
        PrefixSite {
            block: self.addresses.block(country, &mut self.rng),
            country,
            city,
        }
    }

    fn fill_prefix(&mut self, site: &AsSite, prefix: &PrefixSite, servers: usize) {
        let mut left = servers;
        let mut third = self.rng.random();
        while left > 0 {
            let on_machine = self.servers_on_machine(site.kind).min(left);
            third = self.next_third_octet(site.kind, third);
            let machine = self.place_machine(site, prefix, third, on_machine);
            self.machines.push(machine);
            left -= on_machine;
        }
    }

    /// Geometric on rented machines, one at home.
    fn servers_on_machine(&mut self, kind: AsKind) -> usize {
        let prefixes = &self.params.prefixes;
        let more = match kind {
            AsKind::Hosting => 1.0 - 1.0 / prefixes.servers_per_hosting_address,
            AsKind::Isp => 0.0,
        };
        let mut count = 1;
        while count < prefixes.max_servers_per_address && self.rng.random_bool(more) {
            count += 1;
        }
        count
    }

    /// Racks fill one /24 after the other; home lines are anywhere in the /16.
    fn next_third_octet(&mut self, kind: AsKind, third: u8) -> u8 {
        match kind {
            AsKind::Hosting if self.rng.random_bool(1.0 - 1.0 / MACHINES_PER_RACK) => third,
            _ => self.rng.random(),
        }
    }

    fn place_machine(
        &mut self,
        site: &AsSite,
        prefix: &PrefixSite,
        third: u8,
        servers: usize,
    ) -> Machine {
        let population = &self.params.population;
        let off_city = site.kind == AsKind::Isp
            && self.rng.random_bool(population.isp_off_city_fraction.get());
        let city = if off_city {
            self.draw_city(site.kind, prefix.country)
        } else {
            prefix.city
        };
        let access = match site.kind {
            AsKind::Hosting => population.hosting_access_ms,
            AsKind::Isp => population.isp_access_ms,
        };
        Machine {
            as_index: site.index,
            asn: site.asn,
            country: prefix.country,
            city,
            access_ms: gamma(&mut self.rng, access.gamma_shape, access.gamma_scale),
            ip: self.addresses.host(prefix.block, third, &mut self.rng),
            ports: self.ports(site.kind, servers),
        }
    }

    /// The game's port and the next ones, in steps of 1 or 10 as hosters number them; a few home
    /// servers use another port.
    fn ports(&mut self, kind: AsKind, servers: usize) -> Vec<u16> {
        let moved = kind == AsKind::Isp && self.rng.random_bool(0.15);
        let first = self.game.default_port() + u16::from(moved) * self.rng.random_range(1..30);
        let step = if self.rng.random_bool(0.5) { 1 } else { 10 };
        (0..servers)
            .map(|index| first.saturating_add(step * index as u16))
            .collect()
    }
}

/// "ASes with more than 20 servers" may be multinational (`multinational_fraction`).
const MULTINATIONAL_ABOVE: usize = 20;

/// Rented machines in one /24 before the next begins. Assumed.
const MACHINES_PER_RACK: f64 = 16.0;

/// Reserved as the stand-in for numbers of 32 bits (RFC 6793), so nobody's own.
const AS_TRANS: Asn = Asn(23_456);

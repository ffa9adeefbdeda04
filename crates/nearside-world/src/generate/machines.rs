//! Companies, their /16s, and the machines in them.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use nearside_types::{Asn, Country};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::outline::{AsPlan, Outline};
use crate::address_book::AddressBook;
use crate::addresses::{AddressPlan, Rack, Site};
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

impl Machine {
    /// More servers, on the ports after the last; none beyond the last port there is.
    fn add_ports(&mut self, servers: usize) {
        let last = self.ports.iter().copied().max().unwrap_or(0);
        self.ports
            .extend((last..u16::MAX).map(|port| port + 1).take(servers));
    }
}

/// One AS while its machines are being placed.
struct AsSite {
    index: usize,
    asn: Asn,
    kind: AsKind,
    country: Country,
    home: CityId,
    /// Where a multinational also has networks, with the share of the world's servers there.
    abroad: Option<Weighted<Country>>,
}

/// One /16 while its machines are being placed.
struct PrefixSite<'a> {
    site: Site<'a>,
    country: Country,
    city: CityId,
}

pub(super) struct Builder<'a> {
    params: &'a WorldParams,
    game: Game,
    cities: &'a Cities,
    rng: ChaCha8Rng,
    addresses: AddressPlan<'a>,
    ases: usize,
    machines: Vec<Machine>,
    by_ip: HashMap<Ipv4Addr, usize>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        book: &'a AddressBook,
        params: &'a WorldParams,
        game: Game,
        cities: &'a Cities,
        outline: &Outline,
        seed: u64,
    ) -> Self {
        Self {
            params,
            game,
            cities,
            addresses: AddressPlan::new(book, params, outline.by_country()),
            rng: stream(seed, "servers"),
            ases: 0,
            machines: Vec::new(),
            by_ip: HashMap::new(),
        }
    }

    pub(super) fn finish(self) -> Vec<Machine> {
        self.machines
    }

    pub(super) fn add_as(&mut self, plan: &AsPlan) {
        let wanted = self.prefixes_of(plan.servers);
        let site = self.found_as(plan, wanted);
        let room = self.addresses.room(plan.country, site.asn, &mut self.rng);
        for servers in self.split_over_prefixes(plan.servers, wanted.min(room).max(1)) {
            let prefix = self.found_prefix(&site);
            self.fill_prefix(&site, &prefix, servers);
        }
    }

    fn found_as(&mut self, plan: &AsPlan, sixteens: usize) -> AsSite {
        let population = &self.params.population;
        let kind = match self.rng.random_bool(population.isp_fraction.get()) {
            true => AsKind::Isp,
            false => AsKind::Hosting,
        };
        let (asn, abroad) = self.choose_asn(plan, sixteens);
        self.ases += 1;
        AsSite {
            index: self.ases - 1,
            asn,
            kind,
            country: plan.country,
            home: self.draw_city(kind, plan.country),
            abroad,
        }
    }

    fn choose_asn(&mut self, plan: &AsPlan, sixteens: usize) -> (Asn, Option<Weighted<Country>>) {
        let share = self.params.population.multinational_fraction;
        let multinational = plan.servers > MULTINATIONAL_ABOVE && self.rng.random_bool(share.get());
        let found = multinational.then(|| {
            let addresses = &mut self.addresses;
            addresses.found_multinational(plan.country, sixteens, &mut self.rng)
        });
        let Some((asn, countries)) = found.flatten() else {
            let asn = self
                .addresses
                .found_as(plan.country, sixteens, &mut self.rng);
            return (asn, None);
        };
        let shares = &self.params.country_shares;
        let abroad = Weighted::new(
            countries
                .into_iter()
                .map(|country| (country, shares[&country])),
        );
        (asn, Some(abroad))
    }

    fn draw_city(&mut self, kind: AsKind, country: Country) -> CityId {
        match kind {
            AsKind::Hosting => self.cities.of_hosting(country).draw(&mut self.rng),
            AsKind::Isp => self.cities.of_people(country).draw(&mut self.rng),
        }
    }

    /// How many /16s the servers of an AS are spread over.
    fn prefixes_of(&self, servers: usize) -> usize {
        let prefixes = &self.params.prefixes;
        let spread = prefixes.spread_scale * (servers as f64).powf(prefixes.spread_exponent);
        (spread.round() as usize).clamp(1, servers)
    }

    /// Shares an AS's servers over its /16s: one each, the rest unevenly, as address space fills.
    fn split_over_prefixes(&mut self, servers: usize, count: usize) -> Vec<usize> {
        let weights: Vec<f64> = (0..count)
            .map(|_| exponential(&mut self.rng, 1.0) + 1e-6)
            .collect();
        apportion_capped(servers, &weights, servers)
    }

    fn found_prefix(&mut self, site: &AsSite) -> PrefixSite<'a> {
        let leaves = self.params.prefixes.multinational_abroad_fraction;
        let country = match &site.abroad {
            Some(abroad) if self.rng.random_bool(leaves.get()) => abroad.draw(&mut self.rng),
            _ => site.country,
        };
        let home = self.params.population.hosting_home_city_fraction;
        let stays = site.kind == AsKind::Hosting && self.rng.random_bool(home.get());
        let city = if stays && country == site.country {
            site.home
        } else {
            self.draw_city(site.kind, country)
        };
        PrefixSite {
            site: self.addresses.site(country, site.asn, &mut self.rng),
            country,
            city,
        }
    }

    fn fill_prefix(&mut self, site: &AsSite, prefix: &PrefixSite<'_>, servers: usize) {
        let mut left = servers;
        let mut rack = prefix.site.rack(&mut self.rng);
        while left > 0 {
            let on_machine = self.servers_on_machine(site.kind).min(left);
            rack = self.next_rack(site.kind, prefix, rack);
            self.place_servers(site, prefix, rack, on_machine);
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
    fn next_rack(&mut self, kind: AsKind, prefix: &PrefixSite<'_>, rack: Rack) -> Rack {
        match kind {
            AsKind::Hosting if self.rng.random_bool(1.0 - 1.0 / MACHINES_PER_RACK) => rack,
            _ => prefix.site.rack(&mut self.rng),
        }
    }

    /// Puts servers on a machine of their own, or on one that is there if its network is full.
    fn place_servers(
        &mut self,
        site: &AsSite,
        prefix: &PrefixSite<'_>,
        rack: Rack,
        servers: usize,
    ) {
        let ip = self.addresses.host(prefix.site, rack, &mut self.rng);
        if let Some(&there) = self.by_ip.get(&ip) {
            self.machines[there].add_ports(servers);
            return;
        }
        let machine = self.machine(site, prefix, ip, servers);
        self.by_ip.insert(ip, self.machines.len());
        self.machines.push(machine);
    }

    fn machine(
        &mut self,
        site: &AsSite,
        prefix: &PrefixSite<'_>,
        ip: Ipv4Addr,
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
            ip,
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

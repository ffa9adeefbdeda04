//! Populations made from parameters: countries, then ASes, then /16s, then machines, then servers.

use std::collections::HashSet;
use std::net::Ipv4Addr;

use nearside_types::{Asn, Country, Origin, Rtt, ServerAddr};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;

use crate::addresses::{AddressPlan, Block};
use crate::apportion::{apportion, apportion_capped};
use crate::cables::CableMap;
use crate::chance::{Weighted, exponential, gamma, lognormal, stream};
use crate::cities::{Cities, CityId};
use crate::params::{Game, WorldParams};
use crate::place::Position;
use crate::population::{Population, WorldServer};

/// Makes the population of a game: `answering` servers that reply (by default as many as the papers
/// saw) and the silent ones a list carries besides, in shuffled order.
///
/// The same parameters, game, size and seed give the same population everywhere. The servers do not
/// depend on which client places the parameters name, nor one place's RTTs on the others.
pub fn generate(
    params: &WorldParams,
    game: Game,
    answering: Option<usize>,
    seed: u64,
) -> Population {
    let outline = Outline::new(params, game, answering.unwrap_or(params.answering(game)));
    let cities = Cities::new(params);
    let mut builder = Builder::new(params, game, &cities, seed);
    for plan in &outline.ases {
        builder.add_as(plan);
    }
    let machines = builder.finish();
    let mut servers = servers_of(params, &cities, &machines, seed);
    silence(&mut servers, outline.silent, &mut stream(seed, "silent"));
    servers.shuffle(&mut stream(seed, "list order"));
    Population {
        clients: params.clients().map(str::to_owned).collect(),
        servers,
    }
}

/// How many servers stand where, before any chance is involved.
struct Outline {
    ases: Vec<AsPlan>,
    silent: usize,
}

#[derive(Clone, Copy)]
struct AsPlan {
    country: Country,
    servers: usize,
}

impl Outline {
    fn new(params: &WorldParams, game: Game, answering: usize) -> Self {
        let population = &params.population;
        let listed = (answering as f64 / (1.0 - population.silent_fraction)).round() as usize;
        let (countries, zipf) = match game {
            Game::Css => (usize::MAX, population.as_size_zipf),
            Game::EnemyTerritory => {
                let et = &params.enemy_territory;
                (et.countries, et.as_size_zipf)
            }
        };
        let shares = largest_shares(params, countries);
        let servers = apportion(listed, &weights(&shares, 1.0));
        let ases = apportion(
            as_count(params, game, answering),
            &weights(&shares, population.ases_per_country_exponent),
        );
        let mut plans = Vec::new();
        for ((&(country, _), &servers), &ases) in shares.iter().zip(&servers).zip(&ases) {
            let sizes = as_sizes(servers, ases, zipf, population.as_size_cap);
            plans.extend(sizes.into_iter().map(|servers| AsPlan { country, servers }));
        }
        Self {
            ases: plans,
            silent: listed - answering,
        }
    }
}

/// The countries with the largest shares, ties in alphabetical order.
fn largest_shares(params: &WorldParams, count: usize) -> Vec<(Country, f64)> {
    let shares = params.country_shares.iter();
    let mut shares: Vec<(Country, f64)> = shares.map(|(&c, &share)| (c, share)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares.truncate(count);
    shares
}

fn weights(shares: &[(Country, f64)], exponent: f64) -> Vec<f64> {
    shares.iter().map(|s| s.1.powf(exponent)).collect()
}

/// How the number of ASes grows with that of servers: the exponent that joins the two games of the
/// papers, (27,640 servers, 1,176 ASes) and (2,700, 260).
const AS_GROWTH: f64 = 0.65;

fn as_count(params: &WorldParams, game: Game, answering: usize) -> usize {
    let ases = match game {
        Game::Css => params.population.ases,
        Game::EnemyTerritory => params.enemy_territory.ases,
    };
    let growth = answering as f64 / params.answering(game).max(1) as f64;
    (ases as f64 * growth.powf(AS_GROWTH)).round() as usize
}

/// Server counts of a country's ASes by Zipf's law; at least one AS if there is a server.
fn as_sizes(servers: usize, ases: usize, zipf: f64, cap: usize) -> Vec<usize> {
    let ases = ases.clamp(servers.min(1), servers);
    let weights: Vec<f64> = (1..=ases).map(|rank| (rank as f64).powf(-zipf)).collect();
    apportion_capped(servers, &weights, cap)
}

/// What kind of company runs an AS.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AsKind {
    /// Rents out machines: several servers on an address, most /16s in the home city.
    Hosting,
    /// Connects homes: one server on an address, customers everywhere.
    Isp,
}

/// A machine with its servers.
struct Machine {
    as_index: usize,
    asn: Asn,
    country: Country,
    city: CityId,
    access_ms: f64,
    ip: Ipv4Addr,
    ports: Vec<u16>,
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

struct Builder<'a> {
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
    fn new(params: &'a WorldParams, game: Game, cities: &'a Cities, seed: u64) -> Self {
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

    fn finish(self) -> Vec<Machine> {
        self.machines
    }

    fn add_as(&mut self, plan: &AsPlan) {
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

/// Gives every server of every machine its RTT from every client.
fn servers_of(
    params: &WorldParams,
    cities: &Cities,
    machines: &[Machine],
    seed: u64,
) -> Vec<WorldServer> {
    let ases = machines.iter().map(|m| m.as_index + 1).max().unwrap_or(0);
    let map = CableMap::new(params);
    let views: Vec<View> = params
        .clients
        .iter()
        .map(|(name, &client)| {
            let path_ms = paths_ms(params, &map, cities, client);
            View::new(params, path_ms, ases, client, &mut stream(seed, name))
        })
        .collect();
    let mut servers = Vec::new();
    for machine in machines {
        let rtt: Vec<Option<Rtt>> = views.iter().map(|view| Some(view.rtt(machine))).collect();
        let addrs = machine
            .ports
            .iter()
            .filter_map(|&port| ServerAddr::new(machine.ip.into(), port));
        servers.extend(addrs.map(|addr| WorldServer {
            addr,
            origin: Origin {
                asn: Some(machine.asn),
                country: Some(machine.country),
            },
            rtt: rtt.clone(),
        }));
    }
    servers
}

/// The world as one client sees it.
struct View {
    access_ms: f64,
    /// Milliseconds to each city.
    path_ms: Vec<f64>,
    /// How each AS stretches the path, and what it adds.
    ases: Vec<(f64, f64)>,
}

/// The inflated round trip in milliseconds from a client's place to each city.
fn paths_ms(
    params: &WorldParams,
    map: &CableMap<'_>,
    cities: &Cities,
    [latitude, longitude, _]: [f64; 3],
) -> Vec<f64> {
    let here = Position::new(latitude, longitude);
    let path = |&city: &Position| params.rtt.inflation * map.path_ms(here, city);
    cities.positions().iter().map(path).collect()
}

impl View {
    fn new(
        params: &WorldParams,
        path_ms: Vec<f64>,
        ases: usize,
        [_, _, access_ms]: [f64; 3],
        rng: &mut impl Rng,
    ) -> Self {
        let mut draw_as = || {
            let factor = lognormal(rng, params.rtt.as_factor_sigma);
            (factor, exponential(rng, params.rtt.as_offset_ms_mean))
        };
        Self {
            access_ms,
            path_ms,
            ases: (0..ases).map(|_| draw_as()).collect(),
        }
    }

    fn rtt(&self, machine: &Machine) -> Rtt {
        let (factor, offset) = self.ases[machine.as_index];
        let path = self.path_ms[machine.city.0] * factor + offset;
        Rtt::from_millis_f64(path + self.access_ms + machine.access_ms)
    }
}

/// Makes `count` random servers silent from everywhere.
fn silence(servers: &mut [WorldServer], count: usize, rng: &mut impl Rng) {
    let (silent, _) = servers.partial_shuffle(rng, count);
    for server in silent {
        server.rtt.fill(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_types::{AddrClass, PrefixLengths};
    use std::collections::{BTreeSet, HashMap};

    fn css(seed: u64) -> Population {
        generate(&WorldParams::builtin(), Game::Css, None, seed)
    }

    #[test]
    fn sizes_are_those_asked_for() {
        let params = WorldParams::builtin();
        for (game, size, answering) in [
            (Game::Css, None, 27_640),
            (Game::Css, Some(500), 500),
            (Game::Css, Some(1), 1),
            (Game::Css, Some(0), 0),
            (Game::EnemyTerritory, None, 2700),
        ] {
            let population = generate(&params, game, size, 1);
            for client in 0..population.clients.len() {
                assert_eq!(population.answering(client), answering);
            }
            let silent = population.servers.len() - answering;
            let expected = answering as f64 * 0.057 / 0.943;
            assert!((silent as f64 - expected).abs() <= 0.5, "{silent} silent");
        }
    }

    #[test]
    fn the_seed_decides_everything() {
        assert_eq!(css(4), css(4));
        assert_ne!(css(4), css(5));
    }

    #[test]
    fn addresses_are_public_and_given_out_once() {
        let population = css(2);
        let mut seen = HashSet::new();
        for server in &population.servers {
            assert_eq!(server.addr.class(), AddrClass::Public);
            assert!(seen.insert(server.addr), "{} twice", server.addr);
        }
    }

    #[test]
    fn no_sixteen_belongs_to_two_ases() {
        let lengths = PrefixLengths { v4: 16, v6: 32 };
        let mut owner = HashMap::new();
        for server in css(2).servers {
            let asn = server.origin.asn;
            let first = *owner.entry(server.addr.prefix(lengths)).or_insert(asn);
            assert_eq!(first, asn);
        }
    }

    #[test]
    fn machines_carry_several_servers_with_one_rtt() {
        let mut by_ip: HashMap<_, Vec<WorldServer>> = HashMap::new();
        for server in css(2).servers {
            by_ip.entry(server.addr.ip()).or_default().push(server);
        }
        let largest = by_ip.values().map(Vec::len).max().unwrap();
        assert!(
            (8..=16).contains(&largest),
            "{largest} servers on one address"
        );
        for servers in by_ip.values() {
            let answers: BTreeSet<_> = servers.iter().filter_map(|s| s.rtt[0]).collect();
            assert!(answers.len() <= 1);
        }
    }

    #[test]
    fn enemy_territory_is_played_in_fifty_countries_or_so() {
        let params = WorldParams::builtin();
        let population = generate(&params, Game::EnemyTerritory, None, 1);
        let countries: BTreeSet<_> = population
            .servers
            .iter()
            .map(|server| server.origin.country)
            .collect();
        assert!((50..=54).contains(&countries.len()), "{}", countries.len());
        assert!(population.servers.iter().all(|s| s.addr.port() >= 27_960));
    }

    #[test]
    fn another_client_place_moves_no_server_and_no_other_rtt() {
        let more = "[clients]\nUK = [56.34, -2.8, 1.0]\nHERE = [0, 0, 1]";
        let two = generate(
            &WorldParams::from_toml(more).unwrap(),
            Game::Css,
            Some(300),
            9,
        );
        let all = generate(&WorldParams::builtin(), Game::Css, Some(300), 9);
        let column = |population: &Population| -> Vec<_> {
            let uk = population.client("UK").unwrap();
            let servers = population.servers.iter();
            servers.map(|s| (s.addr, s.origin, s.rtt[uk])).collect()
        };
        assert_eq!(column(&two), column(&all));
    }
}

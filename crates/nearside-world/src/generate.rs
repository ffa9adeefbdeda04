//! Populations made from parameters: countries, then ASes, then /16s, then machines, then servers.

mod machines;
mod on_record;
mod outline;
mod view;

use nearside_types::Country;
use rand::Rng;
use rand::seq::SliceRandom;
use thiserror::Error;

use crate::address_book::AddressBook;
use crate::chance::stream;
use crate::cities::Cities;
use crate::params::{Game, WorldParams};
use crate::population::{Population, WorldServer};
use crate::recorded::RecordedPaths;
use machines::{Builder, Machine};
use on_record::OnRecord;
use outline::Outline;
use view::{Views, servers_of};

/// Makes the population of a game: `answering` servers that reply (by default as many as the papers
/// saw) and the silent ones a list carries besides, in shuffled order.
///
/// The same parameters, game, size and seed give the same population everywhere. The servers do not
/// depend on which client places the parameters name, nor one place's RTTs on the others.
///
/// ASes, /16s and countries are those of the embedded table of origins, as [`AddressBook`] has it.
///
/// # Panics
/// If the parameters name a country that has a city and no network in that table: there is none.
pub fn generate(
    params: &WorldParams,
    game: Game,
    answering: Option<usize>,
    seed: u64,
) -> Population {
    generate_from(AddressBook::embedded(), params, game, answering, seed)
        .expect("the embedded table covers every country of the city table")
}

/// Countries of the parameters in which an address book has no network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the table of origins has no networks in {}: leave them out of `country_shares` or bring another table",
    .countries.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
)]
pub struct NoNetworks {
    /// These countries.
    pub countries: Vec<Country>,
}

/// The same with networks of another table of origins.
///
/// # Errors
/// When the book has no network in a country of the parameters.
pub fn generate_from(
    book: &AddressBook,
    params: &WorldParams,
    game: Game,
    answering: Option<usize>,
    seed: u64,
) -> Result<Population, NoNetworks> {
    let site = Site::build(book, params, game, answering, seed)?;
    let views = Views::new(params, &site.cities, &site.machines, seed);
    let servers = servers_of(&site.machines, |machine| views.rtts(machine));
    Ok(Population {
        clients: params.clients().map(str::to_owned).collect(),
        servers: site.listed(servers, seed),
    })
}

/// The same servers at recorded distances: the cities of each country stand on neighbouring nodes of
/// the recording, which ones is drawn. The clients are nodes, by number.
///
/// A server is as far as its city's node, plus its own access line; where the recording has nothing,
/// it does not answer.
///
/// # Panics
/// If the recording has no such node.
pub fn generate_on(
    paths: &RecordedPaths,
    clients: &[usize],
    params: &WorldParams,
    game: Game,
    answering: Option<usize>,
    seed: u64,
) -> Population {
    let site = Site::build(AddressBook::embedded(), params, game, answering, seed)
        .expect("the embedded table covers every country of the city table");
    let places = OnRecord::new(paths, params, &site.cities, seed);
    let servers = servers_of(&site.machines, |machine| places.rtts(clients, machine));
    let name = |&client: &usize| paths.nodes()[client].clone();
    Population {
        clients: clients.iter().map(name).collect(),
        servers: site.listed(servers, seed),
    }
}

/// Everything about a world but how far it is.
struct Site {
    cities: Cities,
    machines: Vec<Machine>,
    silent: usize,
}

impl Site {
    fn build(
        book: &AddressBook,
        params: &WorldParams,
        game: Game,
        answering: Option<usize>,
        seed: u64,
    ) -> Result<Self, NoNetworks> {
        let mut countries: Vec<Country> = params.country_shares.keys().copied().collect();
        countries.retain(|&country| !book.covers(country));
        if !countries.is_empty() {
            return Err(NoNetworks { countries });
        }
        let outline = Outline::new(params, game, answering.unwrap_or(params.answering(game)));
        let cities = Cities::new(params);
        let mut builder = Builder::new(book, params, game, &cities, &outline, seed);
        for plan in &outline.ases {
            builder.add_as(plan);
        }
        let machines = builder.finish();
        Ok(Self {
            cities,
            machines,
            silent: outline.silent,
        })
    }

    /// The servers as a list has them: some never answer, and the order says nothing.
    fn listed(&self, mut servers: Vec<WorldServer>, seed: u64) -> Vec<WorldServer> {
        silence(&mut servers, self.silent, &mut stream(seed, "silent"));
        servers.shuffle(&mut stream(seed, "list order"));
        servers
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
    use nearside_types::{AddrClass, Asn, LatencyMatrix, Origin, Rtt};
    use std::collections::{BTreeSet, HashMap, HashSet};

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
    fn a_table_without_a_country_of_the_world_is_refused_by_name() {
        let book = AddressBook::new([]);
        let shares = "[country_shares]\nDE = 2\nFR = 1";
        let params = WorldParams::from_toml(shares).unwrap();
        let error = generate_from(&book, &params, Game::Css, Some(10), 1).unwrap_err();
        assert!(
            error.to_string().contains("no networks in DE, FR"),
            "{error}"
        );
    }

    /// One AS with a /24 for a hundred servers, which is as small as it gets.
    #[test]
    fn a_tiny_table_is_shared_rather_than_exceeded() {
        let germany = "DE".parse().ok();
        let origin = Origin {
            asn: Some(Asn(7)),
            country: germany,
        };
        let network = ([9, 8, 7, 0].into(), [9, 8, 7, 3].into(), origin);
        let book = AddressBook::new([network]);
        let params = WorldParams::from_toml("[country_shares]\nDE = 1").unwrap();
        let population = generate_from(&book, &params, Game::Css, Some(100), 1).unwrap();
        let addrs: HashSet<_> = population.servers.iter().map(|s| s.addr).collect();
        assert_eq!(addrs.len(), population.servers.len());
        assert!(addrs.len() >= 100);
        assert!(population.servers.iter().all(|s| s.origin == origin));
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

    /// Two continents of four nodes each, 10 ms wide and 150 ms apart.
    #[test]
    fn recorded_distances_decide_who_is_near() {
        let mut matrix = LatencyMatrix::unknown(8);
        for (a, b) in (0..8).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let millis = if a / 4 == b / 4 { 10 } else { 150 };
            matrix.set_both(a, b, Some(Rtt::from_micros(1000 * millis)));
        }
        let paths = RecordedPaths::of_matrix(matrix).unwrap();
        let params = WorldParams::builtin();
        let make =
            |clients: &[usize]| generate_on(&paths, clients, &params, Game::Css, Some(2000), 1);
        let population = make(&[0, 5]);
        assert_eq!(population.clients, ["1", "6"]);
        assert_eq!(population.answering(0), 2000);
        let near = |client| {
            population
                .rtts(client)
                .filter(|rtt| rtt.as_millis_f64() < 100.0)
        };
        let shares = [0, 1].map(|client| near(client).count() as f64 / 2000.0);
        assert!((shares[0] + shares[1] - 1.0).abs() < 0.02, "{shares:?}");
        assert!(shares[0] > 0.05 && shares[1] > 0.05, "{shares:?}");
        let same = make(&[5]);
        let column = |population: &Population, client| -> Vec<_> {
            let servers = population.servers.iter();
            servers.map(|s| (s.addr, s.rtt[client])).collect()
        };
        assert_eq!(
            column(&population, 1),
            column(&same, 0),
            "clients do not move servers"
        );
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

//! Generated servers stand where the embedded table of origins says they do.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use nearside_origin::compact;
use nearside_types::{Country, PrefixLengths};
use nearside_world::{AddressBook, Game, Population, WorldParams, generate, generate_from};

fn population() -> Population {
    generate(&WorldParams::builtin(), Game::Css, None, 2)
}

#[test]
fn the_listed_origin_of_every_server_is_what_a_look_up_gives() {
    let table = compact::decode(nearside_origin_data::ORIGIN).unwrap().table;
    let population = population();
    assert!(population.servers.len() > 1000);
    for server in &population.servers {
        let found = table.lookup(server.addr.ip()).unwrap();
        assert_eq!(server.origin, found.origin, "{}", server.addr);
    }
}

#[test]
fn the_same_table_from_outside_gives_the_same_population() {
    let table = compact::decode(nearside_origin_data::ORIGIN).unwrap().table;
    let book = AddressBook::new(table.ranges());
    let params = WorldParams::builtin();
    let outside = generate_from(&book, &params, Game::Css, Some(2000), 7).unwrap();
    assert_eq!(outside, generate(&params, Game::Css, Some(2000), 7));
}

/// A large multinational may take half of its servers abroad; without any the shares are exact.
#[test]
fn countries_keep_their_shares() {
    let at_home = "[population]\nmultinational_fraction = 0";
    let params = WorldParams::from_toml(at_home).unwrap();
    let population = generate(&params, Game::Css, None, 2);
    let mut servers: BTreeMap<Country, usize> = BTreeMap::new();
    for server in &population.servers {
        *servers.entry(server.origin.country.unwrap()).or_default() += 1;
    }
    assert!(servers.len() >= 70, "{} countries", servers.len());
    for (country, share) in [("DE", 24.0), ("GB", 10.0), ("US", 16.6), ("AU", 1.45)] {
        let count = servers[&country.parse().unwrap()] as f64;
        let expected = share / SUM_OF_SHARES * population.servers.len() as f64;
        assert!(
            (count - expected).abs() < 1.0,
            "{country}: {count}, expected {expected:.1}"
        );
    }
}

/// Of `country_shares` in scenarios/hub.toml.
const SUM_OF_SHARES: f64 = 102.96;

#[test]
fn a_country_keeps_to_few_eights_and_ases_share_sixteens() {
    let population = population();
    let prefix = |bits| {
        let lengths = PrefixLengths { v4: bits, v6: 32 };
        move |server: &&nearside_world::WorldServer| server.addr.prefix(lengths)
    };
    let germany = "DE".parse().ok();
    let german: Vec<_> = population
        .servers
        .iter()
        .filter(|server| server.origin.country == germany)
        .collect();
    let mut eights: BTreeMap<_, usize> = BTreeMap::new();
    for server in &german {
        *eights.entry(prefix(8)(server)).or_default() += 1;
    }
    let mut sizes: Vec<usize> = eights.into_values().collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let main: usize = sizes.iter().take(3).sum();
    assert!(main as f64 > 0.6 * german.len() as f64, "{sizes:?}");

    let networks: BTreeSet<_> = german
        .iter()
        .map(|server| (server.origin.asn, prefix(16)(server)))
        .collect();
    let sixteens: BTreeSet<_> = german.iter().map(prefix(16)).collect();
    assert!(sixteens.len() < networks.len());
}

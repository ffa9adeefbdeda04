//! Populations made from parameters: countries, then ASes, then /16s, then machines, then servers.

mod machines;
mod outline;
mod view;

use rand::Rng;
use rand::seq::SliceRandom;

use crate::chance::stream;
use crate::cities::Cities;
use crate::params::{Game, WorldParams};
use crate::population::{Population, WorldServer};
use machines::Builder;
use outline::Outline;
use view::servers_of;

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

use std::collections::BTreeMap;

use nearside_types::Country;

use crate::apportion::{apportion, apportion_capped};
use crate::params::{Game, WorldParams};

/// How many servers stand where, before any chance is involved.
pub(super) struct Outline {
    pub(super) ases: Vec<AsPlan>,
    /// How many of all servers never answer.
    pub(super) silent: usize,
}

/// The size of one AS.
#[derive(Clone, Copy)]
pub(super) struct AsPlan {
    pub(super) country: Country,
    pub(super) servers: usize,
}

impl Outline {
    pub(super) fn new(params: &WorldParams, game: Game, answering: usize) -> Self {
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

    /// The servers of each country.
    pub(super) fn by_country(&self) -> BTreeMap<Country, usize> {
        let mut servers = BTreeMap::new();
        for plan in &self.ases {
            *servers.entry(plan.country).or_default() += plan.servers;
        }
        servers
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A few more than asked for: every country with a server has at least one AS.
    #[test]
    fn the_papers_numbers_of_ases_come_out() {
        let params = WorldParams::builtin();
        for (game, ases) in [(Game::Css, 1176), (Game::EnemyTerritory, 260)] {
            let outline = Outline::new(&params, game, params.answering(game));
            assert!(
                outline.ases.len().abs_diff(ases) <= 8,
                "{}",
                outline.ases.len()
            );
        }
    }

    #[test]
    fn small_lists_have_fewer_ases_but_not_in_proportion() {
        let params = WorldParams::builtin();
        let ases = |answering| Outline::new(&params, Game::Css, answering).ases.len();
        assert_eq!(ases(0), 0);
        assert_eq!(ases(1), 1);
        assert!((180..300).contains(&ases(2700)), "{}", ases(2700));
    }

    #[test]
    fn as_sizes_are_very_skewed_and_capped() {
        let sizes = as_sizes(6500, 210, 2.2, 3500);
        assert_eq!(sizes.iter().sum::<usize>(), 6500);
        assert_eq!(sizes[0], 3500);
        assert!(sizes.iter().filter(|&&size| size <= 2).count() > 100);
        assert!(sizes.is_sorted_by(|a, b| a >= b));
    }
}

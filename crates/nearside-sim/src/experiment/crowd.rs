//! The populations of the papers.

use nearside_world::{Game, Population, WorldParams, generate};

use super::setup::Size;

/// Whose servers, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crowd {
    /// Counter-Strike: Source in late 2007, as seen from the PlanetLab nodes of both papers.
    Css,
    /// The same in February 2008, when the Australian client of the AS paper looked: more servers,
    /// more ASes, fewer silent ones.
    CssFebruary,
    /// Enemy Territory in September 2007.
    EnemyTerritory,
}

/// `--quick` makes the large worlds a tenth of their size; Enemy Territory is small enough.
const QUICK_SHARE: f64 = 0.1;

impl Crowd {
    /// What its servers speak.
    pub const fn game(self) -> Game {
        match self {
            Self::Css | Self::CssFebruary => Game::Css,
            Self::EnemyTerritory => Game::EnemyTerritory,
        }
    }

    /// The world it lives in.
    pub fn params(self) -> WorldParams {
        match self {
            Self::Css | Self::EnemyTerritory => WorldParams::builtin(),
            Self::CssFebruary => WorldParams::builtin()
                .edition("february-2008")
                .expect("the built-in world has this edition"),
        }
    }

    /// The population for a seed, at the size of an experiment.
    pub fn population(self, size: Size, seed: u64) -> Population {
        let (params, game) = (self.params(), self.game());
        let published = params.answering(game) as f64;
        let answering = match (size, game) {
            (Size::Quick, Game::Css) => Some((published * QUICK_SHARE).round() as usize),
            (Size::Full, _) | (_, Game::EnemyTerritory) => None,
        };
        generate(&params, game, answering, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn february_has_the_servers_the_australian_client_saw() {
        let population = Crowd::CssFebruary.population(Size::Full, 0);
        let (listed, answering) = (population.servers.len(), population.answering(0));
        assert_eq!(answering, 30_110);
        let lost = 3 * (listed - answering);
        assert!(lost.abs_diff(3414) < 10, "{lost} requests lost");
    }

    #[test]
    fn a_quick_world_is_a_tenth_of_a_large_one() {
        let population = Crowd::Css.population(Size::Quick, 0);
        assert_eq!(population.answering(0), 2764);
    }
}

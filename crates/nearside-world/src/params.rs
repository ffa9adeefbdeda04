//! The parameters of a generated world, and the built-in ones (`scenarios/hub.toml`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::time::Duration;

use nearside_discover::prober::Protocol;
use nearside_types::Country;
use serde::Deserialize;
use thiserror::Error;

use crate::chance::ProbeNoise;
use crate::farm::{self, FarmConfig, Weather};
use crate::fraction::Fraction;

mod check;

pub(crate) use check::ensure;

const BUILTIN: &str = include_str!("../../../scenarios/hub.toml");

/// Sections that are lists of named things: a file that has one replaces it as a whole, since half
/// of one map and half of another make no world. All other sections are merged key by key.
const REPLACED_WHOLE: [&str; 7] = [
    "clients",
    "client_routes",
    "hubs",
    "cables",
    "us_hosting_cities",
    "country_shares",
    "registries",
];

/// Which population to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Game {
    /// Counter-Strike: Source, late 2007: tens of thousands of servers, A2S on port 27015.
    Css,
    /// Wolfenstein: Enemy Territory: a tenth as many, the Quake 3 protocol on port 27960.
    EnemyTerritory,
}

impl Game {
    /// The port a server of the game answers on unless told otherwise.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Css => 27015,
            Self::EnemyTerritory => 27960,
        }
    }

    /// What its servers speak, to a prober.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Css => Protocol::A2s,
            Self::EnemyTerritory => Protocol::Quake3,
        }
    }
}

/// Everything a generated world is made of; checked when read, so that generating cannot fail.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldParams {
    pub(crate) population: PopulationParams,
    /// Other times at which somebody looked.
    #[serde(default)]
    pub(crate) editions: BTreeMap<String, EditionParams>,
    pub(crate) prefixes: PrefixParams,
    pub(crate) rtt: RttParams,
    #[serde(default)]
    pub(crate) weather: WeatherParams,
    /// Latitude, longitude, access delay in milliseconds.
    pub(crate) clients: BTreeMap<String, [f64; 3]>,
    /// What is particular about the routes of some clients.
    #[serde(default)]
    pub(crate) client_routes: BTreeMap<String, RouteParams>,
    /// Latitude, longitude.
    pub(crate) hubs: BTreeMap<String, [f64; 2]>,
    pub(crate) cables: CableParams,
    /// Latitude, longitude, share.
    pub(crate) us_hosting_cities: BTreeMap<String, [f64; 3]>,
    pub(crate) enemy_territory: EnemyTerritoryParams,
    pub(crate) country_shares: BTreeMap<Country, f64>,
    pub(crate) registries: Vec<Registry>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PopulationParams {
    pub(crate) answering: usize,
    pub(crate) ases: usize,
    pub(crate) ases_per_country_exponent: f64,
    pub(crate) as_size_zipf: f64,
    pub(crate) as_size_cap: usize,
    pub(crate) isp_fraction: Fraction,
    pub(crate) hosting_access_ms: GammaParams,
    pub(crate) isp_access_ms: GammaParams,
    pub(crate) isp_off_city_fraction: Fraction,
    pub(crate) hosting_home_city_fraction: Fraction,
    pub(crate) multinational_fraction: Fraction,
    pub(crate) silent_fraction: f64,
}

/// What is different in an edition of the CS:S population.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditionParams {
    pub(crate) answering: usize,
    pub(crate) ases: usize,
    pub(crate) silent_fraction: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GammaParams {
    pub(crate) gamma_shape: f64,
    pub(crate) gamma_scale: f64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrefixParams {
    pub(crate) spread_scale: f64,
    pub(crate) spread_exponent: f64,
    pub(crate) multinational_abroad_fraction: Fraction,
    pub(crate) servers_per_hosting_address: f64,
    pub(crate) max_servers_per_address: usize,
    pub(crate) first_octets_per_country: usize,
    pub(crate) servers_per_first_octet: usize,
    pub(crate) shared_fraction: Fraction,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RttParams {
    pub(crate) model: RttModel,
    pub(crate) as_factor_sigma: f64,
    pub(crate) as_offset_ms_mean: f64,
    pub(crate) inflation: f64,
    pub(crate) noise_sigma: f64,
    pub(crate) spike_fraction: Fraction,
    pub(crate) spike_ms_mean: f64,
    pub(crate) local_inflation: f64,
    pub(crate) local_ms: f64,
    pub(crate) direct_below_km: f64,
    pub(crate) direct_inflation: f64,
    pub(crate) direct_ms: f64,
    pub(crate) hop_ms: f64,
    pub(crate) cable_factor: f64,
    pub(crate) client_hubs: usize,
    pub(crate) server_hubs: usize,
}

/// What happens to packets and paths beside the noise of `[rtt]`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WeatherParams {
    pub(crate) loss: Fraction,
    pub(crate) duplicates: Fraction,
    pub(crate) drift_sigma: f64,
    pub(crate) drift_hours: f64,
    pub(crate) diurnal_ms: f64,
    pub(crate) start_hour_utc: f64,
}

/// Where packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RttModel {
    /// Over the cables between hubs.
    Hub,
    /// Straight: as no packet goes, to show what that assumption does.
    GreatCircle,
}

/// How the routes of one client differ from those of others: what `[rtt]` says for all, and this for
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouteParams {
    pub(crate) as_factor_sigma: Option<f64>,
    pub(crate) as_offset_ms_mean: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CableParams {
    pub(crate) pairs: Vec<String>,
    #[serde(default)]
    pub(crate) penalties: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnemyTerritoryParams {
    pub(crate) answering: usize,
    pub(crate) ases: usize,
    pub(crate) as_size_zipf: f64,
    pub(crate) countries: usize,
    pub(crate) probe_rate: f64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Registry {
    pub(crate) name: String,
    pub(crate) first_octets: Vec<u8>,
    pub(crate) countries: BTreeSet<Country>,
}

/// Why parameters make no world.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParamsError {
    /// Not TOML, or not of the right shape: an unknown key, a missing one, a wrong type. The message
    /// is the TOML reader's and names the place.
    #[error("world parameters: {0}")]
    Shape(String),
    /// A value outside its range, or one that does not fit the others.
    #[error("world parameters: `{key}` {reason}")]
    Value {
        /// The key, with its section.
        key: String,
        /// What is wrong with it, as the rest of a sentence.
        reason: &'static str,
    },
}

impl WorldParams {
    /// The parameters of `scenarios/hub.toml`: a 2007-like Internet.
    pub fn builtin() -> Self {
        builtin().clone()
    }

    /// A world by its name: `hub` is the built-in one, `great-circle` the same without cables, for
    /// comparison.
    pub fn named(name: &str) -> Option<Self> {
        let model = match name {
            "hub" => RttModel::Hub,
            "great-circle" => RttModel::GreatCircle,
            _ => return None,
        };
        let mut params = Self::builtin();
        params.rtt.model = model;
        Some(params)
    }

    /// Reads parameters from TOML. What the text does not say is taken from the built-in
    /// parameters, so an empty text is a world too; maps and lists (clients, hubs, cables, cities,
    /// shares, registries) are replaced whole.
    ///
    /// # Errors
    /// When the text is not TOML, has unknown keys, or describes an impossible world.
    pub fn from_toml(text: &str) -> Result<Self, ParamsError> {
        let shape =
            |error: toml::de::Error| ParamsError::Shape(error.to_string().trim().to_owned());
        let builtin: toml::Table = toml::from_str(BUILTIN).expect("the built-in file is TOML");
        let own: toml::Table = toml::from_str(text).map_err(shape)?;
        let params: Self = overlay(builtin, own).try_into().map_err(shape)?;
        params.check()?;
        Ok(params)
    }

    /// The same world at another time, if it has one of that name: `february-2008` is what the
    /// Australian client of the AS paper saw.
    pub fn edition(&self, name: &str) -> Option<Self> {
        let &EditionParams {
            answering,
            ases,
            silent_fraction,
        } = self.editions.get(name)?;
        let mut params = self.clone();
        params.population.answering = answering;
        params.population.ases = ases;
        params.population.silent_fraction = silent_fraction;
        Some(params)
    }

    /// The places a client can be at, in alphabetical order: the RTT columns of a population.
    pub fn clients(&self) -> impl Iterator<Item = &str> {
        self.clients.keys().map(String::as_str)
    }

    /// What a single probe adds to the base RTT.
    pub fn probe_noise(&self) -> ProbeNoise {
        ProbeNoise {
            sigma: self.rtt.noise_sigma,
            spike_fraction: self.rtt.spike_fraction,
            spike_mean: Duration::from_secs_f64(self.rtt.spike_ms_mean / 1000.0),
        }
    }

    /// How servers of the game and the paths to them behave in this world.
    pub fn farm(&self, game: Game) -> FarmConfig {
        FarmConfig {
            protocol: match game {
                Game::Css => farm::Protocol::A2s,
                Game::EnemyTerritory => farm::Protocol::EnemyTerritory,
            },
            noise: self.probe_noise(),
            loss: self.weather.loss,
            duplicates: self.weather.duplicates,
            weather: self.weather(),
            ..FarmConfig::default()
        }
    }

    fn weather(&self) -> Weather {
        let seconds = Duration::from_secs_f64;
        Weather {
            drift_sigma: self.weather.drift_sigma,
            drift_every: seconds(self.weather.drift_hours * 3600.0),
            diurnal: seconds(self.weather.diurnal_ms / 1000.0),
            start: seconds(self.weather.start_hour_utc * 3600.0),
        }
    }

    /// How many servers of the game answer when nobody says otherwise.
    pub const fn answering(&self, game: Game) -> usize {
        match game {
            Game::Css => self.population.answering,
            Game::EnemyTerritory => self.enemy_territory.answering,
        }
    }

    /// The probes per second the papers' clients of the game sent.
    pub const fn probe_rate(&self, game: Game) -> f64 {
        match game {
            // Section 2.3 of the AS paper: Steam's "DSL > 256K".
            Game::Css => 140.0,
            Game::EnemyTerritory => self.enemy_territory.probe_rate,
        }
    }

    /// The registry that hands out addresses in a country: the one that names it, else the first.
    pub(crate) fn registry(&self, country: Country) -> &Registry {
        self.registries
            .iter()
            .find(|registry| registry.countries.contains(&country))
            .unwrap_or(&self.registries[0])
    }
}

/// The built-in parameters, read once.
pub(crate) fn builtin() -> &'static WorldParams {
    static PARAMS: LazyLock<WorldParams> =
        LazyLock::new(|| WorldParams::from_toml("").expect("the built-in parameters are tested"));
    &PARAMS
}

/// `own` on top of `base`: sections merge key by key, except those replaced whole.
fn overlay(mut base: toml::Table, own: toml::Table) -> toml::Table {
    if own.contains_key("clients") {
        // These are of clients that are no longer there.
        base.remove("client_routes");
    }
    for (section, value) in own {
        match (base.get_mut(&section), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above))
                if !REPLACED_WHOLE.contains(&section.as_str()) =>
            {
                below.extend(above);
            }
            (_, value) => {
                base.insert(section, value);
            }
        }
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        WorldParams::from_toml(text).unwrap_err().to_string()
    }

    #[test]
    fn the_builtin_world_has_the_seven_places_of_both_papers() {
        let params = WorldParams::builtin();
        let places: Vec<&str> = params.clients().collect();
        assert_eq!(places, ["AU", "CH", "DE", "JP", "TW", "UK", "USA"]);
        assert_eq!(params.answering(Game::Css), 27_640);
        assert_eq!(params.probe_noise().spike_mean, Duration::from_millis(60));
    }

    #[test]
    fn a_file_may_change_one_key_and_keep_the_rest() {
        let params = WorldParams::from_toml("[population]\nanswering = 500").unwrap();
        assert_eq!(params.answering(Game::Css), 500);
        assert_eq!(
            params.population.ases,
            WorldParams::builtin().population.ases
        );
    }

    #[test]
    fn a_world_has_neither_no_server_nor_millions() {
        for servers in ["0", "1000001"] {
            let text = format!("[population]\nanswering = {servers}");
            let error = WorldParams::from_toml(&text).unwrap_err().to_string();
            assert!(error.contains("between 1 and 1000000"), "{error}");
        }
    }

    #[test]
    fn the_weather_of_a_world_is_that_of_its_farms() {
        let stormy =
            "[weather]\nloss = 0.02\ndrift_sigma = 0.1\ndiurnal_ms = 20\nstart_hour_utc = 20";
        let farm = WorldParams::from_toml(stormy).unwrap().farm(Game::Css);
        assert_eq!(farm.loss.get(), 0.02);
        assert_eq!(farm.weather.drift_sigma, 0.1);
        assert_eq!(farm.weather.drift_every, Duration::from_secs(6 * 3600));
        assert_eq!(farm.weather.diurnal, Duration::from_millis(20));
        assert_eq!(farm.weather.start, Duration::from_secs(20 * 3600));
        assert_eq!(
            WorldParams::builtin().farm(Game::Css),
            FarmConfig::default()
        );
    }

    #[test]
    fn an_edition_changes_how_many_servers_there_are() {
        let params = WorldParams::builtin();
        let february = params.edition("february-2008").unwrap();
        assert_eq!(february.answering(Game::Css), 30_110);
        assert_eq!(february.country_shares, params.country_shares);
        assert_eq!(params.edition("march-2008"), None);
    }

    #[test]
    fn worlds_have_names() {
        assert_eq!(WorldParams::named("hub"), Some(WorldParams::builtin()));
        let straight = WorldParams::from_toml("[rtt]\nmodel = \"great-circle\"").unwrap();
        assert_eq!(WorldParams::named("great-circle"), Some(straight));
        assert_eq!(WorldParams::named("flat"), None);
    }

    #[test]
    fn lists_are_replaced_whole() {
        let params = WorldParams::from_toml("[clients]\nHERE = [1, 2, 3]").unwrap();
        assert_eq!(params.clients().collect::<Vec<_>>(), ["HERE"]);
    }

    #[test]
    fn errors_name_the_key_and_the_reason() {
        for (text, key, reason) in [
            ("[population]\nanswers = 1", "answers", "unknown field"),
            ("[weather]\nrain = 1", "weather", "unknown field"),
            (
                "[population]\nisp_fraction = 1.5",
                "isp_fraction",
                "1.5 is not a share",
            ),
            ("[population]\nanswering = -4", "answering", "invalid value"),
            ("[rtt]\nhop_ms = nan", "rtt.hop_ms", "from 0 up"),
            ("[rtt]\nmodel = \"crow\"", "crow", "great-circle"),
            ("[weather]\nloss = 2", "loss", "not a share"),
            (
                "[weather]\ndrift_hours = -1",
                "weather.drift_hours",
                "from 0 up",
            ),
            ("[clients]\nX = [91, 0, 1]", "clients.X", "latitude"),
            (
                "[client_routes]\nX = { as_factor_sigma = 0.1 }",
                "client_routes.X",
                "names no client",
            ),
            (
                "[editions.x]\nanswering = 1\nases = 0\nsilent_fraction = 0",
                "editions.x",
                "at least 1",
            ),
            (
                "[country_shares]\nAQ = 1",
                "country_shares.AQ",
                "without a city",
            ),
            ("[country_shares]\nDEU = 1", "DEU", "two-letter"),
            (
                "[cables]\npairs = [\"SYD-XXX\"]",
                "cables.pairs.SYD-XXX",
                "unknown hub",
            ),
            ("[cables]\npairs = [\"SYD-LAX\"]", "hubs.", "no cable leads"),
            (
                "[[registries]]\nname = \"home\"\nfirst_octets = [10]\ncountries = []",
                "registries.home",
                "public",
            ),
            ("[population", "line 1", "unclosed"),
        ] {
            let message = error(text);
            assert!(message.contains(key), "`{text}` gave: {message}");
            assert!(message.contains(reason), "`{text}` gave: {message}");
        }
    }
}

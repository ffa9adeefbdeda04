use nearside_types::ServerAddr;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::persona::Persona;
use super::weather::Weather;
use crate::chance::{ProbeNoise, server_stream};
use crate::fraction::Fraction;
use crate::params::builtin;

/// How the servers of a farm behave. The default is a fair day in 2007: noise and spikes as in the
/// hub world, no loss, rate limits on, INFO answered at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FarmConfig {
    /// What the servers speak. Default: A2S.
    pub protocol: Protocol,
    /// The share of exchanges that fail, half of them on the way there. Default: 0.
    pub loss: Fraction,
    /// The share of replies that arrive twice. Default: 0.
    pub duplicates: Fraction,
    /// The share of split replies whose fragments arrive in another order. Single replies overtake
    /// each other by their noise alone. Default: 0.
    pub reordered: Fraction,
    /// When a server wants to see a challenge first (A2S only). Default: [`ChallengePolicy::Classic`].
    pub challenge: ChallengePolicy,
    /// Whether servers ignore who asks too often. Default: as real servers.
    pub rate_limits: RateLimits,
    /// Whether split replies are compressed with bzip2, as some Source servers do. Default: no.
    pub compress_splits: bool,
    /// What each probe adds to the base RTT. Default: that of the built-in world.
    pub noise: ProbeNoise,
    /// How paths change with time. Default: not at all.
    pub weather: Weather,
    /// The share of servers with a place for one more player. Default: as it comes, about eleven in
    /// twelve.
    pub free: Option<Fraction>,
}

impl Default for FarmConfig {
    fn default() -> Self {
        Self {
            protocol: Protocol::A2s,
            loss: Fraction::ZERO,
            duplicates: Fraction::ZERO,
            reordered: Fraction::ZERO,
            challenge: ChallengePolicy::Classic,
            rate_limits: RateLimits::Real,
            compress_splits: false,
            noise: builtin().probe_noise(),
            weather: Weather::default(),
            free: None,
        }
    }
}

impl FarmConfig {
    /// Who the server at an address is, in a farm with this seed.
    pub fn persona(&self, addr: ServerAddr, seed: u64) -> Persona {
        let persona = Persona::of(addr, self.protocol, seed);
        match self.free {
            None => persona,
            Some(share) => {
                let mut rng = server_stream(seed, "free", addr, 0);
                persona.with_room(rng.random_bool(share.get()))
            }
        }
    }
}

/// What the servers of a farm speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Source engine queries; the servers are Counter-Strike: Source.
    A2s,
    /// The Quake 3 protocol; the servers are Enemy Territory 2.60b (protocol 84).
    EnemyTerritory,
}

/// When an A2S server answers with a challenge instead of what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChallengePolicy {
    /// Never, not even for PLAYER and RULES.
    Never,
    /// For PLAYER and RULES only: every server before December 2020.
    Classic,
    /// For everything, once.
    Always,
    /// For everything, this many times in a row before the answer.
    Repeated(u8),
}

/// Whether servers limit queries for each source address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateLimits {
    /// Everything is answered.
    Off,
    /// A2S: 90 queries in 30 s; Enemy Territory: a burst of 10, then one a second.
    Real,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_read_back_from_toml() {
        let config = FarmConfig {
            protocol: Protocol::EnemyTerritory,
            loss: 0.05.try_into().unwrap(),
            challenge: ChallengePolicy::Repeated(2),
            rate_limits: RateLimits::Off,
            ..FarmConfig::default()
        };
        let text = toml::to_string(&config).unwrap();
        assert_eq!(
            toml::from_str::<FarmConfig>(&text).unwrap(),
            config,
            "{text}"
        );
    }

    #[test]
    fn so_many_servers_have_a_free_place_and_no_other_has() {
        let config = FarmConfig {
            free: Some(0.25.try_into().unwrap()),
            ..FarmConfig::default()
        };
        let personas = (1..=2000u16).map(|port| {
            let addr = format!("127.1.2.3:{port}").parse().unwrap();
            config.persona(addr, 5)
        });
        let (free, full): (Vec<_>, Vec<_>) = personas.partition(Persona::has_room);
        assert!((440..560).contains(&free.len()), "{} free", free.len());
        let is_possible = |p: &Persona| p.bots <= p.players && p.players <= p.max_players;
        assert!(free.iter().chain(&full).all(is_possible));
    }

    #[test]
    fn an_empty_file_is_the_default() {
        assert_eq!(
            toml::from_str::<FarmConfig>("").unwrap(),
            FarmConfig::default()
        );
    }

    #[test]
    fn mistakes_are_refused_by_name() {
        for (text, reason) in [
            ("loss = 1.5", "1.5 is not a share"),
            ("loss = nan", "not a share"),
            ("lost = 0.1", "unknown field `lost`"),
            ("protocol = \"quake\"", "unknown variant `quake`"),
        ] {
            let error = toml::from_str::<FarmConfig>(text).unwrap_err().to_string();
            assert!(error.contains(reason), "`{text}` gave: {error}");
        }
    }
}

use std::time::Duration;

use nearside_coords::FactorisationConfig;
use nearside_types::{PrefixLengths, Rtt};
use serde::{Deserialize, Serialize};

/// How relays are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// Equation 1 of the paper: how much shorter known legs are than coordinates say they could be.
    /// Only relays with a known leg.
    Likelihood,
    /// The sum of both legs, measured where known, else estimated from coordinates.
    CoordinateSums,
    /// The sum of both legs, measured where known, else estimated by factorisation.
    FactorSums,
    /// Factor sums, with a tenth of equation 1 as a bonus. The default: as good as factor sums
    /// alone at eight candidates on PlanetLab (0.002 apart), a little better at four.
    #[default]
    Mixed,
    /// Any relay, in random order: what rankings are compared with.
    Random,
}

/// How a directory behaves; the defaults are the paper's where it gives one and measurements did not
/// say otherwise.
#[derive(Debug, Clone)]
pub struct DirectoryConfig {
    /// Dimensions of clients' coordinates. Default 4.
    pub dimensions: usize,
    /// How the factors learn.
    pub factors: FactorisationConfig,
    /// How relays are ranked.
    pub ranking: Ranking,
    /// N of the paper: neighbours a client is given. Default 32.
    pub neighbours: usize,
    /// How long a client may be silent before it is forgotten. Default 400 s: of its signs of life every
    /// 120 s, two may get lost.
    pub silence: Duration,
    /// How long a measured leg is believed without being said again; clients only report changes,
    /// so this is long. Default 30 minutes.
    pub edge_life: Duration,
    /// Sessions a relay carries at most when it does not say. Default 8: keeps most of the gain and
    /// bounds a player's upload at 320 kbit/s of the paper's 40 kbit/s sessions.
    pub sessions_per_relay: u16,
    /// A busy relay is moved back in the ranking by up to twice this, in part at random, so that
    /// equals share the load. Default 5 ms.
    pub near_best: Rtt,
    /// Candidates out of one prefix at most, as long as there are others. Default 2.
    pub per_prefix: usize,
    /// Candidates out of one AS at most, as long as there are others, as a share of K. Default 0.5.
    pub per_asn: f64,
    /// The prefixes that count as one neighbourhood. Default /24 and /48.
    pub prefixes: PrefixLengths,
    /// A coordinate that moves further between two reports is believed only when it is said again.
    /// Default 250 ms.
    pub longest_jump: Rtt,
    /// Two ends of a leg may differ by this share, or by [`tolerance`](Self::tolerance), whichever
    /// is more. Default 0.5.
    pub tolerance_share: f64,
    /// See [`tolerance_share`](Self::tolerance_share). Default 25 ms.
    pub tolerance: Rtt,
}

impl Default for DirectoryConfig {
    fn default() -> Self {
        Self {
            dimensions: 4,
            factors: FactorisationConfig::default(),
            ranking: Ranking::default(),
            neighbours: 32,
            silence: Duration::from_secs(400),
            edge_life: Duration::from_secs(30 * 60),
            sessions_per_relay: 8,
            near_best: Rtt::from_micros(5_000),
            per_prefix: 2,
            per_asn: 0.5,
            prefixes: PrefixLengths { v4: 24, v6: 48 },
            longest_jump: Rtt::from_micros(250_000),
            tolerance_share: 0.5,
            tolerance: Rtt::from_micros(25_000),
        }
    }
}

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

/// Whether what clients report is weighed before it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Against witnesses, both ends and the model: lies have bounded influence (docs/detour.md).
    #[default]
    Weighed,
    /// Everything possible is believed, and everybody who has room may relay: what the paper does, so
    /// that its way is compared as it was meant.
    Everybody,
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
    /// Whether reports are weighed. Default: they are.
    pub trust: Trust,
    /// A directory of more clients than this looks, for each path, only at relays with a measured leg
    /// and at about so many of the most promising others. Default 4,096: of 100,000 clients that loses
    /// nothing of the gain and takes little more than half the time (docs/detour.md).
    /// Rankings other than by factors always look at all.
    pub shortlist: usize,
    /// Clients with similar factors that are chosen together for the shortlist, at most. Default 128.
    pub bucket: usize,
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
    /// Sessions a relay carries at most, whatever it says. Default 1,000: twice what a dedicated relay says
    /// by itself, and a bound to what one that promises too much draws to itself.
    pub most_sessions_per_relay: u16,
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
    /// A leg that only one end reported does not count as measured when it is shorter than this share
    /// of what the model says. Default 0.25: costs 0.007 of the gain on PlanetLab where nobody lies, and
    /// 0.5 would cost ten times that, since true shortcuts are short, too.
    pub shortest_share: f64,
}

impl Default for DirectoryConfig {
    fn default() -> Self {
        Self {
            dimensions: 4,
            factors: FactorisationConfig::default(),
            ranking: Ranking::default(),
            trust: Trust::default(),
            shortlist: 4_096,
            bucket: 128,
            neighbours: 32,
            silence: Duration::from_secs(400),
            edge_life: Duration::from_secs(30 * 60),
            sessions_per_relay: 8,
            most_sessions_per_relay: 1_000,
            near_best: Rtt::from_micros(5_000),
            per_prefix: 2,
            per_asn: 0.5,
            prefixes: PrefixLengths { v4: 24, v6: 48 },
            longest_jump: Rtt::from_micros(250_000),
            tolerance_share: 0.5,
            tolerance: Rtt::from_micros(25_000),
            shortest_share: 0.25,
        }
    }
}

//! Planners by name, with their settings.

use std::fmt;
use std::str::FromStr;

use nearside_types::{PrefixLengths, Rtt};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{
    AdaptiveConfig, AdaptivePlanner, ClusterBy, ClusterConfig, ClusterPlanner, Enough, ListOrder,
    Planner,
};

/// The planners there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlannerKind {
    /// Learns from every answer where to look next (`docs/planner.md`).
    Adaptive,
    /// List order, after the whole list is known (qstat).
    Conventional,
    /// List order, while the list still arrives (the Steam client).
    Steam,
    /// Clusters by origin AS (first Armitage paper).
    As,
    /// Clusters by country and /8 (second Armitage paper).
    Country,
    /// Clusters by country alone (the 2006 idea).
    CountryOnly,
}

impl PlannerKind {
    /// All planners, in the order `--help` shows them.
    pub const ALL: [Self; 6] = [
        Self::Adaptive,
        Self::Conventional,
        Self::Steam,
        Self::As,
        Self::Country,
        Self::CountryOnly,
    ];

    /// The name users type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::Conventional => "conventional",
            Self::Steam => "steam",
            Self::As => "as",
            Self::Country => "country",
            Self::CountryOnly => "country-only",
        }
    }
}

impl fmt::Display for PlannerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// No planner has this name.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "there is no planner `{0}` (choose adaptive, conventional, steam, as, country or country-only)"
)]
pub struct UnknownPlanner(String);

impl FromStr for PlannerKind {
    type Err = UnknownPlanner;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| UnknownPlanner(text.to_owned()))
    }
}

/// A planner and its settings: everything needed to build it again for a replay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PlannerConfig {
    /// Which planner.
    pub kind: PlannerKind,
    /// Settings of the cluster planners; list order uses the stretch alone.
    pub clusters: ClusterConfig,
    /// Settings of the adaptive planner.
    #[serde(default)]
    pub adaptive: AdaptiveConfig,
}

impl PlannerConfig {
    /// A planner with the published parameters; the adaptive one, which nobody published, with its
    /// defaults.
    pub const fn published(kind: PlannerKind) -> Self {
        let cluster_by = match kind {
            PlannerKind::Country => ClusterBy::CountryAndPrefix {
                prefix: PrefixLengths { v4: 8, v6: 20 },
            },
            PlannerKind::CountryOnly => ClusterBy::Country,
            PlannerKind::Adaptive
            | PlannerKind::As
            | PlannerKind::Conventional
            | PlannerKind::Steam => ClusterBy::As,
        };
        Self {
            kind,
            clusters: ClusterConfig::published(cluster_by),
            adaptive: AdaptiveConfig::new(),
        }
    }

    /// The RTT below which a server is playable.
    pub const fn rtt_stop(&self) -> Rtt {
        match self.kind {
            PlannerKind::Adaptive => self.adaptive.rtt_stop,
            _ => self.clusters.rtt_stop,
        }
    }

    /// The same planner with another RTT to stop at.
    #[must_use]
    pub const fn stopping_at(mut self, rtt_stop: Rtt) -> Self {
        self.clusters.rtt_stop = rtt_stop;
        self.adaptive.rtt_stop = rtt_stop;
        self
    }

    /// The same planner without an end of its own: it probes everything, near first.
    #[must_use]
    pub const fn never_stopping(mut self) -> Self {
        self.clusters.stop = None;
        self.adaptive.enough = Enough::NEVER;
        self
    }

    /// The same planner for addresses folded onto loopback, where the 16 bits that tell networks
    /// apart moved behind `127`: every IPv4 prefix is 8 bits longer there.
    #[must_use]
    pub const fn in_lab(mut self) -> Self {
        self.clusters.split_prefix = eight_longer(self.clusters.split_prefix);
        self.clusters.cluster_by = match self.clusters.cluster_by {
            ClusterBy::CountryAndPrefix { prefix } => ClusterBy::CountryAndPrefix {
                prefix: eight_longer(prefix),
            },
            ClusterBy::Prefix { prefix } => ClusterBy::Prefix {
                prefix: eight_longer(prefix),
            },
            other => other,
        };
        let levels = &mut self.adaptive.levels;
        levels.region = eight_longer(levels.region);
        levels.network = eight_longer(levels.network);
        levels.subnet = eight_longer(levels.subnet);
        levels.machines = false;
        self
    }

    /// Builds the planner; `seed` drives its draws.
    pub fn build(&self, seed: u64) -> Box<dyn Planner> {
        match self.kind {
            PlannerKind::Adaptive => Box::new(AdaptivePlanner::new(self.adaptive, seed)),
            PlannerKind::Conventional => Box::new(ListOrder::conventional(self.clusters.stretch)),
            PlannerKind::Steam => Box::new(ListOrder::steam(self.clusters.stretch)),
            PlannerKind::As | PlannerKind::Country | PlannerKind::CountryOnly => {
                Box::new(ClusterPlanner::new(self.kind.name(), self.clusters, seed))
            }
        }
    }
}

const fn eight_longer(lengths: PrefixLengths) -> PrefixLengths {
    let v4 = lengths.v4.saturating_add(8);
    PrefixLengths {
        v4: if v4 > 32 { 32 } else { v4 },
        v6: lengths.v6,
    }
}

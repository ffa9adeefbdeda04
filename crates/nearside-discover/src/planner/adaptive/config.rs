//! What the adaptive planner is asked for, and the numbers its model rests on.

use std::fmt;
use std::str::FromStr;

use nearside_types::{PrefixLengths, Rtt};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What the user wants to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Every server below the RTT to stop at, the best ones first, until 0.2 % of them
    /// should be missing.
    Thorough,
    /// The same with fewer probes: until 2 % should be missing.
    Fast,
    /// Only the k nearest servers that match the user's filters.
    Best,
}

/// No objective has this name.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("there is no objective `{0}` (choose thorough, fast or best)")]
pub struct UnknownObjective(String);

impl FromStr for Objective {
    type Err = UnknownObjective;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Thorough, Self::Fast, Self::Best]
            .into_iter()
            .find(|objective| objective.name() == text)
            .ok_or_else(|| UnknownObjective(text.to_owned()))
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Objective {
    /// The name users type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thorough => "thorough",
            Self::Fast => "fast",
            Self::Best => "best",
        }
    }
}

/// Settings of the adaptive planner. All but the first four are the model's own: the defaults were
/// chosen on generated worlds (`docs/planner.md`) and rarely need a hand.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AdaptiveConfig {
    /// What to look for. Default: [`Objective::Thorough`].
    pub objective: Objective,
    /// The RTT below which a server is playable. Default: 200 ms.
    pub rtt_stop: Rtt,
    /// How many of the nearest servers are looked for first, or alone. Default: 10.
    pub best: usize,
    /// The RTT beyond which no server is wanted, not even for want of others. Default: none.
    #[serde(default)]
    pub farthest: Option<Rtt>,
    /// Probes decided on at once, at the beginning. Fewer find the best servers earlier, since every
    /// decision knows the answers before it; each costs a pass over the beliefs, which grow, and so
    /// does the batch. Default: 4, which is 0.03 s at 140 probes a second.
    pub batch: usize,
    /// The prefixes servers are grouped by.
    pub levels: Levels,
    /// The numbers of the model.
    pub model: Model,
    /// When it is enough.
    pub enough: Enough,
}

/// The prefixes servers are grouped by, beside country and AS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Levels {
    /// Stands in for the country where none is known: registries hand out such blocks by region.
    pub region: PrefixLengths,
    /// A network, often in one city.
    pub network: PrefixLengths,
    /// A rack, or a street.
    pub subnet: PrefixLengths,
    /// Whether servers with one address share a machine. Not so in the lab, where addresses of
    /// loopback are given out afresh.
    pub machines: bool,
}

/// The numbers of the model. Spreads and deviations are on the scale of ln(RTT + 20 ms), where 0.05
/// is about 5 % of a long RTT.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// How many answers the belief about the group above counts for.
    pub prior: PerLevel,
    /// How far a single answer is smeared out: what servers of one group differ by.
    pub spread: PerLevel,
    /// With weight w of answers the smear shrinks to spread · (1 + w)^−shrink.
    pub shrink: f32,
    /// How much an AS as a whole counts beside the country, for its parts in each country: helps
    /// where a country is wrong.
    pub whole_as: f32,
    /// The prior over places.
    pub places: PlacesModel,
    /// What share of its group follows when a first probe hits, as far as playable servers go …
    pub after_hit: f32,
    /// … and as far as the best go.
    pub after_best_hit: f32,
    /// Where somebody has answered already, a hit changes the mind about the others so many times
    /// less. Infinity: not at all.
    pub firmness: f32,
    /// The share of answers that met a queue and say little about distance.
    pub queued: f32,
    /// How many hits of long shots the model's word counts for beside its own track record (see
    /// `record`); infinity: the record does not count.
    pub doubt: f32,
    /// The same for the best.
    pub best_doubt: f32,
    /// How many hits the model's word counts for beside the record of a single AS, which can only
    /// lower what is believed of it: servers that stand just beyond the RTT to stop at promise much
    /// and keep nothing. Infinity: the record does not count.
    pub as_doubt: f32,
    /// The same beside the record of bets placed in one country for nothing but hope (see
    /// [`Self::elsewhere`]).
    pub hope_doubt: f32,
    /// How many hits the model's word on servers that were given up counts for beside spot checks of
    /// them.
    pub spot_check_doubt: f32,
    /// An AS has networks in many cities: whatever some of them answered, the others are worth a
    /// probe as if they had at least this share of their country's chance to be playable.
    pub elsewhere: f32,
    /// The share of servers that stand in another city than their network: whatever their
    /// neighbours answered, they are as likely to be playable as their AS as a whole.
    pub scattered: f32,
    /// How much of the measured noise of probes is taken out of the beliefs: 0 none, 1 all.
    pub denoise: f32,
}

/// One number for each level of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PerLevel {
    /// A country.
    pub country: f32,
    /// An AS within a country.
    pub origin_as: f32,
    /// A network of that AS.
    pub network: f32,
    /// A subnet of that network.
    pub subnet: f32,
    /// A machine.
    pub machine: f32,
}

/// What is believed of the typical RTT of a place before any answer (see `places`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PlacesModel {
    /// The mean over all places: ln(150 ms + 20 ms).
    pub mean: f32,
    /// How far places differ.
    pub deviation: f32,
    /// How far away places still resemble each other, in kilometres.
    pub length_km: f32,
    /// What a place does not share even with its neighbours.
    pub nugget: f32,
    /// How far the ASes of one small place differ.
    pub as_deviation: f32,
    /// The share of a country's servers that may be much nearer than its typical ones. Asked for the
    /// best only: near the client ASes differ more than far away, and the best are the rare ones.
    pub strays: f32,
    /// How far those differ.
    pub stray_deviation: f32,
    /// The share of a country's servers that may be reached by another route than those that
    /// answered, and then are as near as its neighbours let expect. Asked for playable servers only.
    pub other_routes: f32,
}

/// When it is enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Enough {
    /// Stop when no more than this share of the playable servers is expected to be missing …
    pub missing: f32,
    /// … or when nothing promises more playable servers per probe than this …
    pub worth: f32,
    /// … but while more than this share of the playable servers is expected to be missing, not
    /// before nothing promises more than …
    pub many: f32,
    /// … this …
    pub worth_of_many: f32,
    /// … or, where only the best are wanted, when fewer better ones than this are expected …
    pub better: f32,
    /// … or when none has this chance to be one.
    pub chance: f32,
    /// Before it stops, so many probes for each that was sent go to servers that were given up, as
    /// spot checks: what they find corrects what is believed of the others.
    pub spot_checks: f32,
    /// It does not stop before it has sent so many probes for every corner of the list, while a probe
    /// is worth a look. An AS has as many corners as the papers' method would take samples of it
    /// beyond the first (the square root of its servers, less one): a list of many middling ASes has
    /// more of them than one of a few large ones.
    pub look: f32,
    /// The playable servers per probe that are worth a look.
    pub look_worth: f32,
}

impl AdaptiveConfig {
    /// The defaults.
    pub const fn new() -> Self {
        Self {
            objective: Objective::Thorough,
            rtt_stop: Rtt::from_micros(200_000),
            best: 10,
            farthest: None,
            batch: 4,
            levels: Levels::INTERNET,
            model: Model::DEFAULT,
            enough: Enough::THOROUGH,
        }
    }

    /// The same with another objective, and what is enough for it.
    #[must_use]
    pub const fn aiming_at(mut self, objective: Objective) -> Self {
        self.objective = objective;
        self.enough = match objective {
            Objective::Thorough | Objective::Best => Enough::THOROUGH,
            Objective::Fast => Enough::FAST,
        };
        self
    }
}

impl Default for AdaptiveConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl Levels {
    /// The levels of real addresses.
    pub const INTERNET: Self = Self {
        region: PrefixLengths { v4: 8, v6: 20 },
        network: PrefixLengths { v4: 16, v6: 32 },
        subnet: PrefixLengths { v4: 24, v6: 48 },
        machines: true,
    };
}

impl Model {
    /// What `docs/evaluation.md` was made with. The tables there say what each number is worth:
    /// most may be halved or doubled without much harm.
    pub const DEFAULT: Self = Self {
        prior: PerLevel {
            country: 6.0,
            origin_as: 1.0,
            network: 1.0,
            subnet: 1.0,
            machine: 0.2,
        },
        spread: PerLevel {
            country: 0.16,
            origin_as: 0.05,
            network: 0.05,
            subnet: 0.04,
            machine: 0.01,
        },
        shrink: 0.33,
        whole_as: 0.3,
        places: PlacesModel {
            mean: 5.136,
            deviation: 0.8,
            length_km: 6000.0,
            nugget: 0.15,
            as_deviation: 0.115,
            strays: 0.2,
            stray_deviation: 0.5,
            other_routes: 0.4,
        },
        after_hit: 0.5,
        after_best_hit: 0.5,
        firmness: 3.0,
        queued: 0.03,
        doubt: 2.0,
        best_doubt: 2.0,
        as_doubt: 0.5,
        hope_doubt: 0.2,
        spot_check_doubt: 2.0,
        elsewhere: 0.6,
        scattered: 0.2,
        denoise: 1.0,
    };
}

impl Enough {
    /// For [`Objective::Thorough`] and [`Objective::Best`]. A fifth of the 1 % that may be missed:
    /// where nearly everything is playable the expectation is too low by half (the USA at 200 ms),
    /// and near servers come in lumps (Japan's worst of seeds 20–39). `worth` is what saves Japan
    /// probes at 100 ms; alone it would leave Australia at 200 ms with a share missing of which it
    /// knows: there `worth_of_many` finds two thirds of that for a fifth more probes (seeds 20–39).
    pub const THOROUGH: Self = Self {
        missing: 0.002,
        worth: 0.0135,
        many: 0.007,
        worth_of_many: 0.004,
        better: 0.3,
        chance: 5e-4,
        spot_checks: 0.02,
        look: 0.36,
        look_worth: 0.0005,
    };

    /// Nothing is ever enough: every server is probed, the promising ones first.
    pub const NEVER: Self = Self {
        missing: 0.0,
        worth: 0.0,
        many: 0.0,
        worth_of_many: 0.0,
        better: 0.0,
        // No end, but an order: without it the best would be looked for where they cannot be.
        chance: 5e-4,
        spot_checks: 0.0,
        look: 0.0,
        look_worth: 0.0,
    };

    /// For [`Objective::Fast`]. Chosen on seeds 20–23: a higher `worth` saves Australia a sixth of
    /// the probes and costs it 3 points of recall.
    pub const FAST: Self = Self {
        missing: 0.02,
        worth: 0.03,
        many: 1.0,
        worth_of_many: 0.03,
        better: 0.3,
        chance: 5e-4,
        spot_checks: 0.01,
        look: 0.0,
        look_worth: 0.0,
    };
}

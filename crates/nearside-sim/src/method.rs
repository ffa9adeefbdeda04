//! The ways to discover servers that are compared: the planners of the live browser, and an oracle.

use std::fmt;
use std::str::FromStr;

use nearside_discover::planner::{Objective, PlannerConfig, PlannerKind};
use thiserror::Error;

use crate::scene::Conditions;

/// A way to discover servers.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a handful exist, and each is copied once a run"
)]
pub enum Method {
    /// A planner, with its settings; the RTT it stops at comes from the conditions of the run.
    Planner(PlannerConfig),
    /// Perfect knowledge: probes the playable servers, nearest first, and nothing else.
    Oracle,
}

impl Method {
    /// The word for [`Method::Oracle`].
    pub const ORACLE: &'static str = "oracle";

    /// A planner with its published parameters.
    pub const fn published(kind: PlannerKind) -> Self {
        Self::Planner(PlannerConfig::published(kind))
    }

    /// The baseline that everything is held against.
    pub const CONVENTIONAL: Self = Self::published(PlannerKind::Conventional);

    /// Whether it says how many servers it expects to have missed.
    pub fn predicts(&self) -> bool {
        matches!(self, Self::Planner(config) if config.kind == PlannerKind::Adaptive)
    }

    /// The name users type.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Planner(config) => config.kind.name(),
            Self::Oracle => Self::ORACLE,
        }
    }

    /// Every name there is, in the order help texts show them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let planners = PlannerKind::ALL.into_iter().map(PlannerKind::name);
        planners.chain([Self::ORACLE])
    }

    /// What drives the probe engine. The oracle's knowledge is in the list it is given: it goes
    /// through that in order.
    pub(crate) fn planner(&self, conditions: &Conditions) -> PlannerConfig {
        let mut config = match self {
            Self::Planner(config) => *config,
            Self::Oracle => PlannerConfig::published(PlannerKind::Conventional),
        };
        if let Some(best) = conditions.best {
            config.adaptive.objective = Objective::Best;
            config.adaptive.best = best;
        }
        config.stopping_at(conditions.stop)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// No method has this name.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("there is no planner `{0}` (choose {choices})", choices = choices())]
pub struct UnknownMethod(String);

fn choices() -> String {
    let names: Vec<&str> = Method::names().collect();
    names.join(", ")
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            Self::ORACLE => Ok(Self::Oracle),
            name => name
                .parse()
                .map(Self::published)
                .map_err(|_| UnknownMethod(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_reads_back_from_its_name() {
        for name in Method::names() {
            assert_eq!(name.parse::<Method>().unwrap().name(), name);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_choices() {
        let message = "psychic".parse::<Method>().unwrap_err().to_string();
        for name in Method::names().chain(["psychic"]) {
            assert!(message.contains(name), "{message} lacks {name}");
        }
    }
}

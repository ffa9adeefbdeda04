//! What the directory believes of what it is told. A liar's power is bounded in four ways: impossible
//! values are dropped, a leg that its two ends disagree on counts as the longer, who is contradicted
//! by most of its neighbours is not offered as a relay, and a coordinate that jumps must be said
//! twice.

use nearside_types::Rtt;
use serde::{Deserialize, Serialize};

use super::config::DirectoryConfig;
use crate::ids::ClientId;

/// Why a part of a report was not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// A leg of no length, or longer than anything playable.
    Impossible {
        /// The other end.
        to: ClientId,
        /// What was said.
        rtt: Rtt,
    },
    /// A leg to somebody the directory does not know, or to oneself.
    Nobody {
        /// The other end.
        to: ClientId,
    },
    /// The other end says something else; the longer counts.
    Disagreement {
        /// The other end.
        to: ClientId,
        /// What was said.
        rtt: Rtt,
        /// What the other end said.
        other: Rtt,
    },
    /// The coordinate is far from where the client was.
    Jump {
        /// How far.
        by: Rtt,
    },
    /// The coordinate lives in another space.
    WrongSpace,
    /// More legs in one report than the directory keeps of a client.
    TooMany {
        /// How many were dropped.
        dropped: usize,
    },
}

/// Longer round trips are of no use to any game.
const LONGEST: Rtt = Rtt::from_micros(5_000_000);

/// Whether a round trip can have been measured.
pub(super) fn is_possible(rtt: Rtt) -> bool {
    rtt.as_micros() > 0 && rtt <= LONGEST
}

/// What both ends of a leg say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Belief {
    /// Only one end has spoken.
    Claimed(Rtt),
    /// Both agree; the mean.
    Confirmed(Rtt),
    /// They do not; the longer, since nobody gains by making their own legs look long.
    Disputed(Rtt),
}

impl Belief {
    pub(super) fn new(
        config: &DirectoryConfig,
        one: Option<Rtt>,
        other: Option<Rtt>,
    ) -> Option<Self> {
        let (one, other) = match (one, other) {
            (Some(one), Some(other)) => (one, other),
            (one, other) => return one.or(other).map(Belief::Claimed),
        };
        let (short, long) = (one.min(other), one.max(other));
        let apart = f64::from(long.as_micros() - short.as_micros());
        let allowed = f64::from(short.as_micros()) * config.tolerance_share;
        let allowed = allowed.max(f64::from(config.tolerance.as_micros()));
        Some(match apart <= allowed {
            true => Self::Confirmed(Rtt::from_micros(
                short.as_micros() + (long.as_micros() - short.as_micros()) / 2,
            )),
            false => Self::Disputed(long),
        })
    }

    pub(super) fn rtt(self) -> Rtt {
        match self {
            Self::Claimed(rtt) | Self::Confirmed(rtt) | Self::Disputed(rtt) => rtt,
        }
    }
}

/// How often a client's neighbours confirmed and disputed its legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Standing {
    pub(super) confirmed: u32,
    pub(super) disputed: u32,
}

/// Fewer disputes than this may be chance.
const SOME: u32 = 4;

impl Standing {
    pub(super) fn count(&mut self, belief: Belief, by: i32) {
        let counter = match belief {
            Belief::Confirmed(_) => &mut self.confirmed,
            Belief::Disputed(_) => &mut self.disputed,
            Belief::Claimed(_) => return,
        };
        *counter = counter.saturating_add_signed(by);
    }

    /// Whether most of the neighbours that can tell contradict the client. An honest one among 30 %
    /// liars is contradicted by 30 %.
    pub(super) fn is_bad(self) -> bool {
        self.disputed >= SOME && self.disputed > self.confirmed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u32) -> Rtt {
        Rtt::from_micros(millis * 1000)
    }

    #[test]
    fn two_ends_are_believed_when_they_agree_and_the_longer_when_not() {
        let config = DirectoryConfig::default();
        let belief = |one, other| Belief::new(&config, one, other);
        assert_eq!(belief(None, None), None);
        assert_eq!(belief(Some(ms(5)), None), Some(Belief::Claimed(ms(5))));
        let agreed = belief(Some(ms(100)), Some(ms(110)));
        assert_eq!(agreed, Some(Belief::Confirmed(ms(105))));
        let disputed = belief(Some(ms(5)), Some(ms(90)));
        assert_eq!(disputed, Some(Belief::Disputed(ms(90))));
    }

    #[test]
    fn a_few_disputes_are_chance_and_a_majority_is_a_liar() {
        let mut standing = Standing::default();
        for _ in 0..SOME {
            standing.count(Belief::Disputed(ms(1)), 1);
        }
        assert!(standing.is_bad());
        for _ in 0..SOME {
            standing.count(Belief::Confirmed(ms(1)), 1);
        }
        assert!(!standing.is_bad());
    }
}

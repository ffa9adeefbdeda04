//! What the directory believes of what it is told. Impossible values are dropped, a leg that its two
//! ends disagree on counts as the longer, who is contradicted by most of its neighbours is not offered
//! as a relay, and a coordinate that jumps must be said twice. What only one end says is weighed in
//! `witness.rs`.

use nearside_types::{Rtt, quantile};
use serde::{Deserialize, Serialize};

use super::config::{DirectoryConfig, Trust};
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
    /// The coordinate fits less than half of the client's legs: it is kept, and not used.
    Misplaced,
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
        Some(match agrees(config, one, other) {
            true => Self::Confirmed(Rtt::from_micros(
                short.as_micros() + (long.as_micros() - short.as_micros()) / 2,
            )),
            false => Self::Disputed(long),
        })
    }
}

/// Whether two round-trip times may be of the same leg; who trusts everybody takes any two for that.
pub(super) fn agrees(config: &DirectoryConfig, one: Rtt, other: Rtt) -> bool {
    if config.trust == Trust::Everybody {
        return true;
    }
    let (short, long) = (one.min(other), one.max(other));
    let apart = f64::from(long.as_micros() - short.as_micros());
    let allowed = f64::from(short.as_micros()) * config.tolerance_share;
    apart <= allowed.max(f64::from(config.tolerance.as_micros()))
}

/// How often a client's neighbours confirmed and disputed its legs, and whether its witnesses
/// contradict it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Standing {
    pub(super) confirmed: u32,
    pub(super) disputed: u32,
    /// The share of its words that are far from where its witnesses put it, if there are enough.
    pub(super) off: Option<f64>,
    /// Whether its witnesses contradict it.
    pub(super) suspect: bool,
    /// Whether it had enough witnesses once.
    pub(super) seen: bool,
    /// Whether it is not to be offered for now, whatever it says.
    pub(super) paused: bool,
    /// Whether newcomers of its network learnt from it where they may start.
    pub(super) taught: bool,
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

    /// Whether most of the neighbours that can tell contradict the client, and more than is usual, or
    /// its witnesses do. An honest one among 30 % liars is contradicted by 30 %.
    pub(super) fn is_bad(self, usual: Usual) -> bool {
        let share = self.disputed_share();
        self.suspect || share.is_some_and(|share| share > tolerated(usual.disputed))
    }

    /// The share of its two-ended legs that are disputed, unless those may be chance.
    fn disputed_share(self) -> Option<f64> {
        let both = f64::from(self.confirmed) + f64::from(self.disputed);
        let enough = self.disputed.max(self.confirmed) >= SOME;
        enough.then(|| f64::from(self.disputed) / both)
    }
}

/// How much a typical client is contradicted: where round trips differ by direction, or change
/// between two measurements, honest ends disagree and honest words miss the model, for everybody.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Usual {
    /// The share of two-ended legs that are disputed.
    disputed: f64,
    /// The share of words that are off.
    pub(super) off: f64,
}

/// The client that counts as typical: the one in the middle of the honest when 30 % lie. With the one in
/// the middle of all, frog-boiling by 30 % cost 21 % of the gain instead of 13 % (docs/detour.md).
const TYPICAL: f64 = 0.35;

impl Usual {
    /// Over the clients of whom enough is known.
    pub(super) fn of(standings: &[Standing]) -> Self {
        let typical = |of: fn(Standing) -> Option<f64>| {
            let mut shares: Vec<f64> = standings.iter().filter_map(|s| of(*s)).collect();
            shares.sort_by(f64::total_cmp);
            quantile(&shares, TYPICAL).unwrap_or(0.0)
        };
        Self {
            disputed: typical(Standing::disputed_share),
            off: typical(|standing| standing.off),
        }
    }
}

/// The share of contradiction that is borne: half where there is none as a rule, else half-way between
/// what is usual and all.
pub(super) fn tolerated(usual: f64) -> f64 {
    f64::midpoint(usual, 1.0)
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
        assert!(standing.is_bad(Usual::default()));
        for _ in 0..SOME {
            standing.count(Belief::Confirmed(ms(1)), 1);
        }
        assert!(!standing.is_bad(Usual::default()));
    }

    #[test]
    fn who_is_disputed_as_often_as_everybody_is_no_liar() {
        let standing = |disputed, confirmed| Standing {
            disputed,
            confirmed,
            ..Standing::default()
        };
        let calm = Usual::of(&[standing(0, 10), standing(1, 9), standing(8, 2)]);
        assert!(standing(7, 3).is_bad(calm));
        let rough = Usual::of(&[standing(5, 5), standing(6, 4), standing(7, 3)]);
        assert!(!standing(7, 3).is_bad(rough));
        assert!(standing(9, 1).is_bad(rough));
    }

    #[test]
    fn who_trusts_everybody_takes_the_mean_of_what_two_ends_say() {
        let config = DirectoryConfig {
            trust: Trust::Everybody,
            ..DirectoryConfig::default()
        };
        let belief = Belief::new(&config, Some(ms(5)), Some(ms(95)));
        assert_eq!(belief, Some(Belief::Confirmed(ms(50))));
    }
}

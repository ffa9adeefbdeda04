//! Clients that report something else than they measured.

use std::fmt;
use std::str::FromStr;

use nearside_coords::Node;
use nearside_detour::Directory;
use nearside_types::Rtt;
use thiserror::Error;

use super::matrix_mode::{Knowledge, Telling};

/// What a liar says of its legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// Five times as far.
    Inflate,
    /// A tenth: everybody should use me.
    Deflate,
    /// Now this, now that.
    Oscillate,
    /// Three quarters, always: little enough to pass for weather.
    Drift,
    /// The truth at first, then three quarters of what was said before, with every report
    /// (frog-boiling).
    Boil,
}

impl Lie {
    const ALL: [(&'static str, Self); 5] = [
        ("inflate", Self::Inflate),
        ("deflate", Self::Deflate),
        ("oscillate", Self::Oscillate),
        ("drift", Self::Drift),
        ("boil", Self::Boil),
    ];

    /// As users write it.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, lie)| *lie == self);
        found.map_or("", |(name, _)| name)
    }

    /// What users may write.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|(name, _)| *name)
    }
}

/// A text names no lie.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is no lie (write inflate, deflate, oscillate, drift or boil)")]
pub struct UnknownLie(String);

impl FromStr for Lie {
    type Err = UnknownLie;

    fn from_str(text: &str) -> Result<Self, UnknownLie> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, lie)| *lie)
            .ok_or_else(|| UnknownLie(text.to_owned()))
    }
}

/// Who lies, and how. The first nodes of the matrix do; neighbours are drawn at random anyway.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Liars {
    /// Their share of all clients, 0 to 1.
    pub share: f64,
    /// What they say.
    pub lie: Lie,
}

/// A frog is boiled down to an eighth of the truth.
pub(super) const REPORTS: usize = 8;

impl fmt::Display for Liars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.share, self.lie.name())
    }
}

impl Liars {
    /// Whether one of `nodes` clients is a liar.
    pub(super) fn include(self, node: Node, nodes: usize) -> bool {
        (node.index() as f64) < self.share * nodes as f64
    }

    /// A directory that was told the truth by the others.
    pub(super) fn told(self, known: &Knowledge, telling: &Telling, seed: u64) -> Directory {
        let nodes = known.places.len();
        let mut turn = 0;
        known.told_by(telling, seed, |from, rtt, round| {
            if !self.include(from, nodes) {
                return rtt;
            }
            turn += 1;
            self.say(rtt, turn, round)
        })
    }

    /// How often everybody reports before pairs are judged: one who boils frogs needs time.
    pub(super) fn reports(self) -> usize {
        match self.lie {
            Lie::Boil => REPORTS,
            Lie::Inflate | Lie::Deflate | Lie::Oscillate | Lie::Drift => 1,
        }
    }

    /// What a liar says the `turn`th time, in a round of reports.
    pub(super) fn say(self, rtt: Rtt, turn: usize, round: usize) -> Rtt {
        let by = match (self.lie, turn % 2) {
            (Lie::Inflate, _) | (Lie::Oscillate, 0) => 5.0,
            (Lie::Deflate, _) | (Lie::Oscillate, _) => 0.1,
            (Lie::Drift, _) => 0.75,
            (Lie::Boil, _) => 0.75f64.powf(round as f64),
        };
        Rtt::from_millis_f64(rtt.as_millis_f64() * by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frog_is_boiled_slowly_and_drift_stays_what_it_is() {
        let rtt = Rtt::from_micros(100_000);
        let say = |lie: Lie, round| Liars { share: 0.1, lie }.say(rtt, 0, round).as_micros();
        assert_eq!(
            [0, 1, 7].map(|round| say(Lie::Boil, round)),
            [100_000, 75_000, 13_348]
        );
        assert_eq!([0, 1, 7].map(|round| say(Lie::Drift, round)), [75_000; 3]);
    }

    #[test]
    fn every_lie_is_written_as_it_is_named() {
        for name in Lie::names() {
            assert_eq!(name.parse().map(Lie::name), Ok(name));
            assert!(UnknownLie(String::new()).to_string().contains(name));
        }
    }
}

//! Liars among the clients, and what they leave of the honest ones' gain.

use nearside_coords::worlds::SmallWorld;
use nearside_coords::{Coordinate, CoordinateParts, Node};
use nearside_types::Rtt;

use super::{Says, Trial, id, share_of_gain};

/// What liars report in place of what they measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lie {
    /// Everything is far: nobody should use them, and models learn nonsense.
    Inflate,
    /// Everything is near: everybody should use them.
    Deflate,
    /// Now this, now that.
    Oscillate,
    /// Shorter than true by what still passes as weather, for ever.
    Shave,
    /// The truth at first, then a little shorter with every report (frog-boiling).
    Boil,
    /// Two legs in five are near, the others true.
    Mingle,
    /// True legs, from a place on the other side of the moon.
    Displace,
    /// Everything is near, by many names in one prefix that nobody is asked to measure.
    Sybils,
}

impl Lie {
    pub(crate) const ALL: [Self; 8] = [
        Self::Inflate,
        Self::Deflate,
        Self::Oscillate,
        Self::Shave,
        Self::Boil,
        Self::Mingle,
        Self::Displace,
        Self::Sybils,
    ];

    fn tell(self, turn: u32, round: u32) -> f64 {
        match (self, turn) {
            (Self::Inflate, _) => 5.0,
            (Self::Oscillate, turn) if turn.is_multiple_of(2) => 5.0,
            (Self::Mingle, turn) if turn % 5 >= 2 => 1.0,
            (Self::Displace, _) => 1.0,
            (Self::Shave, _) => 0.7,
            (Self::Boil, _) => 0.75f64.powf(f64::from(round)),
            _ => 0.1,
        }
    }
}

/// The first clients of a world lie.
pub(crate) struct Liars {
    pub(crate) lie: Lie,
    pub(crate) count: u32,
    turn: u32,
}

impl Liars {
    pub(crate) fn new(lie: Lie, count: u32) -> Self {
        let turn = 0;
        Self { lie, count, turn }
    }
}

impl Says for Liars {
    fn rtt(&mut self, from: Node, rtt: Rtt, round: u32) -> Rtt {
        if from.0 >= self.count {
            return rtt;
        }
        self.turn += 1;
        let by = self.lie.tell(self.turn, round);
        Rtt::from_millis_f64(rtt.as_millis_f64() * by)
    }

    fn place(&self, from: Node, place: &Coordinate) -> Coordinate {
        let mut parts = CoordinateParts::from(place.clone());
        if from.0 < self.count && self.lie == Lie::Displace {
            parts.position_ms[0] += 3_000.0;
        }
        Coordinate::try_from(parts).unwrap()
    }

    fn is_sybil(&self, node: Node) -> bool {
        node.0 < self.count && self.lie == Lie::Sybils
    }
}

/// What an attack did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    /// The honest clients' share of the oracle's gain.
    pub(crate) share: f64,
    /// The share of honest clients that are taken for liars.
    pub(crate) wronged: f64,
    /// The share of liars that are.
    pub(crate) caught: f64,
}

/// Lets a share of the clients lie, and looks what is left for the others.
pub(crate) fn attack(trial: &Trial<'_>, pairs: usize, lie: Option<(Lie, f64)>) -> Outcome {
    let world = trial.world;
    let count = lie.map_or(0, |(_, share)| (world.nodes() as f64 * share) as u32);
    let mut liars = Liars::new(lie.map_or(Lie::Displace, |(lie, _)| lie), count);
    let mut directory = trial.settle(&mut liars);
    let nodes = u32::try_from(world.nodes()).unwrap();
    let distrusted = |from: u32, until: u32| {
        let bad = (from..until).filter(|node| directory.is_distrusted(id(Node(*node))));
        bad.count() as f64 / f64::from((until - from).max(1))
    };
    let (caught, wronged) = (distrusted(0, count), distrusted(count, nodes));
    Outcome {
        caught,
        wronged,
        share: share_of_gain(&mut directory, world, pairs, |node| node.0 >= count),
    }
}

/// The first slice of a recorded matrix: upper triangle of 490 nodes, `u32` microseconds.
pub(crate) fn recorded(path: &str) -> SmallWorld {
    let bytes = std::fs::read(path).unwrap();
    let mut upper = bytes
        .chunks_exact(4)
        .map(|four| u32::from_le_bytes(four.try_into().unwrap()));
    SmallWorld::from_fn(490, |_, _| f64::from(upper.next().unwrap()) / 1000.0)
}

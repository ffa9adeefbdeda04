//! Where a node that just joined probably is: where the others of its AS or country are. Htrae
//! (Agarwal and Lorch, "Matchmaking for online games", SIGCOMM 2009) starts from geolocation in the
//! same way and so saves the minutes a coordinate needs to find its place.

use std::collections::BTreeMap;

use nearside_types::{Asn, Country, Origin};

use crate::estimate::RelativeError;
use crate::vivaldi::{Coordinate, CoordinateParts};

/// Mean coordinates of ASes and countries, kept up to date as nodes settle.
#[derive(Debug, Clone)]
pub struct Seeding {
    dimensions: usize,
    by_asn: BTreeMap<Asn, Group>,
    by_country: BTreeMap<Country, Group>,
}

/// A moving mean that begins as a plain one.
#[derive(Debug, Clone)]
struct Group {
    members: u32,
    position_ms: Vec<f64>,
    height_ms: f64,
}

/// A group of fewer says little more than its one member's own quirks.
const ENOUGH: u32 = 3;
/// Beyond this many members the mean becomes a moving one, so that it follows slow changes.
const MEMORY: u32 = 200;
/// Only nodes that are this sure of their place teach a group.
const SETTLED: f64 = 0.5;
/// What a node that was only seeded believes of its place: more than nothing, and little enough to be
/// moved quickly.
const SEEDED_ERROR: f64 = 0.6;

impl Seeding {
    /// Nothing learnt yet, for a space of so many dimensions.
    pub fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            by_asn: BTreeMap::new(),
            by_country: BTreeMap::new(),
        }
    }

    /// Learns from a node that knows where it is, and says whether this one does. To be called once for
    /// each: who moves often would count as many.
    pub fn learn(&mut self, origin: Origin, coordinate: &Coordinate) -> bool {
        if coordinate.dimensions() != self.dimensions || coordinate.error().share() > SETTLED {
            return false;
        }
        let dimensions = self.dimensions;
        if let Some(asn) = origin.asn {
            let group = self.by_asn.entry(asn);
            group
                .or_insert_with(|| Group::new(dimensions))
                .learn(coordinate);
        }
        if let Some(country) = origin.country {
            let group = self.by_country.entry(country);
            group
                .or_insert_with(|| Group::new(dimensions))
                .learn(coordinate);
        }
        true
    }

    /// Where a node of this origin may start: where its AS is, else its country.
    pub fn start(&self, origin: Origin) -> Option<Coordinate> {
        let of_asn = origin.asn.and_then(|asn| self.by_asn.get(&asn));
        let of_country = origin.country.and_then(|c| self.by_country.get(&c));
        let mut groups = of_asn.into_iter().chain(of_country);
        let group = groups.find(|group| group.members >= ENOUGH)?;
        Some(group.coordinate())
    }
}

impl Group {
    fn new(dimensions: usize) -> Self {
        Self {
            members: 0,
            position_ms: vec![0.0; dimensions],
            height_ms: 0.0,
        }
    }

    fn learn(&mut self, coordinate: &Coordinate) {
        self.members = self.members.saturating_add(1);
        let share = 1.0 / f64::from(self.members.min(MEMORY));
        for (mean, new) in self.position_ms.iter_mut().zip(coordinate.position_ms()) {
            *mean += (new - *mean) * share;
        }
        self.height_ms += (coordinate.height_ms() - self.height_ms) * share;
    }

    fn coordinate(&self) -> Coordinate {
        let parts = CoordinateParts {
            position_ms: self.position_ms.clone(),
            height_ms: self.height_ms,
            adjustment_ms: 0.0,
            error: SEEDED_ERROR,
        };
        let mean = Coordinate::try_from(parts);
        mean.expect("a mean of coordinates lies among them")
            .with_error(RelativeError::new(SEEDED_ERROR))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64, error: f64) -> Coordinate {
        let parts = CoordinateParts {
            position_ms: vec![x, 0.0],
            height_ms: 4.0,
            adjustment_ms: 0.0,
            error,
        };
        Coordinate::try_from(parts).unwrap()
    }

    fn origin(asn: u32, country: &str) -> Origin {
        Origin {
            asn: Some(Asn(asn)),
            country: Some(country.parse().unwrap()),
        }
    }

    #[test]
    fn a_newcomer_starts_where_its_as_is_or_else_its_country() {
        let mut seeding = Seeding::new(2);
        for x in [10.0, 20.0, 30.0] {
            seeding.learn(origin(1, "DE"), &at(x, 0.1));
        }
        seeding.learn(origin(2, "DE"), &at(100.0, 0.1));
        let of_asn = seeding.start(origin(1, "DE")).unwrap();
        assert_eq!(of_asn.position_ms(), [20.0, 0.0]);
        let of_country = seeding.start(origin(2, "DE")).unwrap();
        assert_eq!(of_country.position_ms(), [40.0, 0.0]);
        assert_eq!(seeding.start(origin(3, "FR")), None);
    }

    #[test]
    fn nodes_that_do_not_know_their_place_teach_nobody() {
        let mut seeding = Seeding::new(2);
        for _ in 0..10 {
            seeding.learn(origin(1, "DE"), &at(10.0, 0.9));
        }
        assert_eq!(seeding.start(origin(1, "DE")), None);
    }
}

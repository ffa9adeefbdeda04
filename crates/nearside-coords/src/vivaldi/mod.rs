//! One node's coordinate after Dabek, Cox, Kaashoek and Morris, "Vivaldi: a decentralized network
//! coordinate system" (SIGCOMM 2004), with what Ledlie, Gardner and Seltzer, "Network coordinates in
//! the wild" (NSDI 2007) found it needs outside a simulator.

mod config;
mod coordinate;
mod filter;
mod vector;

use std::collections::{BTreeMap, VecDeque};

use nearside_types::Rtt;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use crate::estimate::{Estimate, RelativeError};

pub use config::VivaldiConfig;
pub use coordinate::{Coordinate, CoordinateError, CoordinateParts};

use filter::MovingPercentile;

/// Why a measurement left the coordinate where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// The first measurement to a neighbour pays for name caches, sleeping radios and fresh NAT
    /// mappings, and is not believed.
    #[error("the first measurement to a neighbour is not counted")]
    FirstOfNeighbour,
    /// No round trip takes no time.
    #[error("a round trip of 0 ms is no measurement")]
    Zero,
    /// Longer than anything a game would play over, more likely a suspended laptop.
    #[error("a round trip of {0} is longer than any we believe")]
    TooLong(Rtt),
    /// The neighbour lives in another space.
    #[error("the neighbour's coordinate has {theirs} dimensions where ours has {ours}")]
    Dimensions {
        /// How many ours has.
        ours: usize,
        /// How many theirs has.
        theirs: usize,
    },
}

/// A neighbour by whatever number the caller knows it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Neighbour(pub u64);

/// A node's own coordinate and what moves it.
///
/// Feed each measurement to [`observe`](Self::observe) with the coordinate the neighbour sent along;
/// tell others [`coordinate`](Self::coordinate). Whatever comes in, the coordinate stays one that
/// [`Coordinate`] would accept, and no single measurement moves it further than
/// [`VivaldiConfig::longest_step`].
#[derive(Debug, Clone)]
pub struct Vivaldi {
    config: VivaldiConfig,
    coordinate: Coordinate,
    filters: BTreeMap<Neighbour, MovingPercentile>,
    /// Half of what recent estimates missed, by Lee, Zhang, Sahu and Saha, "On suitability of
    /// Euclidean embedding" (SIGMETRICS 2006): its mean is the adjustment.
    misses: VecDeque<f64>,
    resets: u32,
    random: ChaCha8Rng,
}

impl Vivaldi {
    /// A node at the origin that knows nothing yet.
    pub fn new(config: VivaldiConfig, seed: u64) -> Self {
        let start = Coordinate::origin(config.dimensions);
        Self::starting_at(config, start, seed)
    }

    /// A node that begins where others like it are (see [`Seeding`](crate::Seeding)); a start in
    /// another space is ignored.
    pub fn starting_at(config: VivaldiConfig, start: Coordinate, seed: u64) -> Self {
        let fits = start.dimensions() == config.dimensions;
        Self {
            coordinate: match fits {
                true => start,
                false => Coordinate::origin(config.dimensions),
            },
            filters: BTreeMap::new(),
            misses: VecDeque::new(),
            resets: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
            config,
        }
    }

    /// Where the node is: what it tells its neighbours and the directory.
    pub fn coordinate(&self) -> &Coordinate {
        &self.coordinate
    }

    /// How often arithmetic or input made nonsense of the coordinate, so that it began anew.
    pub fn resets(&self) -> u32 {
        self.resets
    }

    /// How sure the node is of its place: 1 is sure, 0 is not at all.
    pub fn confidence(&self) -> f64 {
        (1.0 - self.coordinate.error().share()).max(0.0)
    }

    /// The round-trip time to somebody with that coordinate.
    pub fn estimate(&self, peer: &Coordinate) -> Option<Estimate> {
        self.coordinate.estimate(peer)
    }

    /// Forgets what was measured to a neighbour that has left.
    pub fn forget(&mut self, neighbour: Neighbour) {
        self.filters.remove(&neighbour);
    }

    /// Takes in one round trip to a neighbour and the coordinate it sent along.
    ///
    /// # Errors
    /// When the measurement is not believed; the coordinate has then not moved.
    pub fn observe(
        &mut self,
        neighbour: Neighbour,
        peer: &Coordinate,
        rtt: Rtt,
    ) -> Result<(), Refused> {
        self.check(peer, rtt)?;
        let filtered = self.filter(neighbour, rtt)?;
        self.remember_miss(peer, filtered);
        let moved = self.pull(peer, filtered);
        self.fall(moved);
        self.recover();
        Ok(())
    }

    fn check(&self, peer: &Coordinate, rtt: Rtt) -> Result<(), Refused> {
        let (ours, theirs) = (self.config.dimensions, peer.dimensions());
        if theirs != ours {
            return Err(Refused::Dimensions { ours, theirs });
        }
        match rtt {
            rtt if rtt.as_micros() == 0 => Err(Refused::Zero),
            rtt if rtt > self.config.longest_rtt => Err(Refused::TooLong(rtt)),
            _ => Ok(()),
        }
    }

    /// The moving percentile of the neighbour's recent round trips, in milliseconds.
    fn filter(&mut self, neighbour: Neighbour, rtt: Rtt) -> Result<f64, Refused> {
        let (window, percentile) = (self.config.filter_window, self.config.filter_percentile);
        match self.filters.get_mut(&neighbour) {
            Some(filter) => Ok(filter.push(rtt.as_millis_f64())),
            None => {
                let mut filter = MovingPercentile::new(window, percentile);
                if self.config.skip_first {
                    self.filters.insert(neighbour, filter);
                    return Err(Refused::FirstOfNeighbour);
                }
                let value = filter.push(rtt.as_millis_f64());
                self.filters.insert(neighbour, filter);
                Ok(value)
            }
        }
    }

    fn remember_miss(&mut self, peer: &Coordinate, rtt: f64) {
        if self.config.adjustment_window == 0 {
            return;
        }
        if self.misses.len() == self.config.adjustment_window {
            self.misses.pop_front();
        }
        let miss = rtt - self.coordinate.unadjusted_distance(peer);
        self.misses.push_back(miss / 2.0);
        let mean = self.misses.iter().sum::<f64>() / self.misses.len() as f64;
        self.coordinate.adjustment = mean;
    }

    /// Figure 3 of the Vivaldi paper: the adaptive time step, with the height of its section 5.4. Gives
    /// how far it moved.
    fn pull(&mut self, peer: &Coordinate, rtt: f64) -> f64 {
        let config = &self.config;
        let distance = self.coordinate.unadjusted_distance(peer);
        // A neighbour that claims to be perfect must not take all the weight.
        let own = self.coordinate.error.share().max(config.least_error);
        let theirs = peer.error.share().max(config.least_error);
        let weight = own / (own + theirs);
        let missed = ((distance - rtt).abs() / rtt).min(RelativeError::WORST.share());
        let share = config.error_gain * weight;
        self.coordinate.error = RelativeError::new(missed * share + own * (1.0 - share));

        let step = config.step_gain * weight * (rtt - distance);
        let longest = config.longest_step.as_millis_f64();
        self.step(peer, step.clamp(-longest, longest), distance)
    }

    /// Moves away from the neighbour by `step` ms (towards it if negative): the unit vector of a space
    /// with heights shares the step between plane and height by their part of the distance.
    /// Gives how far that was in plane and height together.
    fn step(&mut self, peer: &Coordinate, step: f64, distance: f64) -> f64 {
        let plane = vector::distance(&self.coordinate.position, &peer.position);
        let heights = self.coordinate.height + peer.height;
        if plane > TOGETHER {
            let share = step / distance.max(plane);
            vector::move_away(&mut self.coordinate.position, &peer.position, share);
            self.rise(step * heights / distance.max(TOGETHER));
            return step.abs();
        }
        // All of the distance is height, and the plane moves as far in some direction; both together
        // no further than one may.
        let rise = step * heights / distance.max(TOGETHER);
        let wanted = step.abs() + rise.abs();
        let longest = self.config.longest_step.as_millis_f64();
        let share = if wanted > longest {
            longest / wanted
        } else {
            1.0
        };
        let random = &mut self.random;
        let direction = vector::random_direction(self.config.dimensions, random);
        vector::add(
            &mut self.coordinate.position,
            &direction,
            step.abs() * share,
        );
        self.rise(rise * share);
        wanted * share
    }

    fn rise(&mut self, by: f64) {
        let lowest = self.config.least_height.as_millis_f64();
        self.coordinate.height = (self.coordinate.height + by).max(lowest);
    }

    /// Gravity of Ledlie et al., section 5: (‖x‖/ρ)² ms towards the origin, with ρ in the
    /// coordinates' own unit, so that the whole system cannot drift away; no further than the longest
    /// step leaves.
    fn fall(&mut self, moved: f64) {
        let norm = vector::norm(&self.coordinate.position);
        let gravity = self.config.gravity_radius.as_millis_f64();
        if gravity == 0.0 || norm < TOGETHER {
            return;
        }
        let left = (self.config.longest_step.as_millis_f64() - moved).max(0.0);
        let fall = (norm / gravity).powi(2).min(norm).min(left);
        vector::scale(&mut self.coordinate.position, 1.0 - fall / norm);
    }

    fn recover(&mut self) {
        if self.coordinate.is_sane() {
            return;
        }
        self.resets += 1;
        self.misses.clear();
        self.coordinate = Coordinate::origin(self.config.dimensions);
        let random = &mut self.random;
        let direction = vector::random_direction(self.config.dimensions, random);
        // Not all that reset may land on the same point.
        let radius = random.random_range(0.1..1.0);
        vector::add(&mut self.coordinate.position, &direction, radius);
    }
}

/// Closer than a nanosecond of light is the same place; a direction must then be drawn.
const TOGETHER: f64 = 1e-6;

#[cfg(test)]
mod tests;

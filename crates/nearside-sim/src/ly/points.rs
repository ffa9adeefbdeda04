//! Curves and distributions that the paper uses and does not print: from small files that say where
//! their points are from, or that they are assumed.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A curve through points, level beyond the ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve(Vec<(f64, f64)>);

/// How lap times grow with the round-trip time, in seconds against milliseconds.
pub(super) fn lap_time() -> Curve {
    Curve(parse(include_str!("../../data/ly-lap-time.csv")))
}

/// How the share of hits falls with the round-trip time in milliseconds.
pub(super) fn hit_fraction() -> Curve {
    Curve(parse(include_str!("../../data/ly-hit-fraction.csv")))
}

impl Curve {
    /// The height at a place, on the straight line between the points beside it.
    pub(super) fn at(&self, x: f64) -> f64 {
        let after = self.0.partition_point(|point| point.0 <= x);
        let first = self.0[0];
        let last = self.0[self.0.len() - 1];
        match after {
            0 => first.1,
            after if after == self.0.len() => last.1,
            after => {
                let (left, right) = (self.0[after - 1], self.0[after]);
                left.1 + (right.1 - left.1) * (x - left.0) / (right.0 - left.0)
            }
        }
    }
}

/// How many play together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlayerCounts(Vec<(f64, f64)>);

impl PlayerCounts {
    /// As in the file of assumed shares.
    pub(super) fn assumed() -> Self {
        Self(parse(include_str!("../../data/ly-players-per-session.csv")))
    }

    /// A number of players, the host included.
    pub(super) fn draw(&self, random: &mut ChaCha8Rng) -> usize {
        let total: f64 = self.0.iter().map(|(_, share)| share).sum();
        let mut left = random.random_range(0.0..total);
        for (players, share) in &self.0 {
            left -= share;
            if left < 0.0 {
                return *players as usize;
            }
        }
        self.0[self.0.len() - 1].0 as usize
    }
}

/// The files are ours and tested, so a bad line is a mistake of this crate.
fn parse(text: &str) -> Vec<(f64, f64)> {
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let number = |text: &str| text.parse::<f64>().expect("our files hold numbers");
    lines
        .map(|line| {
            let (x, y) = line.split_once(',').expect("our files have two columns");
            (number(x), number(y))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn curves_pass_through_their_points_and_stay_level_beyond() {
        let curve = Curve(vec![(0.0, 10.0), (100.0, 20.0), (200.0, 60.0)]);
        for (x, y) in [(-5.0, 10.0), (50.0, 15.0), (100.0, 20.0), (150.0, 40.0)] {
            assert_eq!(curve.at(x), y);
        }
        assert_eq!(curve.at(1e9), 60.0);
        assert!(lap_time().at(300.0) > lap_time().at(30.0));
        assert!(hit_fraction().at(300.0) < hit_fraction().at(30.0));
    }

    #[test]
    fn shares_of_players_add_up_and_are_drawn_as_often_as_they_say() {
        let counts = PlayerCounts::assumed();
        let sum: f64 = counts.0.iter().map(|(_, share)| share).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let pairs = (0..10_000).filter(|_| counts.draw(&mut random) == 2);
        assert!((1_450..1_750).contains(&pairs.count()));
    }
}

//! What is known of a curve: allocations on its one side, and on the other what cannot be.

use crate::{Allocation, Cost, Delay};

/// An allocation with its figures.
#[derive(Debug, Clone)]
pub(super) struct Find {
    pub(super) allocation: Allocation,
    pub(super) delay: Delay,
    pub(super) servers_used: usize,
    pub(super) price: Cost,
}

impl Find {
    /// Whether it is no worse in anything.
    fn beats(&self, other: &Self) -> bool {
        self.price <= other.price && self.delay <= other.delay
    }
}

/// Nothing within the bound costs less.
#[derive(Debug, Clone, Copy)]
struct Wall {
    bound: Delay,
    at_least: Cost,
}

/// What questions have brought so far, whatever they were asked for.
#[derive(Debug)]
pub(super) struct Known {
    /// Those that nothing else beats, the cheapest first.
    finds: Vec<Find>,
    walls: Vec<Wall>,
    /// No delay is smaller, whatever it costs.
    smallest: Delay,
}

impl Known {
    pub(super) const fn new(smallest: Delay) -> Self {
        Self {
            finds: Vec::new(),
            walls: Vec::new(),
            smallest,
        }
    }

    pub(super) fn learn(&mut self, find: Find) {
        if !self.finds.iter().any(|known| known.beats(&find)) {
            self.finds.retain(|known| !find.beats(known));
            let place = self.finds.partition_point(|known| known.price < find.price);
            self.finds.insert(place, find);
        }
    }

    pub(super) fn rule_out(&mut self, bound: Delay, at_least: Cost) {
        if at_least > self.least_price(bound) {
            self.walls.push(Wall { bound, at_least });
        }
    }

    /// The best of every cost, the cheapest first.
    pub(super) fn front(&self) -> &[Find] {
        &self.finds
    }

    /// The cheapest that keeps the bound.
    pub(super) fn cheapest(&self, bound: Delay) -> Option<&Find> {
        let mut finds = self.finds.iter();
        finds.find(|find| find.delay < bound.next_above_bound())
    }

    /// The fastest that costs no more.
    pub(super) fn fastest(&self, most: Cost) -> Option<&Find> {
        let mut finds = self.finds.iter().rev();
        finds.find(|find| find.price <= most)
    }

    /// Nothing within the bound costs less.
    pub(super) fn least_price(&self, bound: Delay) -> Cost {
        let walls = self.walls.iter().filter(|wall| wall.bound >= bound);
        walls.map(|wall| wall.at_least).max().unwrap_or(Cost::ZERO)
    }

    /// Nothing that costs at most this is faster.
    pub(super) fn least_delay(&self, most: Cost) -> Delay {
        let walls = self.walls.iter().filter(|wall| wall.at_least > most);
        let delays = walls.map(|wall| wall.bound.next_above_bound());
        delays.max().unwrap_or(self.smallest).max(self.smallest)
    }

    /// Nothing that is faster than the corner before this one costs less: where that is less than its
    /// price, another corner may be missing in between.
    pub(super) fn least_price_after(&self, corner: usize) -> Cost {
        let before = corner.checked_sub(1).map(|before| &self.finds[before]);
        let bound = before.map_or(Delay::LONGEST, |before| before.delay.bound_below());
        self.least_price(bound)
    }

    /// Whether nothing is faster at the same price.
    pub(super) fn is_fastest(&self, find: &Find) -> bool {
        self.least_delay(find.price) >= find.delay
    }

    /// Corners within a bound that may still move or have others before them, and the end of the curve
    /// if it is not known.
    pub(super) fn open_corners(&self, bound: Delay) -> usize {
        let open = |&(corner, find): &(usize, &Find)| {
            let next = self.least_price_after(corner) >= find.price;
            find.delay < bound.next_above_bound() && !(next && self.is_fastest(find))
        };
        self.finds.iter().enumerate().filter(open).count() + usize::from(!self.is_complete())
    }

    /// Whether nothing is faster than the fastest.
    pub(super) fn is_complete(&self) -> bool {
        let end = self.finds.last().map(|find| find.delay.bound_below());
        let end = end.unwrap_or(Delay::LONGEST);
        end < Delay::ZERO || self.least_price(end) == Cost::INFINITE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: f64) -> Delay {
        Delay::from_millis(millis).unwrap()
    }

    fn find(servers: usize, millis: f64) -> Find {
        Find {
            allocation: Allocation::new(Vec::new()),
            delay: ms(millis),
            servers_used: servers,
            price: Cost::servers(servers),
        }
    }

    fn known(finds: &[(usize, f64)]) -> Known {
        let mut known = Known::new(ms(1.0));
        for &(servers, millis) in finds {
            known.learn(find(servers, millis));
        }
        known
    }

    #[test]
    fn what_something_else_beats_is_forgotten() {
        let known = known(&[(3, 20.0), (1, 50.0), (2, 60.0), (3, 18.0), (4, 18.0)]);
        let front: Vec<_> = known.front().iter().map(|find| find.servers_used).collect();
        assert_eq!(front, [1, 3]);
        assert_eq!(known.cheapest(ms(30.0)).unwrap().delay, ms(18.0));
        assert_eq!(known.fastest(Cost::servers(2)).unwrap().delay, ms(50.0));
        assert!(known.fastest(Cost::ZERO).is_none());
    }

    #[test]
    fn walls_bound_prices_below_and_delays_too() {
        let mut known = known(&[(1, 50.0), (3, 20.0)]);
        known.rule_out(ms(40.0), Cost::servers(3));
        assert_eq!(known.least_price(ms(40.0)), Cost::servers(3));
        assert_eq!(known.least_price(ms(41.0)), Cost::ZERO);
        assert!(known.least_delay(Cost::servers(2)) > ms(40.0));
        assert_eq!(known.least_delay(Cost::servers(3)), ms(1.0));
    }

    #[test]
    fn corners_close_one_after_the_other_and_the_end_is_one_of_them() {
        let mut known = known(&[(1, 50.0), (3, 20.0)]);
        assert_eq!(known.open_corners(Delay::LONGEST), 3);
        known.rule_out(Delay::LONGEST, Cost::ONE);
        known.rule_out(ms(50.0).bound_below(), Cost::servers(3));
        assert_eq!(known.open_corners(Delay::LONGEST), 2);
        assert_eq!(known.open_corners(ms(10.0)), 1);
        known.rule_out(ms(20.0).bound_below(), Cost::INFINITE);
        assert_eq!(known.open_corners(Delay::LONGEST), 0);
        assert!(known.is_complete());
    }

    #[test]
    fn a_corner_before_which_another_may_be_missing_is_open() {
        let mut known = known(&[(1, 50.0), (3, 20.0)]);
        known.rule_out(Delay::LONGEST, Cost::ONE);
        known.rule_out(ms(50.0).bound_below(), Cost::servers(2));
        known.rule_out(ms(20.0), Cost::servers(3));
        known.rule_out(ms(20.0).bound_below(), Cost::INFINITE);
        assert_eq!(known.least_price_after(1), Cost::servers(2));
        assert_eq!(known.open_corners(Delay::LONGEST), 1);
    }
}

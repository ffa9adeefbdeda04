//! Things that leave at a moment of their own.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use nearside_types::Moment;

/// A queue ordered by when its items are due; items due at the same moment leave in the order they
/// came.
#[derive(Debug)]
pub struct DelayLine<T> {
    heap: BinaryHeap<Reverse<Delayed<T>>>,
    pushed: u64,
}

impl<T> DelayLine<T> {
    /// An empty line.
    pub fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            pushed: 0,
        }
    }

    /// Puts in an item that leaves at `due`.
    pub fn push(&mut self, due: Moment, item: T) {
        let place = self.pushed;
        self.pushed += 1;
        self.heap.push(Reverse(Delayed { due, place, item }));
    }

    /// When the next item is due.
    pub fn next_due(&self) -> Option<Moment> {
        self.heap.peek().map(|Reverse(first)| first.due)
    }

    /// Takes out the first item, with the moment it was due, if that has come.
    pub fn pop_due(&mut self, now: Moment) -> Option<(Moment, T)> {
        self.next_due().filter(|due| *due <= now)?;
        let Reverse(first) = self.heap.pop()?;
        Some((first.due, first.item))
    }

    /// How many items wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none wait.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

impl<T> Default for DelayLine<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// An item with its place in the line: ordered by moment, then by arrival, never by content.
#[derive(Debug)]
struct Delayed<T> {
    due: Moment,
    place: u64,
    item: T,
}

impl<T> Delayed<T> {
    fn key(&self) -> (Moment, u64) {
        (self.due, self.place)
    }
}

impl<T> PartialEq for Delayed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Delayed<T> {}

impl<T> PartialOrd for Delayed<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Delayed<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_leaves_before_it_is_due() {
        let mut line = DelayLine::new();
        line.push(Moment::from_nanos(10), "ten");
        assert_eq!(line.pop_due(Moment::from_nanos(9)), None);
        assert_eq!(line.next_due(), Some(Moment::from_nanos(10)));
        let due = Moment::from_nanos(10);
        assert_eq!(line.pop_due(due), Some((due, "ten")));
        assert!(line.is_empty());
    }

    proptest! {
        #[test]
        fn leaves_sorted_by_moment_and_first_come_first_served(
            dues in proptest::collection::vec(0u64..20, 0..200),
        ) {
            let mut line = DelayLine::new();
            for (place, due) in dues.iter().enumerate() {
                line.push(Moment::from_nanos(*due), place);
            }
            prop_assert_eq!(line.len(), dues.len());
            let mut expected: Vec<(u64, usize)> =
                dues.iter().copied().enumerate().map(|(place, due)| (due, place)).collect();
            expected.sort_unstable();
            let end = Moment::from_nanos(20);
            let left: Vec<(u64, usize)> = std::iter::from_fn(|| line.pop_due(end))
                .map(|(due, place)| (due.as_nanos(), place))
                .collect();
            prop_assert_eq!(left, expected);
        }
    }
}

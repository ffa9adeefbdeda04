/// Remembers which of the last 1,024 counters have been seen, so that none is taken twice (RFC 6479,
/// with the bits in a ring).
#[derive(Debug, Clone)]
pub struct Window {
    /// The highest counter seen, plus one; 0 before the first.
    end: u64,
    seen: [u64; WORDS],
}

const WORDS: usize = 17;
/// One word less than there are: the newest word may be cleared while its neighbours still count.
const REACH: u64 = (WORDS as u64 - 1) * 64;

impl Default for Window {
    fn default() -> Self {
        Self {
            end: 0,
            seen: [0; WORDS],
        }
    }
}

impl Window {
    /// Whether a counter is new. Ask before opening a seal, [`take`](Self::take) after.
    pub fn is_new(&self, counter: u64) -> bool {
        if counter >= self.end {
            return counter < u64::MAX;
        }
        self.end - counter <= REACH && !self.is_set(counter)
    }

    /// Counts it as seen; gives whether it was new.
    pub fn take(&mut self, counter: u64) -> bool {
        if !self.is_new(counter) {
            return false;
        }
        if counter >= self.end {
            self.clear_up_to(counter);
            self.end = counter + 1;
        }
        let (word, bit) = place(counter);
        self.seen[word] |= bit;
        true
    }

    /// The highest counter seen.
    pub fn highest(&self) -> Option<u64> {
        self.end.checked_sub(1)
    }

    fn is_set(&self, counter: u64) -> bool {
        let (word, bit) = place(counter);
        self.seen[word] & bit != 0
    }

    /// Forgets what stood in the words that `counter` moves the window into.
    fn clear_up_to(&mut self, counter: u64) {
        let last = self.end.saturating_sub(1) / 64;
        let fresh = (counter / 64 - last).min(WORDS as u64);
        for step in 1..=fresh {
            let word = (last + step) % WORDS as u64;
            self.seen[word as usize] = 0;
        }
    }
}

fn place(counter: u64) -> (usize, u64) {
    ((counter / 64 % WORDS as u64) as usize, 1 << (counter % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_counter_may_be_any() {
        for first in [0, 1, 63, 64, 5_000, u64::MAX - 1] {
            let mut window = Window::default();
            assert!(window.take(first));
            assert!(!window.take(first));
        }
        assert!(!Window::default().take(u64::MAX), "would overflow");
    }

    proptest! {
        /// A plain set is the judge: within the reach both agree, beyond it nothing is taken.
        #[test]
        fn no_counter_is_taken_twice_and_none_in_reach_is_lost(
            steps in prop::collection::vec((0_u64..3_000, any::<bool>()), 1..400)
        ) {
            let (mut window, mut seen) = (Window::default(), BTreeSet::new());
            let mut base = 0;
            for (step, far) in steps {
                base += if far { step } else { step % 7 };
                let counter = (base + 1_500).saturating_sub(step);
                let highest = seen.last().copied().unwrap_or(0);
                let in_reach = counter + REACH > highest;
                let new = in_reach && !seen.contains(&counter);
                prop_assert_eq!(window.is_new(counter), new);
                prop_assert_eq!(window.take(counter), new);
                if new {
                    seen.insert(counter);
                }
            }
        }
    }
}

//! How many words of the other end get lost on the way here, by the gaps between them: known at once,
//! while probes tell it only every few seconds, and get lost as well.

/// Counts over stretches of forty words: two thirds of a second of a game.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    start: Option<u16>,
    got: u16,
}

const STRETCH: u16 = 40;
/// Further away than this is an old one.
const OLD: u16 = u16::MAX / 2;

impl Gaps {
    /// A word came; the share that did not, at the end of a stretch.
    pub(super) fn came(&mut self, word: u16) -> Option<f64> {
        let start = *self.start.get_or_insert(word);
        self.got += 1;
        let sent = word.wrapping_sub(start);
        if !(STRETCH..OLD).contains(&sent) {
            return None;
        }
        // One that is overtaken counts in the next stretch, so that nothing is missed on average.
        let lost = sent.saturating_sub(self.got.saturating_sub(1));
        let share = f64::from(lost) / f64::from(sent);
        (self.start, self.got) = (Some(word), 1);
        Some(share)
    }

    /// Another path: what was lost on the last one does not count any more.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(came: impl Iterator<Item = u16>) -> Vec<f64> {
        let mut gaps = Gaps::default();
        came.filter_map(|word| gaps.came(word)).collect()
    }

    #[test]
    fn gaps_show_what_is_lost_and_disorder_does_not() {
        assert!(shares(0..1_000).iter().all(|share| *share == 0.0));
        let around = (u16::MAX - 500..=u16::MAX).chain(0..500);
        assert!(shares(around).iter().all(|share| *share == 0.0));
        let every_fourth = shares((0..1_000).filter(|n| n % 4 != 0));
        assert!(every_fourth.iter().all(|share| (0.2..=0.3).contains(share)));
        let swapped = shares((0..500).flat_map(|n| [2 * n + 1, 2 * n]));
        assert!(swapped.iter().all(|share| *share < 0.05), "{swapped:?}");
    }
}

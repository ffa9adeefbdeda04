use std::time::Duration;

use nearside_types::Moment;

/// Two buckets, for packets and for bits, each filled at its rate and holding what comes in half a
/// second: a game's bursts pass, a flood does not.
#[derive(Debug, Clone)]
pub(crate) struct Rate {
    packets: Bucket,
    bits: Bucket,
    /// When something last did not fit.
    exceeded: Option<Moment>,
}

#[derive(Debug, Clone)]
pub(super) struct Bucket {
    per_second: f64,
    most: f64,
    left: f64,
    at: Moment,
}

/// How long one excess counts.
const LATELY: Duration = Duration::from_secs(5);

impl Rate {
    pub(crate) fn new(packets: u32, kilobits: u32, now: Moment) -> Self {
        Self {
            packets: Bucket::new(packets.into(), now),
            bits: Bucket::new(f64::from(kilobits) * 1000.0, now),
            exceeded: None,
        }
    }

    /// Whether a packet of so many bytes fits; if so, it is counted. 28 bytes of IP and UDP headers are
    /// part of what a line carries.
    pub(crate) fn take(&mut self, now: Moment, bytes: usize) -> bool {
        let bits = (bytes + 28) as f64 * 8.0;
        let fits = self.packets.has(now, 1.0) && self.bits.has(now, bits);
        match fits {
            true => {
                self.packets.left -= 1.0;
                self.bits.left -= bits;
            }
            false => self.exceeded = Some(now),
        }
        fits
    }

    pub(crate) fn was_exceeded(&self, now: Moment) -> bool {
        self.forgiven().is_some_and(|until| now < until)
    }

    /// Whether something did not fit after a moment.
    pub(crate) fn was_exceeded_since(&self, moment: Moment) -> bool {
        self.exceeded.is_some_and(|at| at > moment)
    }

    /// Until when the last excess counts.
    pub(crate) fn forgiven(&self) -> Option<Moment> {
        self.exceeded.map(|at| at + LATELY)
    }
}

impl Bucket {
    fn new(per_second: f64, now: Moment) -> Self {
        Self::holding(per_second / 2.0, per_second, now)
    }

    /// A full one that holds so much.
    pub(super) fn holding(most: f64, per_second: f64, now: Moment) -> Self {
        Self {
            per_second,
            most,
            left: most,
            at: now,
        }
    }

    fn has(&mut self, now: Moment, need: f64) -> bool {
        let filled = self.left + now.since(self.at).as_secs_f64() * self.per_second;
        self.left = filled.min(self.most);
        self.at = now;
        self.left >= need
    }

    /// Takes one out, if there is one; what is left before and after.
    pub(super) fn draw(&mut self, now: Moment) -> (f64, f64) {
        self.has(now, 1.0);
        let before = self.left;
        self.left = (before - 1.0).max(0.0);
        (before, self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_carries_what_the_rate_says_and_half_of_it_as_a_burst() {
        let mut rate = Rate::new(100, 10_000, Moment::EPOCH);
        let burst = (0..200).filter(|_| rate.take(Moment::EPOCH, 10)).count();
        assert_eq!(burst, 50);
        assert!(rate.was_exceeded(Moment::EPOCH));
        let mut taken = 0;
        for milli in 1..=1000 {
            let now = Moment::EPOCH + Duration::from_millis(milli);
            taken += usize::from(rate.take(now, 10));
        }
        assert!((99..=101).contains(&taken), "{taken}");
        let later = Moment::EPOCH + Duration::from_secs(100);
        assert!(!rate.was_exceeded(later));
        let bits = Rate::new(1_000_000, 8, Moment::EPOCH);
        let mut bits = bits;
        // 4,000 bits at once, 1,024 for each packet of 100 bytes with its headers.
        assert_eq!((0..9).filter(|_| bits.take(Moment::EPOCH, 100)).count(), 3);
    }
}

//! How late packets of the game come, against how they came before: the clocks of two players need not
//! agree for that.

use std::time::Duration;

use nearside_detour::path::{LagConfig, LagDetector};
use nearside_types::{Moment, Rtt};

/// One-way delays of one path, in one direction.
#[derive(Debug, Clone)]
pub(super) struct OneWay {
    detector: LagDetector,
    /// The first packet's delay by the two clocks; all others are compared with it.
    base: Option<u32>,
    /// The quickest since, in microseconds from the base.
    least: i32,
    sampled: Option<Moment>,
}

/// At a game's 60 packets each second every second one is looked at; a flood costs no more.
const INTERVAL: Duration = Duration::from_millis(15);

/// Ten samples are a sixth of a second, of which more than half have to be late.
fn config() -> LagConfig {
    LagConfig {
        baseline: 60,
        recent: 9,
        margin: Rtt::from_micros(20_000),
        spreads: 6.0,
        losses: usize::MAX,
    }
}

impl OneWay {
    pub(super) fn new() -> Self {
        Self {
            detector: LagDetector::new(config()),
            base: None,
            least: 0,
            sampled: None,
        }
    }

    /// A packet came; by how much the path lags, if it just began to.
    pub(super) fn came(&mut self, now: Moment, sent: u32) -> Option<Rtt> {
        if self.sampled.is_some_and(|last| now.since(last) < INTERVAL) {
            return None;
        }
        self.sampled = Some(now);
        let delay = micros(now).wrapping_sub(sent);
        let base = *self.base.get_or_insert(delay);
        // A difference of half the circle (35 minutes) is no delay but another clock.
        let relative = delay.wrapping_sub(base).cast_signed();
        self.least = self.least.min(relative);
        let late = relative.saturating_sub(self.least).unsigned_abs();
        // One more than nothing: a round trip of 0 would not count.
        let late = Rtt::from_micros(late.saturating_add(1));
        self.detector.push(Some(late)).then_some(late)
    }
}

/// A moment as the wire has it.
pub(super) fn micros(now: Moment) -> u32 {
    (now.as_nanos() / 1_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment::EPOCH + Duration::from_millis(millis)
    }

    /// Packets at 60 each second from a clock that is far off and about to wrap.
    fn run(delay_ms: impl Fn(u64) -> u64, until: u64) -> Option<u64> {
        let mut path = OneWay::new();
        let other_clock = |millis: u64| micros(at(millis)).wrapping_add(u32::MAX - 500_000);
        (0..until / 17).map(|n| n * 17).find(|sent| {
            let came = at(sent + delay_ms(*sent));
            path.came(came, other_clock(*sent)).is_some()
        })
    }

    #[test]
    fn a_rise_is_noticed_within_a_third_of_a_second() {
        let found = run(|sent| if sent < 3_000 { 50 } else { 90 }, 10_000).unwrap();
        assert!((3_000..3_300).contains(&found), "{found}");
    }

    #[test]
    fn jitter_and_a_single_late_packet_are_no_lag() {
        assert_eq!(run(|sent| 50 + sent * 7 % 13, 30_000), None);
        assert_eq!(
            run(|sent| if sent % 1_700 == 0 { 300 } else { 50 }, 30_000),
            None
        );
    }
}

//! How fast probes go out: evenly, never in bursts, never catching up after a pause.

use std::str::FromStr;
use std::time::Duration;

use nearside_types::Moment;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How many datagrams may be sent each second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// So many a second.
    PerSecond(f64),
    /// As fast as the bound on outstanding probes allows. For the lab and one's own network.
    Unlimited,
}

impl Pace {
    /// The presets, by name: what a modem, a careful guest, a DSL line (Steam's setting, and the
    /// papers') and a fast line bear.
    pub const PRESETS: [(&'static str, Self); 5] = [
        ("modem", Self::PerSecond(20.0)),
        ("gentle", Self::PerSecond(30.0)),
        ("dsl", Self::PerSecond(140.0)),
        ("fast", Self::PerSecond(500.0)),
        ("unlimited", Self::Unlimited),
    ];

    /// Probes a second; `None` when unlimited.
    pub const fn per_second(self) -> Option<f64> {
        match self {
            Self::PerSecond(rate) => Some(rate),
            Self::Unlimited => None,
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self::PerSecond(140.0)
    }
}

/// A text that is neither a preset nor a usable number.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "`{0}` is not a pace (choose modem, gentle, dsl, fast, unlimited, or probes per second from 0.1 to 1000000)"
)]
pub struct ParsePaceError(String);

impl FromStr for Pace {
    type Err = ParsePaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let preset = Self::PRESETS.iter().find(|(name, _)| *name == text);
        if let Some(&(_, pace)) = preset {
            return Ok(pace);
        }
        text.parse::<f64>()
            .ok()
            .filter(|rate| (SLOWEST..=FASTEST).contains(rate))
            .map(Self::PerSecond)
            .ok_or_else(|| ParsePaceError(text.to_owned()))
    }
}

/// Probes a second that make sense.
const SLOWEST: f64 = 0.1;
const FASTEST: f64 = 1e6;

/// How much of a delay may be made up for: enough to even out a sleeping thread's late wake-ups,
/// far too little to flood a line after a suspend.
const CATCH_UP: Duration = Duration::from_millis(5);

/// Spaces sends evenly.
#[derive(Debug, Clone)]
pub(crate) struct Pacer {
    interval: Duration,
    ready: Moment,
}

impl Pacer {
    pub(crate) fn new(pace: Pace) -> Self {
        let interval = pace.per_second().map_or(Duration::ZERO, |rate| {
            // Not a number is as slow as can be.
            let rate = if rate.is_nan() { SLOWEST } else { rate };
            Duration::from_secs_f64(1.0 / rate.clamp(SLOWEST, FASTEST))
        });
        Self {
            interval,
            ready: Moment::EPOCH,
        }
    }

    /// When the next datagram may go.
    pub(crate) fn ready_at(&self) -> Moment {
        self.ready
    }

    pub(crate) fn is_ready(&self, now: Moment) -> bool {
        self.ready <= now
    }

    /// Accounts for a datagram sent at `now`, also for one that could not wait.
    pub(crate) fn charge(&mut self, now: Moment) {
        self.ready = self.ready.max(now.saturating_sub(CATCH_UP)) + self.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn presets_and_numbers_parse() {
        assert_eq!("dsl".parse(), Ok(Pace::PerSecond(140.0)));
        assert_eq!("250".parse(), Ok(Pace::PerSecond(250.0)));
        assert_eq!("unlimited".parse(), Ok(Pace::Unlimited));
        for bad in ["", "0", "-1", "NaN", "inf", "quick", "2e9"] {
            assert!(bad.parse::<Pace>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_senseless_pace_from_a_damaged_record_is_clamped() {
        for rate in [0.0, -5.0, f64::INFINITY, f64::NAN, 1e300] {
            let mut pacer = Pacer::new(Pace::PerSecond(rate));
            pacer.charge(Moment::EPOCH);
            assert!(pacer.ready_at() <= Moment::EPOCH + Duration::from_secs(10));
        }
    }

    #[test]
    fn a_suspended_machine_does_not_catch_up() {
        let mut pacer = Pacer::new(Pace::PerSecond(100.0));
        let wake = Moment::EPOCH + Duration::from_secs(3600);
        let mut sent = 0;
        while pacer.is_ready(wake) {
            pacer.charge(wake);
            sent += 1;
        }
        assert_eq!(sent, 1);
    }

    proptest! {
        /// Whatever the gaps between polls, no window holds more than rate × window, one datagram
        /// and the catch-up.
        #[test]
        fn no_window_holds_a_burst(
            rate in 1.0f64..5000.0,
            gaps_us in proptest::collection::vec(1u64..50_000, 50..400),
            window_ms in 1u64..2000,
        ) {
            let mut pacer = Pacer::new(Pace::PerSecond(rate));
            let mut now = Moment::from_nanos(1_000_000_000);
            let mut sends = Vec::new();
            for gap in gaps_us {
                now += Duration::from_micros(gap);
                while pacer.is_ready(now) {
                    pacer.charge(now);
                    sends.push(now);
                }
            }
            let window = Duration::from_millis(window_ms);
            let most = rate * (window + CATCH_UP).as_secs_f64() + 1.0;
            for (index, &start) in sends.iter().enumerate() {
                let inside = sends[index..].iter().take_while(|&&at| at - start <= window).count();
                prop_assert!(inside as f64 <= most + 1e-6, "{inside} in {window:?}, at most {most}");
            }
        }
    }
}

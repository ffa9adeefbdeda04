//! What changes on paths as time goes by: routes drift, and networks are busy in the evening.
//!
//! Both are functions of the seed, the server's network and the moment, so they can be asked for any
//! moment in any order: a run that begins tomorrow meets the world as it is then.

use std::f64::consts::TAU;
use std::time::Duration;

use nearside_types::{AddrClass, Moment, PrefixLengths, ServerAddr};
use serde::{Deserialize, Serialize};

use crate::chance::{exponential, hours, millis, normal, server_stream};

/// How the paths to servers change with time. The default: not at all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weather {
    /// Sigma of the lognormal factor by which a path's RTT comes to differ from its base. Default: 0.
    pub drift_sigma: f64,
    /// The time in which it comes to differ that much, and changes its mind; in hours in files.
    /// Default: 6 h.
    #[serde(rename = "drift_hours", with = "hours")]
    pub drift_every: Duration,
    /// What a path's RTT grows by at the busiest hour, in the mean over all networks; in
    /// milliseconds in files. Default: 0.
    #[serde(rename = "diurnal_ms", with = "millis")]
    pub diurnal: Duration,
    /// The time of day, UTC, at the world's first moment; in hours in files. Default: midnight.
    #[serde(rename = "start_hour_utc", with = "hours")]
    pub start: Duration,
}

impl Default for Weather {
    fn default() -> Self {
        Self {
            drift_sigma: 0.0,
            drift_every: Duration::from_secs(6 * 3600),
            diurnal: Duration::ZERO,
            start: Duration::ZERO,
        }
    }
}

/// Servers of one such network share their weather ...
const NETWORK: PrefixLengths = PrefixLengths { v4: 16, v6: 32 };

/// ... which folded onto loopback is 8 bits longer.
const FOLDED: PrefixLengths = PrefixLengths { v4: 24, v6: 32 };

const DAY: Duration = Duration::from_secs(24 * 3600);

impl Weather {
    /// The base RTT of a path as it is at `now`, for a server whose networks are busiest at that
    /// time of day.
    pub(super) fn at(
        &self,
        now: Moment,
        base: Duration,
        server: ServerAddr,
        busiest: Duration,
        seed: u64,
    ) -> Duration {
        let network = network_of(server);
        let drifted = base.as_secs_f64() * self.drift(now, network, seed).exp();
        let queue = self.queue(now, network, busiest, seed);
        Duration::try_from_secs_f64(drifted + queue).unwrap_or(base)
    }

    /// The logarithm of the drift: 0 at first, a normal value after each period, and straight lines
    /// between.
    fn drift(&self, now: Moment, network: ServerAddr, seed: u64) -> f64 {
        if self.drift_sigma <= 0.0 || self.drift_every.is_zero() {
            return 0.0;
        }
        let periods = now.since_epoch().as_secs_f64() / self.drift_every.as_secs_f64();
        let knot = |number: f64| match number as u32 {
            0 => 0.0,
            number => normal(&mut server_stream(seed, "drift", network, number)),
        };
        let (before, after) = (knot(periods.floor()), knot(periods.floor() + 1.0));
        self.drift_sigma * (before + (after - before) * periods.fract())
    }

    /// Seconds spent in queues at this time of day. Some networks have wide pipes and some do not:
    /// the busiest hour of each is drawn from an exponential distribution.
    fn queue(&self, now: Moment, network: ServerAddr, busiest: Duration, seed: u64) -> f64 {
        if self.diurnal.is_zero() {
            return 0.0;
        }
        let worst = exponential(
            &mut server_stream(seed, "busy hour", network, 0),
            self.diurnal.as_secs_f64(),
        );
        let clock = (self.start + now.since_epoch()).as_secs_f64();
        let from_busiest = (clock - busiest.as_secs_f64()) / DAY.as_secs_f64();
        // Squared: evenings are short, nights are long.
        worst * ((1.0 + (TAU * from_busiest).cos()) / 2.0).powi(2)
    }
}

/// The network as the address of its first server, to draw from.
fn network_of(server: ServerAddr) -> ServerAddr {
    let lengths = match server.class() {
        AddrClass::Loopback => FOLDED,
        _ => NETWORK,
    };
    ServerAddr::new(server.prefix(lengths).network(), 1).unwrap_or(server)
}

/// The time of day, UTC, at which networks at a longitude are busiest: nine in the evening, by the
/// sun.
pub(super) fn busiest_at(longitude: f64) -> Duration {
    const EVENING: f64 = 21.0;
    let hour = (EVENING - longitude / 15.0).rem_euclid(24.0);
    Duration::from_secs_f64(hour * 3600.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(100);

    fn hours(count: u64) -> Moment {
        Moment::EPOCH + Duration::from_secs(count * 3600)
    }

    fn server(block: u8) -> ServerAddr {
        format!("9.{block}.1.1:27015").parse().unwrap()
    }

    #[test]
    fn fair_weather_changes_nothing() {
        let fair = Weather::default();
        for hour in 0..48 {
            assert_eq!(
                fair.at(hours(hour), BASE, server(1), Duration::ZERO, 1),
                BASE
            );
        }
    }

    #[test]
    fn drift_begins_at_the_base_and_wanders_off_smoothly() {
        let drift = Weather {
            drift_sigma: 0.1,
            ..Weather::default()
        };
        let at = |block, minutes: u64| {
            let now = Moment::EPOCH + Duration::from_secs(minutes * 60);
            drift
                .at(now, BASE, server(block), Duration::ZERO, 1)
                .as_secs_f64()
        };
        assert_eq!(at(1, 0), 0.1);
        for minute in 0..3000 {
            let step = (at(1, minute + 1) / at(1, minute)).ln().abs();
            assert!(step < 0.1 * 8.0 / 360.0, "{step} in a minute");
        }
        let knots: Vec<f64> = (0..200).map(|block| (at(block, 360) / 0.1).ln()).collect();
        let variance = knots.iter().map(|knot| knot * knot).sum::<f64>() / 200.0;
        assert!((0.08..0.12).contains(&variance.sqrt()), "{variance}");
    }

    #[test]
    fn neighbours_share_their_weather_and_others_do_not() {
        let stormy = Weather {
            drift_sigma: 0.2,
            diurnal: Duration::from_millis(30),
            ..Weather::default()
        };
        let at = |text: &str| stormy.at(hours(9), BASE, text.parse().unwrap(), Duration::ZERO, 1);
        assert_eq!(at("9.1.1.1:27015"), at("9.1.200.7:27016"));
        assert_ne!(at("9.1.1.1:27015"), at("9.2.1.1:27015"));
    }

    #[test]
    fn evenings_are_slow_everywhere_at_their_own_hour() {
        let busy = Weather {
            diurnal: Duration::from_millis(30),
            ..Weather::default()
        };
        // Sydney is busiest at 11 UTC, when Los Angeles sleeps.
        let (sydney, los_angeles) = (busiest_at(151.2), busiest_at(-118.2));
        assert_eq!(sydney.as_secs() / 3600, 10);
        let at = |hour, busiest| busy.at(hours(hour), BASE, server(1), busiest, 1);
        assert!(at(11, sydney) > at(11, los_angeles));
        assert!(at(5, los_angeles) > at(5, sydney));
        assert!(at(23, sydney) < BASE + Duration::from_millis(1), "at night");
    }

    #[test]
    fn the_busiest_hour_costs_what_was_asked_in_the_mean() {
        let busy = Weather {
            diurnal: Duration::from_millis(30),
            start: Duration::from_secs(21 * 3600),
            ..Weather::default()
        };
        let extra = |block| {
            let rtt = busy.at(Moment::EPOCH, BASE, server(block), busiest_at(0.0), 1);
            (rtt - BASE).as_secs_f64() * 1000.0
        };
        let mean = (0..=255).map(extra).sum::<f64>() / 256.0;
        assert!((25.0..35.0).contains(&mean), "{mean} ms");
    }
}

//! The few distributions the worlds draw from, over a generator that the caller seeded.

use std::hash::{BuildHasherDefault, Hasher};
use std::net::IpAddr;
use std::time::Duration;

use nearside_types::ServerAddr;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::fraction::Fraction;

/// A generator for one purpose: worlds draw structure, clients and exchanges from separate streams
/// of one seed, so that adding a client does not move any server.
pub(crate) fn stream(seed: u64, purpose: &str) -> ChaCha8Rng {
    numbered_stream(seed, fingerprint(purpose.as_bytes()))
}

/// The same for the `number`-th time that something happens at one server.
pub(crate) fn server_stream(
    seed: u64,
    purpose: &str,
    server: ServerAddr,
    number: u32,
) -> ChaCha8Rng {
    let mut hash = Fingerprint::default();
    hash.write(purpose.as_bytes());
    match server.ip() {
        IpAddr::V4(ip) => hash.write(&ip.octets()),
        IpAddr::V6(ip) => hash.write(&ip.octets()),
    }
    hash.write(&server.port().to_be_bytes());
    hash.write(&number.to_be_bytes());
    numbered_stream(seed, hash.finish())
}

fn numbered_stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

/// The [`Fingerprint`] of some bytes.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hash = Fingerprint::default();
    hash.write(bytes);
    hash.finish()
}

/// FNV-1a, 64 bits: a fixed, portable hash (the standard library's may change between versions).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fingerprint(u64);

/// For maps whose keys the world chose itself, so that nobody can make them collide.
pub(crate) type OwnKeys = BuildHasherDefault<Fingerprint>;

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Uniform in (0, 1]: never 0, so that its logarithm is finite.
fn positive_unit(rng: &mut impl Rng) -> f64 {
    1.0 - rng.random::<f64>()
}

pub(crate) fn exponential(rng: &mut impl Rng, mean: f64) -> f64 {
    -mean * positive_unit(rng).ln()
}

/// Box and Muller, 1958; the second value of the pair is not kept.
pub(crate) fn normal(rng: &mut impl Rng) -> f64 {
    let radius = (-2.0 * positive_unit(rng).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

/// Lognormal with median 1.
pub(crate) fn lognormal(rng: &mut impl Rng, sigma: f64) -> f64 {
    (sigma * normal(rng)).exp()
}

/// Gamma by Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; shapes
/// below 1 by their boost.
pub(crate) fn gamma(rng: &mut impl Rng, shape: f64, scale: f64) -> f64 {
    if shape < 1.0 {
        let boost = positive_unit(rng).powf(1.0 / shape);
        return boost * gamma(rng, shape + 1.0, scale);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        let accept = 0.5 * x * x + d - d * v + d * v.max(f64::MIN_POSITIVE).ln();
        if v > 0.0 && positive_unit(rng).ln() < accept {
            return d * v * scale;
        }
    }
}

/// Values drawn in proportion to their weights.
#[derive(Debug, Clone)]
pub(crate) struct Weighted<T> {
    values: Vec<T>,
    cumulative: Vec<f64>,
}

impl<T: Copy> Weighted<T> {
    /// # Panics
    /// Without values: the parameters were checked to have some.
    pub(crate) fn new(items: impl IntoIterator<Item = (T, f64)>) -> Self {
        let (mut values, mut cumulative, mut total) = (Vec::new(), Vec::new(), 0.0);
        for (value, weight) in items {
            total += weight;
            values.push(value);
            cumulative.push(total);
        }
        assert!(!values.is_empty(), "nothing to draw from");
        Self { values, cumulative }
    }

    /// All that can be drawn.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    pub(crate) fn draw(&self, rng: &mut impl Rng) -> T {
        let total = self.cumulative[self.cumulative.len() - 1];
        let point = rng.random::<f64>() * total;
        let index = self.cumulative.partition_point(|&sum| sum <= point);
        self.values[index.min(self.values.len() - 1)]
    }
}

/// What one probe adds to the base RTT of its path: a lognormal factor, and now and then a queue.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeNoise {
    /// Sigma of the lognormal factor (median 1).
    pub sigma: f64,
    /// The share of probes that meet a queue.
    pub spike_fraction: Fraction,
    /// The mean of the exponential time spent in such a queue, in milliseconds in files.
    #[serde(rename = "spike_ms_mean", with = "millis")]
    pub spike_mean: Duration,
}

impl ProbeNoise {
    /// No noise at all: every probe takes exactly the base RTT.
    pub const NONE: Self = Self {
        sigma: 0.0,
        spike_fraction: Fraction::ZERO,
        spike_mean: Duration::ZERO,
    };

    /// The RTT one probe sees on a path with the given base RTT; the base itself where the settings
    /// give no time at all (a sigma that is not a number, or beyond all measure).
    pub fn sample(&self, base: Duration, rng: &mut impl Rng) -> Duration {
        // Every draw is made whatever the settings, so that switching noise off moves nothing else.
        let factor = lognormal(rng, self.sigma);
        let spike = exponential(rng, self.spike_mean.as_secs_f64());
        let queue = if rng.random::<f64>() < self.spike_fraction.get() {
            spike
        } else {
            0.0
        };
        Duration::try_from_secs_f64(base.as_secs_f64() * factor + queue).unwrap_or(base)
    }
}

/// Durations as milliseconds with a fraction, the unit of every file of ours.
pub(crate) mod millis {
    use super::Duration;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(value: &Duration, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(value.as_secs_f64() * 1000.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        let millis = f64::deserialize(d)?;
        Duration::try_from_secs_f64(millis / 1000.0)
            .map_err(|_| D::Error::custom(format!("{millis} is not a number of milliseconds")))
    }
}

/// Durations as hours with a fraction, for what is slow.
pub(crate) mod hours {
    use super::Duration;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(value: &Duration, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(value.as_secs_f64() / 3600.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        let hours = f64::deserialize(d)?;
        Duration::try_from_secs_f64(hours * 3600.0)
            .map_err(|_| D::Error::custom(format!("{hours} is not a number of hours")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_deviation(draw: impl Fn(&mut ChaCha8Rng) -> f64) -> (f64, f64) {
        let mut rng = stream(7, "moments");
        let values: Vec<f64> = (0..40_000).map(|_| draw(&mut rng)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, variance.sqrt())
    }

    #[track_caller]
    fn assert_moments(draw: impl Fn(&mut ChaCha8Rng) -> f64, mean: f64, deviation: f64) {
        let (m, d) = mean_and_deviation(draw);
        let slack = 0.03 * deviation;
        assert!((m - mean).abs() < slack, "mean {m}, expected {mean}");
        assert!(
            (d - deviation).abs() < slack,
            "deviation {d}, expected {deviation}"
        );
    }

    #[test]
    fn distributions_have_the_textbook_moments() {
        assert_moments(normal, 0.0, 1.0);
        assert_moments(|rng| exponential(rng, 6.0), 6.0, 6.0);
        assert_moments(|rng| gamma(rng, 2.0, 7.0), 14.0, 7.0 * 2f64.sqrt());
        assert_moments(|rng| gamma(rng, 0.5, 2.0), 1.0, 2.0 * 0.5f64.sqrt());
        assert_moments(|rng| lognormal(rng, 0.1).ln(), 0.0, 0.1);
    }

    #[test]
    fn weighted_draws_follow_their_weights() {
        let coin = Weighted::new([(1.0, 3.0), (0.0, 1.0)]);
        let (mean, _) = mean_and_deviation(|rng| coin.draw(rng));
        assert!((mean - 0.75).abs() < 0.01, "{mean}");
    }

    #[test]
    fn spikes_come_as_often_as_asked() {
        let noise = ProbeNoise {
            sigma: 0.0,
            spike_fraction: 0.25.try_into().unwrap(),
            spike_mean: Duration::from_millis(60),
        };
        let base = Duration::from_millis(100);
        let (late, _) = mean_and_deviation(|rng| f64::from(noise.sample(base, rng) > base));
        assert!((late - 0.25).abs() < 0.01, "{late}");
    }

    #[test]
    fn streams_of_one_seed_differ_by_purpose() {
        let first = |purpose| stream(1, purpose).random::<u64>();
        assert_ne!(first("servers"), first("clients"));
        assert_eq!(first("servers"), first("servers"));
    }
}

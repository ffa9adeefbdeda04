//! What happens to packets between two hosts, and what has happened to them.

use std::time::Duration;

/// A share of all packets: `Share(0.02)` is one in fifty.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Share(pub f64);

/// Whether packets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Passage {
    /// They do.
    #[default]
    Open,
    /// All are dropped.
    Cut,
}

/// The way from one host to another, in this direction only. A packet meets what holds when it
/// leaves; those under way arrive as planned.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Path {
    /// One way.
    pub delay: Duration,
    /// On top, drawn evenly from nothing to this for each packet. More than the distance between
    /// two packets lets them overtake each other.
    pub jitter: Duration,
    /// On top, the same for all packets of a flow and drawn evenly from nothing to this for each
    /// flow (addresses and ports): parallel routes, between which routers choose by ports.
    pub spread: Duration,
    /// How many are lost.
    pub loss: Share,
    /// How many arrive twice, each time with a jitter of its own.
    pub duplication: Share,
    /// Whether any pass.
    pub passage: Passage,
}

impl Path {
    /// Perfect but for its length.
    pub fn of_delay(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }
}

/// What a path has carried. Bytes are those of IP packets, headers included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Packets that entered it.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets among them that were lost or met a cut.
    pub lost: u64,
}

/// How late the hub delivered, beyond the delay it was told: what the machine adds to all delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// Of how many packets; the most recent 65,536 at most.
    pub packets: usize,
    /// The middle one.
    pub median: Duration,
    /// One in a hundred was later.
    pub p99: Duration,
    /// The worst.
    pub max: Duration,
}

impl Lateness {
    pub(crate) fn of(mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        let at = |share: f64| {
            let index = (samples.len() as f64 * share) as usize;
            let last = samples.len().checked_sub(1);
            last.map_or(Duration::ZERO, |last| samples[index.min(last)])
        };
        Self {
            packets: samples.len(),
            median: at(0.5),
            p99: at(0.99),
            max: at(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_told_by_its_quantiles() {
        let samples = (0..100).rev().map(Duration::from_millis).collect();
        let lateness = Lateness::of(samples);
        assert_eq!(lateness.median, Duration::from_millis(50));
        assert_eq!(lateness.p99, Duration::from_millis(99));
        assert_eq!(Lateness::of(Vec::new()), Lateness::default());
    }
}

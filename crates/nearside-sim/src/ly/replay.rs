//! A recorded trace as it is replayed: its measurements from the first one on, who measured whom, and
//! what a pair saw at a time.

use std::collections::HashMap;
use std::time::Duration;

use nearside_types::Rtt;
use nearside_world::recorded::TraceSample;

/// Section 6.1 drops what is shorter: such nodes share a machine, or a firewall answers.
pub(super) const SHORTEST: Rtt = Rtt::from_micros(1000);

/// The measurements of a trace in the order of time; the first one is at zero.
#[derive(Debug, Clone, Default)]
pub(super) struct Replay {
    samples: Vec<TraceSample>,
    /// Whom each node measured, in the order of their numbers.
    peers: Vec<Vec<usize>>,
}

impl Replay {
    /// Whatever the recorder's clock said at the beginning (Unix time, hours after midnight), a run
    /// begins with the first measurement. What a node measured to itself says nothing.
    pub(super) fn new(nodes: usize, mut samples: Vec<TraceSample>) -> Self {
        samples.retain(|sample| sample.from != sample.to);
        samples.sort_by_key(|sample| sample.at);
        let begin = samples.first().map_or(Duration::ZERO, |sample| sample.at);
        for sample in &mut samples {
            sample.at -= begin;
        }
        Self {
            peers: peers(nodes, &samples),
            samples,
        }
    }

    pub(super) fn samples(&self) -> &[TraceSample] {
        &self.samples
    }

    pub(super) fn peers(&self, node: usize) -> &[usize] {
        &self.peers[node]
    }

    /// What the busiest node measured: legs that a directory must have room for.
    pub(super) fn most_peers(&self) -> usize {
        self.peers.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// From the first measurement to the last.
    pub(super) fn span(&self) -> Duration {
        self.samples
            .last()
            .map_or(Duration::ZERO, |sample| sample.at)
    }

    /// Measurements that a run of this length does not come to.
    pub(super) fn beyond(&self, length: Duration) -> usize {
        let within = self.samples.partition_point(|sample| sample.at < length);
        self.samples.len() - within
    }

    /// Only what was measured between these nodes, which are numbered anew. Time still begins with the
    /// whole trace's first measurement.
    pub(super) fn restricted(&self, nodes: &[usize]) -> Self {
        let places: HashMap<usize, usize> = nodes.iter().copied().zip(0..).collect();
        let kept = self.samples.iter().filter_map(|sample| {
            let (from, to) = (*places.get(&sample.from)?, *places.get(&sample.to)?);
            Some(TraceSample {
                from,
                to,
                ..*sample
            })
        });
        let samples: Vec<TraceSample> = kept.collect();
        Self {
            peers: peers(nodes.len(), &samples),
            samples,
        }
    }
}

/// What the ends of one path saw of each other and of everybody else.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// Answers of each leg, in its own direction: seconds and milliseconds.
    legs: HashMap<(usize, usize), Vec<(f64, f64)>>,
    span_s: f64,
}

impl Replay {
    /// What these ends saw.
    pub(super) fn seen_by(&self, (s, t): (usize, usize)) -> Seen {
        let mut legs: HashMap<(usize, usize), Vec<(f64, f64)>> = HashMap::new();
        let of_ends = |node: usize| node == s || node == t;
        for sample in &self.samples {
            let answer = sample.rtt.filter(|rtt| *rtt >= SHORTEST);
            if let Some(rtt) = answer.filter(|_| of_ends(sample.from) || of_ends(sample.to)) {
                let leg = legs.entry((sample.from, sample.to)).or_default();
                leg.push((sample.at.as_secs_f64(), rtt.as_millis_f64()));
            }
        }
        Seen {
            legs,
            span_s: self.span().as_secs_f64(),
        }
    }
}

impl Seen {
    /// The newest answer of a leg at a time, in milliseconds; before the first one, that. A trace that
    /// is over begins again. The way back stands in where nobody measured this way; infinite where
    /// nobody measured either.
    pub(super) fn millis(&self, a: usize, b: usize, second: f64) -> f64 {
        let legs = &self.legs;
        let Some(answers) = legs.get(&(a, b)).or_else(|| legs.get(&(b, a))) else {
            return f64::INFINITY;
        };
        let now = match self.span_s > 0.0 {
            true => second % self.span_s,
            false => 0.0,
        };
        let later = answers.partition_point(|(at, _)| *at <= now);
        answers[later.saturating_sub(1)].1
    }
}

fn peers(nodes: usize, samples: &[TraceSample]) -> Vec<Vec<usize>> {
    let mut peers = vec![Vec::new(); nodes];
    for sample in samples {
        peers[sample.from].push(sample.to);
    }
    for of_node in &mut peers {
        of_node.sort_unstable();
        of_node.dedup();
    }
    peers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_s: u64, from: usize, to: usize, ms: u32) -> TraceSample {
        TraceSample {
            at: Duration::from_secs(at_s),
            from,
            to,
            rtt: (ms > 0).then(|| Rtt::from_micros(ms * 1000)),
        }
    }

    #[test]
    fn a_trace_begins_with_its_first_measurement_and_knows_who_measured_whom() {
        let samples = vec![
            sample(1_260_000_060, 2, 0, 30),
            sample(1_260_000_000, 0, 2, 20),
            sample(1_260_000_090, 0, 1, 0),
            sample(1_260_000_000, 1, 1, 9),
        ];
        let replay = Replay::new(3, samples);
        assert_eq!(replay.samples()[0], sample(0, 0, 2, 20));
        assert_eq!(replay.span(), Duration::from_secs(90));
        assert_eq!(replay.peers(0), [1, 2]);
        assert_eq!((replay.peers(1).len(), replay.most_peers()), (0, 2));
        assert_eq!(replay.beyond(Duration::from_secs(60)), 2);
        assert_eq!(replay.beyond(Duration::from_secs(91)), 0);
        let two = replay.restricted(&[2, 0]);
        assert_eq!(two.samples(), [sample(0, 1, 0, 20), sample(60, 0, 1, 30)]);
    }

    #[test]
    fn a_leg_is_as_its_newest_answer_says_and_a_trace_that_is_over_begins_again() {
        let samples = vec![
            sample(10, 0, 1, 20),
            sample(40, 0, 1, 60),
            sample(50, 0, 1, 0),
            sample(70, 2, 1, 5),
            sample(110, 2, 0, 7),
        ];
        let seen = Replay::new(4, samples).seen_by((0, 1));
        let at = |second: f64| seen.millis(0, 1, second);
        assert_eq!(
            [at(0.0), at(29.9), at(30.0), at(99.0)],
            [20.0, 20.0, 60.0, 60.0]
        );
        assert_eq!(at(100.0), 20.0, "the trace lasts 100 s");
        assert_eq!(seen.millis(1, 2, 0.0), 5.0, "the way back stands in");
        assert!(seen.millis(0, 3, 0.0).is_infinite());
    }
}

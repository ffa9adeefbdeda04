//! Before any relay: does the direct path get quicker from another source port? Routers that spread
//! load over several lines choose by addresses and ports, so another port may take another line.

use std::time::Duration;

use nearside_types::{Moment, Rtt};

/// Measures the direct path from several ports in turn.
#[derive(Debug)]
pub(super) struct Trial {
    /// Round trips of each port, the known one first.
    ports: Vec<Vec<Rtt>>,
    sent: usize,
    next: Moment,
}

/// Probes to each port.
const ROUNDS: usize = 6;
const INTERVAL: Duration = Duration::from_millis(60);
/// After the last probe, how long answers are waited for.
const PATIENCE: Duration = Duration::from_millis(800);
/// Another port must be quicker by this.
const LEAST_GAIN: Rtt = Rtt::from_micros(3_000);

impl Trial {
    pub(super) fn new(ports: u8, now: Moment) -> Self {
        Self {
            ports: vec![Vec::new(); usize::from(ports).max(1)],
            sent: 0,
            next: now,
        }
    }

    fn all(&self) -> usize {
        self.ports.len() * ROUNDS
    }

    pub(super) fn next_time(&self) -> Moment {
        self.next
    }

    /// The port to probe from now.
    pub(super) fn poll(&mut self, now: Moment) -> Option<u8> {
        if now < self.next || self.sent == self.all() {
            return None;
        }
        let port = self.sent % self.ports.len();
        self.sent += 1;
        let last = self.sent == self.all();
        self.next = now + if last { PATIENCE } else { INTERVAL };
        u8::try_from(port).ok()
    }

    pub(super) fn came(&mut self, port: u8, rtt: Rtt) {
        if let Some(samples) = self.ports.get_mut(usize::from(port)) {
            samples.push(rtt);
        }
    }

    pub(super) fn is_over(&self, now: Moment) -> bool {
        let whole = self.ports.iter().all(|samples| samples.len() == ROUNDS);
        self.sent == self.all() && (whole || now >= self.next)
    }

    /// The best port and what it saves, if it is another than the known one and was always quicker.
    pub(super) fn verdict(&self) -> Option<(u8, Rtt)> {
        let worst = |samples: &Vec<Rtt>| match samples.len() * 2 >= ROUNDS {
            true => samples.iter().max().copied(),
            false => None,
        };
        let known = self.ports.first()?.iter().min().copied()?;
        let others = self.ports.iter().enumerate().skip(1);
        let best = others.filter_map(|(port, samples)| Some((worst(samples)?, port)));
        let (rtt, port) = best.min()?;
        let gain = known.as_micros().checked_sub(rtt.as_micros())?;
        let enough = gain >= LEAST_GAIN.as_micros();
        let port = u8::try_from(port).ok()?;
        enough.then_some((port, Rtt::from_micros(gain)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(rtts: [u32; 3]) -> Option<(u8, Rtt)> {
        let mut now = Moment::EPOCH;
        let mut trial = Trial::new(3, now);
        while !trial.is_over(now) {
            if let Some(port) = trial.poll(now) {
                trial.came(port, Rtt::from_micros(rtts[usize::from(port)] * 1000));
            }
            now = now.max(trial.next_time());
        }
        trial.verdict()
    }

    #[test]
    fn another_port_is_taken_only_when_it_is_clearly_quicker() {
        assert_eq!(verdict([38, 38, 25]), Some((2, Rtt::from_micros(13_000))));
        assert_eq!(verdict([38, 37, 36]), None);
        assert_eq!(verdict([30, 38, 38]), None);
    }
}

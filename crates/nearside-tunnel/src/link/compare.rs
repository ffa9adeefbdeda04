//! The proof on live traffic: packets of the game take the direct path and the detour in turns, and
//! probes of a game's size go along, so that both are measured under the same load in the same minutes.
//!
//! Round trips of one turn are no independent samples: a queue that fills and empties over seconds moves
//! all of them. So a turn counts as one value, its median; a turn of each path makes a pair, and what is
//! judged is the mean difference over five stretches of pairs. It is looked at four times, each time with
//! stretches twice as long: noise that is slow beside the first is quick beside the last. The looks share
//! the risk of a wrong verdict, the first taking least.

use std::collections::BTreeMap;
use std::time::Duration;

use nearside_types::{Moment, Rtt, quantile};
use serde::Serialize;

/// What was found so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// On the direct path.
    pub direct: Arm,
    /// On the detour.
    pub detour: Arm,
    /// Pairs of turns that count.
    pub pairs: usize,
    /// What the detour saves: the mean over pairs, in milliseconds.
    pub gain_ms: Option<f64>,
    /// How far chance alone may have moved the gain at the last look, in milliseconds.
    pub within_ms: Option<f64>,
    /// What follows from it.
    pub verdict: Verdict,
}

/// What a comparison says. All but the first are its last word: packets take the best path again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It goes on.
    Measuring,
    /// Chance does not explain how much quicker the detour is.
    DetourIsQuicker,
    /// Nor, how much quicker the direct path is.
    DirectIsQuicker,
    /// Time is up, and chance may explain the difference.
    Undecided,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arm {
    /// Round trips measured.
    pub samples: usize,
    /// Probes that were not answered.
    pub lost: usize,
    /// Half of them took less.
    pub median_ms: Option<f64>,
    /// Nineteen of twenty took less.
    pub p95_ms: Option<f64>,
}

#[derive(Debug)]
pub(super) struct Comparing {
    since: Moment,
    arms: [Samples; 2],
    /// Probes on their way, and in which turn they left.
    probes: BTreeMap<u32, u64>,
    /// Round trips of turns whose pair is not closed yet.
    turns: BTreeMap<u64, Vec<f64>>,
    turn: u64,
    /// The first pair that is not closed.
    next_pair: u64,
    /// What the detour saved in each pair.
    gains: Vec<f64>,
    within: Option<f64>,
    verdict: Verdict,
    next_probe: Moment,
}

#[derive(Debug, Default)]
struct Samples {
    millis: Vec<f64>,
    lost: usize,
}

/// How long packets stay on one path before it is the other one's turn.
const TURN: Duration = Duration::from_secs(3);
/// Answers to the last probes of a turn are waited for.
const STRAGGLERS: Duration = Duration::from_secs(1);
/// Probes go along with packets at most this often.
const INTERVAL: Duration = Duration::from_millis(50);
/// A turn in which fewer probes were answered says nothing.
const FEWEST: usize = 5;
/// If the game pauses, pairs take longer; at last it ends anyhow.
const LONGEST: Duration = Duration::from_secs(600);
/// Stretches that a look compares.
const STRETCHES: usize = 5;
/// By how many standard errors of the mean of five stretches the gain has to differ from nothing after 5,
/// 10, 20 and 40 pairs: Student's t of 4 degrees of freedom at 0.05, 0.2, 0.5 and 1 % on either side.
///
/// With equal paths whose queues (5 ms, one side) drift over 0.5 to 8 s, 2 to 3 % of 500 simulated
/// comparisons called the detour quicker at any of the looks, 8 % with 16 s.
const LOOKS: [f64; 4] = [8.610, 5.951, 4.604, 3.747];

impl Comparing {
    pub(super) fn new(now: Moment) -> Self {
        Self {
            since: now,
            arms: Default::default(),
            probes: BTreeMap::new(),
            turns: BTreeMap::new(),
            turn: 0,
            next_pair: 0,
            gains: Vec::new(),
            within: None,
            verdict: Verdict::Measuring,
            next_probe: now,
        }
    }

    /// Whether it is the detour's turn; `None` once the comparison is over.
    pub(super) fn is_detours_turn(&mut self, now: Moment) -> Option<bool> {
        self.close_pairs(now);
        if self.verdict != Verdict::Measuring {
            return None;
        }
        let turn = now.since(self.since).as_millis() / TURN.as_millis();
        self.turn = u64::try_from(turn).ok()?;
        Some(self.turn % 2 == 1)
    }

    /// Whether a probe shall go along with a packet sent now.
    pub(super) fn wants_probe(&mut self, now: Moment) -> bool {
        let due = self.next_probe <= now;
        if due {
            self.next_probe = now + INTERVAL;
        }
        due
    }

    /// A probe leaves, in the turn that was asked for last.
    pub(super) fn sent(&mut self, sequence: u32) {
        self.probes.insert(sequence, self.turn);
    }

    /// A probe was answered or lost; whether it was one of these.
    pub(super) fn came(&mut self, sequence: u32, rtt: Option<Rtt>) -> bool {
        let Some(turn) = self.probes.remove(&sequence) else {
            return false;
        };
        let arm = &mut self.arms[usize::from(turn % 2 == 1)];
        match rtt.map(Rtt::as_millis_f64) {
            Some(millis) => {
                arm.millis.push(millis);
                if turn / 2 >= self.next_pair {
                    self.turns.entry(turn).or_default().push(millis);
                }
            }
            None => arm.lost += 1,
        }
        true
    }

    /// Closes the pairs whose turns are over, and looks at them when there are enough.
    fn close_pairs(&mut self, now: Moment) {
        let end = |pair: u64| TURN.as_secs() * 2 * (pair + 1);
        while self.verdict == Verdict::Measuring
            && self.since + Duration::from_secs(end(self.next_pair)) + STRAGGLERS <= now
        {
            let pair = self.next_pair;
            self.next_pair += 1;
            let [direct, detour] = [2 * pair, 2 * pair + 1].map(|turn| self.median_of(turn));
            if let Some((direct, detour)) = direct.zip(detour) {
                self.gains.push(direct - detour);
                self.look();
            }
            if now.since(self.since) >= LONGEST && self.verdict == Verdict::Measuring {
                self.verdict = Verdict::Undecided;
            }
        }
    }

    /// The value of a turn, if it has one.
    fn median_of(&mut self, turn: u64) -> Option<f64> {
        let mut millis = self.turns.remove(&turn)?;
        millis.sort_by(f64::total_cmp);
        quantile(&millis, 0.5).filter(|_| millis.len() >= FEWEST)
    }

    /// Judges, if this is one of the moments for it.
    fn look(&mut self) {
        let sizes = (0..LOOKS.len()).map(|look| STRETCHES << look);
        let Some(look) = sizes.into_iter().position(|size| size == self.gains.len()) else {
            return;
        };
        let stretches = self.gains.chunks_exact(1 << look).map(mean);
        let stretches: Vec<f64> = stretches.collect();
        let (gain, within) = (mean(&stretches), LOOKS[look] * error(&stretches));
        self.within = Some(within);
        self.verdict = match (gain > within, -gain > within) {
            (true, _) => Verdict::DetourIsQuicker,
            (_, true) => Verdict::DirectIsQuicker,
            _ if look + 1 == LOOKS.len() => Verdict::Undecided,
            _ => Verdict::Measuring,
        };
    }

    pub(super) fn result(&self) -> Comparison {
        let [direct, detour] = &self.arms;
        Comparison {
            direct: direct.arm(),
            detour: detour.arm(),
            pairs: self.gains.len(),
            gain_ms: (!self.gains.is_empty()).then(|| mean(&self.gains)),
            within_ms: self.within,
            verdict: self.verdict,
        }
    }
}

impl Samples {
    fn arm(&self) -> Arm {
        let mut sorted = self.millis.clone();
        sorted.sort_by(f64::total_cmp);
        Arm {
            samples: self.millis.len(),
            lost: self.lost,
            median_ms: quantile(&sorted, 0.5),
            p95_ms: quantile(&sorted, 0.95),
        }
    }
}

/// The mean of some values.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard error of their mean.
fn error(values: &[f64]) -> f64 {
    let (mean, count) = (mean(values), values.len() as f64);
    let squares = values.iter().map(|x| (x - mean).powi(2));
    (squares.sum::<f64>() / (count - 1.0) / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::Chance;

    const STEP: Duration = Duration::from_millis(250);

    /// Compares until the end: `rtt` gives the round trip of the direct path, or the detour.
    fn compare(mut rtt: impl FnMut(bool) -> Option<f64>) -> (Comparison, Duration) {
        let mut now = Moment::EPOCH;
        let mut comparing = Comparing::new(now);
        let mut sequence = 0;
        while let Some(detour) = comparing.is_detours_turn(now) {
            assert!(comparing.wants_probe(now));
            comparing.sent(sequence);
            let rtt = rtt(detour).map(Rtt::from_millis_f64);
            assert!(comparing.came(sequence, rtt));
            sequence += 1;
            now += STEP;
        }
        (comparing.result(), now.since(Moment::EPOCH))
    }

    /// Noise between 0 and 19 ms, the same again and again.
    fn with_noise(direct: f64, detour: f64) -> impl FnMut(bool) -> Option<f64> {
        let mut n = 0_u32;
        move |is_detour| {
            n += 1;
            let base = if is_detour { detour } else { direct };
            Some(base + f64::from(n * 7 % 20))
        }
    }

    #[test]
    fn a_clear_gain_is_proven_within_half_a_minute() {
        let (clear, took) = compare(with_noise(100.0, 70.0));
        assert_eq!(clear.verdict, Verdict::DetourIsQuicker, "{clear:?}");
        assert!((clear.gain_ms.unwrap() - 30.0).abs() < 3.0);
        assert!(took <= Duration::from_secs(31), "{took:?}");
        let (clear, _) = compare(with_noise(70.0, 100.0));
        assert_eq!(clear.verdict, Verdict::DirectIsQuicker, "{clear:?}");
    }

    #[test]
    fn it_ends_by_itself_whether_or_not_anything_is_found() {
        let (same, took) = compare(with_noise(100.0, 100.0));
        assert_eq!(same.verdict, Verdict::Undecided, "{same:?}");
        assert_eq!(same.pairs, 40);
        assert!(took <= Duration::from_secs(242), "{took:?}");
        let (nothing, took) = compare(|_| None);
        assert_eq!(nothing.verdict, Verdict::Undecided);
        assert_eq!((nothing.gain_ms, nothing.pairs), (None, 0));
        assert!(took <= LONGEST + 3 * TURN, "{took:?}");
    }

    #[test]
    fn queues_that_drift_for_seconds_rarely_prove_anything() {
        let mut chance = Chance::from_number(5);
        let mut normal = move || {
            let uniform = |_| chance.number() as f64 / u64::MAX as f64;
            (0..12).map(uniform).sum::<f64>() - 6.0
        };
        for drift_s in [0.5_f64, 2.0, 8.0] {
            let kept = (-STEP.as_secs_f64() / drift_s).exp();
            let fresh = 5.0 * (1.0 - kept * kept).sqrt();
            let mut proves = || {
                let mut queues = [5.0 * normal(), 5.0 * normal()];
                let (found, _) = compare(|is_detour| {
                    queues = queues.map(|queue| kept * queue + fresh * normal());
                    Some(100.0 + queues[usize::from(is_detour)] + normal())
                });
                found.verdict != Verdict::Undecided
            };
            let wrong = (0..200).filter(|_| proves()).count();
            // Both directions count; 6 % are expected with the slowest, and one in a hundred such tests
            // has twenty.
            assert!(wrong <= 20, "{wrong} of 200, drifting over {drift_s} s");
        }
    }

    #[test]
    fn nothing_is_proven_by_nothing() {
        let empty = Comparing::new(Moment::EPOCH).result();
        let found = (empty.gain_ms, empty.verdict);
        assert_eq!(found, (None, Verdict::Measuring));
    }
}

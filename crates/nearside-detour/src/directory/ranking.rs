//! The order in which relays are promising: the paper's equation 1, leg sums, or both.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use nearside_coords::{Edges, Estimator, MeasuredElse, Node};
use rand::RngExt;

use super::Directory;
use super::config::Ranking;

/// A relay with its rank in milliseconds: less is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ranked {
    pub(super) relay: Node,
    pub(super) score: f32,
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    /// By score, then by place: the same order on every machine.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then(self.relay.cmp(&other.relay))
    }
}

/// The part of equation 1 in [`Ranking::Mixed`], per leg. Chosen on PlanetLab slices 1 to 6, where
/// 0.05 to 0.2 do about the same.
const BONUS: f32 = 0.1;
/// How many more than K are kept for the choice among them: caps and diversity throw some out.
const SPARE: usize = 6;

impl Directory {
    /// The best relays for a path in order, more of them than `k`.
    pub(super) fn rank(&mut self, s: Node, t: Node, k: usize) -> Vec<Ranked> {
        let mut scores = vec![f32::INFINITY; self.state.places()];
        match self.config.ranking {
            Ranking::Likelihood => self.score_by_likelihood(s, t, &mut scores),
            Ranking::CoordinateSums => self.score_by_sums(&self.map, s, t, &mut scores),
            Ranking::FactorSums => self.score_by_sums(&self.factors, s, t, &mut scores),
            Ranking::Mixed => {
                self.score_by_sums(&self.factors, s, t, &mut scores);
                for (relay, surprise) in self.surprises(s, t) {
                    scores[relay.index()] -= BONUS * surprise.total;
                }
            }
            Ranking::Random => {
                let random = &mut self.random;
                scores.fill_with(|| random.random_range(0.0..1.0));
            }
        }
        for end in [s, t] {
            scores[end.index()] = f32::INFINITY;
        }
        let wanted = k.saturating_mul(SPARE).max(k);
        self.best_of(&scores, wanted)
    }

    fn score_by_sums(&self, estimator: &dyn Estimator, s: Node, t: Node, scores: &mut [f32]) {
        let legs = MeasuredElse {
            edges: &self.edges,
            estimator,
        };
        legs.estimate_sums(s, t, scores);
    }

    /// Equation 1, turned round so that less is better.
    fn score_by_likelihood(&self, s: Node, t: Node, scores: &mut [f32]) {
        for (relay, surprise) in self.surprises(s, t) {
            scores[relay.index()] = -surprise.total / surprise.legs;
        }
    }

    /// How much shorter the known legs of each relay are than coordinates say: E(s,r) and E(r,t) of
    /// equation 1, over all r with a known leg.
    fn surprises(&self, s: Node, t: Node) -> Vec<(Node, Surprise)> {
        let of = |end: Node| surprises_of(&self.edges, &self.map, end);
        let mut all: Vec<(Node, Surprise)> = of(s).chain(of(t)).collect();
        all.sort_by_key(|(relay, _)| *relay);
        all.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1.total += next.1.total;
                kept.1.legs += next.1.legs;
            }
            same
        });
        all
    }

    /// The `wanted` best that may be offered; a heap, since sorting 100,000 takes longer than ranking
    /// them.
    fn best_of(&self, scores: &[f32], wanted: usize) -> Vec<Ranked> {
        let mut best: BinaryHeap<Ranked> = BinaryHeap::with_capacity(wanted + 1);
        let mut worst = f32::INFINITY;
        for (index, score) in scores.iter().enumerate() {
            if *score >= worst || !score.is_finite() {
                continue;
            }
            let relay = Node::at(index);
            if !self.may_offer(relay) {
                continue;
            }
            let score = *score;
            best.push(Ranked { relay, score });
            if best.len() > wanted {
                best.pop();
                worst = best.peek().map_or(worst, |ranked| ranked.score);
            }
        }
        best.into_sorted_vec()
    }
}

/// Estimate less measurement, summed over known legs.
#[derive(Debug, Clone, Copy)]
struct Surprise {
    total: f32,
    legs: f32,
}

fn surprises_of(
    edges: &Edges,
    map: &impl Estimator,
    end: Node,
) -> impl Iterator<Item = (Node, Surprise)> {
    edges.of(end).iter().filter_map(move |(relay, measured)| {
        let estimate = map.estimate(end, *relay)?.rtt;
        let total = (estimate.as_millis_f64() - measured.as_millis_f64()) as f32;
        Some((*relay, Surprise { total, legs: 1.0 }))
    })
}

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
/// And how many more of these when one neighbourhood fills them all.
const WIDER: usize = 8;

impl Directory {
    /// The `k` relays to offer for a path. The best few are ranked; when too many of those are of one
    /// neighbourhood, however many names it has, others are looked for further down.
    pub(super) fn choose_among_more(&mut self, s: Node, t: Node, k: usize) -> Vec<Node> {
        let mut wanted = k.saturating_mul(SPARE);
        loop {
            let ranked = self.rank(s, t, wanted);
            let choice = self.choose(&ranked, k);
            let are_all = ranked.len() < wanted || wanted >= self.state.places();
            if !choice.crowded || are_all {
                return choice.relays;
            }
            wanted = wanted.saturating_mul(WIDER);
        }
    }

    /// The best `wanted` relays for a path, in order.
    fn rank(&mut self, s: Node, t: Node, wanted: usize) -> Vec<Ranked> {
        if self.state.len() > self.config.shortlist
            && let Some(best) = self.rank_shortlist(s, t, wanted)
        {
            return best;
        }
        // What is no number is no candidate; what is infinite comes last.
        let mut scores = vec![f32::NAN; self.state.places()];
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
        let mut best = Best::new(wanted);
        for (index, score) in scores.into_iter().enumerate() {
            let relay = Node::at(index);
            best.offer(Ranked { relay, score }, || self.may_relay(relay, s, t));
        }
        best.in_order()
    }

    /// As [`rank`](Self::rank) by factors, but with a look at two kinds of relays only: those with a
    /// measured leg, and those of the most promising buckets. `None` where that cannot be done.
    fn rank_shortlist(&self, s: Node, t: Node, wanted: usize) -> Option<Vec<Ranked>> {
        if !matches!(self.config.ranking, Ranking::FactorSums | Ranking::Mixed) {
            return None;
        }
        let path = self.factors.through(s, t)?;
        let known = self.score_measured(s, t);
        let mut best = Best::new(wanted);
        for ranked in &known {
            best.offer(*ranked, || self.may_relay(ranked.relay, s, t));
        }
        let is_known = |relay| known.binary_search_by_key(&relay, |r| r.relay).is_ok();
        for relay in self.buckets.between(&path, self.config.shortlist) {
            let score = path.sum_ms(relay);
            best.offer(Ranked { relay, score }, || {
                !is_known(relay) && self.may_relay(relay, s, t)
            });
        }
        Some(best.in_order())
    }

    /// The relays with a measured leg, in their order, with their scores.
    fn score_measured(&self, s: Node, t: Node) -> Vec<Ranked> {
        let of = |end: Node| self.edges.of(end).iter().map(|(relay, _)| *relay);
        let mut relays: Vec<Node> = of(s).chain(of(t)).collect();
        relays.sort();
        relays.dedup();
        let legs = self.legs();
        let sums = relays.into_iter().filter_map(|relay| {
            let (first, second) = (legs.leg(s, relay)?.rtt(), legs.leg(relay, t)?.rtt());
            let score = (first.as_millis_f64() + second.as_millis_f64()) as f32;
            Some(Ranked { relay, score })
        });
        let mut scored: Vec<Ranked> = sums.collect();
        if self.config.ranking == Ranking::Mixed {
            for (relay, surprise) in self.surprises(s, t) {
                if let Ok(at) = scored.binary_search_by_key(&relay, |r| r.relay) {
                    scored[at].score -= BONUS * surprise.total;
                }
            }
        }
        scored
    }

    fn may_relay(&self, relay: Node, s: Node, t: Node) -> bool {
        relay != s && relay != t && self.may_offer(relay)
    }

    fn score_by_sums(&self, estimator: &dyn Estimator, s: Node, t: Node, scores: &mut [f32]) {
        let legs = MeasuredElse {
            edges: &self.edges,
            estimator,
        };
        legs.estimate_sums(s, t, scores);
    }

    /// Equation 1, turned round so that less is better. Who has a known leg but no coordinate to compare
    /// it with is a candidate, too.
    fn score_by_likelihood(&self, s: Node, t: Node, scores: &mut [f32]) {
        for (relay, _) in self.edges.of(s).iter().chain(self.edges.of(t)) {
            scores[relay.index()] = f32::INFINITY;
        }
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
}

/// The best so far; a heap, since sorting 100,000 takes longer than ranking them.
struct Best {
    wanted: usize,
    heap: BinaryHeap<Ranked>,
    /// What a relay must beat.
    worst: f32,
}

impl Best {
    fn new(wanted: usize) -> Self {
        Self {
            wanted,
            heap: BinaryHeap::new(),
            worst: f32::INFINITY,
        }
    }

    /// Takes a relay that is among the best; whether it may be used at all is asked of those only.
    fn offer(&mut self, ranked: Ranked, may_be: impl FnOnce() -> bool) {
        let missing = self.heap.len() < self.wanted && !ranked.score.is_nan();
        if (missing || ranked.score < self.worst) && may_be() {
            self.heap.push(ranked);
            if self.heap.len() > self.wanted {
                self.heap.pop();
                self.worst = self.heap.peek().map_or(self.worst, |ranked| ranked.score);
            }
        }
    }

    fn in_order(self) -> Vec<Ranked> {
        self.heap.into_sorted_vec()
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

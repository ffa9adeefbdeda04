//! Judges clients by their witnesses. Most legs are reported by one end only, so nobody contradicts
//! them outright; but a client that reports is also measured by others, and both halves must fit.
//!
//! What a client says of its legs and what others say of theirs to it are both compared with the
//! model. The model may have been fooled; then it is wrong for both in the same way. So a client is a
//! suspect when most of its own words, and more than is usual, are far from where the witnesses' words
//! put it. A liar is left
//! with two choices: to stay within the tolerance, or to lie in the lesser half of its legs; and there
//! a leg that is too short for the model does not count until the other end confirms it.

use std::collections::BTreeMap;

use nearside_coords::{Estimator, Node};
use nearside_types::{Prefix, Rtt, median};

use rand::RngExt;

use super::state::Measured;
use super::trust::{Belief, agrees, tolerated};
use super::{Directory, Peer, Trust, peer};
use crate::ids::ClientId;

/// Fewer witnesses, or fewer words, are no ground for a judgement.
const QUORUM: usize = 4;
/// One witness is needed for so many clients of the directory, up to the quorum.
const CROWD: usize = 16;
/// Clients among which one that lacks witnesses is looked for.
const DRAWN: usize = 8;
/// Before a node's factors have seen so many samples, its model says nothing about its honesty.
const MATURE: u32 = 100;

impl Directory {
    /// Compares a client with its witnesses, then believes its legs and its coordinate as it deserves.
    pub(super) fn judge(&mut self, node: Node) {
        let Some(member) = self.state.member(node) else {
            return;
        };
        let others: Vec<Node> = member.measured.iter().map(|leg| leg.to).collect();
        self.standing[node.index()].seen = self.is_witnessed(node);
        let off = self.share_off(node);
        self.standing[node.index()].off = off;
        self.standing[node.index()].suspect =
            off.is_some_and(|off| off > tolerated(self.usual.off));
        for other in others {
            self.settle(node, other);
        }
        self.place_again(node);
    }

    /// Puts a client where it says it is, unless its legs say otherwise by now.
    fn place_again(&mut self, node: Node) {
        let member = self.state.member(node);
        if let Some(coordinate) = member.and_then(|member| member.coordinate.as_ref()) {
            // Dimensions were checked before it got into the state.
            let _ = self.map.place(node, coordinate);
        }
        if self.is_misplaced(node) {
            self.map.forget(node);
        }
    }

    /// Keeps or drops a leg, by what is believed of it now.
    pub(super) fn settle(&mut self, a: Node, b: Node) -> Option<Rtt> {
        let believed = self.belief(a, b).and_then(|belief| match belief {
            Belief::Confirmed(rtt) | Belief::Disputed(rtt) => Some(rtt),
            Belief::Claimed(rtt) => self.is_credible(a, b, rtt).then_some(rtt),
        });
        match believed {
            Some(rtt) => self.edges.set(a, b, rtt),
            None => self.edges.remove(a, b),
        }
        believed
    }

    /// Whether a leg that one end alone has reported may count as measured.
    fn is_credible(&self, a: Node, b: Node, rtt: Rtt) -> bool {
        let (by, about) = match self.state.measured(a, b) {
            Some(_) => (a, b),
            None => (b, a),
        };
        if self.config.trust == Trust::Everybody {
            return true;
        }
        let known = self.edges.get(a, b).is_some();
        !self.standing[by.index()].suspect
            && !self.is_too_short(a, b, rtt)
            && (known || !self.is_crowded(by, about))
    }

    /// Whether a leg is far shorter than what the model learnt from everybody else.
    fn is_too_short(&self, a: Node, b: Node, rtt: Rtt) -> bool {
        let mature = |node| self.factors.samples(node) >= MATURE;
        let Some(estimate) = self.factors.estimate(a, b) else {
            return false;
        };
        let shortest = estimate.rtt.as_millis_f64() * self.config.shortest_share;
        mature(a)
            && mature(b)
            && rtt.as_millis_f64() < shortest
            && !agrees(&self.config, rtt, estimate.rtt)
    }

    /// Whether the neighbourhood of a client has said enough about another one: a thousand names in
    /// one prefix are one voice or two.
    fn is_crowded(&self, by: Node, about: Node) -> bool {
        let Some(own) = self.prefix(by) else {
            return false;
        };
        let same = |other: &&(Node, Rtt)| other.0 != by && self.prefix(other.0) == Some(own);
        let said = self.edges.of(about).iter().filter(same);
        said.take(self.config.per_prefix).count() == self.config.per_prefix
    }

    fn prefix(&self, node: Node) -> Option<Prefix> {
        let member = self.state.member(node)?;
        Some(member.client.address.prefix(self.config.prefixes))
    }

    /// The share of what a client says that is far from where its witnesses put it; `None` where too
    /// little is known to say so.
    fn share_off(&self, node: Node) -> Option<f64> {
        let witnesses: Vec<Node> = self.witnesses(node).collect();
        if witnesses.len() < QUORUM || self.factors.samples(node) < MATURE {
            return None;
        }
        let middle = self.seen_by(&witnesses, node);
        let measured = self.state.member(node).map_or(&[][..], |m| &m.measured);
        // What the model says of a liar's legs is worth nothing, for honest ends neither.
        let honest = |leg: &&Measured| !self.standing[leg.to.index()].suspect;
        let words = measured.iter().filter(honest).filter_map(|leg| {
            let expected = self.factors.estimate(node, leg.to)?.rtt.as_millis_f64() * middle;
            Some(agrees(
                &self.config,
                leg.rtt,
                Rtt::from_millis_f64(expected),
            ))
        });
        share_off(words)
    }

    /// Shows a leg to the factors. Those whom others have seen do not learn from a stranger.
    pub(super) fn teach(&mut self, a: Node, b: Node, rtt: Rtt) {
        let seen = |node: Node| self.standing[node.index()].seen;
        match (seen(a), seen(b)) {
            (true, false) => self.factors.observe_alone(b, a, rtt),
            (false, true) => self.factors.observe_alone(a, b, rtt),
            _ => self.factors.observe(a, b, rtt),
        }
    }

    /// Whether enough others have measured a client for it to be a relay and to teach others. A handful
    /// of clients that know each other need no witnesses; in a crowd, strangers wait.
    pub(super) fn is_witnessed(&self, node: Node) -> bool {
        let needed = (self.state.len() / CROWD).min(QUORUM);
        self.config.trust == Trust::Everybody || self.witnesses(node).take(needed).count() == needed
    }

    /// Who measured a client: suspects do not count, nor more than a few of one prefix.
    fn witnesses(&self, node: Node) -> impl Iterator<Item = Node> {
        let by = self.state.member(node).map_or(&[][..], |m| &m.measured_by);
        let honest = by.iter().filter(|by| !self.standing[by.index()].suspect);
        let mut voices: BTreeMap<Option<Prefix>, usize> = BTreeMap::new();
        let counted = honest.filter(move |by| {
            let heard = voices.entry(self.prefix(**by)).or_default();
            *heard += 1;
            *heard <= self.config.per_prefix
        });
        counted.copied()
    }

    /// Somebody whom a client should measure, too: of a few drawn by chance, the one with the fewest
    /// witnesses, if it needs any. Ask it after each report, and pass the answer to
    /// [`Client::handle_neighbour`](crate::Client::handle_neighbour): newcomers become relays that way,
    /// and liars are found out.
    pub fn whom_to_witness(&mut self, witness: ClientId) -> Option<Peer> {
        let own = self.state.node(witness)?;
        let enough = self.config.neighbours / 2;
        let places = self.state.places();
        let drawn: Vec<usize> = (0..DRAWN)
            .map(|_| self.random.random_range(0..places))
            .collect();
        let others = drawn.into_iter().map(Node::at).filter(|node| *node != own);
        let members = others.filter_map(|node| self.state.member(node));
        let new = members.filter(|m| m.measured_by.binary_search(&own).is_err());
        let least = new.min_by_key(|member| member.measured_by.len())?;
        (least.measured_by.len() < enough).then(|| peer(least))
    }

    /// What witnesses say of a client, as a multiple of what the model does: the median of all.
    fn seen_by(&self, witnesses: &[Node], node: Node) -> f64 {
        let ratios = witnesses.iter().filter_map(|by| {
            let said = self.state.measured(*by, node)?.rtt;
            let estimate = self.factors.estimate(*by, node)?.rtt;
            Some(said.as_millis_f64() / estimate.as_millis_f64())
        });
        let mut ratios: Vec<f64> = ratios.collect();
        ratios.sort_by(f64::total_cmp);
        median(&ratios).unwrap_or(1.0)
    }

    /// Whether most of a client's believed legs are far from what its coordinate says of them.
    pub(super) fn is_misplaced(&self, node: Node) -> bool {
        let legs = self.edges.of(node).iter().filter_map(|(other, rtt)| {
            let estimate = self.map.estimate(node, *other)?.rtt;
            Some(agrees(&self.config, *rtt, estimate))
        });
        share_off(legs).is_some_and(|share| share > 0.5)
    }
}

/// The share that does not fit, if there are enough to say so.
fn share_off(fits: impl Iterator<Item = bool>) -> Option<f64> {
    let (mut all, mut off) = (0, 0);
    for fits in fits {
        all += 1;
        off += usize::from(!fits);
    }
    (all >= QUORUM).then(|| off as f64 / all as f64)
}

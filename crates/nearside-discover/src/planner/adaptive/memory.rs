//! What is worth remembering of a run, and what a memory is worth in the next.
//!
//! Paths change from day to day and players travel, so a memory counts half, never outvotes a
//! handful of fresh answers, and is dropped when the first answers contradict it.

use std::collections::BTreeMap;

use nearside_types::{Asn, Listed, Rtt, ServerAddr};
use serde::{Deserialize, Serialize};

use super::super::{MemoryFate, Sample, ServerId};
use super::AdaptivePlanner;
use super::belief::Beliefs;
use super::record::TrackRecord;
use super::scale::{centre_of, rtt_of, z_of};
use super::tree::{NodeId, PlaceName, Tree};

/// What is worth remembering of a run. Plain data: who keeps it, where and for how long is the
/// caller's business.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The best servers, nearest first: the next run asks them before all others.
    pub best: Vec<RememberedServer>,
    /// What was learned of each AS in each place.
    pub groups: Vec<RememberedGroup>,
}

/// A server of the last run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RememberedServer {
    /// Where it answered.
    pub addr: ServerAddr,
    /// How far it was.
    pub rtt: Rtt,
}

/// The answers of one AS in one place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RememberedGroup {
    /// Where it is.
    pub place: PlaceName,
    /// The AS, if it was known.
    pub asn: Option<Asn>,
    /// RTTs, each with its weight.
    pub answers: Vec<(Rtt, f32)>,
}

impl Memory {
    /// How many of the best servers are kept: at 140 probes a second they are asked in 0.2 s.
    pub const BEST: usize = 30;
}

/// A remembered answer counts this much of a fresh one …
const FADED: f32 = 0.5;
/// … and all of a group together no more than this many fresh ones.
const MOST_WEIGHT: f32 = 4.0;
/// After this many answers it is clear whether the memory is of this place …
const JUDGED_AFTER: usize = 20;
/// … which it is not when half of them are farther off than this: 25 % of a long RTT.
const ANOTHER_PLACE: f32 = 0.25;

/// A memory that is on trial.
#[derive(Debug)]
pub(super) struct Trial {
    /// How far the best servers were. They are the nearest of their ASes, and say nothing about a place
    /// beside the mean of those.
    best: BTreeMap<ServerId, f32>,
    /// The remembered mean of each AS.
    means: BTreeMap<NodeId, f32>,
    /// How far answers were off that.
    deviations: Vec<f32>,
    /// Everything that answered so far, to start afresh with.
    answers: Vec<(ServerId, f32)>,
}

/// What the trial of a memory has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    Open,
    SamePlace,
    AnotherPlace,
}

impl Trial {
    /// Adds what is remembered of the groups of a tree to the beliefs about them.
    pub(super) fn begin(memory: &Memory, tree: &Tree, beliefs: &mut Beliefs) -> Self {
        let named = |group| (key_of(group), group);
        let remembered: BTreeMap<_, &RememberedGroup> = memory.groups.iter().map(named).collect();
        let mut means = BTreeMap::new();
        for label in &tree.labels {
            let Some(asn) = label.origin_as else { continue };
            if let Some(group) = remembered.get(&(label.place, asn))
                && let Some(mean) = recall(group, label.node, tree, beliefs)
            {
                means.insert(label.node, mean);
            }
        }
        Self {
            best: BTreeMap::new(),
            means,
            deviations: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Takes in a fresh answer.
    fn hear(&mut self, tree: &Tree, server: ServerId, z: f32) -> Judgement {
        self.answers.push((server, z));
        let path = tree.path(server);
        let mean = || path.nodes().iter().find_map(|node| self.means.get(node));
        let remembered = self.best.get(&server).or_else(mean);
        self.deviations
            .extend(remembered.map(|then| (z - then).abs()));
        if self.deviations.len() < JUDGED_AFTER {
            return Judgement::Open;
        }
        self.deviations.sort_by(f32::total_cmp);
        match self.deviations[JUDGED_AFTER / 2] > ANOTHER_PLACE {
            true => Judgement::AnotherPlace,
            false => Judgement::SamePlace,
        }
    }
}

fn key_of(group: &RememberedGroup) -> (PlaceName, Option<Asn>) {
    (group.place, group.asn)
}

/// Adds what is remembered of one AS; returns its mean z, if there is any sense in it.
fn recall(
    group: &RememberedGroup,
    node: NodeId,
    tree: &Tree,
    beliefs: &mut Beliefs,
) -> Option<f32> {
    let sane = |&(_, weight): &(Rtt, f32)| weight > 0.0 && weight.is_finite();
    let answers: Vec<(f32, f32)> = group
        .answers
        .iter()
        .filter(|answer| sane(answer))
        .map(|&(rtt, weight)| (z_of(rtt), weight))
        .collect();
    let total: f32 = answers.iter().map(|&(_, weight)| weight).sum();
    if !(total > 0.0 && total.is_finite()) {
        return None;
    }
    let scale = FADED.min(MOST_WEIGHT / total);
    let nodes = [node, tree.node(node).parent];
    for &(z, weight) in &answers {
        beliefs.add(tree, &nodes, z, weight * scale);
    }
    let sum: f32 = answers.iter().map(|&(z, weight)| z * weight).sum();
    Some(sum / total)
}

impl AdaptivePlanner {
    /// Recalls a memory: what it believes of the groups, and the best servers to ask first.
    pub(super) fn recall(&mut self, memory: &Memory, listing: &[Listed]) {
        let mut trial = Trial::begin(memory, &self.tree, &mut self.beliefs);
        let best = memory.best.iter().take(Memory::BEST).enumerate();
        let ranks: BTreeMap<ServerAddr, (usize, f32)> = best
            .map(|(rank, server)| (server.addr, (rank, z_of(server.rtt))))
            .collect();
        let mut first: Vec<(usize, ServerId)> = Vec::new();
        for (index, listed) in listing.iter().enumerate() {
            if let Some(&(rank, z)) = ranks.get(&listed.addr) {
                let server = ServerId::from_index(index);
                trial.best.insert(server, z);
                first.push((rank, server));
            }
        }
        self.trial = Some(trial);
        first.sort_unstable();
        for (_, server) in first {
            if self.states[server.index()] == super::State::Unprobed {
                self.ask(server);
            }
        }
    }

    /// Learns from an answer; while a memory is on trial, puts it to the test.
    pub(super) fn learn(&mut self, sample: Sample, rtt: Rtt) {
        let z = z_of(rtt);
        self.beliefs
            .learn(&self.tree, &self.config.model, sample.server, z);
        let Some(trial) = &mut self.trial else { return };
        match trial.hear(&self.tree, sample.server, z) {
            Judgement::Open => {}
            Judgement::SamePlace => self.trial = None,
            Judgement::AnotherPlace => {
                let answers = std::mem::take(&mut trial.answers);
                self.trial = None;
                self.memory_fate = Some(MemoryFate::Dropped);
                self.start_afresh(&answers);
            }
        }
    }

    /// Forgets the memory, and how its long shots fared: they were another place's.
    fn start_afresh(&mut self, answers: &[(ServerId, f32)]) {
        self.record = TrackRecord::default();
        self.beliefs = Beliefs::new(&self.tree, &self.config.model);
        for &(server, z) in answers {
            self.beliefs
                .learn(&self.tree, &self.config.model, server, z);
        }
    }

    /// What was learned of each AS in each place.
    pub(super) fn learned(&self) -> Vec<RememberedGroup> {
        let groups = self.tree.labels.iter().filter_map(|label| {
            let asn = label.origin_as?;
            let evidence = self.beliefs.evidence(label.node)?;
            let answer = |&(bin, weight): &(u16, f32)| (rtt_of(centre_of(bin)), weight);
            Some(RememberedGroup {
                place: label.place,
                asn,
                answers: evidence.bins().iter().map(answer).collect(),
            })
        });
        groups.collect()
    }
}

//! What the planner believes, country by country and AS by AS, and why it stopped.

use std::collections::BTreeMap;

use nearside_types::{Asn, Rtt};
use serde::{Deserialize, Serialize};

use super::super::{ServerId, StopReason};
use super::belief::Group;
use super::config::Objective;
use super::evidence::Evidence;
use super::outlook::{Question, Verdict};
use super::scale::rtt_of;
use super::tree::{NodeId, Part, PlaceName};
use super::{AdaptivePlanner, Stage, State};

/// What the planner believes, and why it stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// The RTT below which a server counts as playable.
    pub rtt_stop: Rtt,
    /// Why it stopped; `None` while it runs.
    pub stopped: Option<StopReason>,
    /// Why it thought that it had enough, if that is why it stopped.
    pub verdict: Option<Verdict>,
    /// Playable servers expected among those not probed; `None` before the first decision.
    pub expected_missed: Option<f64>,
    /// Servers expected among them that are better than the k-th best found.
    pub expected_better: Option<f64>,
    /// The most playable servers per probe that any group still promises; `None` also where the best
    /// alone are looked for, since it decides nothing there.
    pub best_promise: Option<f64>,
    /// Every country, those with the most playable servers first.
    pub countries: Vec<CountryView>,
}

/// What is known and believed of one country.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountryView {
    /// The country, or the region that stands in where none is known.
    pub place: PlaceName,
    /// The country as a whole.
    pub all: GroupView,
    /// Its ASes with more than one server, in the same order.
    pub ases: Vec<AsView>,
}

/// What is known and believed of one AS within a country.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AsView {
    /// The AS, if it is known.
    pub asn: Option<Asn>,
    /// What is believed of it.
    pub all: GroupView,
}

/// What is known and believed of some servers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupView {
    /// Servers listed.
    pub servers: u32,
    /// Of those, handed out to be probed.
    pub probed: u32,
    /// Of those, the ones that answered.
    pub answered: u32,
    /// Of those, the playable ones.
    pub playable: u32,
    /// The typical RTT of the answers; `None` without any.
    pub typical_rtt: Option<Rtt>,
    /// The RTT it is believed to have: without answers, to judge by the group above it, or by its
    /// neighbours on the globe.
    pub believed_rtt: Option<Rtt>,
    /// Playable servers expected among those not probed; `None` before the first decision.
    pub expected_left: Option<f64>,
}

impl AdaptivePlanner {
    /// Whether it has an outlook: who is stopped before its first decision is told no zero.
    pub(super) const fn can_tell(&self) -> bool {
        self.decisions > 0 || matches!(self.stage, Stage::Stopped(..))
    }

    pub(super) fn explanation(&self) -> Explanation {
        let (stopped, verdict) = match self.stage {
            Stage::Stopped(reason, verdict) => (Some(reason), verdict),
            Stage::Listing | Stage::Probing => (None, None),
        };
        let outlook = self.can_tell().then_some(self.outlook);
        let all_playable = outlook.filter(|_| self.config.objective != Objective::Best);
        Explanation {
            rtt_stop: self.config.rtt_stop,
            stopped,
            verdict,
            expected_missed: outlook.map(|outlook| outlook.missed),
            expected_better: outlook.map(|_| self.expected_better()),
            best_promise: all_playable.map(|outlook| f64::from(outlook.worth)),
            countries: self.country_views(),
        }
    }

    fn country_views(&self) -> Vec<CountryView> {
        let mut countries: Vec<CountryView> = Vec::new();
        let queued = self.queued();
        for label in &self.tree.labels {
            let all = self.view(label.node, queued.get(&label.node).copied().unwrap_or(0));
            match (label.origin_as, countries.last_mut()) {
                (Some(asn), Some(country)) => country.ases.push(AsView { asn, all }),
                _ => countries.push(CountryView {
                    place: label.place,
                    all,
                    ases: Vec::new(),
                }),
            }
        }
        for country in &mut countries {
            country
                .ases
                .sort_by(|a, b| GroupView::order(&a.all, &b.all));
        }
        countries.sort_by(|a, b| GroupView::order(&a.all, &b.all));
        countries
    }

    /// How many servers of each node are chosen, but not handed out yet.
    fn queued(&self) -> BTreeMap<NodeId, u32> {
        let mut queued = BTreeMap::new();
        let is_open = |server: &&ServerId| self.states[server.index()] != State::Settled;
        for server in self.queue.iter().filter(is_open) {
            for &node in self.tree.path(*server).nodes() {
                *queued.entry(node).or_default() += 1;
            }
        }
        queued
    }

    fn view(&self, id: NodeId, queued: u32) -> GroupView {
        let node = self.tree.node(id);
        // What is only remembered is believed: nobody has answered.
        let evidence = self.beliefs.evidence(id).filter(|_| node.answered > 0);
        let mean = evidence.and_then(Evidence::mean);
        GroupView {
            servers: node.servers,
            probed: node.servers - node.unprobed - queued,
            answered: node.answered,
            playable: node.playable,
            typical_rtt: mean.map(rtt_of),
            believed_rtt: self.beliefs.typical(&self.tree, id).map(rtt_of),
            expected_left: self.can_tell().then(|| self.expected_in(id)),
        }
    }

    /// Playable servers expected in a node, as of the last decision. Groups stand in the order of
    /// their nodes; of a node nobody has answered from, one above it speaks.
    fn expected_in(&self, id: NodeId) -> f64 {
        let node = self.tree.node(id);
        let from = self.groups.partition_point(|group| group.node < id);
        let to = self.groups.partition_point(|group| group.node < node.end);
        let covers = |group: &&Group| {
            group.part == Part::Whole && self.tree.node(group.node).end >= node.end
        };
        match self.groups[..from].last().filter(covers) {
            Some(above) => f64::from(node.unprobed) * self.chance_of(above),
            None => self.groups[from..to]
                .iter()
                .map(|group| f64::from(group.left) * self.chance_of(group))
                .sum(),
        }
    }

    fn chance_of(&self, group: &Group) -> f64 {
        let corrected = Question::Playable.corrected(group, &self.config.model, &self.record);
        f64::from(group.alive * corrected)
    }
}

impl GroupView {
    fn expected(&self) -> f64 {
        self.expected_left.unwrap_or(0.0)
    }

    /// The most playable first, then what is most expected, then the largest.
    fn order(a: &Self, b: &Self) -> std::cmp::Ordering {
        b.playable
            .cmp(&a.playable)
            .then(b.expected().total_cmp(&a.expected()))
            .then(b.servers.cmp(&a.servers))
    }
}

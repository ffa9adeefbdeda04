//! Which of the ranked relays are offered: not all of them in one house, and not always the same.

use std::collections::BTreeMap;

use nearside_coords::Node;
use nearside_types::{Asn, Prefix};
use rand::RngExt;

use super::ranking::Ranked;
use super::state::Member;
use super::{Directory, Peer, peer};
use crate::ids::ClientId;

impl Directory {
    /// Whether a client may be offered as a relay: it relays, has room, is not paused, others
    /// have seen it, and they do not contradict it.
    pub(super) fn may_offer(&self, node: Node) -> bool {
        let Some(member) = self.state.member(node) else {
            return false;
        };
        let standing = self.standing[node.index()];
        member.carries < self.room(node)
            && !standing.is_bad(self.usual)
            && !standing.paused
            && (standing.seen || self.is_witnessed(node))
    }

    /// The `k` to offer, from ranked relays: those that are busy stand back a little, and prefixes and
    /// ASes take turns as long as others are left.
    pub(super) fn choose(&mut self, ranked: &[Ranked], k: usize) -> Choice {
        let mut order: Vec<Ranked> = ranked.iter().map(|r| self.stand_back(*r)).collect();
        order.sort();
        let mut chosen = Vec::with_capacity(k.min(ranked.len()));
        let mut passed_over = Vec::new();
        let mut seen = Crowd::default();
        for ranked in order {
            let Some(member) = self.state.member(ranked.relay) else {
                continue;
            };
            match chosen.len() < k && seen.admits(self, member, k) {
                true => {
                    seen.count(self, member);
                    chosen.push(ranked.relay);
                }
                false => passed_over.push(ranked.relay),
            }
        }
        let missing = k.saturating_sub(chosen.len());
        let before = chosen.len();
        chosen.extend(passed_over.into_iter().take(missing));
        let crowded = chosen.len() > before;
        Choice {
            relays: chosen,
            crowded,
        }
    }

    /// A relay that carries sessions already stands back by its load and by chance, so that equals
    /// share; an idle one stays where it is.
    fn stand_back(&mut self, ranked: Ranked) -> Ranked {
        let carries = self.state.member(ranked.relay).map_or(0, |m| m.carries);
        if carries == 0 {
            return ranked;
        }
        let load = f32::from(carries) / f32::from(self.room(ranked.relay).max(1));
        let near = self.config.near_best.as_millis_f64() as f32;
        let chance: f32 = self.random.random_range(0.0..1.0);
        Ranked {
            score: ranked.score + near * load * (1.0 + chance),
            ..ranked
        }
    }

    /// N random neighbours, few of one prefix: a coordinate built on one neighbourhood, or on the many
    /// names of one attacker, says little.
    pub(super) fn neighbours(&mut self, own: ClientId) -> Vec<Peer> {
        let wanted = self
            .config
            .neighbours
            .min(self.state.len().saturating_sub(1));
        let mut chosen: Vec<Node> = Vec::with_capacity(wanted);
        let mut seen = Crowd::default();
        // Places may be empty and prefixes full: draw on, but not for ever.
        for draw in 0..wanted * DRAWS {
            if chosen.len() == wanted {
                break;
            }
            let node = Node::at(self.random.random_range(0..self.state.places()));
            let Some(member) = self.state.member(node) else {
                continue;
            };
            let patient = draw < wanted * DRAWS / 2;
            let crowded = patient && seen.prefix(self, member) >= self.config.per_prefix;
            if member.client.id != own && !chosen.contains(&node) && !crowded {
                seen.count(self, member);
                chosen.push(node);
            }
        }
        let members = chosen.iter().filter_map(|node| self.state.member(*node));
        members.map(peer).collect()
    }
}

/// Relays to offer.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) relays: Vec<Node>,
    /// Whether some are of a prefix or an AS that had its share: there were no others among the ranked.
    pub(super) crowded: bool,
}

/// Tries for each neighbour wanted.
const DRAWS: usize = 16;

/// How many of each prefix and AS were chosen so far.
#[derive(Debug, Default)]
struct Crowd {
    prefixes: BTreeMap<Prefix, usize>,
    asns: BTreeMap<Asn, usize>,
}

impl Crowd {
    fn prefix(&self, directory: &Directory, member: &Member) -> usize {
        let prefix = member.client.address.prefix(directory.config.prefixes);
        self.prefixes.get(&prefix).copied().unwrap_or(0)
    }

    fn admits(&self, directory: &Directory, member: &Member, k: usize) -> bool {
        let per_asn = (k as f64 * directory.config.per_asn).ceil() as usize;
        let of_asn = member.client.origin.asn.and_then(|asn| self.asns.get(&asn));
        self.prefix(directory, member) < directory.config.per_prefix
            && of_asn.is_none_or(|chosen| *chosen < per_asn)
    }

    fn count(&mut self, directory: &Directory, member: &Member) {
        let prefix = member.client.address.prefix(directory.config.prefixes);
        *self.prefixes.entry(prefix).or_default() += 1;
        if let Some(asn) = member.client.origin.asn {
            *self.asns.entry(asn).or_default() += 1;
        }
    }
}

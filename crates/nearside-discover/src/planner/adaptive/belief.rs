//! What is believed of every group: its chance to be playable, and to be among the best.
//!
//! A group's belief mixes its own answers, each smeared out a little, with the belief about the
//! group above it, as a hierarchical Dirichlet process does: F = (Σ w·Φ + s·F_parent) / (Σ w + s).
//! An answer counts 1 in its deepest group and, going up, ever less the more that group is known
//! already, so that one large AS does not outvote its country.

use std::collections::{BTreeMap, VecDeque};

use super::super::ServerId;
use super::config::Model;
use super::evidence::{Blur, Evidence};
use super::glimpse::{Fit, Glimpse};
use super::places::Places;
use super::record::TrackRecord;
use super::size::HeapBytes;
use super::tree::{Level, Node, NodeId, Part, ROOT, Tree};

/// A chance for each question asked of a server: is it playable, is it among the best.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Chances {
    pub(super) playable: f32,
    pub(super) best: f32,
}

impl Chances {
    fn both(chance: impl Fn(fn(Self) -> f32) -> f32) -> Self {
        Self {
            playable: chance(|chances| chances.playable),
            best: chance(|chances| chances.best),
        }
    }
}

/// Servers nobody has probed yet and that look alike: those loose in a group, or a whole group that
/// nobody has answered from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    pub(super) node: NodeId,
    pub(super) part: Part,
    pub(super) left: u32,
    /// Of those that answer.
    pub(super) chances: Chances,
    /// The chance to be playable that it is worth a probe for, if that is more: see
    /// [`Model::elsewhere`].
    pub(super) hope: f32,
    /// The share that answers at all.
    pub(super) alive: f32,
    /// How many servers one probe tells about …
    pub(super) at_stake: u32,
    /// … and how many answers what is believed of them counts for beside it.
    pub(super) strength: f32,
    /// In whose book bets on it are entered: that of its AS, or of its country while nobody there has
    /// answered.
    pub(super) book: NodeId,
    /// In whose book bets for nothing but hope are entered.
    pub(super) country: NodeId,
    /// The share of what was promised of that AS that came true, at most 1.
    pub(super) kept: f32,
    /// Whether slow start forbids to ask it now.
    pub(super) busy: bool,
}

/// The belief about one node.
#[derive(Debug, Clone, Copy, Default)]
struct Belief {
    /// Where its evidence is, plus one; 0 while nobody has answered.
    evidence: u32,
    weight: f32,
    /// The weight below each threshold.
    below: Chances,
    /// The belief itself, as of the last renewal.
    chances: Chances,
    /// The share of its servers believed to answer.
    alive: f32,
    /// For which thresholds `below` holds.
    epoch: u32,
    busy: bool,
}

/// An AS that is in several countries, seen as a whole.
#[derive(Debug, Default)]
struct WholeAs {
    evidence: Evidence,
    below: Chances,
    epoch: u32,
}

/// All beliefs.
#[derive(Debug, Default)]
pub(super) struct Beliefs {
    nodes: Vec<Belief>,
    evidence: Vec<Evidence>,
    whole_of: BTreeMap<NodeId, usize>,
    wholes: Vec<WholeAs>,
    countries: Vec<NodeId>,
    places: Places,
    noise: Noise,
    z_playable: f32,
    z_best: f32,
    epoch: u32,
}

impl Beliefs {
    /// The beliefs before any answer.
    pub(super) fn new(tree: &Tree, model: &Model) -> Self {
        let mut by_as: BTreeMap<_, Vec<NodeId>> = BTreeMap::new();
        for label in &tree.labels {
            if let Some(Some(asn)) = label.origin_as {
                by_as.entry(asn).or_default().push(label.node);
            }
        }
        let shared = by_as.into_values().filter(|nodes| nodes.len() > 1);
        let mut whole_of = BTreeMap::new();
        let mut wholes = Vec::new();
        for nodes in shared {
            whole_of.extend(nodes.into_iter().map(|node| (node, wholes.len())));
            wholes.push(WholeAs::default());
        }
        Self {
            nodes: vec![Belief::default(); tree.nodes.len()],
            evidence: Vec::new(),
            whole_of,
            wholes,
            countries: tree.countries().map(|label| label.node).collect(),
            places: Places::new(
                tree.countries().map(|label| label.place.country()),
                &model.places,
            ),
            noise: Noise::default(),
            z_playable: 0.0,
            z_best: 0.0,
            epoch: 1,
        }
    }

    /// Sets what counts as playable and as one of the best.
    pub(super) fn aim(&mut self, z_playable: f32, z_best: f32) {
        if (z_playable, z_best) != (self.z_playable, self.z_best) {
            (self.z_playable, self.z_best) = (z_playable, z_best);
            self.epoch += 1;
        }
    }

    /// Below which z a server is one of the best.
    pub(super) const fn z_best(&self) -> f32 {
        self.z_best
    }

    /// Takes in the answer of a server.
    pub(super) fn learn(&mut self, tree: &Tree, model: &Model, server: ServerId, z: f32) {
        self.listen_for_noise(tree, server, z);
        let path = tree.path(server);
        let weight = self.trust(tree, model, path.nodes(), z);
        self.add(tree, path.nodes(), z, weight);
    }

    /// The chance that an answer tells the distance of its server. One that is far above all that
    /// its groups have shown met a queue, more likely than not: it must not write off a machine, or
    /// a country of which it is the first.
    fn trust(&self, tree: &Tree, model: &Model, nodes: &[NodeId], z: f32) -> f32 {
        let known = nodes.iter().find_map(|&node| self.evidence(node)?.mean());
        if known.is_some_and(|mean| z <= mean + ALIKE) {
            return 1.0;
        }
        let mut expected = 0.0;
        for &node in nodes.iter().rev() {
            let entry = tree.node(node);
            if entry.level == Level::Country
                && let Ok(number) = self.countries.binary_search(&node)
            {
                let up_to = |z: f32| self.places.below(number, z);
                expected = up_to(z + ALIKE) - up_to(z - ALIKE);
            }
            let (alike, all) = self.evidence(node).map_or((0.0, 0.0), |evidence| {
                (evidence.within(z, ALIKE), evidence.weight())
            });
            expected = (alike + entry.strength * expected) / (all + entry.strength);
        }
        // A server may also be anywhere: nothing is so unexpected that a second one like it is
        // not believed.
        let straight = expected.max(STRAY * SPREAD_ALIKE) * (1.0 - model.queued);
        straight / (straight + model.queued * SPREAD_ALIKE)
    }

    /// The chance that a server that answered with `z` is truly playable, by what is known of its
    /// groups without it. Noise lifts some servers below the RTT to stop at that stand beyond it.
    pub(super) fn truly_playable(
        &self,
        tree: &Tree,
        model: &Model,
        server: ServerId,
        z: f32,
    ) -> f32 {
        let glimpse = Glimpse {
            z,
            noise: model.denoise * self.noise.variance,
            threshold: self.z_playable,
        };
        if glimpse.is_clear() {
            return glimpse.at_face_value();
        }
        let fit = self.fit(tree, model, server, &glimpse);
        fit.chance().unwrap_or(glimpse.at_face_value())
    }

    /// How well what is known of a server's groups fits its answer.
    fn fit(&self, tree: &Tree, model: &Model, server: ServerId, glimpse: &Glimpse) -> Fit {
        let mut fit = Fit::default();
        for &node in tree.path(server).nodes().iter().rev() {
            let entry = tree.node(node);
            if let Ok(number) = self.countries.binary_search(&node) {
                fit = self.places.fit(number, glimpse);
            }
            if let Some(evidence) = self.evidence(node) {
                let blur = self.noise.blur(model, entry.level, evidence);
                let own = evidence.fit(glimpse, blur);
                fit = own.mixed(evidence.weight(), entry.strength, fit);
            }
        }
        fit
    }

    /// Adds an answer of some weight to nodes, the deepest first, up to their country.
    pub(super) fn add(&mut self, tree: &Tree, nodes: &[NodeId], z: f32, mut weight: f32) {
        for &node in nodes {
            let known = self.nodes[node as usize].weight;
            self.evidence_mut(node).add(z, weight);
            let belief = &mut self.nodes[node as usize];
            belief.weight += weight;
            belief.epoch = 0;
            if let Some(&whole) = self.whole_of.get(&node) {
                self.wholes[whole].evidence.add(z, weight);
                self.wholes[whole].epoch = 0;
            }
            let entry = tree.node(node);
            if entry.level == Level::Country
                && let Ok(number) = self.countries.binary_search(&node)
            {
                self.places.learn(number, z, weight);
            }
            weight *= entry.strength / (entry.strength + known);
        }
    }

    fn evidence_mut(&mut self, node: NodeId) -> &mut Evidence {
        let belief = &mut self.nodes[node as usize];
        if belief.evidence == 0 {
            self.evidence.push(Evidence::default());
            belief.evidence = self.evidence.len() as u32;
        }
        &mut self.evidence[belief.evidence as usize - 1]
    }

    /// What answers said about a node.
    pub(super) fn evidence(&self, node: NodeId) -> Option<&Evidence> {
        let place = self.nodes[node as usize].evidence.checked_sub(1)?;
        self.evidence.get(place as usize)
    }

    /// The typical z that a node is believed to have: that of the answers from it, or else of those
    /// from the group above it, or else what its place on the globe leads to believe.
    pub(super) fn typical(&self, tree: &Tree, mut node: NodeId) -> Option<f32> {
        loop {
            if let Some(mean) = self.evidence(node).and_then(Evidence::mean) {
                return Some(mean);
            }
            if let Ok(number) = self.countries.binary_search(&node) {
                return Some(self.places.typical(number));
            }
            if node == ROOT {
                return None;
            }
            node = tree.node(node).parent;
        }
    }

    #[cfg(test)]
    /// The belief about a node, as of the last renewal.
    pub(super) fn chances(&self, node: NodeId) -> Chances {
        self.nodes[node as usize].chances
    }

    fn listen_for_noise(&mut self, tree: &Tree, server: ServerId, z: f32) {
        let leaf = tree.leaf(server);
        if tree.node(leaf).level == Level::Machine
            && let Some(evidence) = self.evidence(leaf)
            && let Some(mean) = evidence.mean()
        {
            // The mean of n answers is noisy itself.
            let deviation = (z - mean).abs() / (1.0 + 1.0 / evidence.weight()).sqrt();
            if self.noise.hear(deviation) {
                self.epoch += 1;
            }
        }
    }

    /// Renews all beliefs from the top down and hands every group with servers left to `visit`. Of
    /// all servers the share `alive` answers; `record` says which ASes keep what they promise.
    pub(super) fn renew(
        &mut self,
        tree: &Tree,
        model: &Model,
        alive: f32,
        record: &TrackRecord,
        mut visit: impl FnMut(Group),
    ) {
        for number in 0..self.countries.len() {
            let country = self.countries[number];
            let above = Above {
                chances: self.of_places(number),
                alive,
                busy: false,
            };
            self.renew_country(tree, model, country, above, record, &mut visit);
        }
    }

    fn renew_country(
        &mut self,
        tree: &Tree,
        model: &Model,
        country: NodeId,
        prior: Above,
        record: &TrackRecord,
        visit: &mut impl FnMut(Group),
    ) {
        let end = tree.node(country).end;
        let mut of_as = 0.0;
        let mut book = country;
        let mut kept = record.kept(country, model);
        let mut id = country;
        while id < end {
            let node = tree.node(id);
            if node.unprobed == 0 {
                id = node.end;
                continue;
            }
            let above = match id == country {
                true => prior,
                false => self.nodes[node.parent as usize].as_above(),
            };
            let parent = self.with_whole_as(id, above.chances, model);
            self.renew_below(id, node.level, model);
            let belief = &mut self.nodes[id as usize];
            belief.chances = Chances::both(|of| {
                (of(belief.below) + node.strength * of(parent)) / (belief.weight + node.strength)
            });
            belief.alive = alive_share(node, above.alive);
            belief.busy = above.busy || node.is_busy();
            let belief = *belief;
            // An AS with one network goes by that level: the parent tells what it is.
            if node.parent == country {
                of_as = belief.chances.playable;
                book = id;
                kept = record.kept(id, model);
            }
            let part = match belief.evidence {
                0 => Part::Whole,
                _ => Part::Loose,
            };
            let left = match part {
                Part::Whole => node.unprobed,
                Part::Loose => node.unprobed_loose,
            };
            if left > 0 {
                let (at_stake, strength) = match part {
                    Part::Whole => (left, node.strength),
                    // Each is an AS of its own.
                    Part::Loose if node.level == Level::Country => (1, node.strength),
                    Part::Loose => (left, model.firmness * (node.strength + belief.weight)),
                };
                let of_country = self.nodes[country as usize].chances.playable;
                visit(Group {
                    node: id,
                    part,
                    left,
                    chances: Chances {
                        playable: scatter(model, node.level, belief.chances.playable, of_as),
                        ..belief.chances
                    },
                    hope: (model.elsewhere * hope(tree, id, part, of_country)).min(1.0),
                    alive: belief.alive,
                    at_stake,
                    strength,
                    book,
                    country,
                    kept,
                    busy: belief.busy,
                });
            }
            id = match part {
                Part::Whole => node.end,
                Part::Loose => id + 1,
            };
        }
    }

    fn of_places(&self, number: usize) -> Chances {
        Chances {
            playable: self.places.below_by_any_route(number, self.z_playable),
            best: self.places.far_below(number, self.z_best),
        }
    }

    /// Renews the weight below the thresholds, if answers or thresholds have changed.
    fn renew_below(&mut self, id: NodeId, level: Level, model: &Model) {
        let belief = self.nodes[id as usize];
        if belief.epoch == self.epoch || belief.evidence == 0 {
            return;
        }
        let evidence = &self.evidence[belief.evidence as usize - 1];
        let blur = self.noise.blur(model, level, evidence);
        let below = Chances {
            playable: evidence.below(self.z_playable, blur),
            best: evidence.below(self.z_best, blur),
        };
        let belief = &mut self.nodes[id as usize];
        belief.below = below;
        belief.epoch = self.epoch;
    }

    /// The belief about the country mixed with that about the AS in all countries together.
    fn with_whole_as(&mut self, node: NodeId, country: Chances, model: &Model) -> Chances {
        let Some(&whole) = self.whole_of.get(&node) else {
            return country;
        };
        let whole = &mut self.wholes[whole];
        let weight = whole.evidence.weight();
        if whole.epoch != self.epoch && weight > 0.0 {
            let blur = self.noise.blur(model, Level::OriginAs, &whole.evidence);
            whole.below = Chances {
                playable: whole.evidence.below(self.z_playable, blur),
                best: whole.evidence.below(self.z_best, blur),
            };
            whole.epoch = self.epoch;
        }
        let trust = model.whole_as * weight / (weight + 1.0);
        let strength = model.prior.origin_as;
        Chances::both(|of| {
            let of_whole = (of(whole.below) + strength * of(country)) / (weight + strength);
            (1.0 - trust) * of(country) + trust * of_whole
        })
    }
}

impl HeapBytes for Beliefs {
    fn heap_bytes(&self) -> usize {
        let wholes = self.wholes.iter().map(|whole| &whole.evidence);
        let answers = self.evidence.iter().chain(wholes);
        self.nodes.heap_bytes()
            + self.evidence.heap_bytes()
            + self.wholes.heap_bytes()
            + answers.map(Evidence::heap_bytes).sum::<usize>()
            + self.whole_of.heap_bytes()
            + self.countries.heap_bytes()
            + self.places.heap_bytes()
            + self.noise.recent.heap_bytes()
    }
}

/// The chance of their country for servers that may be in a city of their AS nobody has answered
/// from: an AS or one of its networks, whatever level it goes by, or networks of one server.
fn hope(tree: &Tree, node: NodeId, part: Part, of_country: f32) -> f32 {
    let node = tree.node(node);
    let is_network = match part {
        Part::Whole => tree.node(node.parent).level <= Level::OriginAs,
        Part::Loose => node.level == Level::OriginAs,
    };
    if is_network { of_country } else { 0.0 }
}

/// The chance to be playable of a group below an AS, some of whose servers stand in other cities
/// than their neighbours: those are as likely to be near as any of their AS.
fn scatter(model: &Model, level: Level, playable: f32, of_as: f32) -> f32 {
    match level {
        Level::Network | Level::Subnet => playable + model.scattered * (of_as - playable).max(0.0),
        // Servers of one machine stand where it stands.
        Level::Root | Level::Country | Level::OriginAs | Level::Machine => playable,
    }
}

/// Answers no farther apart than this, about 20 %, are alike.
const ALIKE: f32 = 0.2;
/// The share of servers that are not where their country is at all.
const STRAY: f32 = 0.01;
/// The share of alike ones among RTTs that could be anything.
const SPREAD_ALIKE: f32 = 0.2;

/// What a group hears from the one above it.
#[derive(Debug, Clone, Copy)]
struct Above {
    chances: Chances,
    alive: f32,
    busy: bool,
}

impl Belief {
    const fn as_above(&self) -> Above {
        Above {
            chances: self.chances,
            alive: self.alive,
            busy: self.busy,
        }
    }
}

/// The share of a group's servers that answer, beside that of the group above. Servers of one machine
/// mostly live and die together; whole networks seldom, but some are gone, or behind a firewall.
fn alive_share(node: &Node, above: f32) -> f32 {
    let strength = match node.level {
        Level::Machine => 1.0,
        Level::Subnet | Level::Network => 4.0,
        Level::OriginAs | Level::Country | Level::Root => 8.0,
    };
    let (answered, silent) = (node.answered as f32, node.silent as f32);
    (answered + strength * above) / (answered + silent + strength)
}

/// The noise of single probes, learned from servers that share a machine and so should share an
/// RTT.
#[derive(Debug, Default)]
struct Noise {
    variance: f32,
    /// The last deviations heard, oldest first.
    recent: VecDeque<f32>,
    /// How many since the variance was last renewed.
    fresh: usize,
}

impl Noise {
    /// Enough for a median within 10 %, few enough to follow the evening's rush.
    const MEMORY: usize = 128;
    const RENEW_EVERY: usize = 16;
    /// A normal distribution's deviation over its median absolute deviation.
    const PER_MEDIAN: f32 = 1.4826;

    /// Takes in a deviation from a machine's mean; says whether the estimate changed much.
    fn hear(&mut self, deviation: f32) -> bool {
        if self.recent.len() == Self::MEMORY {
            self.recent.pop_front();
        }
        self.recent.push_back(deviation);
        self.fresh += 1;
        self.fresh >= Self::RENEW_EVERY && self.renew()
    }

    fn renew(&mut self) -> bool {
        self.fresh = 0;
        let mut sorted: Vec<f32> = self.recent.iter().copied().collect();
        sorted.sort_by(f32::total_cmp);
        // The median, because one probe in thirty meets a queue and is out by far.
        let variance = (Self::PER_MEDIAN * sorted[sorted.len() / 2]).powi(2);
        let changed = (variance - self.variance).abs() > 0.2 * self.variance;
        if changed {
            self.variance = variance;
        }
        changed
    }

    /// How the answers of a group are blurred.
    fn blur(&self, model: &Model, level: Level, evidence: &Evidence) -> Blur {
        let spread = model.spread.at(level);
        let noise = model.denoise * self.variance;
        let weight = evidence.weight();
        let shrunk = spread * (1.0 + weight).powf(-model.shrink);
        let variance = evidence.variance(spread * spread + noise);
        Blur {
            bandwidth: (shrunk * shrunk + noise / weight.max(LEAST_ANSWERS)).sqrt(),
            keep: (1.0 - noise / variance).max(LEAST_KEPT).sqrt(),
        }
    }
}

/// The mean of w answers is off by the noise of one over the root of w; of hardly any, by no more than
/// that of half an answer.
const LEAST_ANSWERS: f32 = 0.5;
/// However noisy, a group's answers are not all noise.
const LEAST_KEPT: f32 = 0.04;

#[cfg(test)]
mod tests {
    use super::super::Listed;
    use super::super::config::Levels;
    use super::super::scale::z_of;
    use super::*;
    use nearside_types::{Asn, Origin, Rtt};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    const MODEL: Model = Model::DEFAULT;

    fn z(millis: u32) -> f32 {
        z_of(Rtt::from_micros(millis * 1000))
    }

    /// Two machines of three servers in one network, another network of that AS, another AS, and
    /// the first AS in another country beside that one's own.
    fn world() -> (Tree, Beliefs) {
        let places = [
            ("DE", 1, "9.1.0.1:1"),
            ("DE", 1, "9.1.0.1:2"),
            ("DE", 1, "9.1.0.1:3"),
            ("DE", 1, "9.1.0.2:1"),
            ("DE", 1, "9.1.0.2:2"),
            ("DE", 1, "9.1.0.2:3"),
            ("DE", 1, "9.2.0.1:1"),
            ("DE", 1, "9.2.1.1:1"),
            ("DE", 2, "9.3.0.1:1"),
            ("DE", 2, "9.3.1.1:1"),
            ("FR", 1, "9.4.0.1:1"),
            ("FR", 1, "9.4.1.1:1"),
            ("FR", 3, "9.5.0.1:1"),
            ("FR", 3, "9.5.1.1:1"),
        ];
        let servers: Vec<Listed> = places
            .iter()
            .map(|&(country, asn, addr)| Listed {
                addr: addr.parse().unwrap(),
                origin: Origin {
                    asn: Some(Asn(asn)),
                    country: country.parse().ok(),
                },
            })
            .collect();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let tree = Tree::build(&servers, &Levels::INTERNET, &MODEL.prior, &mut rng);
        let mut beliefs = Beliefs::new(&tree, &MODEL);
        beliefs.aim(z(100), z(50));
        (tree, beliefs)
    }

    fn renewed(tree: &Tree, beliefs: &mut Beliefs) -> Vec<Group> {
        let mut groups = Vec::new();
        let record = TrackRecord::default();
        beliefs.renew(tree, &MODEL, 1.0, &record, |group| groups.push(group));
        groups
    }

    fn answer(tree: &mut Tree, beliefs: &mut Beliefs, server: u32, millis: u32) {
        let server = ServerId(server);
        tree.take(server);
        tree.count(server, |node| node.answered += 1);
        beliefs.learn(tree, &MODEL, server, z(millis));
    }

    fn chance(tree: &Tree, beliefs: &mut Beliefs, server: u32) -> f32 {
        renewed(tree, beliefs);
        let path = tree.path(ServerId(server));
        // The highest group nobody has answered from speaks for all below it.
        let speaks = path
            .nodes()
            .iter()
            .copied()
            .find(|&node| beliefs.evidence(node).is_some())
            .unwrap_or(path.country());
        beliefs.chances(speaks).playable
    }

    #[test]
    fn before_any_answer_whole_countries_stand_as_one_group() {
        let (tree, mut beliefs) = world();
        let groups = renewed(&tree, &mut beliefs);
        let left: Vec<(Part, u32)> = groups.iter().map(|g| (g.part, g.left)).collect();
        assert_eq!(left, [(Part::Whole, 10), (Part::Whole, 4)]);
        let chance = |group: &Group| group.chances.playable;
        assert!((chance(&groups[0]) - chance(&groups[1])).abs() < 0.05);
        assert!(groups[0].chances.best < chance(&groups[0]));
    }

    #[test]
    fn an_answer_counts_most_for_its_machine_and_less_the_farther_up() {
        let (mut tree, mut beliefs) = world();
        let before = chance(&tree, &mut beliefs, 10);
        answer(&mut tree, &mut beliefs, 0, 30);
        let chances: Vec<f32> = [1, 3, 6, 8, 10]
            .iter()
            .map(|&server| chance(&tree, &mut beliefs, server))
            .collect();
        assert!(chances.is_sorted_by(|a, b| a > b), "{chances:?}");
        assert!(chances[0] > 0.95 && chances[4] > before, "{chances:?}");
    }

    #[test]
    fn a_far_machine_in_a_near_network_is_known_to_be_far() {
        let (mut tree, mut beliefs) = world();
        answer(&mut tree, &mut beliefs, 0, 30);
        answer(&mut tree, &mut beliefs, 3, 250);
        let once = chance(&tree, &mut beliefs, 4);
        answer(&mut tree, &mut beliefs, 5, 250);
        assert!(chance(&tree, &mut beliefs, 1) > 0.9);
        let twice = chance(&tree, &mut beliefs, 4);
        assert!(twice < 0.1 && twice < once, "{once}, then {twice}");
    }

    #[test]
    fn one_slow_answer_among_fast_ones_writes_nothing_off() {
        let (mut tree, mut beliefs) = world();
        for server in [0, 1, 6, 7, 8] {
            answer(&mut tree, &mut beliefs, server, 30);
        }
        answer(&mut tree, &mut beliefs, 3, 400);
        let after_a_queue = chance(&tree, &mut beliefs, 4);
        assert!(after_a_queue > 0.3, "{after_a_queue}");
    }

    #[test]
    fn fast_answers_are_always_trusted() {
        let (mut tree, mut beliefs) = world();
        for server in [0, 1, 2] {
            answer(&mut tree, &mut beliefs, server, 250);
        }
        let path = tree.path(ServerId(3));
        assert_eq!(beliefs.trust(&tree, &MODEL, path.nodes(), z(20)), 1.0);
        assert!(beliefs.trust(&tree, &MODEL, path.nodes(), z(600)) < 0.7);
    }

    #[test]
    fn the_rest_of_an_as_counts_where_the_country_says_otherwise() {
        let (mut tree, mut beliefs) = world();
        for server in [0, 3, 6, 7] {
            answer(&mut tree, &mut beliefs, server, 30);
        }
        for server in [12, 13] {
            answer(&mut tree, &mut beliefs, server, 280);
        }
        let node = tree.leaf(ServerId(10));
        let mut chance = |whole_as: f32| {
            let model = Model { whole_as, ..MODEL };
            beliefs.renew(&tree, &model, 1.0, &TrackRecord::default(), |_| {});
            beliefs.chances(node).playable
        };
        let (with, without) = (chance(0.3), chance(0.0));
        assert!(with > without + 0.1, "{with} against {without}");
    }

    #[test]
    fn neighbours_of_far_servers_are_as_near_as_their_as_in_part() {
        let scattered = |level, playable, of_as| {
            let model = Model {
                scattered: 0.2,
                ..MODEL
            };
            scatter(&model, level, playable, of_as)
        };
        assert!((scattered(Level::Subnet, 0.0, 0.1) - 0.02).abs() < 1e-6);
        assert_eq!(
            scattered(Level::Network, 0.5, 0.1),
            0.5,
            "it has shown more"
        );
        assert_eq!(
            scattered(Level::OriginAs, 0.0, 0.1),
            0.0,
            "it speaks itself"
        );
    }

    #[test]
    fn noise_between_ports_of_a_machine_is_learned_and_taken_out() {
        let mut noise = Noise::default();
        for _ in 0..Noise::RENEW_EVERY {
            noise.hear(0.08);
        }
        assert!((noise.variance.sqrt() - 0.1186).abs() < 1e-3);
        let mut evidence = Evidence::default();
        for offset in [-0.1, 0.1, -0.1, 0.1] {
            evidence.add(5.0 + offset, 1.0);
        }
        let blur = noise.blur(&MODEL, Level::Network, &evidence);
        assert!(blur.keep < 0.6, "{blur:?}");
        let quiet = Noise::default().blur(&MODEL, Level::Network, &evidence);
        assert_eq!(quiet.keep, 1.0);
    }

    #[test]
    fn a_group_whose_servers_are_silent_is_believed_to_be_dead() {
        let (mut tree, _) = world();
        let mut alive = |server: u32, answered, silent| {
            let leaf = tree.leaf(ServerId(server)) as usize;
            let node = &mut tree.nodes[leaf];
            (node.answered, node.silent) = (answered, silent);
            (node.level, alive_share(node, 0.9))
        };
        assert_eq!(alive(0, 0, 0).1, 0.9, "what holds above");
        let (level, dead) = alive(0, 0, 3);
        assert_eq!(level, Level::Machine);
        assert!(dead < 0.25, "{dead}");
        assert!(alive(0, 20, 0).1 > 0.99);
    }
}

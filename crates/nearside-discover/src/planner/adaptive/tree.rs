//! How the list falls into groups: country > AS > network > subnet > machine.
//!
//! Nodes stand in preorder, each with the end of its subtree, and servers in the order of their
//! nodes. So a group is a range of both, all beliefs are renewed in one pass, and a part that
//! nobody has answered from yet is stepped over.

use std::fmt;
use std::net::IpAddr;
use std::ops::Range;

use nearside_types::{Asn, Country, Prefix, PrefixLengths};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::super::{Listed, ServerId};
use super::config::{Levels, PerLevel};
use super::size::HeapBytes;

/// A node by its place.
pub(super) type NodeId = u32;

/// The root, above all countries.
pub(super) const ROOT: NodeId = 0;

/// What the servers of a node share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Root,
    Country,
    OriginAs,
    Network,
    Subnet,
    Machine,
}

impl Level {
    fn below(self, levels: &Levels) -> Option<Self> {
        match self {
            Self::Root => Some(Self::Country),
            Self::Country => Some(Self::OriginAs),
            Self::OriginAs => Some(Self::Network),
            Self::Network => Some(Self::Subnet),
            Self::Subnet => levels.machines.then_some(Self::Machine),
            Self::Machine => None,
        }
    }
}

impl PerLevel {
    pub(super) fn at(&self, level: Level) -> f32 {
        match level {
            Level::Root | Level::Country => self.country,
            Level::OriginAs => self.origin_as,
            Level::Network => self.network,
            Level::Subnet => self.subnet,
            Level::Machine => self.machine,
        }
    }
}

/// A group of servers, and how far its probing is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) parent: NodeId,
    /// The first node that is not below this one.
    pub(super) end: NodeId,
    /// Where its servers begin among the slots.
    first: u32,
    /// How many servers it has ...
    pub(super) servers: u32,
    /// ... of which so many, the first, are in no group below it.
    loose: u32,
    pub(super) unprobed: u32,
    pub(super) unprobed_loose: u32,
    pub(super) pending: u32,
    /// How many were pending once and are not any more, whatever came of them.
    pub(super) returned: u32,
    pub(super) answered: u32,
    pub(super) playable: u32,
    pub(super) silent: u32,
    /// How many answers the belief about its parent counts for.
    pub(super) strength: f32,
    /// The narrowest thing all its servers share.
    pub(super) level: Level,
    /// How many may be pending before anything was tried: see [`Builder::first_bet`].
    first_bet: u8,
}

impl Node {
    fn slots(&self) -> Range<usize> {
        self.first as usize..(self.first + self.servers) as usize
    }

    fn loose_slots(&self) -> Range<usize> {
        self.first as usize..(self.first + self.loose) as usize
    }

    /// Slow start: at most as many pending as were tried before, so that nobody bets a hundred probes
    /// on a group before its first answer, and twice as many as have answered: one that is gone must
    /// not hold up a country whose first answer was the best of all. Silence counts too: who waited
    /// for an answer before going on would spend a second on every server of a network that is gone.
    /// It counts less on a single machine, which is soon given up. Who holds most of the list starts
    /// faster ([`Builder::first_bet`]).
    pub(super) fn is_busy(&self) -> bool {
        let earned = match self.level {
            Level::Machine => self.answered.max(self.returned / 4),
            _ => (2 * self.answered).max(self.returned),
        };
        self.pending >= earned.max(self.first_bet.into())
    }
}

/// What a node is called, for those that stand for a country or an AS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) node: NodeId,
    pub(super) place: PlaceName,
    /// `None` for a country; an AS may be unknown.
    pub(super) origin_as: Option<Option<Asn>>,
}

/// What is known of where servers stand before any has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceName {
    /// Their country.
    Country(Country),
    /// Where no country is known, the block their addresses are from: registries hand such blocks
    /// out by region.
    Region(Prefix),
}

impl PlaceName {
    fn of(server: &Listed, levels: &Levels) -> Self {
        let region = || Self::Region(server.addr.prefix(levels.region));
        server.origin.country.map_or_else(region, Self::Country)
    }

    /// The country, if it is known.
    pub const fn country(self) -> Option<Country> {
        match self {
            Self::Country(country) => Some(country),
            Self::Region(_) => None,
        }
    }
}

impl fmt::Display for PlaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Country(country) => country.fmt(f),
            Self::Region(prefix) => prefix.fmt(f),
        }
    }
}

/// All groups, and the servers in their order.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Countries and ASes, in the order of their nodes.
    pub(super) labels: Vec<Label>,
    slots: Vec<ServerId>,
    /// The deepest node of each server.
    leaf: Vec<NodeId>,
}

/// What tells groups of one level apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Place(PlaceName),
    As(Option<Asn>),
    Prefix(Prefix),
    Machine(IpAddr),
}

fn key(level: Level, server: &Listed, levels: &Levels) -> Key {
    let prefix = |lengths: PrefixLengths| Key::Prefix(server.addr.prefix(lengths));
    match level {
        Level::Root | Level::Country => Key::Place(PlaceName::of(server, levels)),
        Level::OriginAs => Key::As(server.origin.asn),
        Level::Network => prefix(levels.network),
        Level::Subnet => prefix(levels.subnet),
        Level::Machine => Key::Machine(server.addr.ip()),
    }
}

impl Tree {
    /// Groups a list. Servers that are loose in one node are shuffled, so that the first ones taken
    /// are a fair sample.
    pub(super) fn build(
        servers: &[Listed],
        levels: &Levels,
        prior: &PerLevel,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let mut order: Vec<ServerId> = (0..servers.len()).map(ServerId::from_index).collect();
        order.sort_unstable_by_key(|id| {
            let server = &servers[id.index()];
            (
                key(Level::Country, server, levels),
                server.origin.asn,
                server.addr,
            )
        });
        let tree = Self {
            nodes: Vec::new(),
            labels: Vec::new(),
            slots: Vec::with_capacity(servers.len()),
            leaf: vec![ROOT; servers.len()],
        };
        let mut builder = Builder {
            servers,
            levels,
            prior,
            rng,
            tree,
        };
        builder.add(Level::Root, ROOT, &order);
        builder.tree.nodes.shrink_to_fit();
        builder.tree.labels.shrink_to_fit();
        builder.tree
    }

    pub(super) fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node as usize]
    }

    /// The deepest group of a server.
    pub(super) fn leaf(&self, server: ServerId) -> NodeId {
        self.leaf[server.index()]
    }

    /// The groups of a server, from the deepest up to its country.
    pub(super) fn path(&self, server: ServerId) -> Path {
        let mut path = Path::default();
        let mut node = self.leaf(server);
        while node != ROOT {
            path.nodes[path.end] = node;
            path.end += 1;
            node = self.node(node).parent;
        }
        path
    }

    /// Changes the counts of every group of a server, the root included.
    pub(super) fn count(&mut self, server: ServerId, change: impl Fn(&mut Node)) {
        let mut node = self.leaf(server);
        loop {
            let entry = &mut self.nodes[node as usize];
            change(entry);
            if node == ROOT {
                return;
            }
            node = entry.parent;
        }
    }

    /// Notes that a server is not to be taken again.
    pub(super) fn take(&mut self, server: ServerId) {
        let leaf = self.leaf(server) as usize;
        self.nodes[leaf].unprobed_loose -= 1;
        self.count(server, |node| node.unprobed -= 1);
    }

    /// The groups right below one.
    fn parts(&self, node: NodeId) -> impl Iterator<Item = &Node> {
        let end = self.node(node).end;
        let next = move |part: &NodeId| Some(self.node(*part).end).filter(|part| *part < end);
        let first = Some(node + 1).filter(|part| *part < end);
        std::iter::successors(first, next).map(|part| self.node(part))
    }

    /// The servers of a node in a fair order, from the one at `start` round to the one before it;
    /// with `Part::Loose` only those in no group below it. Where several may be asked at once, those
    /// that slow start holds back further below come last.
    pub(super) fn servers_from(
        &self,
        node: NodeId,
        part: Part,
        start: usize,
    ) -> impl Iterator<Item = ServerId> + '_ {
        let group = self.node(node);
        let slots = match part {
            Part::Whole => &self.slots[group.slots()],
            Part::Loose => &self.slots[group.loose_slots()],
        };
        let (before, after) = slots.split_at(start % slots.len().max(1));
        let all = after.iter().chain(before).copied();
        let spreads = group.first_bet > 1;
        let first = move |server: &ServerId| !spreads || !self.is_held_back(*server, node);
        all.clone().filter(first).chain(all)
    }

    /// Whether slow start holds a server of `group` back in a group below that one.
    fn is_held_back(&self, server: ServerId, group: NodeId) -> bool {
        let path = self.path(server);
        let mut below = path.nodes().iter().take_while(|node| **node > group);
        below.any(|&node| self.node(node).is_busy())
    }

    /// How many servers that part of a node has.
    pub(super) fn size(&self, node: NodeId, part: Part) -> usize {
        let node = self.node(node);
        match part {
            Part::Whole => node.servers as usize,
            Part::Loose => node.loose as usize,
        }
    }

    /// The samples that the papers' AS method would take of every AS (the square root of its
    /// servers) beyond the first: who has one server has no corner to look into.
    pub(super) fn corners(&self) -> f32 {
        let ases = self.labels.iter().filter(|label| label.origin_as.is_some());
        let servers = ases.map(|label| self.node(label.node).servers as f32);
        servers.map(|servers| servers.sqrt() - 1.0).sum()
    }

    /// The countries, or the regions that stand in for them.
    pub(super) fn countries(&self) -> impl Iterator<Item = &Label> {
        self.labels.iter().filter(|label| label.origin_as.is_none())
    }
}

impl HeapBytes for Tree {
    fn heap_bytes(&self) -> usize {
        self.nodes.heap_bytes()
            + self.labels.heap_bytes()
            + self.slots.heap_bytes()
            + self.leaf.heap_bytes()
    }
}

/// Which servers of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All.
    Whole,
    /// Those in no group below it.
    Loose,
}

/// The groups of one server, the deepest first.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Path {
    nodes: [NodeId; 5],
    end: usize,
}

impl Path {
    pub(super) fn nodes(&self) -> &[NodeId] {
        &self.nodes[..self.end]
    }

    #[cfg(test)]
    /// The country; every server has one, or a region in its place.
    pub(super) fn country(&self) -> NodeId {
        self.nodes[self.end - 1]
    }
}

struct Builder<'a> {
    servers: &'a [Listed],
    levels: &'a Levels,
    prior: &'a PerLevel,
    rng: &'a mut ChaCha8Rng,
    tree: Tree,
}

impl Builder<'_> {
    /// Adds a node for `members`, which share what `level` says, and the nodes below it.
    fn add(&mut self, level: Level, parent: NodeId, members: &[ServerId]) {
        let node = NodeId::try_from(self.tree.nodes.len()).expect("no more nodes than servers");
        self.label(level, node, members);
        let (level, strength) = self.descend(level, members);
        let below = level.below(self.levels);
        let groups = self.split(below, members);
        let deserves_node = |group: &&[ServerId]| group.len() > 1 || below == Some(Level::Country);
        let (groups, singles): (Vec<_>, Vec<_>) = groups.into_iter().partition(deserves_node);
        let mut loose: Vec<ServerId> = singles.into_iter().flatten().copied().collect();
        loose.shuffle(self.rng);
        self.push(level, parent, strength, members.len(), &loose);
        for group in groups {
            self.add(below.expect("split by it just now"), node, group);
        }
        self.tree.nodes[node as usize].end = self.tree.nodes.len() as NodeId;
        self.tree.nodes[node as usize].first_bet = self.first_bet(node);
    }

    /// How many of a finished group's servers are asked before its first answer: one, since there are
    /// others to ask meanwhile. Who holds most of the list leaves none: a list of one country, or one
    /// without countries, would begin with a probe for each round trip. It may have as many under way
    /// as its parts on their own, but no more tenths of a second's worth than it is larger than all
    /// others together.
    fn first_bet(&self, node: NodeId) -> u8 {
        const TENTH_OF_A_SECOND: usize = 14;
        let group = self.tree.node(node);
        let servers = group.servers as usize;
        let others = self.servers.len() - servers;
        if group.level == Level::Machine || servers <= others {
            return 1;
        }
        let parts: usize = self
            .tree
            .parts(node)
            .map(|part| usize::from(part.first_bet))
            .sum();
        let most = TENTH_OF_A_SECOND * servers / others.max(1);
        let bet = (group.loose as usize + parts).min(most);
        u8::try_from(bet).unwrap_or(u8::MAX)
    }

    fn label(&mut self, level: Level, node: NodeId, members: &[ServerId]) {
        let Some(first) = members.first() else { return };
        let server = &self.servers[first.index()];
        if matches!(level, Level::Country | Level::OriginAs) {
            self.tree.labels.push(Label {
                node,
                place: PlaceName::of(server, self.levels),
                origin_as: (level == Level::OriginAs).then_some(server.origin.asn),
            });
        }
    }

    /// A group that is all of the group above it makes no node of its own: the lower level stands
    /// for both. One answer leaves of the parent's belief what it would have left through the chain.
    fn descend(&self, mut level: Level, members: &[ServerId]) -> (Level, f32) {
        let mut parents_share = share(self.prior.at(level));
        while level >= Level::OriginAs
            && let Some(below) = level.below(self.levels)
            && self.split(Some(below), members).len() == 1
        {
            level = below;
            parents_share *= share(self.prior.at(level));
        }
        (level, parents_share / (1.0 - parents_share))
    }

    fn split<'m>(&self, below: Option<Level>, members: &'m [ServerId]) -> Vec<&'m [ServerId]> {
        let Some(below) = below else {
            return members.chunks(1).collect();
        };
        let key = |id: &ServerId| key(below, &self.servers[id.index()], self.levels);
        members.chunk_by(|a, b| key(a) == key(b)).collect()
    }

    fn push(
        &mut self,
        level: Level,
        parent: NodeId,
        strength: f32,
        servers: usize,
        loose: &[ServerId],
    ) {
        let node = self.tree.nodes.len() as NodeId;
        for server in loose {
            self.tree.leaf[server.index()] = node;
        }
        self.tree.nodes.push(Node {
            parent,
            end: 0,
            first: self.tree.slots.len() as u32,
            servers: servers as u32,
            loose: loose.len() as u32,
            unprobed: servers as u32,
            unprobed_loose: loose.len() as u32,
            pending: 0,
            returned: 0,
            answered: 0,
            playable: 0,
            silent: 0,
            strength,
            level,
            first_bet: 1,
        });
        self.tree.slots.extend_from_slice(loose);
    }
}

/// What one answer leaves of the belief about the parent.
fn share(strength: f32) -> f32 {
    strength / (1.0 + strength)
}

#[cfg(test)]
mod tests {
    use super::super::config::Model;
    use super::*;
    use nearside_types::Origin;
    use proptest::prelude::*;
    use rand::SeedableRng;

    fn listed(country: &str, asn: u32, addr: &str) -> Listed {
        Listed {
            addr: addr.parse().unwrap(),
            origin: Origin {
                asn: Some(Asn(asn)),
                country: country.parse().ok(),
            },
        }
    }

    fn tree(servers: &[Listed]) -> Tree {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let prior = Model::DEFAULT.prior;
        Tree::build(servers, &Levels::INTERNET, &prior, &mut rng)
    }

    #[test]
    fn servers_of_one_machine_share_all_groups_and_chains_are_one_node() {
        let servers = [
            listed("DE", 1, "9.1.0.1:1"),
            listed("DE", 1, "9.1.0.1:2"),
            listed("DE", 2, "9.2.0.1:1"),
        ];
        let tree = tree(&servers);
        let levels: Vec<Level> = tree.nodes.iter().map(|node| node.level).collect();
        assert_eq!(levels, [Level::Root, Level::Country, Level::Machine]);
        assert_eq!(tree.leaf(ServerId(0)), 2);
        assert_eq!(tree.leaf(ServerId(2)), 1, "alone in its AS: loose");
        let share = |s: f32| s / (1.0 + s);
        let prior = Model::DEFAULT.prior;
        let chain = share(prior.origin_as)
            * share(prior.network)
            * share(prior.subnet)
            * share(prior.machine);
        assert!((share(tree.nodes[2].strength) - chain).abs() < 1e-6);
    }

    #[test]
    fn without_countries_regions_stand_in_and_without_ases_networks_do() {
        let bare = |addr: &str| Listed::unknown(addr.parse().unwrap());
        let servers = [
            bare("9.1.0.1:1"),
            bare("9.1.7.1:1"),
            bare("9.2.0.1:1"),
            bare("9.2.0.2:1"),
            bare("62.2.0.1:1"),
        ];
        let tree = tree(&servers);
        let countries: Vec<NodeId> = tree.countries().map(|label| label.node).collect();
        assert_eq!(countries.len(), 2);
        assert_eq!(tree.node(countries[0]).servers, 4);
        assert_eq!(tree.node(tree.leaf(ServerId(0))).level, Level::Network);
        assert_eq!(tree.node(tree.leaf(ServerId(3))).level, Level::Subnet);
    }

    #[test]
    fn corners_are_what_an_as_has_beyond_its_first_server() {
        let of = |asn, count: u8| {
            (1..=count).map(move |host| listed("DE", asn, &format!("9.{asn}.0.{host}:1")))
        };
        let servers: Vec<Listed> = of(1, 9).chain(of(2, 1)).chain(of(3, 4)).collect();
        assert!((tree(&servers).corners() - 3.0).abs() < 1e-6);
    }

    /// How many of the first country's servers are asked before an answer.
    fn first_bet(servers: &[Listed]) -> u8 {
        let tree = tree(servers);
        let country = tree.countries().next().unwrap();
        tree.node(country.node).first_bet
    }

    #[test]
    fn who_holds_most_of_the_list_bets_a_probe_on_each_of_its_parts() {
        let network = |second| (1..4).map(move |host| format!("9.{second}.7.{host}:1"));
        let one_as = (0..20).flat_map(network);
        let one_as: Vec<Listed> = one_as.map(|addr| listed("DE", 1, &addr)).collect();
        assert_eq!(first_bet(&one_as), 20, "nobody else is on the list");
        let others =
            |count: u8| (0..count).map(|host| listed("FR", 2, &format!("11.0.0.{host}:1")));
        let with = |count| {
            first_bet(
                &one_as
                    .iter()
                    .copied()
                    .chain(others(count))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!([1, 20, 59, 60].map(with), [20, 20, 14, 1]);
        let machine = (1..200).map(|port| listed("DE", 1, &format!("9.1.1.1:{port}")));
        assert_eq!(first_bet(&machine.collect::<Vec<_>>()), 1);
    }

    proptest! {
        /// The books of a tree: every server in one leaf, subtrees nest, counts add up.
        #[test]
        fn every_server_hangs_in_exactly_one_place(
            hosts in proptest::collection::btree_set((0u8..3, 0u32..4, 0u8..3, 0u8..3, 0u8..4, 1u16..4), 0..120),
        ) {
            let servers: Vec<Listed> = hosts
                .iter()
                .map(|&(country, asn, b, c, d, port)| {
                    let country = ["DE", "FR", "??"][usize::from(country)];
                    listed(country, asn, &format!("9.{b}.{c}.{d}:{port}"))
                })
                .collect();
            let mut tree = tree(&servers);
            let loose: u32 = tree.nodes.iter().map(|node| node.loose).sum();
            prop_assert_eq!(loose as usize, servers.len());
            prop_assert!(tree.nodes.len() <= servers.len() + 4, "no more nodes than servers");
            for (index, node) in tree.nodes.iter().enumerate() {
                prop_assert!(node.end as usize > index && node.end as usize <= tree.nodes.len());
                let parent = tree.node(node.parent);
                prop_assert!(node.end <= parent.end);
                prop_assert!(node.slots().end <= parent.slots().end);
            }
            for id in (0..servers.len()).map(ServerId::from_index) {
                let path = tree.path(id);
                let leaf = path.nodes()[0];
                prop_assert!(tree.servers_from(leaf, Part::Loose, 0).any(|other| other == id));
                prop_assert_eq!(tree.node(path.country()).level, Level::Country);
                tree.take(id);
            }
            prop_assert!(tree.nodes.iter().all(|node| node.unprobed == 0 && node.unprobed_loose == 0));
        }
    }
}

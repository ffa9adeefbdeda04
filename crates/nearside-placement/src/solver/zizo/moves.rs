//! Where a client may hop, best candidate first. Full and unreachable servers are no candidates.

use std::cmp::Reverse;

use super::tree::Tree;
use crate::solver::Seating;
use crate::{ClientId, Delay, Instance, ServerId};

/// Which way clients zoom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Direction {
    /// Towards the core; with the distances of all servers to it, which every hop asks for.
    In { to_core: Vec<Delay> },
    /// Away from it, to servers in use.
    Out,
}

impl Direction {
    pub(super) fn towards(core: ServerId, instance: &Instance) -> Self {
        let servers = instance.server_ids();
        let to_core = servers.map(|server| instance.separation(server, core));
        Self::In {
            to_core: to_core.collect(),
        }
    }
}

/// Steps 3 and 4 of the paper, searching all servers; at most `wanted` candidates.
///
/// Zooming in: farther from the client than its present server, closer to the core; the closest to
/// the client first. Zooming out: in use, closer to the client than its present server; the farthest
/// first. (The closing sentence of step 4 contradicts its rule; the rule is used.)
pub(super) fn by_search(
    seating: &Seating<'_>,
    client: ClientId,
    present: ServerId,
    direction: &Direction,
    wanted: usize,
) -> Vec<ServerId> {
    let row = seating.instance().access_row(client);
    let distance = |server: ServerId| row[server.index()];
    let fits = |server: &ServerId| distance(*server).is_usable() && seating.has_place(*server);
    match direction {
        Direction::In { to_core } => {
            let to_core = |server: ServerId| to_core[server.index()];
            let servers = seating.instance().server_ids();
            let candidates = servers
                .filter(|&server| distance(server) > distance(present))
                .filter(|&server| to_core(server) < to_core(present))
                .filter(fits);
            first(candidates, wanted, |server| (distance(server), server))
        }
        Direction::Out => {
            let in_use = seating.in_use().iter().copied();
            let candidates = in_use
                .filter(|&server| distance(server) < distance(present))
                .filter(fits);
            first(candidates, wanted, |server| {
                (Reverse(distance(server)), server)
            })
        }
    }
}

/// The first candidates by a key. Most clients want one, and finding it is cheaper than sorting all.
fn first<K: Ord>(
    candidates: impl Iterator<Item = ServerId>,
    wanted: usize,
    key: impl Fn(ServerId) -> K,
) -> Vec<ServerId> {
    if wanted == 1 {
        return candidates
            .min_by_key(|&server| key(server))
            .into_iter()
            .collect();
    }
    let mut sorted: Vec<ServerId> = candidates.collect();
    sorted.sort_by_key(|&server| key(server));
    sorted.truncate(wanted);
    sorted
}

/// The same along a tree from the core (section 3.3): zooming in, the parent; zooming out, the
/// children in use, the closest to the client first. (Children that are not in use would undo the
/// zooming in: step 4 looks at contact servers only.)
pub(super) fn along_tree(
    seating: &Seating<'_>,
    client: ClientId,
    present: ServerId,
    direction: &Direction,
    tree: &Tree,
) -> Vec<ServerId> {
    let instance = seating.instance();
    let distance = |server: ServerId| instance.access(client, server);
    let mut candidates: Vec<ServerId> = match direction {
        Direction::In { .. } => tree.parent(present).into_iter().collect(),
        Direction::Out => {
            let children = tree.children(present).iter().copied();
            children.filter(|&child| seating.load(child) > 0).collect()
        }
    };
    candidates.retain(|&server| distance(server).is_usable() && seating.has_place(server));
    candidates.sort_by_key(|&server| (distance(server), server));
    candidates
}

//! Where a client may hop, best candidate first. Full and unreachable servers are no candidates.

use std::cmp::Reverse;

use super::tree::Tree;
use crate::solver::Seating;
use crate::{ClientId, ServerId};

/// Which way clients zoom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// Towards the core.
    In(ServerId),
    /// Away from it, to servers in use.
    Out,
}

/// Steps 3 and 4 of the paper, searching all servers.
///
/// Zooming in: farther from the client than its present server, closer to the core; the closest to
/// the client first. Zooming out: in use, closer to the client than its present server; the farthest
/// first. (The closing sentence of step 4 contradicts its rule; the rule is used.)
pub(super) fn by_search(
    seating: &Seating<'_>,
    client: ClientId,
    present: ServerId,
    direction: Direction,
) -> Vec<ServerId> {
    let instance = seating.instance();
    let distance = |server: ServerId| instance.access(client, server);
    let mut candidates: Vec<ServerId> = match direction {
        Direction::In(core) => {
            let to_core = |server: ServerId| instance.separation(server, core);
            instance
                .server_ids()
                .filter(|&server| distance(server) > distance(present))
                .filter(|&server| to_core(server) < to_core(present))
                .collect()
        }
        Direction::Out => {
            let in_use = seating.in_use().iter().copied();
            in_use
                .filter(|&server| distance(server) < distance(present))
                .collect()
        }
    };
    candidates.retain(|&server| distance(server).is_usable() && seating.has_place(server));
    match direction {
        Direction::In(_) => candidates.sort_by_key(|&server| (distance(server), server)),
        Direction::Out => candidates.sort_by_key(|&server| (Reverse(distance(server)), server)),
    }
    candidates
}

/// The same along a tree from the core (section 3.3): zooming in, the parent; zooming out, the
/// children in use, the closest to the client first. (Children that are not in use would undo the
/// zooming in: step 4 looks at contact servers only.)
pub(super) fn along_tree(
    seating: &Seating<'_>,
    client: ClientId,
    present: ServerId,
    direction: Direction,
    tree: &Tree,
) -> Vec<ServerId> {
    let instance = seating.instance();
    let distance = |server: ServerId| instance.access(client, server);
    let mut candidates: Vec<ServerId> = match direction {
        Direction::In(_) => tree.parent(present).into_iter().collect(),
        Direction::Out => {
            let children = tree.children(present).iter().copied();
            children.filter(|&child| seating.load(child) > 0).collect()
        }
    };
    candidates.retain(|&server| distance(server).is_usable() && seating.has_place(server));
    candidates.sort_by_key(|&server| (distance(server), server));
    candidates
}

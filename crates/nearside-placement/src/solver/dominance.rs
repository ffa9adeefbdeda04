//! Clients that need no thought: client i is dominated by i' if d(i,j) ≤ d(i',j) at every server j
//! that i' can use at all. Wherever i' finds its server, i finds it too, within the same radius; so
//! covering i' covers i. Exact as long as servers take any number of clients.

use super::model::{Model, Near};

/// The clients that remain, ascending.
pub(super) fn kept(model: &Model<'_>) -> Vec<usize> {
    let clients = model.clients();
    let mut dropped = vec![false; clients];
    // The pickiest first: they dominate most.
    let mut order: Vec<usize> = (0..clients).collect();
    order.sort_by_key(|&client| (model.servers_near(client).len(), client));
    for &picky in &order {
        if !dropped[picky] {
            drop_dominated(model, picky, &mut dropped);
        }
    }
    (0..clients).filter(|&client| !dropped[client]).collect()
}

/// Servers at which a rival is looked at first: those next to the picky one, where few are as near as it,
/// so that most fail at once. Counting at all of them took half the time of a large model.
const FIRST_LOOKS: usize = 32;

/// Looks only at clients near the server where the fewest are as near as the picky one.
fn drop_dominated(model: &Model<'_>, picky: usize, dropped: &mut [bool]) {
    let near = model.servers_near(picky);
    let (first, others) = near.split_at(near.len().min(FIRST_LOOKS));
    let as_near = |near: &Near| model.clients_within(near.index(), near.distance);
    let mut first: Vec<Near> = first.to_vec();
    first.sort_by_cached_key(|near| (as_near(near).len(), *near));
    let Some(fewest) = first.first() else {
        return;
    };
    for rival in as_near(fewest) {
        let rival = rival.index();
        let closer_at = |servers: &[Near]| is_everywhere_closer(model, rival, servers);
        if rival != picky && !dropped[rival] && closer_at(&first) && closer_at(others) {
            dropped[rival] = true;
        }
    }
}

fn is_everywhere_closer(model: &Model<'_>, client: usize, servers: &[Near]) -> bool {
    let row = model.distances(client);
    let closer = |server: &Near| row[server.index()] <= server.distance;
    servers.iter().all(closer)
}

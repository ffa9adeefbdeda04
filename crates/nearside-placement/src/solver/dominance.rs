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

/// Servers at which a rival is looked at first: few rivals are as near as the picky one there, so most
/// fail at once.
const FIRST_LOOKS: usize = 8;

/// Looks only at clients near the server where the fewest are as near as the picky one.
fn drop_dominated(model: &Model<'_>, picky: usize, dropped: &mut [bool]) {
    let mut near: Vec<(usize, Near)> = model
        .servers_near(picky)
        .iter()
        .map(|&near| {
            (
                model.clients_within(near.index(), near.distance).len(),
                near,
            )
        })
        .collect();
    if near.len() > FIRST_LOOKS {
        near.select_nth_unstable(FIRST_LOOKS);
    }
    let Some(&(_, fewest)) = near.iter().take(FIRST_LOOKS).min() else {
        return;
    };
    for rival in model.clients_within(fewest.index(), fewest.distance) {
        let rival = rival.index();
        if rival != picky && !dropped[rival] && is_everywhere_closer(model, rival, &near) {
            dropped[rival] = true;
        }
    }
}

fn is_everywhere_closer(model: &Model<'_>, client: usize, servers: &[(usize, Near)]) -> bool {
    let row = model.distances(client);
    let closer = |(_, server): &(usize, Near)| row[server.index()] <= server.distance;
    servers.iter().all(closer)
}

//! What covering the rest costs at least. Both bounds ignore that servers get into each other's way,
//! which is what the search is for.

use super::state::State;
use crate::solver::model::{Model, Near};
use crate::{Cost, Delay};

/// The least that must still be spent to serve those who wait; `reach` is the largest radius each
/// server may have.
pub(crate) fn still_needed(model: &Model<'_>, state: &State, reach: &[Delay]) -> Cost {
    let needed = by_duals(model, state, reach);
    if model.is_capacitated() {
        needed.max(by_places(model, state, reach))
    } else {
        needed
    }
}

/// Dual ascent for set cover: clients that no open server can reach bid for servers. A bid is at most
/// what is left of the price of every server the client might use, so no server ever gets more than
/// its price, and the sum of bids is below the cost of every cover. At equal prices this picks
/// clients that pairwise share no server.
fn by_duals(model: &Model<'_>, state: &State, reach: &[Delay]) -> Cost {
    let options = |client: usize| {
        let near = model.servers_near(client).iter();
        near.filter(|near| near.distance <= reach[near.index()])
    };
    let mut needy: Vec<(usize, usize)> = Vec::new();
    for &client in state.waiting() {
        let open = |near: &Near| state.is_open(near.index());
        if !options(client).any(open) {
            needy.push((options(client).count(), client));
        }
    }
    needy.sort_unstable();
    let mut left: Vec<Cost> = (0..model.servers())
        .map(|server| model.cost(server))
        .collect();
    let mut bids = Cost::ZERO;
    for (_, client) in needy {
        let bid = options(client).map(|near| left[near.index()]).min();
        let bid = bid.unwrap_or(Cost::ZERO);
        if bid > Cost::ZERO {
            options(client).for_each(|near| left[near.index()] = left[near.index()] - bid);
            bids += bid;
        }
    }
    bids
}

/// Places: whom the open servers cannot take needs new ones, the cheapest per place first, and a part
/// of one may suffice.
fn by_places(model: &Model<'_>, state: &State, reach: &[Delay]) -> Cost {
    let takes = |server: usize| {
        let near = model.clients_within(server, reach[server]).len();
        near.min(model.places(server))
    };
    let taken: usize = state.open().iter().map(|&server| takes(server)).sum();
    let mut missing = model.clients().saturating_sub(taken);
    let mut offers: Vec<(usize, Cost)> = (0..model.servers())
        .filter(|&server| !state.is_open(server))
        .map(|server| (takes(server), model.cost(server)))
        .filter(|(places, _)| *places > 0)
        .collect();
    // a/b < c/d as a·d < c·b, in whole numbers.
    offers.sort_by(|(places, cost), (other_places, other_cost)| {
        let one = u128::from(cost.parts()) * *other_places as u128;
        let other = u128::from(other_cost.parts()) * *places as u128;
        one.cmp(&other)
    });
    let mut needed = Cost::ZERO;
    for (places, cost) in offers {
        if missing == 0 {
            break;
        }
        let used = places.min(missing);
        let part = u128::from(cost.parts()) * used as u128 / places as u128;
        needed += Cost::of_parts(part as u64);
        missing -= used;
    }
    needed
}

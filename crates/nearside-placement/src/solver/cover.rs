//! With caps fixed the problem is set cover: greedily the server that serves most for its price, then
//! without those that turned out to be needless.

use std::collections::BinaryHeap;

use super::budget::Budget;
use super::caps::Caps;
use super::matching::Matching;
use super::model::{Model, Near};
use super::plan::Plan;
use crate::{Cost, Delay};

/// Radii under the caps that serve everybody and cost less than `dearest`, if the greedy way finds
/// them before the time is up. `lot` breaks ties.
pub(crate) fn cover(
    model: &Model<'_>,
    budget: &Budget<'_>,
    caps: &Caps,
    dearest: Cost,
    lot: impl Fn(usize) -> u32,
) -> Option<Plan> {
    if budget.time_is_up() {
        return None;
    }
    let open = if model.is_capacitated() {
        open_by_places(model, budget, caps, dearest, lot)?
    } else {
        let open = open_greedily(model, caps, dearest, lot)?;
        without_needless(model, caps, open)
    };
    Some(shrunk(model, caps, &open))
}

/// An offer in the queue: how many it serves per price when last looked at, the lot, the server.
type Offer = (u64, u32, usize);

fn value(served: usize, cost: Cost) -> u64 {
    ((served as u64) << 40) / cost.parts().max(1)
}

/// Lazy greedy: an offer that is still on top after a fresh look is the best, as offers only get worse.
fn open_greedily(
    model: &Model<'_>,
    caps: &Caps,
    dearest: Cost,
    lot: impl Fn(usize) -> u32,
) -> Option<Vec<usize>> {
    let within = |server: usize| model.clients_within(server, caps.get(server));
    let mut offers: BinaryHeap<Offer> = (0..model.servers())
        .filter(|&server| !within(server).is_empty())
        .map(|server| {
            (
                value(within(server).len(), model.cost(server)),
                lot(server),
                server,
            )
        })
        .collect();
    let mut served = vec![false; model.clients()];
    let mut left = model.clients();
    let (mut open, mut spent) = (Vec::new(), Cost::ZERO);
    while left > 0 {
        let (_, lot, server) = offers.pop()?;
        let new = |near: &&Near| !served[near.index()];
        let gain = within(server).iter().filter(new).count();
        let fresh = (value(gain, model.cost(server)), lot, server);
        if gain == 0 {
            continue;
        }
        if offers.peek().is_some_and(|best| *best > fresh) {
            offers.push(fresh);
            continue;
        }
        spent += model.cost(server);
        if spent >= dearest {
            return None;
        }
        left -= gain;
        within(server)
            .iter()
            .for_each(|near| served[near.index()] = true);
        open.push(server);
    }
    Some(open)
}

/// Drops servers all of whose clients are served by others, the dearest and latest first.
fn without_needless(model: &Model<'_>, caps: &Caps, mut open: Vec<usize>) -> Vec<usize> {
    let within = |server: usize| model.clients_within(server, caps.get(server));
    let mut servings = vec![0u32; model.clients()];
    for &server in &open {
        within(server)
            .iter()
            .for_each(|near| servings[near.index()] += 1);
    }
    let mut order = open.clone();
    order.reverse();
    order.sort_by_key(|&server| std::cmp::Reverse(model.cost(server)));
    for server in order {
        if within(server).iter().all(|near| servings[near.index()] > 1) {
            within(server)
                .iter()
                .for_each(|near| servings[near.index()] -= 1);
            open.retain(|&other| other != server);
        }
    }
    open
}

/// The same with limited places: opens the server with the most useful places, seats whom it can.
fn open_by_places(
    model: &Model<'_>,
    budget: &Budget<'_>,
    caps: &Caps,
    dearest: Cost,
    lot: impl Fn(usize) -> u32,
) -> Option<Vec<usize>> {
    let mut matching = Matching::new(model);
    let mut waiting: Vec<usize> = (0..model.clients()).collect();
    let mut is_open = vec![false; model.servers()];
    let (mut open, mut spent) = (Vec::new(), Cost::ZERO);
    let mut free = 0usize;
    while !waiting.is_empty() {
        if budget.time_is_up() {
            return None;
        }
        let gain = |server: usize| {
            let within = |client: &&usize| model.distance(**client, server) <= caps.get(server);
            let served = waiting.iter().filter(within).count();
            value(served.min(model.places(server)), model.cost(server))
        };
        let closed = (0..model.servers()).filter(|&server| !is_open[server]);
        let best = closed.max_by_key(|&server| (gain(server), lot(server), server))?;
        spent += model.cost(best);
        if spent >= dearest || gain(best) == 0 {
            return None;
        }
        is_open[best] = true;
        open.push(best);
        free = free.saturating_add(model.places(best));
        waiting.retain(|&client| {
            let allows =
                |near: Near| is_open[near.index()] && near.distance <= caps.get(near.index());
            // Without a free place no search can end well, and each takes as long as a good one.
            let seated = free > 0 && matching.seat(model, client, allows).is_ok();
            free -= usize::from(seated);
            !seated
        });
    }
    Some(open)
}

/// Radii no larger than they have to be, once everybody sits at the nearest open server.
fn shrunk(model: &Model<'_>, caps: &Caps, open: &[usize]) -> Plan {
    let mut radii: Vec<Option<Delay>> = vec![None; model.servers()];
    for &server in open {
        radii[server] = Some(caps.get(server));
    }
    Plan::new(radii).shrunk(model)
}

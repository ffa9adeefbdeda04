//! A regrouping without search, for when the budget ends first: around some server, those stay who are
//! within the caps it leaves.

use std::cmp::Reverse;

use crate::solver::{Caps, Matching, Model, Near};
use crate::{Budget, ClientId, Task};

/// Servers tried between two looks at the clock.
const BATCH: usize = 8;

/// Whom the best anchor cannot serve, ascending. Anchors are tried as long as there is time, those that
/// most players are near to first, and one of them in any case.
pub(super) fn leave_out(task: Task<'_>, budget: &Budget<'_>) -> Vec<ClientId> {
    let everybody: Vec<ClientId> = task.instance.client_ids().collect();
    // Capacities make dominance invalid, and so does serving a part only: nobody is left out here.
    let model = Model::undominated(task, everybody.clone());
    let mut anchors: Vec<usize> = (0..model.servers()).collect();
    anchors.sort_by_key(|&anchor| (Reverse(model.clients_near(anchor).len()), anchor));
    let (first, others) = anchors.split_at(anchors.len().min(1));
    let mut best = Served::nobody(&model);
    for batch in std::iter::once(first).chain(others.chunks(BATCH)) {
        let tried = budget.map(batch.len(), |place| Served::around(&model, batch[place]));
        best = tried.into_iter().fold(best, Served::more);
        if budget.time_is_up() {
            break;
        }
    }
    let left_out = everybody.into_iter().zip(best.0);
    left_out
        .filter(|(_, served)| !served)
        .map(|(client, _)| client)
        .collect()
}

/// Who has a seat, by place in the model.
struct Served(Vec<bool>);

impl Served {
    fn nobody(model: &Model<'_>) -> Self {
        Self(vec![false; model.clients()])
    }

    fn around(model: &Model<'_>, anchor: usize) -> Self {
        let caps = Caps::anchored(model, anchor);
        let allows = |near: Near| near.distance <= caps.get(near.index());
        let mut matching = Matching::new(model);
        let mut seat = |client: usize| match model.is_capacitated() {
            true => matching.seat(model, client, allows).is_ok(),
            false => model.servers_near(client).iter().any(|&near| allows(near)),
        };
        Self((0..model.clients()).map(&mut seat).collect())
    }

    fn number(&self) -> usize {
        self.0.iter().filter(|&&served| served).count()
    }

    /// The better of two, and of equals the first.
    fn more(self, other: Self) -> Self {
        match other.number() > self.number() {
            true => other,
            false => self,
        }
    }
}

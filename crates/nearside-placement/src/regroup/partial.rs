//! A regrouping without search, for when the budget ends first: around some server, those stay who are
//! within the caps it leaves.

use crate::solver::{Caps, Matching, Model};
use crate::{ClientId, Task};

/// Whom the best anchor cannot serve, ascending.
pub(super) fn leave_out(task: Task<'_>) -> Vec<ClientId> {
    let everybody: Vec<ClientId> = task.instance.client_ids().collect();
    // Capacities make dominance invalid, and so does serving a part only: nobody is left out here.
    let model = Model::undominated(task, everybody.clone());
    let served = (0..model.servers())
        .map(|anchor| served_around(&model, anchor))
        .max_by_key(|served| served.iter().filter(|&&served| served).count())
        .unwrap_or_default();
    let left_out = everybody.into_iter().zip(served);
    left_out
        .filter(|(_, served)| !served)
        .map(|(client, _)| client)
        .collect()
}

fn served_around(model: &Model<'_>, anchor: usize) -> Vec<bool> {
    let caps = Caps::anchored(model, anchor);
    let mut matching = Matching::new(model);
    let allows = |near: crate::solver::Near| near.distance <= caps.get(near.index());
    (0..model.clients())
        .map(|client| matching.seat(model, client, allows).is_ok())
        .collect()
}

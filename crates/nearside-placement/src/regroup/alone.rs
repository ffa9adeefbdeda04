//! Players who have no server within reach, whoever else plays. Found by one look at the delays, so
//! that even a budget of nothing names them.

use super::Conflict;
use crate::{ClientId, Delay, Instance, Task};

/// A conflict for each of them, ascending.
pub(super) fn conflicts(task: Task<'_>) -> Vec<Conflict> {
    let reach = task.instance.network_budget(task.bound).half();
    let everybody = task.instance.client_ids();
    everybody
        .filter_map(|client| {
            let nearest = nearest_place(task.instance, client);
            let within = nearest.is_some_and(|distance| distance <= reach);
            (!within).then(|| Conflict {
                clients: vec![client],
                delay: nearest.and_then(|distance| delay_alone(task.instance, distance)),
                is_minimal: true,
            })
        })
        .collect()
}

/// The way to the nearest server that takes anybody.
fn nearest_place(instance: &Instance, client: ClientId) -> Option<Delay> {
    let ways = instance.access_row(client).iter().zip(instance.servers());
    let open = ways.filter(|(way, server)| way.is_usable() && server.capacity != Some(0));
    open.map(|(&way, _)| way).min()
}

/// There and back.
fn delay_alone(instance: &Instance, distance: Delay) -> Option<Delay> {
    let delay = distance + distance + instance.processing();
    (delay <= Delay::LONGEST).then_some(delay)
}

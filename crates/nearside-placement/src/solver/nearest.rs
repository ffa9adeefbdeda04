use super::least::least_cost;
use super::{Budget, Counts, Outcome, Seating, Solver, Task};
use crate::{ClientId, Cost, ServerId};

/// Every client at the nearest server with a free place, in client order: the paper's step 1, and
/// what conference bridges do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Nearest;

impl Solver for Nearest {
    fn name(&self) -> &'static str {
        "nearest"
    }

    fn solve(&self, task: Task<'_>, budget: &Budget<'_>) -> Outcome {
        let mut seating = Seating::empty(task.instance, task.bound);
        let mut counts = Counts::default();
        let least = least_cost(task.instance);
        match seat_all(&mut seating, &mut counts, budget) {
            Ok(()) => Outcome::seated(&seating, least, counts),
            Err(no_seat) => no_seat.outcome(least, counts),
        }
    }
}

/// Why somebody has no seat.
#[derive(Debug)]
pub(super) enum NoSeat {
    /// No server with a free place can be reached.
    Nowhere,
    /// The time ended first.
    OutOfTime,
}

impl NoSeat {
    pub(super) fn outcome(&self, least: Cost, counts: Counts) -> Outcome {
        match self {
            Self::Nowhere => Outcome::unseated(least, counts),
            Self::OutOfTime => Outcome::out_of_budget(least, counts),
        }
    }
}

pub(super) fn seat_all(
    seating: &mut Seating<'_>,
    counts: &mut Counts,
    budget: &Budget<'_>,
) -> Result<(), NoSeat> {
    for client in seating.instance().client_ids() {
        if budget.time_is_up() {
            return Err(NoSeat::OutOfTime);
        }
        let server = nearest_place(seating, client).ok_or(NoSeat::Nowhere)?;
        seating.seat(client, server);
        counts.probes += 1;
    }
    Ok(())
}

fn nearest_place(seating: &Seating<'_>, client: ClientId) -> Option<ServerId> {
    let instance = seating.instance();
    let reachable = |server: &ServerId| instance.access(client, *server).is_usable();
    instance
        .server_ids()
        .filter(|server| reachable(server) && seating.has_place(*server))
        .min_by_key(|&server| (instance.access(client, server), server))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::{Delay, Instance, samples};

    fn solve(instance: &Instance, bound: f64) -> Outcome {
        let bound = Delay::from_millis(bound).unwrap();
        Nearest.solve(Task { instance, bound }, &Budget::unlimited(0))
    }

    #[test]
    fn everybody_goes_to_the_nearest() {
        let outcome = solve(&samples::figure1(), 4.0);
        assert_eq!(outcome.status, Status::Feasible);
        assert_eq!(outcome.servers_used, 2);
    }

    #[test]
    fn a_violated_bound_is_told_with_the_allocation() {
        let outcome = solve(&samples::figure1(), 3.9);
        assert_eq!(outcome.status, Status::BoundUnmet);
        assert_eq!(outcome.delay, Delay::from_millis(4.0));
    }

    #[test]
    fn without_time_nobody_is_seated_and_nothing_is_claimed() {
        let instance = samples::figure1();
        let bound = Delay::from_millis(4.0).unwrap();
        let task = Task {
            instance: &instance,
            bound,
        };
        let outcome = Nearest.solve(task, &Budget::unlimited(0).with_deadline(&|| true));
        assert_eq!(outcome.status, Status::OutOfBudget);
        assert_eq!(outcome.allocation, None);
    }

    #[test]
    fn full_servers_send_clients_on() {
        let mut parts = samples::figure1_parts();
        parts.servers[0].capacity = Some(0);
        parts.servers[2].capacity = Some(0);
        let outcome = solve(&Instance::new(parts).unwrap(), 6.0);
        assert_eq!(outcome.servers_used, 1);
        let mut parts = samples::figure1_parts();
        for server in &mut parts.servers {
            server.capacity = Some(0);
        }
        let outcome = solve(&Instance::new(parts).unwrap(), 6.0);
        assert_eq!(outcome.allocation, None);
        assert_eq!(outcome.status, Status::Infeasible);
    }
}

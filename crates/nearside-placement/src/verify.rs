//! The judge: the session delay by the paper's own formula, term by term. Shares no code with any
//! solver, and is slower than it could be on purpose.

use serde::Serialize;
use thiserror::Error;

use crate::{Allocation, ClientId, Cost, Delay, Instance, ServerId};

/// What an allocation is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The session synchronization delay, processing included.
    pub delay: Delay,
    /// The path that takes this long.
    pub critical: CriticalPath,
    /// Clients at each server, by server id.
    pub loads: Vec<usize>,
    /// Servers with at least one client.
    pub servers_used: usize,
    /// The sum of what they cost.
    pub cost: Cost,
    /// Everything that is wrong; empty for a good allocation.
    pub breaches: Vec<Breach>,
}

/// The slowest way from one player's action to another player's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CriticalPath {
    /// Whose action is last to arrive.
    pub from: ClientId,
    /// Its contact server.
    pub entry: ServerId,
    /// The server that waits for it.
    pub exit: ServerId,
    /// The client that hears of it last.
    pub to: ClientId,
}

/// One thing that is wrong with an allocation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Breach {
    /// The session takes longer than the bound.
    #[error("the delay {delay} is above the bound {bound}")]
    TooSlow {
        /// What it takes.
        delay: Delay,
        /// What it may take.
        bound: Delay,
    },
    /// A client sits at a server that it cannot reach.
    #[error("client {client} cannot reach server {server}")]
    NoAccess {
        /// The client.
        client: ClientId,
        /// Its contact server.
        server: ServerId,
    },
    /// Two servers in use have no path between them.
    #[error("there is no path from server {from} to server {to}")]
    NoPath {
        /// The one.
        from: ServerId,
        /// The other.
        to: ServerId,
    },
    /// A server has more clients than places.
    #[error("server {server} has {load} clients and {places} places")]
    Overloaded {
        /// The server.
        server: ServerId,
        /// Its clients.
        load: usize,
        /// Its places.
        places: u32,
    },
}

/// Why an allocation cannot be judged: it is not one of this instance.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VerifyError {
    /// It speaks of more or fewer clients.
    #[error("the allocation has {found} clients, the instance {expected}")]
    Clients {
        /// Clients of the instance.
        expected: usize,
        /// Clients of the allocation.
        found: usize,
    },
    /// It names a server that is not there.
    #[error("client {client} is at server {server}, but there are {servers} servers")]
    UnknownServer {
        /// The client.
        client: ClientId,
        /// What it says.
        server: ServerId,
        /// How many there are.
        servers: usize,
    },
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.breaches.is_empty()
    }
}

/// Judges an allocation: D_s(A) = max over servers j in use of { max over all clients i of
/// D_u(i,j) + max over clients i of j of d_c(i,j) }, with D_u(i,j) = d_c(i,A(i)) + d_s(A(i),j)
/// (Lee, Ko and Calo 2004, section 2.2), plus the processing delay.
///
/// # Errors
/// When the allocation does not belong to the instance.
pub fn verify(
    instance: &Instance,
    allocation: &Allocation,
    bound: Delay,
) -> Result<Verdict, VerifyError> {
    belongs(instance, allocation)?;
    let loads = loads(instance, allocation);
    let used: Vec<ServerId> = instance
        .server_ids()
        .filter(|server| loads[server.index()] > 0)
        .collect();
    let (network, critical) = slowest(instance, allocation, &used);
    let delay = network + instance.processing();
    let mut breaches = unreachable(instance, allocation, &used);
    breaches.extend(overloads(instance, &loads));
    if delay > bound + Delay::TOLERANCE {
        breaches.push(Breach::TooSlow { delay, bound });
    }
    let price = |server: &ServerId| instance.servers()[server.index()].cost;
    Ok(Verdict {
        delay,
        critical,
        servers_used: used.len(),
        cost: used.iter().map(price).sum(),
        loads,
        breaches,
    })
}

fn belongs(instance: &Instance, allocation: &Allocation) -> Result<(), VerifyError> {
    let expected = instance.clients().len();
    let found = allocation.clients();
    if found != expected {
        return Err(VerifyError::Clients { expected, found });
    }
    let servers = instance.servers().len();
    for client in instance.client_ids() {
        let server = allocation.server_of(client);
        if server.index() >= servers {
            return Err(VerifyError::UnknownServer {
                client,
                server,
                servers,
            });
        }
    }
    Ok(())
}

fn loads(instance: &Instance, allocation: &Allocation) -> Vec<usize> {
    let mut loads = vec![0; instance.servers().len()];
    for client in instance.client_ids() {
        loads[allocation.server_of(client).index()] += 1;
    }
    loads
}

/// The outer maximum of the formula, with who attains it.
fn slowest(
    instance: &Instance,
    allocation: &Allocation,
    used: &[ServerId],
) -> (Delay, CriticalPath) {
    let through = |&exit: &ServerId| {
        let (up, from) = farthest_upstream(instance, allocation, exit);
        let (down, to) = farthest_downstream(instance, allocation, exit);
        let entry = allocation.server_of(from);
        let path = CriticalPath {
            from,
            entry,
            exit,
            to,
        };
        (up + down, path)
    };
    used.iter()
        .map(through)
        .max_by_key(|(delay, _)| *delay)
        .expect("an instance has clients, so a server is in use")
}

/// max over all clients i of D_u(i,j), and who that is.
fn farthest_upstream(
    instance: &Instance,
    allocation: &Allocation,
    exit: ServerId,
) -> (Delay, ClientId) {
    let upstream = |client| {
        let entry = allocation.server_of(client);
        let delay = instance.access(client, entry) + instance.between(entry, exit);
        (delay, client)
    };
    instance
        .client_ids()
        .map(upstream)
        .max()
        .expect("an instance has clients")
}

/// max over the clients i of j of d_c(i,j), and who that is.
fn farthest_downstream(
    instance: &Instance,
    allocation: &Allocation,
    exit: ServerId,
) -> (Delay, ClientId) {
    instance
        .client_ids()
        .filter(|&client| allocation.server_of(client) == exit)
        .map(|client| (instance.access(client, exit), client))
        .max()
        .expect("a server in use has clients")
}

fn unreachable(instance: &Instance, allocation: &Allocation, used: &[ServerId]) -> Vec<Breach> {
    let clients = instance.client_ids().filter_map(|client| {
        let server = allocation.server_of(client);
        let reached = instance.access(client, server).is_usable();
        (!reached).then_some(Breach::NoAccess { client, server })
    });
    let pairs = used
        .iter()
        .flat_map(|&from| used.iter().map(move |&to| (from, to)));
    let pairs = pairs.filter(|&(from, to)| !instance.between(from, to).is_usable());
    clients
        .chain(pairs.map(|(from, to)| Breach::NoPath { from, to }))
        .collect()
}

fn overloads(instance: &Instance, loads: &[usize]) -> Vec<Breach> {
    let overload = |server: ServerId| {
        let places = instance.servers()[server.index()].capacity?;
        let load = loads[server.index()];
        (load > places as usize).then_some(Breach::Overloaded {
            server,
            load,
            places,
        })
    };
    instance.server_ids().filter_map(overload).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn at(contacts: [usize; 2]) -> Allocation {
        Allocation::new(contacts.map(ServerId::new).to_vec())
    }

    fn bound(millis: f64) -> Delay {
        Delay::from_millis(millis).unwrap()
    }

    #[test]
    fn figure_1_takes_10_6_and_4() {
        let instance = samples::figure1();
        for (contacts, delay) in [([0, 0], 10.0), ([1, 1], 6.0), ([0, 2], 4.0)] {
            let verdict = verify(&instance, &at(contacts), bound(10.0)).unwrap();
            assert_eq!(verdict.delay.as_millis(), delay, "{contacts:?}");
            assert!(verdict.is_good());
        }
    }

    #[test]
    fn the_critical_path_of_figure_1_runs_along_the_line() {
        let instance = samples::figure1();
        let verdict = verify(&instance, &at([0, 2]), bound(3.0)).unwrap();
        let CriticalPath {
            from,
            entry,
            exit,
            to,
        } = verdict.critical;
        assert_ne!(from, to);
        assert_ne!(entry, exit);
        let too_slow = Breach::TooSlow {
            delay: bound(4.0),
            bound: bound(3.0),
        };
        assert_eq!(verdict.breaches, [too_slow]);
    }

    #[test]
    fn processing_counts_once() {
        let mut parts = samples::figure1_parts();
        parts.processing = bound(2.5);
        let instance = Instance::new(parts).unwrap();
        let verdict = verify(&instance, &at([1, 1]), bound(8.5)).unwrap();
        assert_eq!(verdict.delay.as_millis(), 8.5);
        assert!(verdict.is_good());
    }

    #[test]
    fn the_worse_direction_between_servers_counts() {
        let mut parts = samples::figure1_parts();
        parts.server_server.set(0, 2, bound(7.0));
        let instance = Instance::new(parts).unwrap();
        let verdict = verify(&instance, &at([0, 2]), bound(9.0)).unwrap();
        assert_eq!(verdict.delay.as_millis(), 9.0);
        assert_eq!(verdict.critical.entry, ServerId::new(0));
    }

    #[test]
    fn unreachable_servers_and_full_ones_are_told() {
        let mut parts = samples::figure1_parts();
        parts.servers[1].capacity = Some(1);
        parts.client_server.set(0, 1, Delay::UNREACHABLE);
        parts.server_server.set(0, 2, Delay::UNREACHABLE);
        let instance = Instance::new(parts).unwrap();
        let crowded = verify(&instance, &at([1, 1]), Delay::LONGEST).unwrap();
        let told = |breach: &Breach| match breach {
            Breach::NoAccess { .. } => "access",
            Breach::NoPath { .. } => "path",
            Breach::Overloaded { .. } => "load",
            Breach::TooSlow { .. } => "slow",
        };
        let all: Vec<&str> = crowded.breaches.iter().map(told).collect();
        assert_eq!(all, ["access", "load", "slow"]);
        let apart = verify(&instance, &at([0, 2]), Delay::LONGEST).unwrap();
        assert!(apart.breaches.iter().any(|breach| told(breach) == "path"));
    }

    #[test]
    fn an_allocation_of_another_instance_is_refused() {
        let instance = samples::figure1();
        let short = Allocation::all_at(ServerId::new(0), 1);
        let clients = verify(&instance, &short, bound(9.0)).unwrap_err();
        assert!(matches!(clients, VerifyError::Clients { .. }));
        let beyond = verify(&instance, &at([0, 3]), bound(9.0)).unwrap_err();
        assert!(matches!(beyond, VerifyError::UnknownServer { .. }));
    }
}

//! What a placement is about: clients, servers, the delays between them, places and prices.

mod closure;
mod edit;
mod error;
mod graph;
mod json;
mod object;

pub use error::InstanceError;
pub(crate) use error::is_printable;
pub use graph::{DEFAULT_NEIGHBOURS, ServerGraph};
pub use json::{PlacementFile, PlacementFileError};
pub(crate) use json::{ServerForm, delay, server_server, servers};
pub(crate) use object::{Object, Written};

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{ClientId, Cost, Delay, DelayMatrix, ServerId};

/// Whether numbers are one-way delays or round trips. Solvers know one-way delays only: a round
/// trip counts as two equal halves, as nothing in it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Latency {
    /// From one end to the other.
    #[default]
    OneWay,
    /// There and back.
    RoundTrip,
}

/// A server that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name, unlike all others'.
    pub name: String,
    /// How many clients it takes; `None` for any number.
    pub capacity: Option<u32>,
    /// What using it costs.
    pub cost: Cost,
}

impl Server {
    /// A server of any capacity at the default price.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            capacity: None,
            cost: Cost::ONE,
        }
    }

    /// Clients it takes, at most `clients`.
    pub(crate) fn places(&self, clients: usize) -> usize {
        self.capacity.map_or(clients, |places| places as usize)
    }
}

/// What an [`Instance`] is made of; `Instance::new` checks it.
#[derive(Debug, Clone)]
pub struct InstanceParts {
    /// Names of the clients.
    pub clients: Vec<String>,
    /// The servers.
    pub servers: Vec<Server>,
    /// A row for each client, a column for each server.
    pub client_server: DelayMatrix,
    /// From the row's server to the column's. The two directions may differ: the session delay takes
    /// the worse one in any case, as every server waits for every client.
    pub server_server: DelayMatrix,
    /// What the numbers of both matrices are.
    pub latency: Latency,
    /// What a server needs to compute a new state, once per action.
    pub processing: Delay,
    /// Which servers are neighbours, for the tree of ZIZO-Tr; `None` for the default graph.
    pub graph: Option<ServerGraph>,
}

/// A checked instance: shapes fit, names are unique, every cell is a one-way delay or unreachable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    clients: Vec<String>,
    servers: Vec<Server>,
    access: DelayMatrix,
    between: DelayMatrix,
    processing: Delay,
    graph: Option<ServerGraph>,
}

impl Instance {
    /// Checks the parts and turns round trips into one-way delays.
    ///
    /// # Errors
    /// The first thing that does not fit, by name.
    pub fn new(parts: InstanceParts) -> Result<Self, InstanceError> {
        if parts.clients.is_empty() {
            return Err(InstanceError::NoClients);
        }
        Self::of_servers(parts)
    }

    /// The same, also without clients: where a session starts.
    pub(crate) fn of_servers(parts: InstanceParts) -> Result<Self, InstanceError> {
        error::check(&parts)?;
        let mut instance = Self {
            clients: parts.clients,
            servers: parts.servers,
            access: parts.client_server,
            between: parts.server_server,
            processing: parts.processing,
            graph: parts.graph,
        };
        instance.clear_diagonal();
        if parts.latency == Latency::RoundTrip {
            instance.access.map(|round_trip| round_trip.scaled(0.5));
            instance.between.map(|round_trip| round_trip.scaled(0.5));
        }
        Ok(instance)
    }

    /// An unknown distance of a server to itself is none.
    fn clear_diagonal(&mut self) {
        for server in 0..self.servers.len() {
            self.between.set(server, server, Delay::ZERO);
        }
    }

    /// Names of the clients, in the order of their ids.
    pub fn clients(&self) -> &[String] {
        &self.clients
    }

    /// The servers, in the order of their ids.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// All client ids.
    pub fn client_ids(&self) -> impl Iterator<Item = ClientId> + use<> {
        (0..self.clients.len()).map(ClientId::new)
    }

    /// All server ids.
    pub fn server_ids(&self) -> impl Iterator<Item = ServerId> + use<> {
        (0..self.servers.len()).map(ServerId::new)
    }

    /// One client's name.
    pub fn client_name(&self, client: ClientId) -> &str {
        &self.clients[client.index()]
    }

    /// One server's name.
    pub fn server_name(&self, server: ServerId) -> &str {
        &self.servers[server.index()].name
    }

    /// Ids by name, for those who have names only.
    pub fn clients_by_name(&self) -> HashMap<&str, ClientId> {
        let names = self.clients.iter().map(String::as_str);
        names.zip(self.client_ids()).collect()
    }

    /// Ids by name, for those who have names only.
    pub fn servers_by_name(&self) -> HashMap<&str, ServerId> {
        let names = self.servers.iter().map(|server| server.name.as_str());
        names.zip(self.server_ids()).collect()
    }

    /// One-way delay between a client and a server, d_c of the paper.
    pub fn access(&self, client: ClientId, server: ServerId) -> Delay {
        self.access.get(client.index(), server.index())
    }

    /// One-way delays of a client to all servers.
    pub fn access_row(&self, client: ClientId) -> &[Delay] {
        self.access.row(client.index())
    }

    /// One-way delay from one server to another, d_s of the paper.
    pub fn between(&self, from: ServerId, to: ServerId) -> Delay {
        self.between.get(from.index(), to.index())
    }

    /// The worse direction between two servers: both pass actions to each other, so this is what
    /// every bound sees.
    pub fn separation(&self, one: ServerId, other: ServerId) -> Delay {
        self.between(one, other).max(self.between(other, one))
    }

    /// What a server needs to compute a new state.
    pub const fn processing(&self) -> Delay {
        self.processing
    }

    /// The server graph the instance brings, if any.
    pub const fn graph(&self) -> Option<&ServerGraph> {
        self.graph.as_ref()
    }

    /// What is left of `bound` for the network, with the tolerance of rounding. Negative when
    /// processing alone takes longer.
    pub fn network_budget(&self, bound: Delay) -> Delay {
        bound - self.processing + Delay::TOLERANCE
    }

    /// Whether some server may run out of places.
    pub fn has_capacities(&self) -> bool {
        let clients = self.clients.len();
        let short = |server: &Server| server.places(clients) < clients;
        self.servers.iter().any(short)
    }

    /// Whether all servers cost the default, so that costs are numbers of servers.
    pub fn has_unit_costs(&self) -> bool {
        self.servers.iter().all(|server| server.cost == Cost::ONE)
    }

    /// Places for these clients on all servers that at least one of them reaches, however far;
    /// `None` when one such server takes any number.
    pub fn places_for(&self, clients: &[ClientId]) -> Option<usize> {
        let reached = |server: &ServerId| {
            let mut ways = clients.iter().map(|&client| self.access(client, *server));
            ways.any(Delay::is_usable)
        };
        let capacities = self.server_ids().filter(reached);
        let capacities = capacities.map(|server| self.servers[server.index()].capacity);
        capacities
            .map(|places| places.map(|places| places as usize))
            .sum()
    }

    /// How many places there are, when that is fewer than clients. No bound helps then, and nobody in
    /// particular is in the way.
    pub fn too_few_places(&self) -> Option<usize> {
        let capacities = self.servers.iter().map(|server| server.capacity);
        let places: Option<usize> = capacities.map(|places| Some(places? as usize)).sum();
        places.filter(|&places| places < self.clients.len())
    }

    /// The same instance with the delays between servers replaced by shortest paths over servers:
    /// what holds when servers forward for each other, as in the paper's server network. Unknown
    /// cells between connected servers become known.
    #[must_use]
    pub fn metric_closure(mut self) -> Self {
        closure::close(&mut self.between);
        self
    }

    /// Whether no path over a third server is shorter than a direct one.
    pub fn is_metric(&self) -> bool {
        closure::is_closed(&self.between)
    }

    /// The instance with so many places on each server whose capacity is not limited yet.
    #[must_use]
    pub fn with_capacity(mut self, places: u32) -> Self {
        for server in &mut self.servers {
            server.capacity.get_or_insert(places);
        }
        self
    }

    /// The instance without these servers.
    ///
    /// # Panics
    /// When none would be left.
    #[must_use]
    pub fn without_servers(&self, gone: &[ServerId]) -> Self {
        let left: Vec<ServerId> = self.server_ids().filter(|id| !gone.contains(id)).collect();
        assert!(!left.is_empty(), "an instance needs a server");
        Self {
            clients: self.clients.clone(),
            servers: left
                .iter()
                .map(|id| self.servers[id.index()].clone())
                .collect(),
            access: DelayMatrix::from_fn(self.clients.len(), left.len(), |client, server| {
                self.access.get(client, left[server].index())
            }),
            between: DelayMatrix::from_fn(left.len(), left.len(), |from, to| {
                self.between(left[from], left[to])
            }),
            processing: self.processing,
            graph: None,
        }
    }

    /// The instance with these clients only, in this order; for regrouping and sub-sessions.
    #[must_use]
    pub fn restricted_to(&self, clients: &[ClientId]) -> Self {
        let columns = self.servers.len();
        let name = |client: &ClientId| self.clients[client.index()].clone();
        Self {
            clients: clients.iter().map(name).collect(),
            access: DelayMatrix::from_fn(clients.len(), columns, |row, column| {
                self.access.get(clients[row].index(), column)
            }),
            servers: self.servers.clone(),
            between: self.between.clone(),
            processing: self.processing,
            graph: self.graph.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn round_trips_count_half() {
        let mut parts = samples::figure1_parts();
        parts.latency = Latency::RoundTrip;
        let instance = Instance::new(parts).unwrap();
        let half = instance.access(ClientId::new(0), ServerId::new(1));
        assert_eq!(half.as_millis(), 1.5);
        let apart = instance.between(ServerId::new(0), ServerId::new(2));
        assert_eq!(apart.as_millis(), 1.0);
    }

    #[test]
    fn a_restriction_keeps_names_and_delays_together() {
        let instance = samples::figure1();
        let second = instance.restricted_to(&[ClientId::new(1)]);
        assert_eq!(second.clients(), ["c2"]);
        let row = second.access_row(ClientId::new(0));
        assert_eq!(row, instance.access_row(ClientId::new(1)));
    }

    #[test]
    fn places_are_counted_where_somebody_can_go() {
        let mut parts = samples::figure1_parts();
        for server in &mut parts.servers {
            server.capacity = Some(0);
        }
        parts.servers[1].capacity = Some(1);
        let instance = Instance::new(parts.clone()).unwrap();
        assert_eq!(instance.too_few_places(), Some(1));
        let second = [ClientId::new(1)];
        assert_eq!(instance.places_for(&second), Some(1));
        parts.client_server.set(1, 1, Delay::UNREACHABLE);
        let instance = Instance::new(parts.clone()).unwrap();
        assert_eq!(instance.places_for(&second), Some(0));
        parts.servers[0].capacity = None;
        let instance = Instance::new(parts).unwrap();
        assert_eq!(instance.places_for(&second), None);
        assert_eq!(instance.too_few_places(), None);
    }

    #[test]
    fn an_unknown_distance_to_oneself_is_none() {
        let mut parts = samples::figure1_parts();
        parts.server_server.set(1, 1, Delay::UNREACHABLE);
        let instance = Instance::new(parts).unwrap();
        let server = ServerId::new(1);
        assert_eq!(instance.between(server, server), Delay::ZERO);
    }
}

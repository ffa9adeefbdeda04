use super::{Seating, Task, dominance};
use crate::{ClientId, Cost, Delay, DelayMatrix, Instance, Server, ServerId};

/// An instance at one bound, as the solvers beyond the paper want it: who reaches whom within half
/// the bound (no radius can be larger, as r_j + r_j ≤ Δ), nearest first, and delays between servers
/// in the worse direction. Clients and servers go by their place in these lists.
#[derive(Debug)]
pub(crate) struct Model<'i> {
    task: Task<'i>,
    limit: Delay,
    /// Everybody who is to be served.
    everybody: Vec<ClientId>,
    /// Those of them who need thought.
    clients: Vec<ClientId>,
    separation: DelayMatrix,
    near_servers: Vec<Vec<Near>>,
    near_clients: Vec<Vec<Near>>,
    places: Vec<usize>,
    costs: Vec<Cost>,
    cost_step: u64,
    capacitated: bool,
}

/// Somebody at a distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Near {
    pub(crate) distance: Delay,
    /// The place of the client or server in the model.
    pub(crate) who: u32,
}

impl Near {
    pub(crate) const fn index(self) -> usize {
        self.who as usize
    }
}

impl<'i> Model<'i> {
    /// The whole instance.
    pub(crate) fn new(task: Task<'i>) -> Self {
        Self::of_clients(task, task.instance.client_ids().collect())
    }

    /// Some clients of the instance. Leaves out dominated ones, which is exact as long as servers take
    /// any number.
    pub(crate) fn of_clients(task: Task<'i>, everybody: Vec<ClientId>) -> Self {
        let mut model = Self::undominated(task, everybody);
        if !model.capacitated {
            let kept = dominance::kept(&model);
            if kept.len() < model.clients.len() {
                model.consider(kept.iter().map(|&client| model.clients[client]).collect());
            }
        }
        model
    }

    /// The same with every client.
    pub(crate) fn undominated(task: Task<'i>, everybody: Vec<ClientId>) -> Self {
        let servers = task.instance.servers();
        let places = |server: &Server| server.places(everybody.len()).min(everybody.len());
        let places: Vec<usize> = servers.iter().map(places).collect();
        let cost_step = servers.iter().map(|server| server.cost.parts());
        let mut model = Self {
            task,
            limit: task.instance.network_budget(task.bound),
            near_servers: Vec::new(),
            near_clients: Vec::new(),
            separation: separations(task.instance),
            capacitated: places.iter().any(|&places| places < everybody.len()),
            places,
            costs: servers.iter().map(|server| server.cost).collect(),
            cost_step: cost_step.fold(0, gcd),
            clients: Vec::new(),
            everybody,
        };
        model.consider(model.everybody.clone());
        model
    }

    /// The same clients at the same bound, every server at the same price.
    pub(crate) fn counting_servers(mut self) -> Self {
        self.costs.fill(Cost::ONE);
        self.cost_step = Cost::ONE.parts();
        self
    }

    /// Looks who of these is near whom.
    fn consider(&mut self, clients: Vec<ClientId>) {
        let usable = |server: usize| self.places[server] > 0;
        let reach = self.limit.half();
        self.near_servers = near_servers(self.task.instance, &clients, reach, usable);
        self.near_clients = near_clients(&self.near_servers, self.costs.len());
        self.clients = clients;
    }

    pub(crate) const fn task(&self) -> Task<'i> {
        self.task
    }

    /// What r_j + d(j,k) + r_k may be at most.
    pub(crate) const fn limit(&self) -> Delay {
        self.limit
    }

    /// The largest radius there can be.
    pub(crate) const fn half(&self) -> Delay {
        self.limit.half()
    }

    pub(crate) fn servers(&self) -> usize {
        self.costs.len()
    }

    pub(crate) fn clients(&self) -> usize {
        self.clients.len()
    }

    /// All clients to be served, also those who need no thought.
    pub(crate) fn everybody(&self) -> &[ClientId] {
        &self.everybody
    }

    pub(crate) fn client(&self, client: usize) -> ClientId {
        self.clients[client]
    }

    /// Delays from one server to all.
    pub(crate) fn separations(&self, server: usize) -> &[Delay] {
        self.separation.row(server)
    }

    pub(crate) fn distance(&self, client: usize, server: usize) -> Delay {
        self.distances(client)[server]
    }

    /// Distances of a client to all servers.
    pub(crate) fn distances(&self, client: usize) -> &[Delay] {
        self.task.instance.access_row(self.clients[client])
    }

    /// Servers a client can use, nearest first.
    pub(crate) fn servers_near(&self, client: usize) -> &[Near] {
        &self.near_servers[client]
    }

    /// Clients that can use a server, nearest first.
    pub(crate) fn clients_near(&self, server: usize) -> &[Near] {
        &self.near_clients[server]
    }

    /// Clients within `radius` of a server, nearest first.
    pub(crate) fn clients_within(&self, server: usize, radius: Delay) -> &[Near] {
        let all = &self.near_clients[server];
        &all[..all.partition_point(|near| near.distance <= radius)]
    }

    pub(crate) fn places(&self, server: usize) -> usize {
        self.places[server]
    }

    pub(crate) fn cost(&self, server: usize) -> Cost {
        self.costs[server]
    }

    pub(crate) const fn is_capacitated(&self) -> bool {
        self.capacitated
    }

    /// The smallest cost on the grid of possible costs that is not below `cost`: a sum of server
    /// costs is a multiple of their greatest common divisor.
    pub(crate) fn round_up(&self, cost: Cost) -> Cost {
        match self.cost_step {
            0 => cost,
            step => Cost::of_parts(cost.parts().div_ceil(step).saturating_mul(step)),
        }
    }

    /// The largest step by which costs can differ without skipping one.
    pub(crate) fn cost_step(&self) -> Cost {
        Cost::of_parts(self.cost_step.max(1))
    }

    /// An empty seating of the whole instance.
    pub(crate) fn seating(&self) -> Seating<'i> {
        Seating::empty(self.task.instance, self.task.bound)
    }
}

fn separations(instance: &Instance) -> DelayMatrix {
    let servers = instance.servers().len();
    DelayMatrix::from_fn(servers, servers, |one, other| {
        instance.separation(ServerId::new(one), ServerId::new(other))
    })
}

fn gcd(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        _ => gcd(other, one % other),
    }
}

fn near_servers(
    instance: &Instance,
    clients: &[ClientId],
    reach: Delay,
    usable: impl Fn(usize) -> bool,
) -> Vec<Vec<Near>> {
    let near = |&client: &ClientId| {
        let row = instance.access_row(client).iter().enumerate();
        let mut near: Vec<Near> = row
            .filter(|&(server, &distance)| distance <= reach && usable(server))
            .map(|(server, &distance)| Near {
                distance,
                who: server as u32,
            })
            .collect();
        near.sort_unstable();
        near
    };
    clients.iter().map(near).collect()
}

/// The same seen from the servers.
fn near_clients(near_servers: &[Vec<Near>], servers: usize) -> Vec<Vec<Near>> {
    let mut near_clients = vec![Vec::new(); servers];
    for (client, near) in near_servers.iter().enumerate() {
        for near in near {
            near_clients[near.index()].push(Near {
                distance: near.distance,
                who: client as u32,
            });
        }
    }
    near_clients
        .iter_mut()
        .for_each(|near| near.sort_unstable());
    near_clients
}

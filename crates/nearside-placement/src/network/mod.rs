//! The simulated network of the paper (section 4): two levels, both random graphs in the plane, the
//! delay of a link its length at the speed of light. Written from the published formulas of Waxman
//! (1988) and Barabási and Albert (1999), in the manner of the BRITE generator that the paper used.

mod growth;
mod paths;

use rand::RngExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::{Delay, DelayMatrix, Instance, InstanceParts, Latency, Server};
use growth::{Growth, Point};
use paths::Roads;

/// How autonomous systems link up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AsLevel {
    /// The near ones rather than the far, as published.
    #[default]
    Waxman,
    /// The well-linked ones rather than the others.
    BarabasiAlbert,
}

/// Where the routers of an autonomous system are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Geography {
    /// Each system has a plane of its own, as in BRITE: a link between systems is as long as the
    /// systems are apart, whichever routers it joins.
    #[default]
    OwnPlanes,
    /// Routers stand around their system's position, and links between systems are as long as their
    /// routers are apart.
    Geo,
}

/// Parameters of the network and of who takes part. The default is the paper's setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkParams {
    /// Autonomous systems.
    pub systems: usize,
    /// Routers in each.
    pub routers: usize,
    /// How systems link up.
    pub as_level: AsLevel,
    /// Where routers are.
    pub geography: Geography,
    /// Servers, at random routers of their own.
    pub servers: usize,
    /// Clients, at other random routers; they share routers when there are not enough.
    pub clients: usize,
    /// The delay between servers as a share of the network's: their links are well provisioned.
    pub server_factor: f64,
}

impl Default for NetworkParams {
    fn default() -> Self {
        Self {
            systems: 50,
            routers: 100,
            as_level: AsLevel::Waxman,
            geography: Geography::OwnPlanes,
            servers: 100,
            clients: 50,
            server_factor: 0.25,
        }
    }
}

/// Side of the plane of systems, and of each system's own plane.
const PLANE_KM: u32 = 1000;
/// Side of a system's patch on the common plane in [`Geography::Geo`].
const PATCH_KM: u32 = 100;
/// Light in vacuum, as BRITE has it: kilometres in a millisecond.
const KM_PER_MS: f64 = 299.792_458;

impl NetworkParams {
    /// A network with servers and clients on it, as an instance. The same seed gives the same one.
    ///
    /// # Panics
    /// Without systems, routers, servers or clients, or with more servers than routers.
    pub fn generate(&self, seed: u64) -> Instance {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let roads = self.roads(&mut rng);
        let (servers, clients) = self.participants(&mut rng);
        let from_servers: Vec<Vec<Delay>> = servers
            .iter()
            .map(|&server| roads.delays_from(server))
            .collect();
        let parts = InstanceParts {
            clients: (1..=clients.len())
                .map(|number| format!("client-{number}"))
                .collect(),
            servers: (1..=servers.len())
                .map(|number| Server::named(format!("server-{number}")))
                .collect(),
            client_server: DelayMatrix::from_fn(clients.len(), servers.len(), |client, server| {
                from_servers[server][clients[client]]
            }),
            server_server: DelayMatrix::from_fn(servers.len(), servers.len(), |from, to| {
                // From the lower to the higher: rounding must not make directions differ.
                let (low, high) = (from.min(to), from.max(to));
                from_servers[low][servers[high]].scaled(self.server_factor)
            }),
            latency: Latency::OneWay,
            processing: Delay::ZERO,
            graph: None,
        };
        Instance::new(parts).expect("a generated network is an instance")
    }

    fn roads(&self, rng: &mut ChaCha8Rng) -> Roads {
        let mut roads = Roads::new(self.systems * self.routers);
        let growth = match self.as_level {
            AsLevel::Waxman => Growth::Waxman,
            AsLevel::BarabasiAlbert => Growth::BarabasiAlbert,
        };
        let systems = growth.grow(self.systems, PLANE_KM, rng);
        let mut places: Vec<Point> = Vec::new();
        for (system, &centre) in systems.points.iter().enumerate() {
            let inside = Growth::Waxman.grow(self.routers, self.side(), rng);
            let first = system * self.routers;
            for &(one, other) in &inside.links {
                let length = inside.points[one].distance(inside.points[other]);
                roads.link(first + one, first + other, travel_time(length));
            }
            places.extend(inside.points.iter().map(|point| point.moved_by(centre)));
        }
        for &(one, other) in &systems.links {
            let ends = [one, other]
                .map(|system| system * self.routers + rng.random_range(0..self.routers));
            let length = match self.geography {
                Geography::OwnPlanes => systems.points[one].distance(systems.points[other]),
                Geography::Geo => places[ends[0]].distance(places[ends[1]]),
            };
            roads.link(ends[0], ends[1], travel_time(length));
        }
        roads
    }

    fn side(&self) -> u32 {
        match self.geography {
            Geography::OwnPlanes => PLANE_KM,
            Geography::Geo => PATCH_KM,
        }
    }

    /// Routers of servers and of clients.
    fn participants(&self, rng: &mut ChaCha8Rng) -> (Vec<usize>, Vec<usize>) {
        let mut routers: Vec<usize> = (0..self.systems * self.routers).collect();
        routers.shuffle(rng);
        let clients = routers.split_off(self.servers);
        let shared = clients.iter().copied().cycle().take(self.clients).collect();
        (routers, shared)
    }
}

fn travel_time(kilometres: f64) -> Delay {
    Delay::from_millis(kilometres / KM_PER_MS).expect("the plane is small")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientId, ServerId};

    fn small() -> NetworkParams {
        NetworkParams {
            systems: 6,
            routers: 10,
            servers: 12,
            clients: 20,
            ..NetworkParams::default()
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_network() {
        assert_eq!(small().generate(3), small().generate(3));
        assert_ne!(small().generate(3), small().generate(4));
    }

    #[test]
    fn everybody_is_connected_and_server_links_are_shortest_paths() {
        for as_level in [AsLevel::Waxman, AsLevel::BarabasiAlbert] {
            for geography in [Geography::OwnPlanes, Geography::Geo] {
                let params = NetworkParams {
                    as_level,
                    geography,
                    server_factor: 1.0,
                    ..small()
                };
                let instance = params.generate(1);
                for client in instance.client_ids() {
                    assert!(
                        instance
                            .access_row(client)
                            .iter()
                            .all(|delay| delay.is_usable())
                    );
                }
                assert!(instance.is_metric(), "{as_level:?} {geography:?}");
            }
        }
    }

    #[test]
    fn clients_share_routers_when_there_are_not_enough() {
        let params = NetworkParams {
            clients: 100,
            ..small()
        };
        let instance = params.generate(1);
        let routers = params.systems * params.routers - params.servers;
        let first = instance.access_row(ClientId::new(0));
        assert_eq!(first, instance.access_row(ClientId::new(routers)));
    }

    #[test]
    fn the_published_setting_has_the_published_range_of_delays() {
        // One server serves everybody at about 30 ms, as in the paper's Figure 3(a).
        let instance = NetworkParams::default().generate(0);
        let farthest = |server: ServerId| {
            let distances = instance
                .client_ids()
                .map(|client| instance.access(client, server));
            distances.max().unwrap()
        };
        let core = instance.server_ids().map(farthest).min().unwrap();
        let alone = 2.0 * core.as_millis();
        assert!((25.0..42.0).contains(&alone), "{alone} ms with one server");
    }
}

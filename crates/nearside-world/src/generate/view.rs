//! The world as its clients see it: machines become servers with round-trip times.

use nearside_types::{Origin, Rtt, ServerAddr};
use rand::Rng;

use super::machines::Machine;
use crate::cables::CableMap;
use crate::chance::{exponential, lognormal, stream};
use crate::cities::Cities;
use crate::params::WorldParams;
use crate::place::Position;
use crate::population::WorldServer;

/// Gives every server the RTTs of its machine, one for each client.
pub(super) fn servers_of(
    machines: &[Machine],
    rtts: impl Fn(&Machine) -> Vec<Option<Rtt>>,
) -> Vec<WorldServer> {
    let mut servers = Vec::new();
    for machine in machines {
        let rtt = rtts(machine);
        let addrs = machine
            .ports
            .iter()
            .filter_map(|&port| ServerAddr::new(machine.ip.into(), port));
        servers.extend(addrs.map(|addr| WorldServer {
            addr,
            origin: Origin {
                asn: Some(machine.asn),
                country: Some(machine.country),
            },
            rtt: rtt.clone(),
        }));
    }
    servers
}

/// The world as all clients of the parameters see it, over cables or straight lines.
pub(super) struct Views(Vec<View>);

impl Views {
    pub(super) fn new(
        params: &WorldParams,
        cities: &Cities,
        machines: &[Machine],
        seed: u64,
    ) -> Self {
        let ases = machines.iter().map(|m| m.as_index + 1).max().unwrap_or(0);
        let map = CableMap::new(params);
        let clients = params.clients.iter();
        let view = |(name, &client): (&String, &[f64; 3])| {
            let path_ms = paths_ms(params, &map, cities, client);
            let routes = Routes::of(params, name);
            View::new(routes, path_ms, ases, client, &mut stream(seed, name))
        };
        Self(clients.map(view).collect())
    }

    /// The RTT of a machine from each client.
    pub(super) fn rtts(&self, machine: &Machine) -> Vec<Option<Rtt>> {
        let views = self.0.iter();
        views.map(|view| Some(view.rtt(machine))).collect()
    }
}

/// How far the routes of one client to the ASes differ from the map.
#[derive(Clone, Copy)]
struct Routes {
    factor_sigma: f64,
    offset_ms_mean: f64,
}

impl Routes {
    fn of(params: &WorldParams, client: &str) -> Self {
        let own = params
            .client_routes
            .get(client)
            .copied()
            .unwrap_or_default();
        let rtt = &params.rtt;
        Self {
            factor_sigma: own.as_factor_sigma.unwrap_or(rtt.as_factor_sigma),
            offset_ms_mean: own.as_offset_ms_mean.unwrap_or(rtt.as_offset_ms_mean),
        }
    }
}

/// The world as one client sees it.
struct View {
    access_ms: f64,
    /// Milliseconds to each city.
    path_ms: Vec<f64>,
    /// How each AS stretches the path, and what it adds.
    ases: Vec<(f64, f64)>,
}

/// The inflated round trip in milliseconds from a client's place to each city.
fn paths_ms(
    params: &WorldParams,
    map: &CableMap<'_>,
    cities: &Cities,
    [latitude, longitude, _]: [f64; 3],
) -> Vec<f64> {
    let here = Position::new(latitude, longitude);
    let path = |&city: &Position| params.rtt.inflation * map.path_ms(here, city);
    cities.positions().iter().map(path).collect()
}

impl View {
    fn new(
        routes: Routes,
        path_ms: Vec<f64>,
        ases: usize,
        [_, _, access_ms]: [f64; 3],
        rng: &mut impl Rng,
    ) -> Self {
        let mut draw_as = || {
            let factor = lognormal(rng, routes.factor_sigma);
            (factor, exponential(rng, routes.offset_ms_mean))
        };
        Self {
            access_ms,
            path_ms,
            ases: (0..ases).map(|_| draw_as()).collect(),
        }
    }

    fn rtt(&self, machine: &Machine) -> Rtt {
        let (factor, offset) = self.ases[machine.as_index];
        let path = self.path_ms[machine.city.0] * factor + offset;
        Rtt::from_millis_f64(path + self.access_ms + machine.access_ms)
    }
}

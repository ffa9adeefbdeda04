//! Instances drawn from a matrix of round-trip times: some nodes are servers, some players.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nearside_placement::{Delay, DelayMatrix, Instance, InstanceParts, Latency, Server};
use nearside_types::{LatencyMatrix, Rtt};
use nearside_world::recorded::read_matrix;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::super::args::InputArgs;

/// An instance of random nodes: servers first, then players.
pub(super) fn draw(args: &InputArgs, path: &Path, seed: u64) -> Result<Instance> {
    let layout = args.layout.context("a matrix needs --layout")?;
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    let matrix = read_matrix(&name, file, layout)?;
    let (servers, clients) = (args.draw_servers, args.draw_clients);
    ensure!(
        servers.saturating_add(clients) <= matrix.nodes(),
        "{servers} servers and {clients} players are more than the {} nodes of {name}; see \
--draw-servers and --draw-clients",
        matrix.nodes()
    );
    let mut nodes: Vec<usize> = (0..matrix.nodes()).collect();
    nodes.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let (server_nodes, rest) = nodes.split_at(servers);
    let parts = parts(&matrix, server_nodes, &rest[..clients], args.server_factor);
    Ok(Instance::new(parts)?)
}

fn parts(
    matrix: &LatencyMatrix,
    servers: &[usize],
    clients: &[usize],
    server_factor: f64,
) -> InstanceParts {
    let name = |node: &usize| format!("node-{node}");
    InstanceParts {
        clients: clients.iter().map(name).collect(),
        servers: servers.iter().map(name).map(Server::named).collect(),
        client_server: DelayMatrix::from_fn(clients.len(), servers.len(), |client, server| {
            delay(slower(matrix, clients[client], servers[server]))
        }),
        server_server: DelayMatrix::from_fn(servers.len(), servers.len(), |from, to| {
            delay(matrix.rtt(servers[from], servers[to])).scaled(server_factor)
        }),
        latency: Latency::RoundTrip,
        processing: Delay::ZERO,
        graph: None,
    }
}

/// Both ends may have measured: the slower counts, as a player waits for it.
fn slower(matrix: &LatencyMatrix, one: usize, other: usize) -> Option<Rtt> {
    let (there, back) = (matrix.rtt(one, other)?, matrix.rtt(other, one)?);
    Some(there.max(back))
}

fn delay(rtt: Option<Rtt>) -> Delay {
    let millis = rtt.map(Rtt::as_millis_f64);
    let delay = millis.and_then(Delay::from_millis);
    delay.unwrap_or(Delay::UNREACHABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slower_direction_counts_and_what_is_missing_cannot_be_used() {
        let mut matrix = LatencyMatrix::unknown(3);
        let rtt = |millis: u32| Some(Rtt::from_micros(millis * 1000));
        matrix.set(0, 1, rtt(10));
        matrix.set(1, 0, rtt(30));
        matrix.set(0, 2, rtt(8));
        let parts = parts(&matrix, &[1, 2], &[0], 0.5);
        assert_eq!(parts.client_server.get(0, 0).as_millis(), 30.0);
        assert!(!parts.client_server.get(0, 1).is_usable());
        assert!(!parts.server_server.get(0, 1).is_usable());
    }
}

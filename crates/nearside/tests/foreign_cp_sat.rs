//! A solver nobody here wrote, CP-SAT of OR-Tools, finds the same optima as `nearside-placement`, with
//! and without capacities and prices, and the same tasks impossible.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::LONG;
use common::foreign::python_with_ortools;
use nearside_placement::network::NetworkParams;
use nearside_placement::solver::Auto;
use nearside_placement::{
    Budget, ClientId, Cost, Delay, DelayMatrix, Instance, InstanceParts, Latency, PlacementFile,
    Server, ServerId, Solver, Status, Task,
};
use serde::Deserialize;

/// What CP-SAT says of one instance.
#[derive(Debug, Deserialize)]
struct Account {
    status: String,
    cost: Option<f64>,
}

/// The problem as the paper states it, in whole grid steps of 10⁻⁹ ms and whole thousandths of a
/// price: a contact server for each client, a radius for each server that no client of it exceeds,
/// and r_j + d(j,k) + r_k ≤ Δ for every two servers in use, the same one twice included.
const SCRIPT: &str = r#"
import json, sys
from ortools.sat.python import cp_model

def steps(ms):
    return None if ms is None else round(ms * 1e9)

def solve(file):
    bound = steps(file["delay_bound_ms"])
    clients, servers = file["client_server_ms"], file["servers"]
    between = file["server_server_ms"]
    model = cp_model.CpModel()
    used = [model.new_bool_var("") for _ in servers]
    radius = [model.new_int_var(0, bound, "") for _ in servers]
    guests = [[] for _ in servers]
    for row in clients:
        seats = []
        for j, ms in enumerate(row):
            if ms is None or 2 * steps(ms) > bound + 2:
                continue
            seat = model.new_bool_var("")
            model.add_implication(seat, used[j])
            model.add(radius[j] >= steps(ms)).only_enforce_if(seat)
            seats.append(seat)
            guests[j].append(seat)
        if not seats:
            return {"status": "INFEASIBLE", "cost": None}
        model.add_exactly_one(seats)
    for j, server in enumerate(servers):
        if server.get("capacity") is not None:
            model.add(sum(guests[j]) <= server["capacity"])
        for k in range(j, len(servers)):
            ways = [0] if j == k else [steps(between[j][k]), steps(between[k][j])]
            if None in ways:
                model.add_at_most_one([used[j], used[k]])
            else:
                model.add(radius[j] + radius[k] + max(ways) <= bound + 2).only_enforce_if(
                    [used[j], used[k]] if j != k else used[j])
    prices = [round(1000 * server.get("cost", 1)) for server in servers]
    model.minimize(sum(price * var for price, var in zip(prices, used)))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = 60
    solver.parameters.num_workers = 2
    status = solver.status_name(solver.solve(model))
    found = status in ("OPTIMAL", "FEASIBLE")
    return {"status": status, "cost": solver.objective_value / 1000 if found else None}

for line in sys.stdin:
    print(json.dumps(solve(json.loads(line))), flush=True)
"#;

/// CP-SAT's word on each file; `None` if the test may do without.
fn cp_sat(test: &str, files: &[PlacementFile]) -> Option<Vec<Account>> {
    let mut python = python_with_ortools(test)?;
    let mut lines = Vec::new();
    for file in files {
        file.write_json(&mut lines).unwrap();
        lines.push(b'\n');
    }
    python.0.args(["-c", SCRIPT]);
    let finished = python.finish(&lines, LONG).expect_code(0);
    let accounts = finished.stdout.lines();
    Some(
        accounts
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

fn assert_agreement(test: &str, files: &[PlacementFile]) {
    let Some(accounts) = cp_sat(test, files) else {
        return;
    };
    assert_eq!(accounts.len(), files.len());
    let mut impossible = 0;
    for (place, (file, theirs)) in files.iter().zip(&accounts).enumerate() {
        let task = Task {
            instance: &file.instance,
            bound: file.bound.unwrap(),
        };
        let ours = Auto.solve(task, &Budget::unlimited(0));
        let expected = match theirs.status.as_str() {
            "OPTIMAL" => (Status::Optimal, theirs.cost),
            "INFEASIBLE" => (Status::Infeasible, None),
            other => panic!("instance {place}: CP-SAT says {other}"),
        };
        let cost = ours.cost.map(Cost::as_units);
        assert_eq!((ours.status, cost), expected, "instance {place}");
        impossible += usize::from(ours.status == Status::Infeasible);
    }
    assert!(impossible < files.len(), "all instances are impossible");
}

fn file(instance: Instance, bound: f64) -> PlacementFile {
    PlacementFile {
        instance,
        bound: Delay::from_millis(bound),
    }
}

fn network(servers: usize, clients: usize, seed: u64) -> Instance {
    let params = NetworkParams {
        systems: 20,
        routers: 20,
        servers,
        clients,
        server_factor: [0.1, 0.25, 0.5, 1.0][seed as usize % 4],
        ..NetworkParams::default()
    };
    params.generate(seed)
}

/// The same instance with places from 2 to 6 and prices from 0.5 to 3.
fn with_places_and_prices(instance: &Instance) -> Instance {
    let server = |(place, server): (usize, &Server)| Server {
        name: server.name.clone(),
        capacity: Some(2 + (place as u32 * 7) % 5),
        cost: Cost::from_units(0.5 + (place * 5 % 6) as f64 / 2.0).unwrap(),
    };
    let (clients, servers) = (instance.clients().len(), instance.servers().len());
    Instance::new(InstanceParts {
        clients: instance.clients().to_vec(),
        servers: instance.servers().iter().enumerate().map(server).collect(),
        client_server: DelayMatrix::from_fn(clients, servers, |client, server| {
            instance.access(ClientId::new(client), ServerId::new(server))
        }),
        server_server: DelayMatrix::from_fn(servers, servers, |from, to| {
            instance.between(ServerId::new(from), ServerId::new(to))
        }),
        latency: Latency::OneWay,
        processing: Delay::ZERO,
        graph: None,
    })
    .unwrap()
}

#[test]
fn small_instances_have_the_optima_that_cp_sat_finds() {
    let bounds = [10.0, 14.0, 18.0, 24.0];
    let instances = (0..8).flat_map(|seed| {
        let instance = network(8, 8, seed);
        bounds.map(|bound| file(instance.clone(), bound))
    });
    let files: Vec<PlacementFile> = instances.collect();
    assert_agreement("small_instances_have_the_optima_that_cp_sat_finds", &files);
}

#[test]
fn places_and_prices_change_optima_as_cp_sat_says() {
    let instances = (0..8).flat_map(|seed| {
        let instance = with_places_and_prices(&network(8, 10, seed));
        [14.0, 18.0, 24.0].map(|bound| file(instance.clone(), bound))
    });
    let files: Vec<PlacementFile> = instances.collect();
    assert_agreement("places_and_prices_change_optima_as_cp_sat_says", &files);
}

#[test]
fn medium_instances_have_the_optima_that_cp_sat_finds() {
    let instances = (0..4).flat_map(|seed| {
        let instance = network(30, 25, seed);
        [16.0, 20.0].map(|bound| file(instance.clone(), bound))
    });
    let files: Vec<PlacementFile> = instances.collect();
    assert_agreement("medium_instances_have_the_optima_that_cp_sat_finds", &files);
}

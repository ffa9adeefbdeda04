//! Small random instances, and the optimum by trying everything.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "shared by tests that use different parts"
)]

use nearside_placement::{
    Allocation, Cost, Delay, DelayMatrix, Instance, InstanceParts, Latency, Server, ServerId,
    verify,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// What the instances of a test may have.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub clients: usize,
    pub servers: usize,
    pub capacities: bool,
    pub costs: bool,
    pub gaps: bool,
    /// Servers need time to compute, and some latencies are there and back.
    pub processing: bool,
}

impl Shape {
    pub const PLAIN: Self = Self {
        clients: 6,
        servers: 5,
        capacities: false,
        costs: false,
        gaps: false,
        processing: false,
    };
    pub const FULL: Self = Self {
        capacities: true,
        costs: true,
        gaps: true,
        processing: true,
        ..Self::PLAIN
    };
}

/// Delays on a coarse grid, so that ties and exact hits of the bound are common. Server delays need
/// not be metric, nor the same in both directions.
pub fn instances(shape: Shape) -> impl Strategy<Value = (Instance, Delay)> {
    (1..=shape.clients, 1..=shape.servers).prop_flat_map(move |(clients, servers)| {
        let access = vec(vec(cell(20, shape.gaps), servers), clients);
        let between = vec(vec(cell(12, shape.gaps), servers), servers);
        let capacity = if shape.capacities {
            prop_oneof![2 => (0..=3u32).prop_map(Some), 1 => Just(None)].boxed()
        } else {
            Just(None).boxed()
        };
        let cost = if shape.costs { 0..=6u8 } else { 2..=2 };
        let prices = vec((capacity, cost), servers);
        let timing = timing(shape.processing);
        (access, between, prices, timing, 0..50u8).prop_map(
            |(access, between, prices, timing, bound)| {
                let bound = Delay::from_millis(f64::from(bound)).unwrap();
                (assemble(&access, &between, &prices, timing), bound)
            },
        )
    })
}

/// What the numbers mean, and what a server adds to them.
fn timing(any: bool) -> BoxedStrategy<(Latency, Delay)> {
    if !any {
        return Just((Latency::OneWay, Delay::ZERO)).boxed();
    }
    let latency = prop_oneof![3 => Just(Latency::OneWay), 1 => Just(Latency::RoundTrip)];
    // Halves and more than some bounds.
    let processing =
        (0..=12u8).prop_map(|halves| Delay::from_millis(f64::from(halves) / 2.0).unwrap());
    (latency, processing).boxed()
}

fn cell(most: u8, gaps: bool) -> BoxedStrategy<Option<f64>> {
    let known = (0..=most).prop_map(|millis| Some(f64::from(millis)));
    match gaps {
        true => prop_oneof![9 => known, 1 => Just(None)].boxed(),
        false => known.boxed(),
    }
}

type Rows = [Vec<Option<f64>>];

fn assemble(
    access: &Rows,
    between: &Rows,
    prices: &[(Option<u32>, u8)],
    (latency, processing): (Latency, Delay),
) -> Instance {
    let server = |(place, &(capacity, halves)): (usize, &(Option<u32>, u8))| Server {
        name: format!("s{place}"),
        capacity,
        cost: Cost::from_units(f64::from(halves) / 2.0).unwrap(),
    };
    let mut between = between.to_vec();
    for (place, row) in between.iter_mut().enumerate() {
        row[place] = Some(0.0);
    }
    Instance::new(InstanceParts {
        clients: (0..access.len())
            .map(|client| format!("c{client}"))
            .collect(),
        servers: prices.iter().enumerate().map(server).collect(),
        client_server: DelayMatrix::from_millis(access.iter().cloned()).unwrap(),
        server_server: DelayMatrix::from_millis(between).unwrap(),
        latency,
        processing,
        graph: None,
    })
    .unwrap()
}

/// All allocations there are.
pub fn every_allocation(instance: &Instance) -> impl Iterator<Item = Allocation> {
    let clients = instance.clients().len();
    let servers = instance.servers().len();
    (0..servers.pow(clients as u32)).map(move |code| {
        let digit = |place: usize| ServerId::new(code / servers.pow(place as u32) % servers);
        Allocation::new((0..clients).map(digit).collect())
    })
}

/// The cheapest good allocation among all there are, judged by `verify` alone.
pub fn brute_force(instance: &Instance, bound: Delay) -> Option<(Cost, Allocation)> {
    every_allocation(instance)
        .filter_map(|allocation| {
            let verdict = verify(instance, &allocation, bound).unwrap();
            verdict.is_good().then_some((verdict.cost, allocation))
        })
        .min_by_key(|(cost, _)| *cost)
}

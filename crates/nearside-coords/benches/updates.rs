//! What one update of a coordinate and of two nodes' factors takes.
//!
//! `cargo bench -p nearside-coords` prints it: the quickest of five rounds over an invented world of 490
//! nodes with 32 neighbours each. Worse would be more than a microsecond. As a test it runs one small
//! round.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for developers"
)]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use nearside_coords::worlds::SmallWorld;
use nearside_coords::{
    Factorisation, FactorisationConfig, Neighbour, Node, Vivaldi, VivaldiConfig,
};
use nearside_types::Rtt;

fn main() {
    let in_earnest = std::env::args().any(|argument| argument == "--bench");
    let (nodes, rounds, repeats) = if in_earnest { (490, 5, 40) } else { (40, 1, 1) };
    let legs = legs(nodes, repeats);
    let vivaldi = (0..rounds).map(|_| vivaldi(nodes, &legs)).min().unwrap();
    let factors = (0..rounds).map(|_| factors(&legs)).min().unwrap();
    let each = |took: Duration| took.as_nanos() / legs.len() as u128;
    println!("Vivaldi, 4 dimensions and height: {} ns", each(vivaldi));
    let rank = FactorisationConfig::default().rank;
    println!(
        "factorisation, rank {rank}, both ends: {} ns",
        each(factors)
    );
}

/// Every neighbour's leg, so often.
fn legs(nodes: usize, repeats: usize) -> Vec<(Node, Node, Rtt)> {
    let world = SmallWorld::random(nodes, 200.0, 0.05, 0);
    let neighbours = world.neighbours(32, 0);
    let once = || neighbours.iter().enumerate();
    let legs = (0..repeats).flat_map(|_| {
        once().flat_map(|(own, peers)| peers.iter().map(move |peer| (Node::at(own), *peer)))
    });
    legs.map(|(a, b)| (a, b, world.rtt(a, b))).collect()
}

fn vivaldi(nodes: usize, legs: &[(Node, Node, Rtt)]) -> Duration {
    let start = |seed: usize| Vivaldi::new(VivaldiConfig::default(), seed as u64);
    let mut clients: Vec<Vivaldi> = (0..nodes).map(start).collect();
    // A live client is handed the peer's coordinate in the answer: copying it is not part of the update.
    let places: Vec<_> = clients.iter().map(|c| c.coordinate().clone()).collect();
    let began = Instant::now();
    for (own, peer, rtt) in legs {
        let client = &mut clients[own.index()];
        let neighbour = Neighbour(u64::from(peer.0));
        let _ = black_box(client.observe(neighbour, &places[peer.index()], *rtt));
    }
    began.elapsed()
}

fn factors(legs: &[(Node, Node, Rtt)]) -> Duration {
    let mut factors = Factorisation::new(FactorisationConfig::default(), 0);
    let began = Instant::now();
    for (a, b, rtt) in legs {
        factors.observe(*a, *b, *rtt);
    }
    black_box(&factors);
    began.elapsed()
}

//! How long a population takes to make, and a farm to answer:
//! `cargo run --release -p nearside-world --example speed`. Slower than 2 s for 30,000 servers, or
//! 20 µs an answer, counts as worse.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods)]

use std::time::Instant;

use nearside_types::Moment;
use nearside_wire::a2s::Request;
use nearside_world::farm::{Farm, FarmConfig, FarmServer};
use nearside_world::{Game, WorldParams, fold, generate};

fn main() {
    let params = WorldParams::builtin();
    let start = Instant::now();
    let population = generate(&params, Game::Css, Some(30_000), 1);
    println!(
        "generate {} servers: {:?}",
        population.servers.len(),
        start.elapsed()
    );

    let start = Instant::now();
    let mut bytes = Vec::new();
    population.write(&mut bytes).unwrap();
    nearside_world::Population::read("memory", &bytes[..]).unwrap();
    println!(
        "write and read {} bytes: {:?}",
        bytes.len(),
        start.elapsed()
    );

    let start = Instant::now();
    let folded = fold(&population, Game::Css.default_port()).unwrap();
    println!("fold: {:?}", start.elapsed());

    let servers = FarmServer::seen_from(&folded.population, 0);
    let mut farm = Farm::new(FarmConfig::default(), servers.clone(), 1);
    let request = Request::Info { challenge: None }.emit();
    let (client, mut replies) = ("127.0.0.1:5000".parse().unwrap(), Vec::new());
    let start = Instant::now();
    for server in &servers {
        farm.handle(
            Moment::EPOCH,
            client,
            server.addr.socket(),
            &request,
            &mut replies,
        );
    }
    let each = start.elapsed() / servers.len() as u32;
    println!("farm: {each:?} for each of {} requests", servers.len());
}

//! How long a population takes to make, and a farm to answer:
//! `cargo run --release -p nearside-world --example speed`. More than 2 s of processor time for
//! 30,000 servers, or 0.6 s for an answer of each, counts as worse.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods)]

mod stopwatch;

use nearside_types::Moment;
use nearside_wire::a2s::Request;
use nearside_world::farm::{Farm, FarmConfig, FarmServer};
use nearside_world::{Game, WorldParams, fold, generate};
use stopwatch::Stopwatch;

fn main() {
    let params = WorldParams::builtin();
    let watch = Stopwatch::start();
    let population = generate(&params, Game::Css, Some(30_000), 1);
    println!(
        "generate {} servers, the table of origins included: {}",
        population.servers.len(),
        watch.read()
    );

    let watch = Stopwatch::start();
    let mut bytes = Vec::new();
    population.write(&mut bytes).unwrap();
    nearside_world::Population::read("memory", &bytes[..]).unwrap();
    println!("write and read {} bytes: {}", bytes.len(), watch.read());

    let watch = Stopwatch::start();
    let folded = fold(&population, Game::Css.default_port()).unwrap();
    println!("fold: {}", watch.read());

    let servers = FarmServer::seen_from(&folded.population, 0);
    let mut farm = Farm::new(FarmConfig::default(), servers.clone(), 1);
    let request = Request::Info { challenge: None }.emit();
    let (client, mut replies) = ("127.0.0.1:5000".parse().unwrap(), Vec::new());
    let watch = Stopwatch::start();
    for server in &servers {
        farm.handle(
            Moment::EPOCH,
            client,
            server.addr.socket(),
            &request,
            &mut replies,
        );
    }
    println!("farm: {} requests: {}", servers.len(), watch.read());
}

//! How long a discovery of a whole list takes in virtual time, for every planner:
//! `cargo run --release -p nearside-world --example virtual_speed [SERVERS]`.
//! More than half a second of processor time for the papers' 28,000 servers counts as worse.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods)]

mod stopwatch;

use nearside_discover::planner::{PlannerConfig, PlannerKind};
use nearside_world::virtual_time::Run;
use nearside_world::{Game, WorldParams, generate};
use stopwatch::Stopwatch;

fn main() {
    let servers = std::env::args().nth(1).map(|text| text.parse().unwrap());
    let population = generate(&WorldParams::builtin(), Game::Css, servers, 1);
    println!("{} servers listed", population.servers.len());
    for place in ["AU", "DE"] {
        for kind in PlannerKind::ALL {
            let watch = Stopwatch::start();
            let planner = PlannerConfig::published(kind);
            let run = Run::new(&population, place, Game::Css, planner, 1);
            let prober = run.discover(|_, _, _| {}).unwrap();
            let summary = prober.summary();
            println!(
                "{place} {kind:13} {:6} probes {:5.1} s of virtual time in {}",
                summary.probes_sent,
                summary.seconds,
                watch.read()
            );
        }
    }
}

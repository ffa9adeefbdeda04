//! What a decision of the adaptive planner costs.
//! `cargo run --release -p nearside-world --example planner_speed`
//!
//! Worse would be: 28 probes, a fifth of a second at 140 a second, decided in more than 1 ms among
//! 30,000 servers or 50 ms among 1,000,000 (the median; on a busy machine the slowest says nothing).
//! Memory is what the process grew by while the planner took in the list and decided, for each
//! server; worse would be more than 200 bytes. Read from Linux, elsewhere 0.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a measurement reads the clock and ends by panicking"
)]

use std::time::{Duration, Instant};

use nearside_discover::planner::{
    AdaptiveConfig, AdaptivePlanner, Next, Outcome, Planner, Sample, ServerId,
};
use nearside_types::Rtt;
use nearside_world::{Game, WorldParams, generate};

/// Probes in a fifth of a second.
const PROBES: usize = 28;
/// Enough turns to see the planner at its busiest.
const TURNS: usize = 400;

fn main() {
    println!("servers    place  turns  median ms  99 % ms  slowest ms  list ms  bytes/server");
    for servers in [30_000, 1_000_000] {
        let population = generate(&WorldParams::builtin(), Game::Css, Some(servers), 1);
        for place in ["AU", "DE"] {
            let client = population.client(place).unwrap();
            let truth: Vec<Option<Rtt>> =
                population.servers.iter().map(|s| s.rtt[client]).collect();
            let list = population.listed();
            let memory = resident_bytes();
            let begin = Instant::now();
            let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 1);
            planner.servers_listed(&list);
            planner.list_complete();
            let listing = begin.elapsed();
            let mut turns = turns(&mut planner, &truth);
            turns.sort_unstable();
            let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
            let grown = resident_bytes().saturating_sub(memory);
            println!(
                "{:<10} {place:5} {:6} {:10.2} {:8.2} {:11.2} {:8.0} {:13.0}",
                list.len(),
                turns.len(),
                ms(turns[turns.len() / 2]),
                ms(turns[turns.len() * 99 / 100]),
                ms(*turns.last().unwrap()),
                ms(listing),
                grown as f64 / list.len() as f64,
            );
        }
    }
}

/// What the process has in memory, by the kernel's count of pages.
fn resident_bytes() -> u64 {
    const PAGE: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1);
    PAGE * pages.map_or(0, |pages| pages.parse().unwrap())
}

/// How long each turn of 28 decided probes took; answers come before the next turn.
fn turns(planner: &mut AdaptivePlanner, truth: &[Option<Rtt>]) -> Vec<Duration> {
    let mut taken = Vec::new();
    while taken.len() < TURNS {
        let begin = Instant::now();
        let asked = ask(planner);
        if asked.is_empty() {
            break;
        }
        taken.push(begin.elapsed());
        for server in asked {
            let outcome = match truth[server.index()] {
                Some(rtt) => Outcome::Answered(rtt),
                None => Outcome::Silent,
            };
            planner.observe(Sample {
                server,
                outcome,
                matches: true,
            });
        }
    }
    taken
}

fn ask(planner: &mut AdaptivePlanner) -> Vec<ServerId> {
    let mut asked = Vec::with_capacity(PROBES);
    while asked.len() < PROBES
        && let Next::Probe { server, .. } = planner.next()
    {
        asked.push(server);
    }
    asked
}

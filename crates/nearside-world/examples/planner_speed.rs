//! What a decision of the adaptive planner costs.
//! `cargo run --release -p nearside-world --example planner_speed`
//!
//! Worse would be: 28 probes, a fifth of a second at 140 a second, decided in more than 1 ms among
//! 30,000 servers or 50 ms among 1,000,000 (the median; on a busy machine the slowest says nothing).
//! Turns with fewer than 28 probes, which wait for answers, do not count. *Begun* is the planner from
//! its first probe on; *half* after every second server of the list has answered, when it knows most
//! groups and has most to weigh. Memory is what the planner keeps then, by its own count
//! (`tests/planner_weight.rs` checks it); worse would be more than 200 bytes a server.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a measurement reads the clock and ends by panicking"
)]

use std::time::{Duration, Instant};

use nearside_discover::planner::{
    AdaptiveConfig, AdaptivePlanner, Enough, Next, Outcome, Planner, Sample, ServerId,
};
use nearside_types::Rtt;
use nearside_world::{Game, WorldParams, generate};

/// Probes in a fifth of a second.
const PROBES: usize = 28;
/// Enough turns to see the planner at its busiest.
const TURNS: usize = 400;

fn main() {
    println!("servers    place when   turns  median ms  99 % ms  slowest ms  bytes/server");
    for servers in [30_000, 1_000_000] {
        let population = generate(&WorldParams::builtin(), Game::Css, Some(servers), 1);
        let list = population.listed();
        for place in ["AU", "DE"] {
            let client = population.client(place).unwrap();
            let truth: Vec<Option<Rtt>> =
                population.servers.iter().map(|s| s.rtt[client]).collect();
            let begin = Instant::now();
            let mut planner = AdaptivePlanner::new(without_end(), 1);
            planner.servers_listed(&list);
            planner.list_complete();
            println!(
                "{:<10} {place:5} list   {:.0} ms",
                list.len(),
                ms(begin.elapsed())
            );
            tell("begun", place, &mut planner, &truth);
            for server in (0..truth.len()).step_by(2).map(ServerId::from_index) {
                planner.observe(sample(&truth, server));
            }
            tell("half", place, &mut planner, &truth);
        }
    }
}

/// So that from Australia, too, there are turns to measure half-way.
fn without_end() -> AdaptiveConfig {
    AdaptiveConfig {
        enough: Enough::NEVER,
        ..AdaptiveConfig::new()
    }
}

/// Prints what the next turns cost.
fn tell(when: &str, place: &str, planner: &mut AdaptivePlanner, truth: &[Option<Rtt>]) {
    let mut turns = turns(planner, truth);
    turns.sort_unstable();
    let Some(&slowest) = turns.last() else { return };
    println!(
        "{:<10} {place:5} {when:5} {:6} {:10.2} {:8.2} {:11.2} {:13.0}",
        truth.len(),
        turns.len(),
        ms(turns[turns.len() / 2]),
        ms(turns[turns.len() * 99 / 100]),
        ms(slowest),
        planner.heap_bytes() as f64 / truth.len() as f64,
    );
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn sample(truth: &[Option<Rtt>], server: ServerId) -> Sample {
    Sample {
        server,
        outcome: truth[server.index()].map_or(Outcome::Silent, Outcome::Answered),
        matches: true,
    }
}

/// How long each full turn took; answers come before the next.
fn turns(planner: &mut AdaptivePlanner, truth: &[Option<Rtt>]) -> Vec<Duration> {
    let mut taken = Vec::new();
    while taken.len() < TURNS {
        let begin = Instant::now();
        let asked = ask(planner);
        let time = begin.elapsed();
        if asked.is_empty() {
            break;
        }
        if asked.len() == PROBES {
            taken.push(time);
        }
        for server in asked {
            planner.observe(sample(truth, server));
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

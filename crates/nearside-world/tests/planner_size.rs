//! What the adaptive planner keeps in memory, by its own count; `planner_weight` checks that.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nearside_discover::planner::{AdaptiveConfig, AdaptivePlanner, Next, Outcome, Planner, Sample};
use nearside_world::{Game, WorldParams, generate};

/// From Germany nearly everything is probed and remembered; from Australia little.
#[test]
fn the_planner_never_takes_200_bytes_a_server() {
    let population = generate(&WorldParams::builtin(), Game::Css, Some(30_000), 1);
    let list = population.listed();
    for place in ["AU", "DE"] {
        let client = population.client(place).unwrap();
        let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 1);
        planner.servers_listed(&list);
        planner.list_complete();
        let mut most = planner.heap_bytes();
        while let Next::Probe { server, .. } = planner.next() {
            let rtt = population.servers[server.index()].rtt[client];
            planner.observe(Sample {
                server,
                outcome: rtt.map_or(Outcome::Silent, Outcome::Answered),
                matches: true,
            });
            if server.0.is_multiple_of(100) {
                most = most.max(planner.heap_bytes());
            }
        }
        let each = most / list.len();
        assert!((20..200).contains(&each), "{place}: {each} bytes");
    }
}

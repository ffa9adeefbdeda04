//! What the adaptive planner keeps in memory, by its own count; `planner_weight` checks that.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::{Ipv6Addr, SocketAddr};

use nearside_discover::planner::{
    AdaptiveConfig, AdaptivePlanner, Listed, Next, Outcome, Planner, Sample, ServerId,
};
use nearside_types::{Rtt, ServerAddr};
use nearside_world::{Game, WorldParams, generate};

/// Plans a whole run; returns the most bytes a server that the planner took.
fn bytes_each(list: &[Listed], rtt: impl Fn(ServerId) -> Option<Rtt>) -> usize {
    let mut planner = AdaptivePlanner::new(AdaptiveConfig::new(), 1);
    planner.servers_listed(list);
    planner.list_complete();
    let mut most = planner.heap_bytes();
    while let Next::Probe { server, .. } = planner.next() {
        planner.observe(Sample {
            server,
            outcome: rtt(server).map_or(Outcome::Silent, Outcome::Answered),
            matches: true,
        });
        if server.0.is_multiple_of(100) {
            most = most.max(planner.heap_bytes());
        }
    }
    most / list.len()
}

/// From Germany nearly everything is probed and remembered; from Australia little.
#[test]
fn the_planner_never_takes_200_bytes_a_server() {
    let population = generate(&WorldParams::builtin(), Game::Css, Some(30_000), 1);
    let list = population.listed();
    for place in ["AU", "DE"] {
        let client = population.client(place).unwrap();
        let each = bytes_each(&list, |server| {
            population.servers[server.index()].rtt[client]
        });
        assert!((20..200).contains(&each), "{place}: {each} bytes");
    }
}

/// Nobody knows where these are, and nearly each is a region of its own: the worst list there is. It
/// takes more than another, but each server as much as in a list of a tenth of the size.
#[test]
fn scattered_servers_without_a_country_take_no_more_each_the_more_they_are() {
    let each = [2_000, 20_000].map(|servers| {
        let list: Vec<Listed> = (0..servers).map(scattered).collect();
        bytes_each(&list, |server| {
            let chance = mixed(u64::from(server.0) + 1_000_000);
            let micros = 20_000 + (chance % 300_000) as u32;
            (!chance.is_multiple_of(10)).then(|| Rtt::from_micros(micros))
        })
    });
    assert!(each.iter().all(|each| *each < 400), "{each:?} bytes");
}

/// An address somewhere in 2000::/3.
fn scattered(index: u64) -> Listed {
    let bits = 0x2000_0000_0000_0000 | mixed(index) >> 3;
    let ip = Ipv6Addr::from(u128::from(bits) << 64 | 1);
    Listed::unknown(ServerAddr::from_socket(SocketAddr::from((ip, 27015))).unwrap())
}

/// The finaliser of SplitMix64: neighbours come out far apart.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

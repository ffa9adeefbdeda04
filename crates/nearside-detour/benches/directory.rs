//! A directory of 100,000 clients with 32 edges each: memory, and the time of a look-up.
//!
//! `cargo bench -p nearside-detour` prints it. Worse would be: more than 1 GiB, or a p99 above 5 ms on
//! an idle machine. As a test it runs a small directory, to see that it still works.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for developers"
)]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use nearside_detour::directory::{Newcomer, Ranking, Relaying, Report};
use nearside_detour::{ClientId, Directory, DirectoryConfig};
use nearside_types::{Moment, Origin, Rtt, ServerAddr};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const EDGES: usize = 32;

fn main() {
    let in_earnest = std::env::args().any(|argument| argument == "--bench");
    let (clients, lookups) = if in_earnest {
        (100_000, 2_000)
    } else {
        (500, 20)
    };
    let began = Instant::now();
    let mut directory = filled(clients);
    println!(
        "{clients} clients × {EDGES} edges in {:.1?}",
        began.elapsed()
    );
    let began = Instant::now();
    directory.study(100_000);
    println!("study: {:.0?} per leg", began.elapsed() / 100_000);
    println!("resident: {} MiB", resident_mib().map_or(-1, i64::from));
    look_up(&mut directory, clients, lookups);
}

fn filled(clients: u32) -> Directory {
    let config = DirectoryConfig {
        ranking: Ranking::Mixed,
        ..DirectoryConfig::default()
    };
    let mut directory = Directory::new(config, 0);
    let mut random = ChaCha8Rng::seed_from_u64(0);
    for id in 0..clients {
        directory.join(Moment::EPOCH, newcomer(id));
        directory.take_changes().for_each(drop);
    }
    let places: Vec<[f64; 2]> = (0..clients)
        .map(|_| {
            [
                random.random_range(0.0..150.0),
                random.random_range(0.0..150.0),
            ]
        })
        .collect();
    for id in 0..clients {
        let legs = (0..EDGES).map(|_| {
            let to = random.random_range(0..clients);
            let (a, b) = (places[id as usize], places[to as usize]);
            let rtt = 10.0 + (a[0] - b[0]).hypot(a[1] - b[1]) * random.random_range(1.0..1.6);
            (ClientId(u64::from(to)), Rtt::from_millis_f64(rtt))
        });
        let report = Report {
            coordinate: None,
            legs: legs.collect(),
        };
        directory
            .report(Moment::EPOCH, ClientId(u64::from(id)), report)
            .unwrap();
        directory.take_changes().for_each(drop);
    }
    directory
}

fn newcomer(id: u32) -> Newcomer {
    let ip = Ipv4Addr::from_bits(0x1400_0000 + id * 77);
    Newcomer {
        id: ClientId(u64::from(id)),
        address: ServerAddr::new(ip.into(), 9000).unwrap(),
        origin: Origin::default(),
        relaying: Relaying::Yes,
    }
}

fn look_up(directory: &mut Directory, clients: u32, lookups: usize) {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut client = || ClientId(u64::from(random.random_range(0..clients)));
    let mut times: Vec<Duration> = Vec::new();
    while times.len() < lookups {
        let (s, t) = (client(), client());
        let began = Instant::now();
        if directory
            .lookup(s, t, 8)
            .is_ok_and(|found| found.len() == 8)
        {
            times.push(began.elapsed());
        }
    }
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("lookup: p50 {:.0?}, p99 {:.0?}", at(0.5), at(0.99));
}

/// From /proc, where there is one.
fn resident_mib() -> Option<i32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: i32 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

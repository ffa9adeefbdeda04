//! What a directory's clients, handshakes and studies cost, for the figures beside its settings. Run with
//! `cargo test -p nearside-tunnel --test measures -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "figures are printed")]

mod support;

use std::time::Duration;

use nearside_detour::ClientId;
use nearside_tunnel::crypto::{Dialling, Identity};
use nearside_tunnel::messages::{Ask, Join};
use nearside_tunnel::service::ServiceConfig;
use nearside_types::Rtt;
use nearside_wire::detour::{Frame, PASS_BYTES};
use support::{World, config, hello, measured};

const CLIENTS: usize = 20_000;
const LEGS: usize = 32;
const HANDSHAKES: usize = 4_000;

/// Everybody in a network of its own.
fn address(number: usize) -> String {
    let [_, high, middle, low] = u32::try_from(number).unwrap().to_be_bytes();
    format!("{}.{middle}.{low}.1:1000", 20 + u32::from(high))
}

fn unbounded() -> ServiceConfig {
    ServiceConfig {
        handshakes: u32::MAX,
        most_unjoined: usize::MAX,
        ..config()
    }
}

/// Time this thread had on a core, whatever else the machine does.
fn on_core() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanos = times.split_whitespace().next().unwrap().parse().unwrap();
    Duration::from_nanos(nanos)
}

/// Bytes of memory in use.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.unwrap().split_whitespace().nth(1).unwrap();
    number.parse::<usize>().unwrap() * 1024
}

#[test]
#[ignore = "a measurement of some seconds"]
fn a_client_with_its_legs_and_a_second_of_study() {
    let mut world = World::new(unbounded());
    let before = resident();
    let mut ids: Vec<ClientId> = Vec::with_capacity(CLIENTS);
    for number in 0..CLIENTS {
        let mut client = world.join(&address(number), Join::default());
        let leg = |n: usize| Rtt::from_micros(20_000 + 1_000 * n as u32);
        let others = ids.iter().rev().step_by(7).take(LEGS).enumerate();
        let legs = others.map(|(n, id)| (*id, leg(n))).collect();
        client.ask(&mut world, Ask::Report(measured(legs)));
        ids.push(client.id());
        world.sent.clear();
        world.service.take_changes().for_each(drop);
    }
    // What is remembered of answers and repeated to nobody goes after some seconds.
    world.pass(Duration::from_secs(10));
    world.sent = Vec::new();
    let bytes = (resident() - before) / CLIENTS;
    println!("FIGURE client_bytes {bytes} clients {CLIENTS} legs {LEGS}");
    let began = on_core();
    world.pass(Duration::from_secs(20));
    let study = (on_core() - began) / 20;
    println!("FIGURE tick_us {} clients {CLIENTS}", study.as_micros());
    assert_eq!(world.service.directory().state().len(), CLIENTS);
}

#[test]
#[ignore = "a measurement of some seconds"]
fn handshakes_on_one_core() {
    let mut world = World::new(unbounded());
    let directory = world.service.public();
    let mut hellos = Vec::with_capacity(HANDSHAKES);
    for number in 0..HANDSHAKES {
        let own = Identity::generate(&mut world.chance);
        let dialling = Dialling::new(&own, directory, 5, b"", &mut world.chance).unwrap();
        let from = address(number).parse().unwrap();
        let retry = world.deliver(0, from, &hello(&dialling, [0; PASS_BYTES]));
        let Ok(Frame::Retry { pass, .. }) = Frame::parse(&retry[0].bytes) else {
            panic!("a cookie first");
        };
        hellos.push((from, hello(&dialling, pass)));
    }
    let began = on_core();
    for (from, hello) in &hellos {
        world.deliver(0, *from, hello);
    }
    let each = (on_core() - began) / u32::try_from(HANDSHAKES).unwrap();
    assert_eq!(world.service.counts().handshakes, HANDSHAKES as u64);
    println!("FIGURE handshake_us {}", each.as_micros());
}

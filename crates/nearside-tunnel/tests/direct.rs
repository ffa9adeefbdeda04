//! The direct path: from which of our ports it is quickest, and how it is found where the first meeting
//! needed a relay.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod world;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use nearside_detour::path::Route;
use nearside_tunnel::link;
use nearside_tunnel::messages::Capacity;
use nearside_tunnel::node::{Event, LinkId, LinkView, NodeConfig};
use nearside_types::Moment;
use world::{Who, World};

const ALICE: usize = 0;
const BOB: usize = 1;
const PLAYERS: usize = 6;

fn is_direct(from: Who, to: Who) -> bool {
    let both = [Who::Player(ALICE), Who::Player(BOB)];
    both.contains(&from) && both.contains(&to)
}

/// Two who shall meet, and relays; `carry` says what becomes of a packet from one of the two to the other.
fn meet(carry: impl Fn(Who, u16) -> Option<Duration> + 'static) -> (World, LinkId) {
    let usual = Duration::from_millis(50);
    let mut world = World::new(
        5,
        move |_: Moment, from: Who, to: Who, port: u16| match is_direct(from, to) {
            true => carry(from, port),
            false => Some(usual),
        },
    );
    for _ in 0..PLAYERS {
        let relaying = Some(Capacity {
            sessions: 8,
            packets: 4_000,
            kilobits: 8_000,
        });
        world.add(NodeConfig {
            relaying,
            ..NodeConfig::default()
        });
    }
    world.run_for(Duration::from_secs(150));
    let bob = world.key(BOB);
    world.with(ALICE, |node, now| node.connect(now, bob));
    world.run_for(Duration::from_secs(12));
    let mut events = world.events.iter();
    let link = events.find_map(|(_, who, event)| match event {
        Event::Connected { link, .. } if *who == ALICE => Some(*link),
        _ => None,
    });
    let link = link.expect("they have met");
    (world, link)
}

fn view(world: &World, player: usize) -> LinkView {
    let view = world.nodes[player].as_ref().unwrap().view(world.now);
    view.links[0].clone()
}

#[test]
fn the_direct_path_leaves_by_the_port_from_which_it_is_quickest() {
    // A line of its own for one of four ports, as where routers spread load.
    let (world, _) = meet(|from, port| {
        let quick = from == Who::Player(ALICE) && port == 2;
        Some(Duration::from_millis(if quick { 20 } else { 45 }))
    });
    let said = world.events.iter().find_map(|(_, who, event)| match event {
        Event::Link(_, link::Event::SourcePort { port, gain }) => Some((*who, *port, *gain)),
        _ => None,
    });
    let (who, port, gain) = said.expect("it was found");
    assert_eq!((who, port), (ALICE, 2));
    assert!((24_000..=26_000).contains(&gain.as_micros()), "{gain:?}");
    let path = &view(&world, ALICE).paths[0];
    assert_eq!((path.route, path.port), (Route::Direct, 2));
}

#[test]
fn a_link_that_began_through_a_relay_finds_the_direct_path_when_there_is_one() {
    let open = Rc::new(Cell::new(false));
    let is_open = Rc::clone(&open);
    let (mut world, link) = meet(move |_, _| is_open.get().then_some(Duration::from_millis(30)));
    assert!(view(&world, ALICE).through_relay);
    let direct = |world: &World, player| {
        let paths = view(world, player).paths.into_iter();
        let mut open = paths.filter(|path| path.open);
        open.any(|path| path.route == Route::Direct)
    };
    world.run_for(Duration::from_secs(60));
    assert!(!direct(&world, ALICE) && !direct(&world, BOB));
    let sent = world.with(ALICE, |node, now| node.send_direct(now, link, 0, b"x"));
    assert!(!sent, "there is none yet");

    open.set(true);
    world.run_for(Duration::from_secs(90));
    assert!(direct(&world, ALICE) && direct(&world, BOB));
    let first = world.events.len();
    assert!(world.with(ALICE, |node, now| node.send_direct(now, link, 0, b"x")));
    world.run_for(Duration::from_millis(30));
    let is_delivery = |event: &Event| matches!(event, Event::Delivered { .. });
    let mut came = world.events[first..].iter();
    assert!(came.any(|(_, who, event)| *who == BOB && is_delivery(event)));
    world.run_for(Duration::from_secs(10));
    let path = &view(&world, ALICE).paths[0];
    assert_eq!(path.route, Route::Direct, "60 ms, where relays take 200");
}

//! Nodes whose directory restarts, or knows too few neighbours for them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod world;

use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::DirectoryConfig;
use nearside_tunnel::crypto::{Chance, Identity, PingKey};
use nearside_tunnel::node::{Event, Incoming, LinkId, NodeConfig};
use nearside_tunnel::service::{Service, ServiceConfig, State};
use nearside_wire::detour::Frame;
use world::{Who, World};

const SEED: u64 = 3;
const PLAYERS: usize = 3;

/// Few players, far apart.
fn three() -> World {
    let mut world = World::new(SEED, |_, from, to, _| {
        let is_player = |who| matches!(who, Who::Player(_));
        let far = is_player(from) && is_player(to);
        Some(Duration::from_millis(if far { 60 } else { 10 }))
    });
    for _ in 0..PLAYERS {
        world.add(NodeConfig::default());
    }
    world
}

fn joins(world: &World) -> usize {
    let joined = |event: &Event| matches!(event, Event::Joined(_));
    world
        .events
        .iter()
        .filter(|(_, _, event)| joined(event))
        .count()
}

#[test]
fn who_joins_again_for_more_neighbours_stays_where_it_is() {
    let mut world = three();
    let error = |world: &World| {
        let node = world.nodes[0].as_ref().unwrap();
        node.coordinate().unwrap().error().share()
    };
    world.run_for(Duration::from_secs(100));
    assert_eq!(joins(&world), PLAYERS);
    let mut before = error(&world);
    assert!(before < 0.95, "it has measured: {before}");
    while joins(&world) < 2 * PLAYERS {
        world.run_for(Duration::from_millis(200));
        let after = error(&world);
        assert!(after < before + 0.02, "from {before} to {after}");
        before = after;
        assert!(world.events[0].0 + Duration::from_secs(150) > world.now);
    }
    // And so it comes to know where it is, which takes longer than two minutes.
    world.run_for(Duration::from_secs(20 * 60));
    let error = error(&world);
    assert!(error < 0.7, "{error}");
}

/// The next process of the directory: it has the same identity, and no keys.
fn restart(world: &mut World) {
    let old = world.service.take().unwrap();
    let state = State {
        directory: old.directory().state().clone(),
        ..State::default()
    };
    let identity = Identity::generate(&mut Chance::from_number(SEED));
    let new = Service::restored(
        ServiceConfig::default(),
        identity,
        DirectoryConfig::default(),
        state,
        Chance::from_number(99),
        world.now,
        world.wall(),
    );
    world.service = Some(new);
}

#[test]
fn nodes_shake_hands_anew_by_themselves_when_their_directory_says_that_it_ends() {
    let mut world = three();
    world.run_for(Duration::from_secs(20));
    world.with_directory(Service::say_goodbye);
    // Its last words are on their way.
    restart(&mut world);
    world.run_for(Duration::from_secs(3));
    assert_eq!(joins(&world), 2 * PLAYERS, "{:?}", world.events);
    for node in world.nodes.iter().flatten() {
        assert!(node.is_joined());
    }
    assert_eq!(world.service.as_ref().unwrap().counts().joined, 3);
}

#[test]
fn a_directory_that_was_killed_calls_its_clients_back_at_once() {
    let mut world = three();
    world.run_for(Duration::from_secs(20));
    restart(&mut world);
    world.run_for(Duration::from_millis(200));
    assert_eq!(joins(&world), 2 * PLAYERS, "{:?}", world.events);
    world.run_for(Duration::from_secs(60));
    let counts = world.service.as_ref().unwrap().counts();
    assert_eq!((counts.joined, counts.handshakes), (3, 3), "and once");
}

#[test]
fn a_directory_that_forgot_everybody_has_them_back_soon_after_their_next_report() {
    let mut world = three();
    world.run_for(Duration::from_secs(20));
    let identity = Identity::generate(&mut Chance::from_number(SEED));
    let (config, directory) = (ServiceConfig::default(), DirectoryConfig::default());
    let chance = Chance::from_number(99);
    let new = Service::new(config, identity, directory, chance, world.now, world.wall());
    world.service = Some(new);
    // A report each minute at least, and some seconds of repetitions.
    world.run_for(Duration::from_secs(60 + 9));
    assert_eq!(world.service.as_ref().unwrap().counts().joined, 3);
}

#[test]
fn only_the_directory_can_call_a_node_back_and_only_once() {
    let mut world = three();
    world.run_for(Duration::from_secs(20));
    let directory: SocketAddr = "203.0.113.1:4800".parse().unwrap();
    let stranger: SocketAddr = "203.0.113.2:4800".parse().unwrap();
    let node = world.nodes[0].as_ref().unwrap().id();
    let identity = Identity::generate(&mut Chance::from_number(SEED));
    let label = [b"ping".as_slice(), &node.0.to_be_bytes()].concat();
    let key = PingKey(*identity.derive(&label).first_chunk().unwrap());
    let now_ms = u64::try_from(world.wall().as_millis()).unwrap();
    let old_ms = now_ms - 30_000;
    let calls = [
        (directory, now_ms, key.tag_anew(now_ms) ^ 1, "forged"),
        (directory, old_ms, key.tag_anew(old_ms), "before it joined"),
        (stranger, now_ms, key.tag_anew(now_ms), "from elsewhere"),
        (directory, now_ms, key.tag_anew(now_ms), "true"),
        (directory, now_ms, key.tag_anew(now_ms), "and replayed"),
    ];
    let joined = [3, 3, 3, 4, 4];
    for ((from, wall_ms, tag, which), expected) in calls.into_iter().zip(joined) {
        let mut bytes = Frame::Anew { wall_ms, tag }.emit();
        world.with(0, |node, now| {
            let incoming = Incoming {
                port: 0,
                from,
                received: now,
                bytes: &mut bytes,
            };
            node.handle_datagram(now, incoming);
        });
        world.run_for(Duration::from_secs(2));
        assert_eq!(joins(&world), expected, "{which}");
    }
}

/// Plays with the first player's link for a while; how often the second got something, and when first.
fn play(world: &mut World, link: LinkId, time: Duration) -> Option<Duration> {
    let (begun, events) = (world.now, world.events.len());
    let until = begun + time;
    let mut link = link;
    while world.now < until {
        world.with(0, |node, now| node.send(now, link, 0, b"a packet"));
        world.run_for(Duration::from_millis(16));
        link = links_of(world, 0).last().copied().unwrap_or(link);
    }
    let mut later = world.events[events..].iter();
    let got = |who: usize, event: &Event| who == 1 && matches!(event, Event::Delivered { .. });
    let first = later.find(|(_, who, event)| got(*who, event));
    first.map(|(at, ..)| at.since(begun))
}

fn links_of(world: &World, player: usize) -> Vec<LinkId> {
    let events = world.events.iter().filter(|(_, who, _)| *who == player);
    let links = events.filter_map(|(_, _, event)| match event {
        Event::Connected { link, .. } => Some(*link),
        _ => None,
    });
    links.collect()
}

#[test]
fn a_peer_that_was_killed_and_is_back_under_its_key_is_met_anew_within_seconds() {
    let mut world = three();
    world.run_for(Duration::from_secs(20));
    let peer = world.key(1);
    world.with(0, |node, now| node.connect(now, peer));
    world.run_for(Duration::from_secs(1));
    let link = links_of(&world, 0)[0];
    assert!(play(&mut world, link, Duration::from_secs(3)).is_some());
    world.nodes[1] = None;
    assert_eq!(play(&mut world, link, Duration::from_secs(1)), None);
    world.restart(1, NodeConfig::default());
    let took = play(&mut world, link, Duration::from_secs(10));
    assert!(
        took.is_some_and(|took| took < Duration::from_secs(4)),
        "{took:?}"
    );
    assert_eq!(links_of(&world, 0).len(), 2, "one new link");
    let unreachable = |event: &Event| matches!(event, Event::Unreachable(_));
    assert!(!world.events.iter().any(|(_, _, event)| unreachable(event)));
}

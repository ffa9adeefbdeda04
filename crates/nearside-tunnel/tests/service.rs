//! What the directory does for its clients.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use nearside_tunnel::crypto::PingKey;
use nearside_tunnel::messages::{Ask, Join, Measured, Refusal, Tell};
use nearside_tunnel::service::{Admission, Nat, Rights, ServiceConfig};
use support::{World, config, relaying};

#[test]
fn who_joins_is_told_whom_to_measure_and_where_it_is_seen() {
    let mut world = World::new(config());
    let mut first = world.join("192.0.2.1:1000", Join::default());
    let mut second = world.connect("198.51.100.1:2000");
    let server = "192.0.2.1:1".parse().unwrap();
    let refused = second.refusal(&mut world, Ask::Find(server));
    assert_eq!(refused, Some(Refusal::NotJoined));
    let Some(Tell::Welcome(welcome)) = second.ask(&mut world, Ask::Join(Join::default())) else {
        panic!("welcome");
    };
    assert_eq!(welcome.observed, second.address);
    assert_eq!(welcome.second_port, Some(4_444));
    assert_eq!(welcome.neighbours.len(), 1);
    assert_eq!(welcome.neighbours[0].id, first.id());
    assert_eq!(welcome.ticket_key, None);
    let told = first.told(&mut world);
    let expected =
        |tell: &Tell| matches!(tell, Tell::Expect { players, .. } if *players == [second.address]);
    assert!(
        told.iter().any(|notice| expected(&notice.tell)),
        "the one who is to be measured opens its NAT: {told:?}"
    );
    // Again, so that it learns the first one's key of pings.
    let Some(Tell::Welcome(own)) = first.ask(&mut world, Ask::Join(Join::default())) else {
        panic!("welcome");
    };
    let PingKey(named) = welcome.neighbours[0].key;
    assert_eq!(own.ping_key.of(second.id()).0, named);
}

#[test]
fn a_welcome_fits_into_a_safe_datagram_however_many_neighbours_there_are() {
    let mut world = World::new(config());
    for n in 0..40 {
        world.join(&format!("[2001:db8:{n}::1]:5000"), Join::default());
    }
    let (_, welcome) = world.join_relay("[2001:db8:1000::1]:5000");
    assert!(
        welcome.neighbours.len() > 15,
        "{}",
        welcome.neighbours.len()
    );
    assert!(world.sent.iter().all(|sent| sent.bytes.len() <= 1_232));
}

#[test]
fn tokens_say_who_may_join_relay_and_be_an_exit() {
    let tokens = [
        ("player", false, false),
        ("relay", true, false),
        ("exit", true, true),
    ];
    let tokens = tokens.map(|(token, relay, exit)| (token.to_owned(), Rights { relay, exit }));
    let mut world = World::new(ServiceConfig {
        admission: Admission {
            open: None,
            tokens: tokens.into(),
        },
        ..config()
    });
    let mut attempt = |token: Option<&str>, relays: bool, exits: bool| {
        let mut player = world.connect("192.0.2.1:1000");
        let mut join = match relays {
            true => relaying("192.0.2.1:1000"),
            false => Join::default(),
        };
        join.token = token.map(str::to_owned);
        join.exits = exits
            .then(|| "192.0.2.9:27960".parse().unwrap())
            .into_iter()
            .collect();
        player.refusal(&mut world, Ask::Join(join))
    };
    assert_eq!(attempt(None, false, false), Some(Refusal::Token));
    assert_eq!(attempt(Some("wrong"), false, false), Some(Refusal::Token));
    assert_eq!(attempt(Some("player"), false, false), None);
    assert_eq!(
        attempt(Some("player"), true, false),
        Some(Refusal::RelayToken)
    );
    assert_eq!(attempt(Some("relay"), true, false), None);
    assert_eq!(attempt(Some("relay"), true, true), Some(Refusal::ExitToken));
    assert_eq!(attempt(Some("exit"), true, true), None);
}

#[test]
fn a_symmetric_nat_is_found_out_by_two_ports_and_does_not_relay() {
    let mut world = World::new(config());
    let mut scene = world.scene(2);
    let session = scene.meet(&mut world).session;
    let best = scene.relays[0].0.id();
    assert_eq!(scene.offered(&mut world, session)[0], best);
    let relay = &mut scene.relays[0].0;
    let (seen_first, other) = (relay.address, "203.0.0.1:3001".parse().unwrap());
    let told = relay.ask_on(&mut world, 1, other, Ask::Observe);
    assert_eq!(told, Some(Tell::Observed(other)));
    let nat = |world: &World, id| world.service.clients().find(|c| c.id == id).unwrap().nat;
    assert_eq!(nat(&world, best), Nat::Symmetric);
    assert!(!scene.offered(&mut world, session).contains(&best));
    // The NAT was exchanged: both ports see the same again.
    let relay = &mut scene.relays[0].0;
    let told = relay.ask_on(&mut world, 1, seen_first, Ask::Observe);
    assert_eq!(told, Some(Tell::Observed(seen_first)));
    relay.ask_on(&mut world, 0, seen_first, Ask::Observe);
    assert_eq!(nat(&world, best), Nat::Steady);
    assert_eq!(scene.offered(&mut world, session)[0], best);
}

#[test]
fn a_rebound_nat_is_noticed_told_and_known_to_the_directory() {
    let mut world = World::new(config());
    let mut player = world.join("192.0.2.1:1000", Join::default());
    let elsewhere = "192.0.2.1:1777".parse().unwrap();
    world.sent.clear();
    let done = player.ask_on(&mut world, 0, elsewhere, Ask::Report(Measured::default()));
    assert_eq!(done, Some(Tell::Done));
    assert!(world.sent.iter().all(|sent| sent.to == elsewhere));
    // The answer was read already; the notice comes again.
    world.sent.clear();
    world.pass(Duration::from_millis(600));
    let told = player.told(&mut world);
    assert_eq!(told[0].tell, Tell::Observed(elsewhere));
    let view = world.service.clients().next().unwrap();
    assert_eq!(view.address, elsewhere);
    assert_eq!(world.service.counts().moved, 1);
}

#[test]
fn notices_are_repeated_until_they_are_heard_and_not_for_ever() {
    let mut world = World::new(config());
    let mut scene = world.scene(0);
    let count = |world: &mut World| {
        let sent = world.pass(Duration::from_secs(10));
        sent.iter()
            .filter(|sent| sent.to == "198.51.100.1:2000".parse().unwrap())
            .count()
    };
    count(&mut world);
    scene.meet(&mut world);
    assert_eq!(count(&mut world), 4, "five times, with the first");
    world.sent.clear();
    scene.meet(&mut world);
    let told = scene.target.told(&mut world);
    assert!(
        matches!(&told[0].tell, Tell::Introduce(i) if !i.leads && i.peer == scene.source.key())
    );
    scene.target.ask(&mut world, Ask::Heard(told[0].number));
    assert_eq!(count(&mut world), 0);
}

#[test]
fn a_repeated_request_gets_the_same_answer_and_is_done_once() {
    let mut world = World::new(config());
    let mut scene = world.scene(0);
    let first = scene.meet(&mut world);
    let (number, peer) = (scene.source.number, scene.target.key());
    let again = scene.source.seal_as(number, Ask::Connect(peer));
    let sent = world.deliver(0, scene.source.address, &again);
    let read = scene.source.read(&sent);
    assert_eq!(read[0].1.tell, Tell::Introduce(first.clone()));
    assert_eq!(world.service.counts().introduced, 1);
    world.pass(Duration::from_secs(6));
    let second = scene.meet(&mut world);
    assert_ne!(second.session, first.session);
    assert_eq!(world.service.sessions().count(), 1, "in place of the first");
}

#[test]
fn a_client_beyond_its_budget_is_told_so() {
    let mut world = World::new(config());
    let mut player = world.join("192.0.2.1:1000", Join::default());
    let asks = (0..60).map(|_| player.refusal(&mut world, Ask::Report(Measured::default())));
    let refused: Vec<_> = asks.collect();
    assert_eq!(
        refused.iter().filter(|r| r.is_none()).count(),
        39,
        "one was the join"
    );
    assert_eq!(refused.last(), Some(&Some(Refusal::TooMany)));
    world.pass(Duration::from_secs(1));
    assert_eq!(
        player.refusal(&mut world, Ask::Report(Measured::default())),
        None
    );
}

#[test]
fn silent_clients_are_forgotten_with_their_sessions_and_one_house_is_not_the_directory() {
    let mut world = World::new(ServiceConfig {
        most_per_prefix: 3,
        most_clients: 5,
        ..config()
    });
    let mut house: Vec<_> = (0..3)
        .map(|n| world.join(&format!("192.0.2.{n}:1000"), Join::default()))
        .collect();
    let full = |world: &mut World, address: &str| {
        let mut player = world.connect(address);
        player.refusal(world, Ask::Join(Join::default()))
    };
    assert_eq!(full(&mut world, "192.0.2.77:1000"), Some(Refusal::Full));
    assert_eq!(full(&mut world, "198.51.100.1:1000"), None);
    assert_eq!(full(&mut world, "198.51.100.2:1000"), None);
    assert_eq!(
        full(&mut world, "203.0.113.1:1000"),
        Some(Refusal::Full),
        "five are all"
    );
    let peer = house[1].key();
    house[0].ask(&mut world, Ask::Connect(peer));
    assert_eq!(world.service.sessions().count(), 1);
    world.pass(Duration::from_secs(500));
    assert_eq!(world.service.clients().count(), 0);
    assert_eq!(world.service.sessions().count(), 0);
    assert_eq!(world.service.connections(), 0);
    assert_eq!(full(&mut world, "192.0.2.77:1000"), None);
}

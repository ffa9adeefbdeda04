//! How the directory brings players together, and names relays to them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use nearside_detour::{ClientId, DirectoryConfig};
use nearside_tunnel::crypto::{Chance, PublicKey, TicketKey};
use nearside_tunnel::messages::{Ask, Complaint, Fault, Join, Measured, Refusal, Tell};
use nearside_tunnel::service::{Admission, Rights, Service, ServiceConfig, State};
use nearside_types::Rtt;
use support::{World, config, identity, measured, relays};

#[test]
fn players_are_told_each_others_addresses_the_best_first() {
    let mut world = World::new(config());
    let local = |address: &str| Join {
        local: vec![address.parse().unwrap(), "8.8.8.8:53".parse().unwrap()],
        ..Join::default()
    };
    let mut one = world.join("192.0.2.1:1000", local("192.168.1.2:5000"));
    let mut two = world.join("192.0.2.1:2000", local("192.168.1.3:5000"));
    let Some(Tell::Introduce(near)) = one.ask(&mut world, Ask::Connect(two.key())) else {
        panic!("introduced");
    };
    let addresses: Vec<String> = near.addresses.iter().map(ToString::to_string).collect();
    assert_eq!(
        addresses,
        ["192.0.2.1:2000", "192.168.1.3:5000"],
        "not what is anybody's"
    );
    let mut far = world.join("198.51.100.1:2000", local("192.168.1.4:5000"));
    let Some(Tell::Introduce(told)) = far.ask(&mut world, Ask::Connect(two.key())) else {
        panic!("introduced");
    };
    assert_eq!(told.addresses, [two.address]);
    // Both turn out to have IPv6, too.
    for (player, six) in [
        (&mut far, "[2001:db8::1]:7000"),
        (&mut two, "[2001:db8::2]:7000"),
    ] {
        let six = six.parse().unwrap();
        prove_address(&mut world, player, six);
    }
    let Some(Tell::Introduce(told)) = far.ask(&mut world, Ask::Connect(two.key())) else {
        panic!("introduced");
    };
    assert_eq!(
        told.addresses,
        ["[2001:db8::2]:7000".parse().unwrap(), two.address]
    );
}

/// Asks from there until there is an answer, and confirms it.
fn prove_address(world: &mut World, player: &mut support::Player, at: std::net::SocketAddr) {
    for _ in 0..3 {
        let frame = player.seal(Ask::Observe);
        let sent = world.deliver(0, at, &frame);
        for (to, notice) in player.read(&sent) {
            assert_eq!((to, &notice.tell), (at, &Tell::Observed(at)));
            let heard = player.seal(Ask::Heard(notice.number));
            world.deliver(0, at, &heard);
        }
    }
}

#[test]
fn a_game_server_is_found_by_who_stands_beside_it_or_gives_a_way_out() {
    let mut world = World::new(ServiceConfig {
        admission: Admission {
            open: Some(Rights {
                relay: true,
                exit: true,
            }),
            ..Admission::default()
        },
        ..config()
    });
    let server = "192.0.2.1:27960".parse().unwrap();
    let mut player = world.join("198.51.100.1:2000", Join::default());
    assert_eq!(
        player.refusal(&mut world, Ask::Find(server)),
        Some(Refusal::Unknown)
    );
    let exit = Join {
        exits: vec![server],
        ..Join::default()
    };
    let exit = world.join("203.0.113.1:1000", exit);
    let mut find = |world: &mut World| match player.ask(world, Ask::Find(server)) {
        Some(Tell::Found(found)) => Some((found.peer, found.is_exit)),
        _ => None,
    };
    assert_eq!(find(&mut world), Some((exit.key(), true)));
    let beside = Join {
        exposes: Some(27_960),
        ..Join::default()
    };
    let mut beside = world.join("192.0.2.1:1000", beside);
    assert_eq!(find(&mut world), Some((beside.key(), false)));
    assert_eq!(beside.ask(&mut world, Ask::Leave), Some(Tell::Done));
    assert_eq!(find(&mut world), Some((exit.key(), true)));
    let nobody = PublicKey([7; 32]);
    assert_eq!(
        player.refusal(&mut world, Ask::Connect(nobody)),
        Some(Refusal::Unknown)
    );
}

fn beside() -> Join {
    Join {
        exposes: Some(27_960),
        ..Join::default()
    }
}

fn way_out() -> Join {
    Join {
        exits: vec!["192.0.2.1:27960".parse().unwrap()],
        ..Join::default()
    }
}

/// Two who lead to a server, the first of whom vanishes; the time until a player who talks with it is told
/// of the second.
fn until_the_second_is_named(addresses: [&str; 2], join: &Join) -> Duration {
    let mut world = World::new(ServiceConfig {
        admission: Admission {
            open: Some(Rights {
                relay: true,
                exit: true,
            }),
            ..Admission::default()
        },
        ..config()
    });
    let server = "192.0.2.1:27960".parse().unwrap();
    let mut player = world.join("198.51.100.1:2000", Join::default());
    let first = world.join(addresses[0], join.clone());
    let find = |world: &mut World, player: &mut support::Player| match player
        .ask(world, Ask::Find(server))
    {
        Some(Tell::Found(found)) => found.peer,
        other => panic!("{other:?}"),
    };
    assert_eq!(find(&mut world, &mut player), first.key());
    let Some(Tell::Introduce(met)) = player.ask(&mut world, Ask::Connect(first.key())) else {
        panic!("introduced");
    };
    world.pass(Duration::from_secs(1));
    let mut second = world.join(addresses[1], join.clone());
    player.ask(&mut world, Ask::Again(met.session));
    let begun = world.now;
    while find(&mut world, &mut player) != second.key() {
        world.pass(Duration::from_millis(500));
        second.ask(&mut world, Ask::Observe);
        assert!(world.now.since(begun) < Duration::from_secs(400), "never");
    }
    world.now.since(begun)
}

#[test]
fn one_beside_a_server_that_vanished_does_not_hide_its_successor() {
    let two = ["192.0.2.1:1000", "192.0.2.1:1001"];
    let took = until_the_second_is_named(two, &beside());
    assert!(took <= Duration::from_secs(3), "{took:?}");
}

#[test]
fn an_exit_that_vanished_does_not_hide_another() {
    let two = ["203.0.113.1:1000", "203.0.114.1:1000"];
    let took = until_the_second_is_named(two, &way_out());
    assert!(took <= Duration::from_secs(3), "{took:?}");
}

#[test]
fn whoever_was_heard_lately_is_named_before_who_was_not_and_the_first_of_those() {
    let mut world = World::new(config());
    let server = "192.0.2.1:27960".parse().unwrap();
    let mut player = world.join("198.51.100.1:2000", Join::default());
    let mut first = world.join("192.0.2.1:1000", beside());
    let mut second = world.join("192.0.2.1:1001", beside());
    let find = |world: &mut World, player: &mut support::Player| match player
        .ask(world, Ask::Find(server))
    {
        Some(Tell::Found(found)) => found.peer,
        other => panic!("{other:?}"),
    };
    // What it was told when the second joined is confirmed, or it would not be believed to be there.
    world.pass(Duration::from_secs(3));
    first.ask(&mut world, Ask::Observe);
    for silent_s in [15, 15, 4] {
        assert_eq!(find(&mut world, &mut player), first.key());
        world.pass(Duration::from_secs(silent_s));
        second.ask(&mut world, Ask::Observe);
    }
    assert_eq!(find(&mut world, &mut player), first.key(), "two were lost");
    world.pass(Duration::from_secs(1));
    assert_eq!(find(&mut world, &mut player), second.key());
    first.ask(&mut world, Ask::Observe);
    assert_eq!(find(&mut world, &mut player), first.key(), "it is back");
    first.ask(&mut world, Ask::Join(beside()));
    assert_eq!(find(&mut world, &mut player), first.key(), "still first");
}

#[test]
fn who_did_not_reach_one_beside_a_server_is_told_of_another_and_nobody_else_is() {
    let mut world = World::new(config());
    let server = "192.0.2.1:27960".parse().unwrap();
    let mut player = world.join("198.51.100.1:2000", Join::default());
    let mut other = world.join("198.51.100.2:2000", Join::default());
    let first = world.join("192.0.2.1:1000", beside());
    let second = world.join("192.0.2.1:1001", beside());
    let find = |world: &mut World, player: &mut support::Player| match player
        .ask(world, Ask::Find(server))
    {
        Some(Tell::Found(found)) => found.peer,
        other => panic!("{other:?}"),
    };
    let Some(Tell::Introduce(met)) = player.ask(&mut world, Ask::Connect(first.key())) else {
        panic!("introduced");
    };
    player.ask(&mut world, Ask::Part(met.session));
    assert_eq!(find(&mut world, &mut player), second.key());
    assert_eq!(find(&mut world, &mut other), first.key());
}

#[test]
fn relays_that_are_overloaded_or_complained_about_are_not_offered_for_a_while() {
    let mut world = World::new(config());
    let mut scene = world.scene(3);
    let session = scene.meet(&mut world).session;
    let ids: Vec<ClientId> = scene.relays.iter().map(|(relay, _)| relay.id()).collect();
    assert_eq!(scene.offered(&mut world, session), ids);
    let overloaded = |overloaded| {
        Ask::Report(Measured {
            overloaded,
            ..Measured::default()
        })
    };
    scene.relays[1].0.ask(&mut world, overloaded(true));
    assert_eq!(scene.offered(&mut world, session), [ids[0], ids[2]]);
    scene.relays[1].0.ask(&mut world, overloaded(false));
    assert_eq!(scene.offered(&mut world, session), ids);
    let complaint = Some(Complaint {
        relay: ids[0],
        fault: Fault::Silent,
    });
    for n in 0..3 {
        assert_eq!(
            scene.offered(&mut world, session)[0],
            ids[0],
            "{n} complaints"
        );
        let mut other = world.join(&format!("198.18.{n}.1:1000"), Join::default());
        let peer = scene.target.key();
        let Some(Tell::Introduce(met)) = other.ask(&mut world, Ask::Connect(peer)) else {
            panic!("introduced");
        };
        let uses = Ask::Uses {
            session: met.session,
            relay: None,
            complaint,
        };
        // Before it was offered the relay, its word is worth nothing.
        other.ask(&mut world, uses.clone());
        let legs = vec![(ids[0], Rtt::from_micros(9_000))];
        other.ask(&mut world, Ask::Report(measured(legs)));
        other.ask(&mut world, relays(met.session, 3));
        other.ask(&mut world, uses.clone());
        other.ask(&mut world, uses);
    }
    assert!(!scene.offered(&mut world, session).contains(&ids[0]));
    for _ in 0..4 {
        world.pass(Duration::from_secs(80));
        for (relay, _) in &mut scene.relays {
            relay.ask(&mut world, Ask::Report(Measured::default()));
        }
        for end in [&mut scene.source, &mut scene.target] {
            end.ask(&mut world, Ask::Report(Measured::default()));
        }
    }
    assert_eq!(scene.offered(&mut world, session)[0], ids[0]);
}

#[test]
fn what_sessions_use_is_counted_and_only_what_they_were_offered() {
    let mut world = World::new(config());
    let mut scene = world.scene(2);
    let session = scene.meet(&mut world).session;
    let id = scene.relays[0].0.id();
    let uses = |relay| Ask::Uses {
        session,
        relay,
        complaint: None,
    };
    assert_eq!(
        scene.source.refusal(&mut world, uses(Some(id))),
        Some(Refusal::Unknown)
    );
    scene.offered(&mut world, session);
    assert_eq!(
        scene.source.ask(&mut world, uses(Some(id))),
        Some(Tell::Done)
    );
    let carries = |world: &World| {
        world
            .service
            .clients()
            .find(|c| c.id == id)
            .unwrap()
            .carries
    };
    assert_eq!(carries(&world), 1);
    assert_eq!(world.service.sessions().next().unwrap().relay, Some(id));
    assert_eq!(
        scene.target.refusal(&mut world, uses(None)),
        Some(Refusal::Unknown)
    );
    scene.source.ask(&mut world, uses(None));
    assert_eq!(carries(&world), 0);
}

#[test]
fn both_ends_may_say_that_a_session_is_over_and_nobody_else() {
    let mut world = World::new(config());
    let mut scene = world.scene(2);
    for by_source in [true, false] {
        let session = scene.meet(&mut world).session;
        scene.offered(&mut world, session);
        let relay = Some(scene.relays[0].0.id());
        let uses = Ask::Uses {
            session,
            relay,
            complaint: None,
        };
        scene.source.ask(&mut world, uses);
        let part = Ask::Part(session);
        scene.relays[0].0.ask(&mut world, part.clone());
        let view = world.service.sessions().next().unwrap();
        assert_eq!((view.session, view.relay), (session, relay), "no stranger");
        let end = match by_source {
            true => &mut scene.source,
            false => &mut scene.target,
        };
        for _ in 0..2 {
            assert_eq!(end.ask(&mut world, part.clone()), Some(Tell::Done));
        }
        assert_eq!(world.service.sessions().count(), 0);
        assert!(world.service.clients().all(|client| client.carries == 0));
    }
}

#[test]
fn a_lobby_registers_sessions_and_the_relays_go_to_the_source_alone() {
    let mut world = World::new(config());
    let mut scene = world.scene(6);
    let (source, target) = (scene.source.id(), scene.target.id());
    world.sent.clear();
    let session = world
        .service
        .register_session(world.now, source, target)
        .unwrap();
    assert_eq!(world.service.offer_relays(world.now, session, 6), Ok(6));
    world.drain();
    let told = scene.source.told(&mut world);
    assert!(matches!(&told[0].tell, Tell::Introduce(i) if i.leads && i.session == session));
    let offers: usize = told
        .iter()
        .map(|notice| match &notice.tell {
            Tell::Relays { relays, .. } => relays.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(offers, 6, "in several datagrams");
    let others = scene.relays.iter_mut().map(|(relay, _)| relay);
    for player in others.chain([&mut scene.target]) {
        for notice in player.told(&mut world) {
            assert!(!matches!(notice.tell, Tell::Relays { .. }), "{notice:?}");
        }
    }
    assert_eq!(
        scene.target.refusal(&mut world, relays(session, 3)),
        Some(Refusal::Unknown)
    );
    let nobody = ClientId(1);
    let refused = world.service.register_session(world.now, source, nobody);
    assert_eq!(refused, Err(Refusal::Unknown));
    assert_eq!(
        world.service.offer_relays(world.now, session + 1, 6),
        Err(Refusal::Unknown)
    );
}

#[test]
fn a_lobby_that_asks_again_has_the_relay_in_use_left_out() {
    let mut world = World::new(config());
    let mut scene = world.scene(3);
    let session = scene.meet(&mut world).session;
    let best = scene.offered(&mut world, session)[0];
    let uses = Ask::Uses {
        session,
        relay: Some(best),
        complaint: None,
    };
    assert_eq!(scene.source.ask(&mut world, uses), Some(Tell::Done));
    world.sent.clear();
    assert_eq!(world.service.offer_relays(world.now, session, 6), Ok(2));
    world.drain();
    for notice in scene.source.told(&mut world) {
        if let Tell::Relays { relays, .. } = notice.tell {
            assert!(relays.iter().all(|offer| offer.ours.relay != best));
        }
    }
}

#[test]
fn after_a_restart_clients_come_back_to_their_legs_and_sessions() {
    let mut world = World::new(config());
    let mut scene = world.scene(2);
    let session = scene.meet(&mut world).session;
    let best = scene.offered(&mut world, session)[0];
    let uses = Ask::Uses {
        session,
        relay: Some(best),
        complaint: None,
    };
    scene.source.ask(&mut world, uses);
    let mut state = State::default();
    world
        .service
        .take_changes()
        .for_each(|change| state.apply(&change));
    let service = Service::restored(
        config(),
        identity(),
        DirectoryConfig::default(),
        state.clone(),
        Chance::from_number(99),
        world.now,
        world.wall,
    );
    let mut world = World::with(service);
    // The old connection is unknown, and nobody is told so.
    let old = scene.source.seal(Ask::Report(Measured::default()));
    assert_eq!(world.deliver(0, scene.source.address, &old), []);
    assert_eq!(world.service.counts().unknown, 1);
    let ends = [&mut scene.source, &mut scene.target];
    for player in ends {
        let address = player.address.to_string();
        *player = world.connect_as(player.identity.clone(), &address);
        let told = player.ask(&mut world, Ask::Join(Join::default()));
        assert!(matches!(told, Some(Tell::Welcome(_))), "{told:?}");
    }
    let (relay, welcome) = &scene.relays[0];
    let ticket_key = welcome.ticket_key.unwrap();
    let directory = world.service.directory();
    assert!(directory.leg(relay.id(), scene.source.id()).is_some());
    let view = world.service.sessions().next().unwrap();
    assert_eq!((view.session, view.relay), (session, Some(best)));
    // Relays that have not come back yet carry under the key they have.
    let offers = scene.offers(&mut world, session, 1);
    let key = TicketKey::new(&ticket_key);
    assert!(key.open(&offers[0].ours.ticket.0).is_ok());
}

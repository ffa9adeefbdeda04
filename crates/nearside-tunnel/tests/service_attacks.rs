//! What the directory does not do for strangers, liars and thieves.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use nearside_tunnel::crypto::{Dialling, Identity, TicketKey};
use nearside_tunnel::messages::{Ask, Join, Measured, RelayPass, Tell};
use nearside_tunnel::relay::{Arrival, Relay};
use nearside_tunnel::service::ServiceConfig;
use nearside_tunnel::vouched::Voucher;
use nearside_wire::detour::{Carry, CarryFlags, Frame, PASS_BYTES};
use proptest::prelude::*;
use support::{Player, World, capacity, config, hello};

/// Bytes that came from an address, less those that went there.
#[derive(Default)]
struct Ledger(BTreeMap<IpAddr, i64>);

impl Ledger {
    fn deliver(&mut self, world: &mut World, port: usize, from: SocketAddr, bytes: &[u8]) {
        *self.0.entry(from.ip()).or_default() += bytes.len() as i64;
        for sent in world.deliver(port, from, bytes) {
            *self.0.entry(sent.to.ip()).or_default() -= sent.bytes.len() as i64;
        }
    }
}

#[test]
fn a_hello_without_a_cookie_leaves_nothing_behind_and_gets_no_more_than_it_sent() {
    let mut world = World::new(config());
    let own = Identity::generate(&mut world.chance);
    let directory = world.service.public();
    for n in 0..200_u8 {
        let dialling = Dialling::new(&own, directory, 5, b"", &mut world.chance).unwrap();
        let from = SocketAddr::new([192, 0, 2, n].into(), 1_000);
        let bytes = hello(&dialling, [n; PASS_BYTES]);
        let sent = world.deliver(0, from, &bytes);
        assert!(sent.len() == 1 && sent[0].to == from && sent[0].bytes.len() <= bytes.len());
        // The shortest that is a hello at all.
        let sent = world.deliver(0, from, &bytes[..24]);
        assert_eq!(sent[0].bytes.len(), 24);
    }
    assert_eq!(world.service.connections(), 0);
    assert_eq!(world.service.counts().handshakes, 0);
}

/// A hello with the cookie it was given, sent as often as wanted.
fn invited(world: &mut World, from: SocketAddr) -> Vec<u8> {
    let own = Identity::generate(&mut world.chance);
    let directory = world.service.public();
    let dialling = Dialling::new(&own, directory, 5, b"", &mut world.chance).unwrap();
    let retry = world.deliver(0, from, &hello(&dialling, [0; PASS_BYTES]));
    let Ok(Frame::Retry { pass, .. }) = Frame::parse(&retry[0].bytes) else {
        panic!("{retry:?}");
    };
    hello(&dialling, pass)
}

#[test]
fn a_flood_of_handshakes_is_bounded_in_work_and_memory_and_locks_nobody_out() {
    let mut world = World::new(ServiceConfig {
        most_unjoined: 40,
        most_unjoined_per_prefix: 20,
        handshakes: 60,
        handshakes_per_prefix: 30,
        ..config()
    });
    let mut player = world.join("198.51.100.1:2000", Join::default());
    let sources: Vec<SocketAddr> = (0..6)
        .map(|n| SocketAddr::new([203, 0, n, 1].into(), 7_000))
        .collect();
    for second in 0..5 {
        for from in &sources {
            let bytes = invited(&mut world, *from);
            for _ in 0..40 {
                world.deliver(0, *from, &bytes);
            }
            assert!(world.service.connections() <= 41, "second {second}");
        }
        let counts = world.service.counts();
        assert!(counts.handshakes <= 61 * (second + 1), "{counts:?}");
        let done = player.ask(&mut world, Ask::Report(Measured::default()));
        assert_eq!(done, Some(Tell::Done));
        world.pass(Duration::from_secs(1));
    }
    // One house floods, another comes in.
    let flood = invited(&mut world, sources[0]);
    for _ in 0..100 {
        world.deliver(0, sources[0], &flood);
    }
    world.join("192.0.2.1:1000", Join::default());
    world.pass(Duration::from_secs(30));
    assert_eq!(
        world.service.connections(),
        2,
        "strangers who do not join go"
    );
}

#[test]
fn strangers_who_shake_hands_and_never_join_are_as_few() {
    let mut world = World::new(ServiceConfig {
        most_unjoined: 10,
        ..config()
    });
    for n in 0..30 {
        let mut player = world.connect(&format!("203.0.{n}.1:1000"));
        player.ask(&mut world, Ask::Observe);
        assert!(world.service.connections() <= 10);
    }
}

#[test]
fn replayed_forged_and_unknown_frames_are_dropped_without_a_word() {
    let mut world = World::new(config());
    let mut player = world.join("192.0.2.1:1000", Join::default());
    let frame = player.seal(Ask::Report(Measured::default()));
    assert!(!world.deliver(0, player.address, &frame).is_empty());
    assert_eq!(world.deliver(0, player.address, &frame), []);
    let mut forged = player.seal(Ask::Leave);
    *forged.last_mut().unwrap() ^= 1;
    assert_eq!(world.deliver(0, player.address, &forged), []);
    let mut unknown = player.seal(Ask::Leave);
    unknown[4] ^= 1;
    assert_eq!(world.deliver(0, player.address, &unknown), []);
    let counts = world.service.counts();
    assert_eq!((counts.replayed, counts.forged, counts.unknown), (1, 1, 1));
    assert_eq!(world.service.clients().count(), 1);
}

#[test]
fn an_old_hello_sent_again_by_somebody_else_takes_nothing_from_the_client() {
    let mut world = World::new(config());
    let mut player = world.join("192.0.2.1:1000", Join::default());
    let dialling = Dialling::new(
        &player.identity,
        world.service.public(),
        5,
        b"",
        &mut world.chance,
    );
    let dialling = dialling.unwrap();
    let thief: SocketAddr = "203.0.113.1:1000".parse().unwrap();
    let retry = world.deliver(0, thief, &hello(&dialling, [0; PASS_BYTES]));
    let Ok(Frame::Retry { pass, .. }) = Frame::parse(&retry[0].bytes) else {
        panic!("{retry:?}");
    };
    world.deliver(0, thief, &hello(&dialling, pass));
    assert_eq!(world.service.connections(), 2);
    let done = player.ask(&mut world, Ask::Report(Measured::default()));
    assert_eq!(done, Some(Tell::Done));
    let view = world.service.clients().next().unwrap();
    assert_eq!(view.address, player.address);
    world.pass(Duration::from_secs(30));
    assert_eq!(world.service.connections(), 1);
}

#[test]
fn a_client_that_puts_a_victims_address_on_its_packets_sends_it_no_more_than_it_sent_itself() {
    let mut world = World::new(config());
    for n in 0..30 {
        world.join(&format!("203.0.{n}.1:1000"), Join::default());
    }
    let mut liar = world.join("192.0.2.1:1000", Join::default());
    let victim: SocketAddr = "198.51.100.66:53".parse().unwrap();
    let mut ledger = Ledger::default();
    for n in 0..300 {
        let ask = match n % 3 {
            0 => Ask::Join(Join::default()),
            1 => Ask::Observe,
            // Guesses at the number that only the victim was told.
            _ => Ask::Heard(n),
        };
        let frame = liar.seal(ask);
        ledger.deliver(&mut world, n as usize % 2, victim, &frame);
        assert!(ledger.0[&victim.ip()] >= 0, "after {n}");
        for sent in world.pass(Duration::from_millis(100)) {
            assert_ne!(sent.to, victim, "nothing unasked");
        }
    }
    let view = world.service.clients().find(|c| c.id == liar.id()).unwrap();
    assert_eq!(view.address, liar.address);
    assert!(world.service.counts().held_back > 50);
}

#[test]
fn who_really_moved_proves_it_and_is_there_from_then_on() {
    let mut world = World::new(config());
    let mut player = world.join("192.0.2.1:1000", Join::default());
    let new: SocketAddr = "198.51.100.66:4000".parse().unwrap();
    for _ in 0..2 {
        let frame = player.seal(Ask::Report(Measured::default()));
        let sent = world.deliver(0, new, &frame);
        for (to, notice) in player.read(&sent) {
            assert_eq!(to, new);
            let heard = player.seal(Ask::Heard(notice.number));
            world.deliver(0, new, &heard);
        }
    }
    let view = world.service.clients().next().unwrap();
    assert_eq!(view.address, new);
}

/// Shows a pass to a relay, as a player at this address would.
fn open(relay: &mut Relay, world: &World, pass: &RelayPass, from: SocketAddr) -> bool {
    let ticket = &pass.ticket.0;
    let tag = pass.key.tag_open(ticket);
    let mut frame = Frame::Open { ticket, tag }.emit();
    relay.handle(arrival(world, from), &mut frame) == Some(from)
}

fn arrival(world: &World, from: SocketAddr) -> Arrival {
    Arrival {
        from,
        received: world.now,
        now: world.now,
        wall: world.wall,
    }
}

fn carried(pass: &RelayPass, counter: u64, inner: &[u8]) -> Vec<u8> {
    let carry = Carry {
        flags: CarryFlags::default(),
        residence: 0,
        hop: pass.hop,
        counter,
        tag: 0,
        inner,
    };
    let tag = pass.key.tag(&carry);
    Frame::Carry(Carry { tag, ..carry }).emit()
}

/// A relay that takes its directory's tickets.
fn relay_of(world: &World, player: &Player, key: [u8; 32]) -> Relay {
    let mut relay = Relay::new(player.id(), capacity(), world.now);
    relay.set_ticket_key(TicketKey::new(&key));
    relay
}

fn assert_carries(
    relay: &mut Relay,
    world: &World,
    [ours, theirs]: [&RelayPass; 2],
    [source, target]: [SocketAddr; 2],
) {
    assert!(open(relay, world, ours, source));
    assert!(open(relay, world, theirs, target));
    let mut frame = carried(ours, 1, b"to the target");
    assert_eq!(
        relay.handle(arrival(world, source), &mut frame),
        Some(target)
    );
    let mut frame = carried(theirs, 1, b"to the source");
    assert_eq!(
        relay.handle(arrival(world, target), &mut frame),
        Some(source)
    );
}

#[test]
fn tickets_are_taken_by_their_relay_from_their_players_in_time_and_by_nobody_else() {
    let mut world = World::new(config());
    let mut scene = world.scene(2);
    let session = scene.meet(&mut world).session;
    let offers = scene.offers(&mut world, session, 2);
    let ends = [scene.source.address, scene.target.address];
    let mut relays: Vec<Relay> = Vec::new();
    for ((player, welcome), offer) in scene.relays.iter().zip(&offers) {
        assert_eq!(offer.ours.relay, player.id());
        assert_eq!(offer.ours.address, player.address);
        let mut relay = relay_of(&world, player, welcome.ticket_key.unwrap());
        let thief = "203.0.113.9:1".parse().unwrap();
        assert!(!open(&mut relay, &world, &offer.ours, thief));
        assert_carries(&mut relay, &world, [&offer.ours, &offer.theirs.pass], ends);
        relays.push(relay);
    }
    assert!(
        !open(&mut relays[0], &world, &offers[1].ours, ends[0]),
        "another relay's"
    );
    world.pass(Duration::from_secs(46));
    assert!(
        !open(&mut relays[0], &world, &offers[0].ours, ends[0]),
        "too late"
    );
}

#[test]
fn the_directory_vouches_for_the_targets_way_to_the_target_alone() {
    let mut world = World::new(config());
    let mut scene = world.scene(1);
    let session = scene.meet(&mut world).session;
    let theirs = scene.offers(&mut world, session, 1)[0].theirs.clone();
    let [source, target] = [&mut scene.source, &mut scene.target].map(|player| {
        let Some(Tell::Welcome(welcome)) = player.ask(&mut world, Ask::Join(Join::default()))
        else {
            panic!("it is let in again");
        };
        let key = welcome.ping_key;
        Voucher { key, session }
    });
    let pass = Some(theirs.pass.clone());
    assert_eq!(target.check(theirs.clone(), world.wall), pass);
    assert_eq!(source.check(theirs.clone(), world.wall), None);
    let late = world.wall + Duration::from_secs(46);
    assert_eq!(target.check(theirs, late), None);
}

#[test]
fn two_behind_symmetric_nats_are_given_a_relay_at_once_that_takes_any_of_their_ports() {
    let mut world = World::new(config());
    let mut scene = world.scene(1);
    let mut other: SocketAddr = scene.source.address;
    other.set_port(9_001);
    scene.source.ask_on(&mut world, 1, other, Ask::Observe);
    assert_eq!(
        scene.meet(&mut world).through,
        None,
        "one of them can be reached"
    );
    let mut other: SocketAddr = scene.target.address;
    other.set_port(9_002);
    scene.target.ask_on(&mut world, 1, other, Ask::Observe);
    world.sent.clear();
    let ours = scene.meet(&mut world).through.unwrap();
    let told = scene.target.told(&mut world);
    let through = told.into_iter().find_map(|notice| match notice.tell {
        Tell::Introduce(introduction) => introduction.through,
        _ => None,
    });
    let (player, welcome) = &scene.relays[0];
    let mut relay = relay_of(&world, player, welcome.ticket_key.unwrap());
    let ends = ["192.0.2.1:5555", "198.51.100.1:6666"].map(|a| a.parse().unwrap());
    assert_carries(&mut relay, &world, [&ours, &through.unwrap()], ends);
}

proptest! {
    #[test]
    fn no_bytes_from_anywhere_make_the_directory_send_more_than_they_are(
        datagrams in prop::collection::vec(
            (0_u8..4, 0_usize..2, prop::collection::vec(any::<u8>(), 0..200), any::<bool>()),
            1..60,
        )
    ) {
        let mut world = World::new(config());
        let mut ledger = Ledger::default();
        for (host, port, mut bytes, framed) in datagrams {
            if let (true, [kind, version, ..]) = (framed, bytes.as_mut_slice()) {
                (*kind, *version) = (0x91 + *kind % 10, 1);
            }
            let from = SocketAddr::new([192, 0, 2, host].into(), 1_000);
            ledger.deliver(&mut world, port, from, &bytes);
            prop_assert!(ledger.0[&from.ip()] >= 0);
        }
        prop_assert_eq!(world.service.connections(), 0);
    }
}

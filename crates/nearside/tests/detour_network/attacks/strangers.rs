//! Attacks of those whom the directory never let in.

use std::net::SocketAddrV4;

use nearside_tunnel::crypto::{Chance, Dialling, Identity};
use nearside_wire::detour::{Carry, CarryFlags, Frame};

use super::captured::Datagram;
use super::scene::{Harm, Scene, Target, noise, victim};

/// What somebody on alice's line has seen.
pub(super) struct Seen {
    /// Her hello to the directory, with its cookie.
    pub(super) hello: Datagram,
    /// A sealed request of hers.
    pub(super) request: Datagram,
    /// Her ticket, as she showed it to the relay.
    pub(super) open: Datagram,
    /// Packets that she sent to the relay.
    pub(super) carried: Vec<Datagram>,
    /// Something that bob sealed for her.
    pub(super) from_peer: Datagram,
}

/// The same bytes in the name of others.
fn by_others(datagram: &Datagram) -> impl Fn(u32) -> (SocketAddrV4, Vec<u8>) {
    |number| (victim(number), datagram.payload.clone())
}

/// Random bytes of all lengths that a raw socket sends, half of them with the first bytes of a frame of
/// any kind. Which kind follows neither from the length nor the other way round: both are drawn.
fn random(number: u32) -> (SocketAddrV4, Vec<u8>) {
    let drawn = noise(number, 8);
    let lengths = [3, 20, 24, 60, 112, 120, 400, 1_400];
    let mut bytes = noise(number, lengths[usize::from(drawn[5]) % lengths.len()]);
    if drawn[6].is_multiple_of(2) {
        bytes[..2].copy_from_slice(&[0x91 + drawn[7] % KINDS, 1]);
    }
    (victim(number), bytes)
}

/// Kinds of frames, from 0x91 on.
const KINDS: u8 = 12;

pub(super) fn attack_the_relay(scene: &Scene, seen: &Seen) {
    let relay = scene.target("near", "near");
    let hop = last_hop(seen);
    let harm = forwarding_nothing(scene, "packets without a ticket", relay, "strangers", |n| {
        let carry = Carry {
            flags: CarryFlags::STAMP,
            residence: 0,
            // Half of them know the number of a way that is there, and where its end is.
            hop: if n % 2 == 0 { hop } else { n },
            counter: u64::MAX - u64::from(n),
            tag: u64::from(n) << 32,
            inner: &[0; 60],
        };
        let source = if n % 4 == 0 {
            seen.open.from
        } else {
            victim(n)
        };
        (source, Frame::Carry(carry).emit())
    });
    harm.reached_nobody("packets without a ticket");

    let stolen = forwarding_nothing(
        scene,
        "a stolen ticket, shown from elsewhere",
        relay,
        "refused",
        by_others(&seen.open),
    );
    stolen.reached_nobody("a stolen ticket");

    let old = |_| (seen.open.from, seen.open.payload.clone());
    forwarding_nothing(
        scene,
        "an expired ticket in its owner's name",
        relay,
        "refused",
        old,
    );

    let again = |n: u32| {
        let datagram = &seen.carried[n as usize % seen.carried.len()];
        (datagram.from, datagram.payload.clone())
    };
    forwarding_nothing(
        scene,
        "packets sent again in their sender's name",
        relay,
        "replayed",
        again,
    );

    scene
        .forge("random bytes", relay, random)
        .reached_nobody("random bytes");
    oversized(scene, relay);
}

/// The number of alice's way through the relay.
fn last_hop(seen: &Seen) -> u32 {
    let last = seen.carried.last().expect("the game goes by it");
    match Frame::parse(&last.payload) {
        Ok(Frame::Carry(carry)) => carry.hop,
        other => panic!("{other:?}"),
    }
}

/// What the relay sends on is what alice and bob sent it, and it counts the attack as what it is.
fn forwarding_nothing(
    scene: &Scene,
    what: &str,
    relay: Target<'_>,
    counted_as: &str,
    packet: impl FnMut(u32) -> (SocketAddrV4, Vec<u8>),
) -> Harm {
    let rightful = || {
        let net = &scene.stage.net;
        let ends = ["alice", "bob"].map(|end| net.traffic(end, relay.host).packets);
        ends[0] + ends[1]
    };
    let counted = |what: &str| scene.counted(relay.program, what);
    let before = (rightful(), counted("forwarded"), counted(counted_as));
    let harm = scene.forge(what, relay, packet);
    let forwarded = counted("forwarded") - before.1;
    let noticed = counted(counted_as) - before.2;
    // What was on its way when the counting began.
    let most = rightful() - before.0 + 30;
    assert!(
        forwarded <= most,
        "{what}: {forwarded} forwarded, of {most} that may be"
    );
    let sent = harm.sent.packets;
    assert!(
        noticed * 10 >= sent * 9,
        "{what}: {noticed} of {sent} {counted_as}"
    );
    harm
}

/// Datagrams that arrive in many pieces.
fn oversized(scene: &Scene, target: Target<'_>) {
    let what = "packets of up to 60 kB";
    let harm = scene.attack(what, target, |number| {
        // Each is forty packets on the line.
        if number % 40 == 0 {
            let mut bytes = noise(number, [1_300, 9_000, 60_000][number as usize / 40 % 3]);
            bytes[..4].copy_from_slice(&[0x91 + noise(number, 8)[7] % KINDS, 1, 0, 0]);
            scene.own.send_to(&bytes, target.at).unwrap();
        }
    });
    harm.reached_nobody(what);
}

pub(super) fn attack_the_directory(scene: &Scene, seen: &Seen) {
    let directory = scene.directory();
    let key = scene.stage.directory_key().parse().unwrap();
    let stranger = Identity::from_secret([66; 32]);
    let mut chance = Chance::from_number(66);
    let dialling = Dialling::new(&stranger, key, 1, b"", &mut chance).unwrap();
    let harm = scene.forge("a flood of handshakes", directory, |n| {
        let hello = Frame::Hello {
            index: 1,
            pass: [0; 16],
            noise: dialling.message(),
        };
        (victim(n), hello.emit())
    });
    assert!(
        harm.reached.packets > 0,
        "each gets a cookie, which is shorter"
    );
    scene.forge(
        "alice's cookie in others' names",
        directory,
        by_others(&seen.hello),
    );
    let to_alice = || scene.stage.net.traffic("directory", "alice").packets;
    let before = to_alice();
    let harm = scene.forge("alice's request sent again", directory, |n| {
        let request = &seen.request;
        let source = if n % 2 == 0 { request.from } else { victim(n) };
        (source, request.payload.clone())
    });
    harm.reached_nobody("a sealed request sent again");
    let answers = to_alice() - before;
    assert!(answers < 20, "{answers} packets to alice, who has her own");
    let harm = scene.forge("random bytes", directory, random);
    // Some of them are hellos without a cookie.
    assert!(harm.reached.bytes <= harm.sent.bytes / 4);
    oversized(scene, directory);
}

pub(super) fn attack_the_player(scene: &Scene, seen: &Seen) {
    let player = scene.target(&scene.player, "alice");
    let (bob, sealed) = (seen.from_peer.from, &seen.from_peer.payload);
    let harm = scene.forge("bob's packet sent again", player, |n| {
        // In his name and in others', as it was and damaged.
        let mut bytes = sealed.clone();
        if n % 3 == 0 {
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
        }
        (if n % 2 == 0 { bob } else { victim(n) }, bytes)
    });
    harm.reached_nobody("a packet of the peer's");
    let harm = scene.forge("handshakes without a pass", player, |n| {
        let bytes = match n % 3 {
            0 => seen.hello.payload.clone(),
            1 => Frame::Punch {
                pass: [n as u8; 16],
            }
            .emit(),
            _ => Frame::Ping {
                from: n.into(),
                nonce: n.into(),
                tag: n.into(),
            }
            .emit(),
        };
        (victim(n), bytes)
    });
    harm.reached_nobody("handshakes without a pass");
    let harm = scene.forge("random bytes", player, random);
    harm.reached_nobody("random bytes");
    oversized(scene, player);
}

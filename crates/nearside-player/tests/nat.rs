//! Who reaches whom through which NATs: directly where that is possible, through a relay where not.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod stage;

use std::time::{Duration, Instant};

use nearside_player::{Happening, LinkId, Player};
use nearside_testnet::{HostSpec, Nat, Testnet};
use stage::{Directory, Echo, Stream, expect, join, key, say};

/// What stands between a host and the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wall {
    Open,
    FullCone,
    AddressRestricted,
    PortRestricted,
    Symmetric,
    TwoLayers,
}

use Wall::*;

const WALLS: [Wall; 6] = [
    Open,
    FullCone,
    AddressRestricted,
    PortRestricted,
    Symmetric,
    TwoLayers,
];

impl Wall {
    fn host(self, side: &str) -> HostSpec {
        let host = HostSpec::new(format!("{side}-{self:?}").to_lowercase());
        match self {
            Open => host,
            FullCone => host.behind(Nat::FullCone),
            AddressRestricted => host.behind(Nat::AddressRestricted),
            PortRestricted => host.behind(Nat::PortRestricted),
            Symmetric => host.behind(Nat::Symmetric),
            TwoLayers => host.behind(Nat::PortRestricted).behind(Nat::PortRestricted),
        }
    }

    fn name(self, side: &str) -> String {
        format!("{side}-{self:?}").to_lowercase()
    }

    /// Whether packets from a port that was not written to are let in.
    fn minds_ports(self) -> bool {
        matches!(self, PortRestricted | Symmetric | TwoLayers)
    }
}

/// Two find each other unless one has another port for everybody and the other minds ports.
fn can_meet(one: Wall, other: Wall) -> bool {
    !(one == Symmetric && other.minds_ports() || other == Symmetric && one.minds_ports())
}

#[test]
fn every_pair_of_nats_meets_as_it_should() {
    if !nearside_testnet::ready("every_pair_of_nats_meets_as_it_should") {
        return;
    }
    let mut builder = Testnet::builder()
        .host("directory")
        .host("relay")
        .delay(Duration::from_millis(10));
    for wall in WALLS {
        builder = builder.host(wall.host("left")).host(wall.host("right"));
    }
    let net = builder.build().unwrap();
    let directory = Directory::start(net.host("directory"));
    let _relay = join(net.host("relay"), &directory, 3);
    let player =
        |side: &str, wall: Wall, name: u64| join(net.host(&wall.name(side)), &directory, name);
    let left: Vec<Player> = WALLS
        .iter()
        .zip(10..)
        .map(|(wall, name)| player("left", *wall, name))
        .collect();
    let right: Vec<Echo> = WALLS
        .iter()
        .zip(30..)
        .map(|(wall, name)| Echo::start(player("right", *wall, name)))
        .collect();
    assert_eq!(right.len(), WALLS.len());
    // The NATs have to be known before anybody is introduced.
    std::thread::sleep(Duration::from_secs(1));
    let mut wrong = Vec::new();
    for (one, player) in WALLS.iter().zip(&left) {
        for (other, name) in WALLS.iter().zip(30..) {
            player.connect(key(name));
            let met = expect(player, "a link", |happening| match happening {
                Happening::Connected {
                    link,
                    through_relay,
                    leads: true,
                    ..
                } => Some((*link, !through_relay)),
                Happening::Unreachable(_) => panic!("{one:?} cannot reach {other:?} at all"),
                _ => None,
            });
            let (link, directly) = met;
            let stream = Stream::play(player, link, Duration::from_millis(400));
            player.close(link);
            if directly != can_meet(*one, *other) || stream.came.is_empty() {
                wrong.push(format!(
                    "{one:?} to {other:?}: directly {directly}, {} came",
                    stream.came.len()
                ));
            }
        }
    }
    say(&format!(
        "{} pairs of NATs met, {} not as expected",
        WALLS.len().pow(2),
        wrong.len()
    ));
    assert_eq!(wrong, Vec::<String>::new());
}

/// Alice, linked to Bob and playing for a second already.
fn alice_plays_with_bob(net: &Testnet) -> ((Directory, Echo), Player, LinkId) {
    let directory = Directory::start(net.host("directory"));
    let bob = Echo::start(join(net.host("bob"), &directory, 2));
    let alice = join(net.host("alice"), &directory, 1);
    alice.connect(key(2));
    let link = expect(&alice, "a link", |happening| match happening {
        Happening::Connected { link, .. } => Some(*link),
        _ => None,
    });
    Stream::play(&alice, link, Duration::from_secs(1));
    ((directory, bob), alice, link)
}

#[test]
fn a_nat_that_forgets_is_noticed_and_repaired() {
    if !nearside_testnet::ready("a_nat_that_forgets_is_noticed_and_repaired") {
        return;
    }
    let net = Testnet::builder()
        .host("directory")
        .host(HostSpec::new("alice").behind(Nat::PortRestricted))
        .host("bob")
        .delay(Duration::from_millis(10))
        .build()
        .unwrap();
    let (_others, alice, link) = alice_plays_with_bob(&net);
    net.host("alice").rebind().unwrap();
    let stream = Stream::play(&alice, link, Duration::from_secs(3));
    say(&format!(
        "another port of the NAT: gap {:?}, {} lost",
        stream.gap(),
        stream.lost()
    ));
    assert!(stream.gap() < Duration::from_millis(700));
    assert!(stream.lost() < 40, "{}", stream.lost());
}

#[test]
fn two_nats_that_forget_at_once_are_passed_again() {
    if !nearside_testnet::ready("two_nats_that_forget_at_once_are_passed_again") {
        return;
    }
    // Nobody relays: there is the direct path or none.
    let net = Testnet::builder()
        .host("directory")
        .host(HostSpec::new("alice").behind(Nat::PortRestricted))
        .host(HostSpec::new("bob").behind(Nat::PortRestricted))
        .delay(Duration::from_millis(10))
        .build()
        .unwrap();
    let (_others, alice, link) = alice_plays_with_bob(&net);
    net.host("alice").rebind().unwrap();
    net.host("bob").rebind().unwrap();
    let stream = Stream::play(&alice, link, Duration::from_secs(10));
    say(&format!(
        "other ports of both NATs: gap {:?}, {} of {} lost",
        stream.gap(),
        stream.lost(),
        stream.sent
    ));
    let last = stream.came.last().unwrap().0;
    assert!(last + 60 > stream.sent, "nothing after packet {last}");
}

#[test]
fn ipv6_leads_directly_where_ipv4_needs_a_relay() {
    if !nearside_testnet::ready("ipv6_leads_directly_where_ipv4_needs_a_relay") {
        return;
    }
    // Nobody knows the ports of a symmetric NAT beforehand; IPv6 passes both, once it was written out.
    let walled = |name: &str| HostSpec::new(name).behind(Nat::Symmetric).ipv6();
    let net = Testnet::builder()
        .host(HostSpec::new("directory").ipv6())
        .host("relay")
        .host(walled("alice"))
        .host(walled("bob"))
        .host(HostSpec::new("carol").behind(Nat::Symmetric))
        .delay(Duration::from_millis(10))
        .build()
        .unwrap();
    let directory = Directory::start(net.host("directory"));
    let _relay = join(net.host("relay"), &directory, 3);
    let alice = join(net.host("alice"), &directory, 1);
    let _bob = Echo::start(join(net.host("bob"), &directory, 2));
    let _carol = Echo::start(join(net.host("carol"), &directory, 4));
    // Both families have to be seen before anybody is introduced.
    let until = Instant::now() + Duration::from_secs(20);
    while alice.view().unwrap().observed_other.is_none() {
        assert!(Instant::now() < until, "IPv6 was never seen");
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(Duration::from_secs(3));
    for (peer, directly) in [(2, true), (4, false)] {
        alice.connect(key(peer));
        let (link, through_relay) = expect(&alice, "a link", |happening| match happening {
            Happening::Connected {
                link,
                through_relay,
                ..
            } => Some((*link, *through_relay)),
            Happening::Unreachable(_) => panic!("{peer} cannot be reached at all"),
            _ => None,
        });
        assert_eq!(!through_relay, directly, "player {peer}");
        let stream = Stream::play(&alice, link, Duration::from_millis(500));
        assert!(!stream.came.is_empty(), "player {peer}");
        let view = alice.view().unwrap();
        let seen = view.links.iter().find(|view| view.link == link).unwrap();
        let active = seen.paths.iter().find(|path| path.active).unwrap();
        say(&format!(
            "player {peer}: {:.1} ms over {}",
            stream.median_ms(),
            active.address
        ));
        assert_eq!(active.address.is_ipv6(), directly, "player {peer}");
    }
}

#[test]
fn what_may_go_directly_alone_is_not_sent_where_there_is_no_direct_path() {
    let name = "what_may_go_directly_alone_is_not_sent_where_there_is_no_direct_path";
    if !nearside_testnet::ready(name) {
        return;
    }
    let walled = |name: &str| HostSpec::new(name).behind(Nat::Symmetric);
    let net = Testnet::builder()
        .host("directory")
        .host("relay")
        .host(walled("alice"))
        .host(walled("bob"))
        .delay(Duration::from_millis(10))
        .build()
        .unwrap();
    let directory = Directory::start(net.host("directory"));
    let _relay = join(net.host("relay"), &directory, 3);
    let alice = join(net.host("alice"), &directory, 1);
    let _bob = Echo::start(join(net.host("bob"), &directory, 2));
    std::thread::sleep(Duration::from_secs(1));
    alice.connect(key(2));
    let link = expect(&alice, "a link", |happening| match happening {
        Happening::Connected {
            link,
            through_relay: true,
            ..
        } => Some(*link),
        _ => None,
    });
    let tap = net.tap("alice", "relay");
    let secret = [7; 900];
    alice.send_direct(link, &secret);
    let told = expect(&alice, "word of it", |happening| match happening {
        Happening::NotSent { link } => Some(*link),
        _ => None,
    });
    assert_eq!(told, link);
    let stream = Stream::play(&alice, link, Duration::from_millis(500));
    assert!(!stream.came.is_empty(), "by the relay packets go");
    let strayed = tap.try_iter().filter(|packet| packet.len() >= secret.len());
    assert_eq!(strayed.count(), 0);
}

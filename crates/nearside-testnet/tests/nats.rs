//! Each kind of NAT by what it lets through, seen by plain UDP sockets.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::thread;

use nearside_testnet::{HostSpec, Nat, Testnet, ready};
use support::{PATIENCE, SILENCE, hears, ms, passes};

const PORT: u16 = 4_000;

/// A host behind NATs, and two open ones: `friend` listens on two ports, `stranger` on one.
struct Scene {
    layers: Vec<Nat>,
    net: Testnet,
    home: UdpSocket,
    friend: UdpSocket,
    other_port: UdpSocket,
    stranger: UdpSocket,
}

impl Scene {
    fn new(layers: &[Nat]) -> Self {
        let open = HostSpec::new("home");
        let home = layers.iter().fold(open, |spec, nat| spec.behind(*nat));
        Self::with_home(layers, home)
    }

    fn with_home(layers: &[Nat], home: HostSpec) -> Self {
        let net = Testnet::builder()
            .host(home)
            .host("friend")
            .host("stranger")
            .delay(ms(1))
            .build()
            .unwrap();
        let socket = |name: &str, port| net.host(name).udp(port).unwrap();
        Self {
            layers: layers.to_vec(),
            home: socket("home", PORT),
            friend: socket("friend", PORT),
            other_port: socket("friend", PORT + 1),
            stranger: socket("stranger", PORT),
            net,
        }
    }

    fn address(&self, name: &str, port: u16) -> SocketAddr {
        (self.net.host(name).address(), port).into()
    }

    /// Where home seems to be when it writes to its friend.
    fn seen_by_friend(&self) -> SocketAddr {
        let to = self.address("friend", PORT);
        passes(&self.home, &self.friend, to, PATIENCE).expect("a NAT lets out")
    }

    /// The same for another port of the friend: enough to tell a symmetric NAT from others.
    fn seen_by_other_port(&self) -> SocketAddr {
        let to = self.address("friend", PORT + 1);
        passes(&self.home, &self.other_port, to, PATIENCE).expect("a NAT lets out")
    }

    /// The same for the stranger, who thereby ceases to be one.
    fn seen_by_stranger(&self) -> SocketAddr {
        let to = self.address("stranger", PORT);
        passes(&self.home, &self.stranger, to, PATIENCE).expect("a NAT lets out")
    }

    /// Panics unless a datagram from there reaches home, or is kept out, as expected.
    fn expect(&self, access: Access, from: &UdpSocket, outside: SocketAddr, what: &str) {
        let patience = match access {
            Access::In => PATIENCE,
            Access::Out => SILENCE,
        };
        let passed = passes(from, &self.home, outside, patience).is_some();
        let boxes = &self.layers;
        assert_eq!(passed, access == Access::In, "{boxes:?}: {what}");
    }
}

/// What happens to a datagram at the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    In,
    Out,
}

/// What a kind promises once home has written to its friend.
struct Promise {
    ports: Ports,
    friends_other_port: Access,
    stranger: Access,
}

/// How many outside ports a socket has.
#[derive(Debug, PartialEq, Eq)]
enum Ports {
    One,
    OneForEachPartner,
}

fn promise(nat: Nat) -> Promise {
    let (ports, friends_other_port, stranger) = match nat {
        Nat::FullCone => (Ports::One, Access::In, Access::In),
        Nat::AddressRestricted => (Ports::One, Access::In, Access::Out),
        Nat::PortRestricted => (Ports::One, Access::Out, Access::Out),
        Nat::Symmetric => (Ports::OneForEachPartner, Access::Out, Access::Out),
    };
    Promise {
        ports,
        friends_other_port,
        stranger,
    }
}

fn check(layers: &[Nat], promise: &Promise) {
    let scene = Scene::new(layers);
    let public = scene.net.host("home").address();
    // Whatever port is guessed; and a guess spoils nothing for those who are invited later.
    for port in [PORT, PORT ^ 1, PORT ^ 33] {
        let guess = (public, port).into();
        scene.expect(Access::Out, &scene.friend, guess, "uninvited");
    }
    let outside = scene.seen_by_friend();
    assert_eq!(outside.ip(), public);
    assert_ne!(outside.port(), PORT, "{layers:?}: the port shows through");
    assert_eq!(scene.seen_by_friend(), outside, "{layers:?}: mappings last");
    scene.expect(Access::In, &scene.friend, outside, "the answer");
    let friends_other_port = promise.friends_other_port;
    scene.expect(friends_other_port, &scene.other_port, outside, "other port");
    scene.expect(promise.stranger, &scene.stranger, outside, "stranger");
    let second = scene.seen_by_stranger();
    let same = promise.ports == Ports::One;
    assert_eq!(second == outside, same, "{layers:?}: {outside}, {second}");
    scene.expect(Access::In, &scene.stranger, second, "invited");
    let third = scene.seen_by_other_port();
    assert_eq!(third == outside, same, "{layers:?}: {outside}, {third}");
}

/// Most of a check is waiting for nothing, so all wait together.
fn check_all(cases: &[(&[Nat], Nat)]) {
    thread::scope(|scope| {
        for (layers, like) in cases {
            scope.spawn(|| check(layers, &promise(*like)));
        }
    });
}

#[test]
fn every_kind_maps_and_filters_as_its_name_says() {
    if !ready("every_kind_maps_and_filters_as_its_name_says") {
        return;
    }
    check_all(&[
        (&[Nat::FullCone], Nat::FullCone),
        (&[Nat::AddressRestricted], Nat::AddressRestricted),
        (&[Nat::PortRestricted], Nat::PortRestricted),
        (&[Nat::Symmetric], Nat::Symmetric),
    ]);
}

#[test]
fn two_layers_are_as_strict_as_the_stricter_one() {
    if !ready("two_layers_are_as_strict_as_the_stricter_one") {
        return;
    }
    check_all(&[
        (&[Nat::FullCone, Nat::FullCone], Nat::FullCone),
        (&[Nat::FullCone, Nat::PortRestricted], Nat::PortRestricted),
        (&[Nat::PortRestricted, Nat::Symmetric], Nat::Symmetric),
        (&[Nat::Symmetric, Nat::PortRestricted], Nat::Symmetric),
    ]);
}

fn rebind(layers: &[Nat]) {
    let scene = Scene::new(layers);
    let mut outside = scene.seen_by_friend();
    for _ in 0..2 {
        scene.net.host("home").rebind().unwrap();
        scene.expect(Access::Out, &scene.friend, outside, "old port");
        let moved = scene.seen_by_friend();
        assert_ne!(moved, outside, "{layers:?}");
        scene.expect(Access::In, &scene.friend, moved, "new port");
        outside = moved;
    }
}

#[test]
fn rebinding_moves_a_flow_to_another_port_and_closes_the_old_one() {
    if !ready("rebinding_moves_a_flow_to_another_port_and_closes_the_old_one") {
        return;
    }
    thread::scope(|scope| {
        for nat in Nat::ALL {
            scope.spawn(move || rebind(&[nat]));
        }
        scope.spawn(|| rebind(&[Nat::FullCone, Nat::PortRestricted]));
    });
}

#[test]
fn a_silent_mapping_dies_of_age_and_a_busy_one_does_not() {
    if !ready("a_silent_mapping_dies_of_age_and_a_busy_one_does_not") {
        return;
    }
    let old = |nat: Nat| {
        let home = HostSpec::new("home").behind(nat);
        let scene = Scene::with_home(&[nat], home.mapping_lifetime(ms(2_000)));
        let outside = scene.seen_by_friend();
        for _ in 0..6 {
            thread::sleep(ms(500));
            assert_eq!(scene.seen_by_friend(), outside, "{nat:?}");
        }
        thread::sleep(ms(2_500));
        scene.expect(Access::Out, &scene.friend, outside, "too late");
    };
    thread::scope(|scope| {
        for nat in Nat::ALL {
            scope.spawn(move || old(nat));
        }
    });
}

/// Two homes learn from a third party how each is seen, write there at once, and answer to wherever
/// they hear the other from. Whether they then have a path in both directions.
fn meet(left: Nat, right: Nat) -> bool {
    let net = Testnet::builder()
        .host(HostSpec::new("left").behind(left))
        .host(HostSpec::new("right").behind(right))
        .host("directory")
        .delay(ms(2))
        .build()
        .unwrap();
    let socket = |name: &str| net.host(name).udp(PORT).unwrap();
    let (left, right, directory) = (socket("left"), socket("right"), socket("directory"));
    let to = (net.host("directory").address(), PORT);
    let seen = |socket| passes(socket, &directory, to, PATIENCE).unwrap();
    let (seen_left, seen_right) = (seen(&left), seen(&right));
    // The first packet of one side may come before the other side's door is open.
    for _ in 0..2 {
        left.send_to(b"open", seen_right).unwrap();
        right.send_to(b"open", seen_left).unwrap();
        thread::sleep(ms(50));
    }
    let answered = |socket, other| {
        let heard = hears(socket, b"open", SILENCE);
        heard.is_some_and(|from| passes(socket, other, from, PATIENCE).is_some())
    };
    answered(&left, &right) || answered(&right, &left)
}

#[test]
fn simultaneous_open_works_unless_a_symmetric_nat_meets_a_strict_one() {
    if !ready("simultaneous_open_works_unless_a_symmetric_nat_meets_a_strict_one") {
        return;
    }
    use Nat::{AddressRestricted, FullCone, PortRestricted, Symmetric};
    thread::scope(|scope| {
        for (left, right, meets) in [
            (PortRestricted, PortRestricted, true),
            (FullCone, PortRestricted, true),
            (FullCone, Symmetric, true),
            (AddressRestricted, Symmetric, true),
            (PortRestricted, Symmetric, false),
            (Symmetric, Symmetric, false),
        ] {
            scope.spawn(move || assert_eq!(meet(left, right), meets, "{left:?}, {right:?}"));
        }
    });
}

#[test]
fn ipv6_passes_a_nat_unchanged_but_only_when_asked_for() {
    if !ready("ipv6_passes_a_nat_unchanged_but_only_when_asked_for") {
        return;
    }
    let home = HostSpec::new("home")
        .behind(Nat::Symmetric)
        .behind(Nat::PortRestricted);
    let net = Testnet::builder()
        .host(home.ipv6())
        .host(HostSpec::new("friend").ipv6())
        .build()
        .unwrap();
    let socket = |name: &str| {
        let any = (Ipv6Addr::UNSPECIFIED, PORT).into();
        net.host(name).udp_at(any).unwrap()
    };
    let (home, friend) = (socket("home"), socket("friend"));
    let address = |name: &str| (net.host(name).ipv6().unwrap(), PORT);
    assert_eq!(passes(&friend, &home, address("home"), SILENCE), None);
    let seen = passes(&home, &friend, address("friend"), PATIENCE).expect("a NAT lets out");
    assert_eq!(seen, address("home").into());
    assert!(passes(&friend, &home, address("home"), PATIENCE).is_some());
    assert_eq!(
        net.host("home").inside_address(),
        Ipv4Addr::new(192, 168, 1, 2)
    );
}

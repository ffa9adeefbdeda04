//! Registration over HTTP, as the engine sees it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::net::{IpAddr, Ipv4Addr};

use common::{Net, answer, public, quake3_info};
use nearside_registry::{
    Ban, Bans, Claim, ClaimAnswer, Event, Facts, Family, Refusal, Settings, SocketId, Standing,
    Text,
};
use nearside_types::ServerAddr;
use nearside_wire::claim::ClaimChallenge;

/// Servers behind NAT register from another address than players reach them at.
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(9, 9, 9, 9));

fn claim(addr: ServerAddr, challenge: Option<String>) -> Claim {
    Claim {
        addr,
        family: Family::Other,
        facts: facts(),
        challenge,
        requester: ELSEWHERE,
        bytes: 200,
    }
}

fn facts() -> Facts {
    let mut facts = Facts::of_texts(&[(Text::Game, b"mygame"), (Text::Map, b"castle")]);
    (facts.players, facts.places) = (3, 8);
    facts
}

fn server(number: u32) -> ServerAddr {
    ServerAddr::from_socket(public(number)).unwrap()
}

/// The challenge that the master sent to an address last.
fn received(net: &mut Net, addr: ServerAddr) -> Option<String> {
    net.drain();
    let mut sent = net.sent.iter().rev();
    let (_, datagram) = sent.find(|(to, _)| *to == addr.socket())?;
    let challenge = ClaimChallenge::parse(datagram).unwrap();
    Some(challenge.as_str().to_owned())
}

#[test]
fn who_receives_the_datagram_registers_the_address_and_nobody_else_does() {
    let mut net = Net::new(Settings::default());
    let (home, other) = (server(1), server(2));
    let first = net.master.claim(net.now, claim(home, None));
    assert_eq!(first.answer, ClaimAnswer::Challenged);
    assert!(net.master.shelf().is_empty());
    let challenge = received(&mut net, home);
    assert!(challenge.is_some());
    let stolen = net.master.claim(net.now, claim(other, challenge.clone()));
    assert_eq!(stolen.answer, ClaimAnswer::Challenged);
    assert_eq!(stolen.earlier, Some(Refusal::WrongChallenge), "and is told");
    let told = Event::Refused {
        addr: other,
        refusal: Refusal::WrongChallenge,
    };
    net.drain();
    assert!(net.events.contains(&told), "and so is the operator");
    let again = net.master.claim(net.now, claim(home, challenge.clone()));
    assert!(matches!(again.answer, ClaimAnswer::Registered(until) if until > net.now));
    let listed = net.master.shelf().get(home).unwrap();
    assert_eq!(
        (listed.family, listed.standing),
        (Family::Other, Standing::Verified)
    );
    assert_eq!(listed.facts.text(Text::Map), b"castle");
    net.pass(180);
    let old = net.master.claim(net.now, claim(home, challenge));
    assert_eq!(
        old.answer,
        ClaimAnswer::Challenged,
        "challenges last two minutes"
    );
}

#[test]
fn a_refusal_is_told_at_once_and_again_with_the_next_request() {
    let mut net = Net::new(Settings::default());
    let home = server(1);
    net.master.set_bans(Bans::new([Ban {
        target: home.ip().to_string().parse().unwrap(),
        reason: "fake players".to_owned(),
    }]));
    let first = net.master.claim(net.now, claim(home, None));
    assert_eq!(first.earlier, None);
    let challenge = received(&mut net, home);
    let banned = Refusal::Banned("fake players".to_owned());
    let refused = net.master.claim(net.now, claim(home, challenge));
    assert_eq!(refused.answer, ClaimAnswer::Refused(banned.clone()));
    let later = net.master.claim(net.now, claim(home, None));
    assert_eq!(later.answer, ClaimAnswer::Challenged);
    assert_eq!(later.earlier, Some(banned));
}

#[test]
fn a_victims_network_gets_few_datagrams_and_private_addresses_none() {
    let mut net = Net::new(Settings::default());
    let victim = server(1);
    let busy = (0..1000)
        .map(|_| net.master.claim(net.now, claim(victim, None)).answer)
        .filter(|answer| *answer == ClaimAnswer::Busy)
        .count();
    net.drain();
    let bytes: usize = net.sent.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(
        busy > 900 && bytes <= 2000,
        "{busy} turned away, {bytes} bytes"
    );
    let tally = net.master.tally();
    assert!(tally.unproven_bytes_out <= tally.unproven_bytes_in);
    let local = "10.0.0.1:27960".parse().unwrap();
    let answer = net.master.claim(net.now, claim(local, None)).answer;
    assert_eq!(answer, ClaimAnswer::Refused(Refusal::Unreachable));
}

#[test]
fn who_asks_in_anothers_name_spends_the_share_of_its_own_network() {
    let mut net = Net::new(Settings::default());
    let (home, flooder) = (server(1), IpAddr::from([9, 9, 9, 200]));
    let ask = |net: &mut Net, addr, requester| {
        let claim = Claim {
            requester,
            ..claim(addr, None)
        };
        net.master.claim(net.now, claim).answer
    };
    while ask(&mut net, home, flooder) != ClaimAnswer::Busy {}
    assert_eq!(
        ask(&mut net, home, home.ip()),
        ClaimAnswer::Challenged,
        "the network that was named has spent nothing"
    );
    assert_eq!(ask(&mut net, server(2), ELSEWHERE), ClaimAnswer::Busy);
}

#[test]
fn a_neighbour_that_asks_without_end_keeps_no_registered_server_from_renewing() {
    let mut net = Net::new(Settings::default());
    let home = server(1);
    let own = |challenge| Claim {
        requester: home.ip(),
        ..claim(home, challenge)
    };
    net.master.claim(net.now, own(None));
    let challenge = received(&mut net, home);
    net.master.claim(net.now, own(challenge));
    assert_eq!(net.master.shelf().len(), 1);
    let IpAddr::V4(ip) = home.ip() else {
        panic!("an IPv4 address");
    };
    let [a, b, c, _] = ip.octets();
    let neighbour = IpAddr::from([a, b, c, 250]);
    let flood = Claim {
        requester: neighbour,
        ..claim(ServerAddr::new(neighbour, 1000).unwrap(), None)
    };
    while net.master.claim(net.now, flood.clone()).answer != ClaimAnswer::Busy {}
    let renewed = net.master.claim(net.now, own(None)).answer;
    assert_eq!(renewed, ClaimAnswer::Challenged);
}

#[test]
fn a_challenge_leaves_by_the_socket_that_the_server_registered_on() {
    let mut net = Net::new(Settings::default());
    net.socket = SocketId(3);
    net.register(public(1), quake3_info());
    net.pass(500);
    net.sent.clear();
    let external = Claim {
        family: Family::Quake3,
        ..claim(server(1), None)
    };
    let answer = net.master.claim(net.now, external).answer;
    assert_eq!(answer, ClaimAnswer::Asked);
    net.drain();
    assert_eq!(net.left_by, Some(SocketId(3)));
}

#[test]
fn a_quake3_server_is_asked_itself_at_the_address_it_is_said_to_have() {
    let mut net = Net::new(Settings::default());
    let home = server(1);
    let external = Claim {
        family: Family::Quake3,
        ..claim(home, None)
    };
    let first = net.master.claim(net.now, external.clone());
    assert_eq!(first.answer, ClaimAnswer::Asked);
    net.drain();
    let (_, getinfo) = net.sent.pop().unwrap();
    net.ask(home.socket(), &answer(&getinfo, quake3_info()));
    let again = net.master.claim(net.now, external);
    assert!(matches!(again.answer, ClaimAnswer::Registered(_)));
    let listed = net.master.shelf().get(home).unwrap();
    assert_eq!(
        listed.facts.text(Text::Map),
        b"oa_dm1",
        "its own word counts"
    );
}

//! Floods, replays and random bytes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::net::SocketAddr;
use std::time::Duration;

use common::{Net, client, public, quake3_info, steam_info};
use nearside_registry::{Event, Facts, Family, Refusal, Server, Settings, Standing, Text, fuzzing};
use nearside_types::{Origin, ServerAddr};
use nearside_wire::quake3::{Heartbeat, Response, master::ListRequest};
use nearside_wire::steam;
use proptest::prelude::*;

#[test]
fn a_flood_from_a_hundred_thousand_forged_addresses_leaves_no_trace_and_no_amplification() {
    let mut net = Net::new(Settings::default());
    for number in 0..100 {
        net.register(public(number), quake3_info());
    }
    let heartbeat = Heartbeat {
        tag: "QuakeArena-1".into(),
    }
    .emit();
    let request = ListRequest::new(None, 71).emit();
    let before = net.master.tally();
    for number in 0..100_000_u32 {
        let ip = std::net::Ipv4Addr::from_bits(0x2000_0000 + number * 7919);
        let from = SocketAddr::from((ip, 1000));
        for payload in [&heartbeat[..], &request, b"q"] {
            net.ask(from, payload);
        }
    }
    assert_eq!(net.master.shelf().len(), 100);
    assert!(net.master.refusals().is_empty());
    let after = net.master.tally();
    let answered = after.unproven_bytes_out - before.unproven_bytes_out;
    let asked = after.unproven_bytes_in - before.unproven_bytes_in;
    let joins = 10 * 100_000;
    assert!(answered <= asked + joins, "{answered} for {asked}");
    assert_eq!(net.list(client(), ListRequest::new(None, 71)).len(), 100);
}

#[test]
fn one_network_gets_few_join_challenges() {
    let mut net = Net::new(Settings::default());
    let answered = (0..1000_u16).filter(|port| {
        let from = SocketAddr::from(([11, 0, 0, 1], 1000 + port));
        !net.ask(from, b"q").is_empty()
    });
    assert_eq!(answered.count(), 50, "500 bytes saved up, ten each");
}

#[test]
fn a_flooding_neighbour_silences_no_registered_server() {
    let mut net = Net::new(Settings::default());
    let home = SocketAddr::from(([11, 0, 0, 1], 27015));
    net.join(home, steam_info("de_dust2"));
    let stranger = |port: u16| SocketAddr::from(([11, 0, 0, 2], port));
    let flood = |net: &mut Net| {
        let ports = 1000..2000;
        ports
            .filter(|port| !net.ask(stranger(*port), b"q").is_empty())
            .count()
    };
    flood(&mut net);
    assert_eq!(flood(&mut net), 0, "the network's allowance is spent");
    for _ in 0..3 {
        net.pass(250);
        flood(&mut net);
        net.join(home, steam_info("de_nuke"));
    }
    assert_eq!(net.pages(client(), r"\map\de_nuke").len(), 1);
    // Its own reserve has an end too: anybody can send a `q` in its name.
    let answered = (0..1000).filter(|_| !net.ask(home, b"q").is_empty());
    assert!(answered.count() <= 50);
}

/// A registry so large that looking through it is felt.
fn crowded() -> Net {
    let mut net = Net::new(Settings::default());
    let facts = Facts::of_texts(&[(Text::Game, b"cstrike"), (Text::Name, &[b'a'; 60])]);
    for number in 0..20_000 {
        net.master.remember(
            net.now,
            Server {
                addr: ServerAddr::from_socket(public(number)).unwrap(),
                family: Family::Steam,
                standing: Standing::Remembered,
                origin: Origin::default(),
                expires: net.now + Duration::from_secs(600),
                facts: facts.clone(),
            },
        );
    }
    net
}

/// The request of somebody who has its cookie.
fn proven(net: &mut Net, from: SocketAddr, filter: &str) -> Vec<u8> {
    let filter: steam::Filter = filter.parse().unwrap();
    let cookie = net.ask(from, &steam::ListRequest::new(filter.clone()).emit());
    let Ok(steam::ListReply::Cookie(cookie)) = steam::ListReply::parse(&cookie[0], None) else {
        panic!("a cookie, not {cookie:?}");
    };
    steam::ListRequest::new(filter.with_challenge(cookie)).emit()
}

/// A filter that nobody asked before, as costly as can be.
fn costly(number: u32) -> String {
    format!(r"\nor\60\map\x{number}{}", r"\name_match\*aaab".repeat(59))
}

#[test]
fn costly_new_questions_of_proven_clients_get_few_answers_and_known_lists_go_on() {
    let mut net = crowded();
    let honest = proven(&mut net, client(), r"\gamedir\cstrike");
    assert_eq!(net.ask(client(), &honest).len(), 1);
    let mut answered = 0;
    for number in 0..200 {
        let guest = SocketAddr::from(([60, 0, number as u8 % 20, 1], 40_000));
        let question = proven(&mut net, guest, &costly(number));
        answered += net.ask(guest, &question).len();
        // The registry changes, so that the honest client's list has to be looked for again.
        net.master
            .forget(ServerAddr::from_socket(public(number)).unwrap());
        net.now += Duration::from_millis(10);
        assert_eq!(net.ask(client(), &honest).len(), 1, "after {number}");
    }
    assert!(answered <= 8, "{answered} of 200");
    let refused = net.master.tally().scans_refused;
    assert!(refused >= 190, "{refused}");
    // What was asked for last is still fresh, and others' new questions have their turn again.
    net.pass(5);
    let listed = net.pages(client(), r"\gamedir\cstrike");
    assert_eq!(listed.len(), 20_000 - 200);
    assert_eq!(net.pages(client(), r"\gamedir\cstrike\map\new").len(), 0);
}

#[test]
fn beside_a_crowd_with_new_questions_somebody_who_comes_later_gets_its_lists() {
    let mut net = crowded();
    for number in 0..1_500 {
        let guest = SocketAddr::from(([60, 0, number as u8 % 15, 1], 40_000));
        let question = proven(&mut net, guest, &format!(r"\map\x{number}"));
        net.ask(guest, &question);
        net.now += Duration::from_millis(1);
    }
    for filter in [r"\gamedir\cstrike", r"\gamedir\cstrike\map\de_dust2"] {
        let honest = proven(&mut net, client(), filter);
        assert_eq!(net.ask(client(), &honest).len(), 1, "{filter}");
    }
}

#[test]
fn forged_questions_of_old_clients_take_nothing_from_those_who_prove_themselves() {
    let mut net = crowded();
    let honest = proven(&mut net, client(), r"\map\mine");
    net.master.set_settings(Settings {
        legacy_bytes_per_second: 20_000,
        ..Settings::default()
    });
    net.pass(10);
    let before = net.master.tally();
    for number in 0..60 {
        // In the honest client's network and in others.
        let forged = SocketAddr::from(([9, 9, 9 + number as u8 % 20, 77], 1_000));
        let request = steam::ListRequest::new(costly(number).parse().unwrap()).emit();
        assert_eq!(net.ask(forged, &request).len(), 1, "a list or a cookie");
    }
    let after = net.master.tally();
    assert!(after.scans_refused - before.scans_refused >= 58);
    assert_eq!(net.ask(client(), &honest).len(), 1);
    assert_eq!(net.master.tally().lists, after.lists + 1);
    // A network without allowance makes nobody look.
    let spent = SocketAddr::from(([70, 0, 0, 1], 1_000));
    let whole = steam::ListRequest::new(steam::Filter::default()).emit();
    while net.ask(spent, &whole)[0].len() > 100 {}
    let before = net.master.tally();
    let request = steam::ListRequest::new(costly(1_000).parse().unwrap()).emit();
    net.ask(spent, &request);
    assert_eq!(net.master.tally().scans_refused, before.scans_refused);
    assert_eq!(net.master.tally().cookies, before.cookies + 1);
}

#[test]
fn wrong_challenges_are_told_and_leave_no_trace() {
    let mut net = Net::new(Settings::default());
    let forged = quake3_info().with("challenge", "AAAAAAAA");
    net.ask(public(1), &Response::Info(forged).emit());
    net.ask(public(2), b"0\n\\protocol\\48\\challenge\\1");
    let told = net.events.iter().map(|event| match event {
        Event::Refused { addr, refusal } => (addr.socket(), refusal.clone()),
        other => panic!("a refusal, not {other:?}"),
    });
    let wrong = Refusal::WrongChallenge;
    let expected = [(public(1), wrong.clone()), (public(2), wrong)];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert!(net.master.refusals().is_empty());
    assert_eq!(net.master.tally().wrong_challenges, 2);
}

#[test]
fn a_cookie_is_worth_nothing_elsewhere_or_later() {
    let mut net = Net::new(Settings::default());
    net.register(public(1), quake3_info());
    let mut request = ListRequest::new(None, 71);
    let cookie = net.ask(client(), &request.emit()).remove(0);
    let cookie = nearside_wire::quake3::master::ListReply::parse(&cookie, None).unwrap();
    let nearside_wire::quake3::master::ListReply::Cookie(cookie) = cookie else {
        panic!("a cookie, not {cookie:?}");
    };
    request.challenge = Some(cookie);
    let gets_list = |net: &mut Net, from| {
        let answer = net.ask(from, &request.emit()).remove(0);
        answer.starts_with(b"\xFF\xFF\xFF\xFFgetserversResponse")
    };
    assert!(gets_list(&mut net, client()));
    assert!(gets_list(&mut net, client()), "and again, within its time");
    assert!(!gets_list(&mut net, "9.9.9.9:40001".parse().unwrap()));
    net.pass(121);
    assert!(!gets_list(&mut net, client()));
}

proptest! {
    #[test]
    fn no_sequence_of_datagrams_panics_or_amplifies(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        fuzzing::datagrams(&bytes);
    }
}

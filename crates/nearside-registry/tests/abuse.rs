//! Floods, replays and random bytes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::net::SocketAddr;

use common::{Net, client, public, quake3_info};
use nearside_registry::{Settings, fuzzing};
use nearside_wire::quake3::{Heartbeat, master::ListRequest};
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

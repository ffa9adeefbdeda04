//! Neighbours that must prove who they are: BIRD signs its connection (TCP-MD5), or sends with the
//! highest TTL.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU8;
use std::path::Path;
use std::time::Duration;

use nearside_net::{BgpConfig, BgpListenError, BgpListener, Md5Key, Protection};
use nearside_origin::bgp::{CollectorConfig, Neighbour};
use nearside_types::Asn;

use super::support::*;

/// Long enough for BIRD to try several times: it does so every second.
const PATIENCE: Duration = Duration::from_millis(3_500);

fn neighbours(addrs: &[Ipv4Addr]) -> CollectorConfig {
    let neighbour = |addr: &Ipv4Addr| Neighbour {
        addr: IpAddr::V4(*addr),
        asn: Asn(64_501),
    };
    CollectorConfig::new(addrs.iter().map(neighbour).collect())
}

fn signed(addr: Ipv4Addr, password: &str) -> Protection {
    Protection {
        neighbour: addr.into(),
        key: Some(Md5Key::new(password.as_bytes()).unwrap()),
        hops: None,
    }
}

fn within_hops(addr: Ipv4Addr, hops: u8) -> Protection {
    Protection {
        neighbour: addr.into(),
        key: None,
        hops: NonZeroU8::new(hops),
    }
}

/// BIRD cannot get through with `wrong` lines about its session, and can with `right` ones.
fn assert_only_right(test: &str, bird: &Path, protection: Protection, wrong: &str, right: &str) {
    let IpAddr::V4(addr) = protection.neighbour else {
        panic!("loopback has IPv4 addresses to spare");
    };
    let collector = Running::with_protection(neighbours(&[addr]), vec![protection]);
    let bird = Bird::start_with(test, bird, addr, 64_501, collector.addr, wrong);
    std::thread::sleep(PATIENCE);
    let told = collector.told();
    assert_eq!(told.events, Vec::<String>::new(), "{test} with `{wrong}`");
    bird.reconfigure(right);
    collector.wait_for("a session", |told| {
        told.events
            .iter()
            .any(|event| event.contains("Established"))
    });
    collector.wait_for("routes", |told| told.routes.len() == 4);
}

const RIGHT: &str = "multihop; password \"open sesame\";";
const WRONG: &str = "multihop; password \"open barley\";";

#[test]
fn a_wrong_password_does_not_connect_and_the_right_one_does() {
    let test = "a_wrong_password_does_not_connect_and_the_right_one_does";
    let Some(bird) = foreign(test, "bird", "bird") else {
        return;
    };
    let protection = signed(loopback(20), "open sesame");
    assert_only_right("md5-wrong", &bird, protection, WRONG, RIGHT);
}

#[test]
fn without_a_password_a_neighbour_with_one_does_not_connect() {
    let test = "without_a_password_a_neighbour_with_one_does_not_connect";
    let Some(bird) = foreign(test, "bird", "bird") else {
        return;
    };
    let protection = signed(loopback(21), "open sesame");
    assert_only_right("md5-none", &bird, protection, "multihop;", RIGHT);
}

#[test]
fn a_neighbour_without_a_key_is_heard_beside_one_with() {
    let test = "a_neighbour_without_a_key_is_heard_beside_one_with";
    let Some(bird) = foreign(test, "bird", "bird") else {
        return;
    };
    let (plain, keyed) = (loopback(22), loopback(23));
    let protection = vec![signed(keyed, "open sesame")];
    let collector = Running::with_protection(neighbours(&[plain, keyed]), protection);
    let _plain = Bird::start("md5-beside", &bird, plain, 64_501, collector.addr);
    collector.wait_for("routes", |told| told.routes.len() == 4);
}

#[test]
fn only_a_neighbour_that_sends_with_the_highest_ttl_is_near() {
    let test = "only_a_neighbour_that_sends_with_the_highest_ttl_is_near";
    let Some(bird) = foreign(test, "bird", "bird") else {
        return;
    };
    let protection = within_hops(loopback(24), 1);
    // Without TTL security BIRD sends with 64, as if it were 192 hops away.
    let right = "multihop 1; ttl security yes;";
    assert_only_right("ttl", &bird, protection, "multihop;", right);
}

#[test]
fn protections_of_ipv4_neighbours_work_on_an_ipv6_socket() {
    let addr = loopback(25);
    let mut config = BgpConfig::new(neighbours(&[addr]));
    config.listen = "[::1]:0".parse().unwrap();
    config.protection = vec![Protection {
        hops: NonZeroU8::new(1),
        ..signed(addr, "open sesame")
    }];
    let bound: Result<BgpListener, BgpListenError> = BgpListener::bind(config);
    bound.unwrap();
}

//! Several neighbours and one table: who may connect, when it is published, what survives.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bgp_support;

use std::net::IpAddr;
use std::time::Duration;

use bgp_support::*;
use nearside_origin::bgp::{
    Collector, CollectorConfig, CollectorError, CollectorOutput, Neighbour, PeerEvent, PeerId,
    Refusal,
};
use nearside_types::{Asn, Moment};

const FIRST: PeerId = PeerId(0);

fn neighbour(addr: &str) -> Neighbour {
    Neighbour {
        addr: addr.parse().unwrap(),
        asn: Asn(PEER_ASN),
    }
}

fn config() -> CollectorConfig {
    CollectorConfig::new(vec![neighbour("127.0.0.2"), neighbour("127.0.0.3")])
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn at(seconds: u64) -> Moment {
    Moment::EPOCH + Duration::from_secs(seconds)
}

/// What came out of a collector since the last look.
#[derive(Debug, Default)]
struct Seen {
    events: Vec<PeerEvent>,
    closed: Vec<PeerId>,
    last_sent: Vec<u8>,
    published: usize,
    wait: Option<Moment>,
}

fn look(collector: &mut Collector) -> Seen {
    let mut seen = Seen::default();
    loop {
        match collector.poll_output() {
            CollectorOutput::Send { bytes, .. } => seen.last_sent = bytes,
            CollectorOutput::Close { peer } => seen.closed.push(peer),
            CollectorOutput::Event { event, .. } => seen.events.push(event),
            CollectorOutput::Publish => seen.published += 1,
            CollectorOutput::Wait(until) => {
                seen.wait = until;
                return seen;
            }
        }
    }
}

/// A collector whose first neighbour is up at `now`.
fn connected(config: CollectorConfig, open: &[u8]) -> Collector {
    let mut collector = Collector::new(config).unwrap();
    connect(&mut collector, at(0), open);
    collector
}

fn connect(collector: &mut Collector, now: Moment, open: &[u8]) {
    let peer = collector.handle_connection(now, ip("127.0.0.2"));
    assert_eq!(peer, Ok(FIRST));
    collector.handle_bytes(now, FIRST, &[open, &keep_alive()].concat());
    assert!(collector.is_established(FIRST));
    look(collector);
}

fn prefixes(collector: &Collector) -> Vec<String> {
    let routes = collector.rib().routes();
    routes.map(|route| route.prefix.to_string()).collect()
}

#[test]
fn strangers_are_turned_away_and_mapped_addresses_are_known() {
    let mut collector = Collector::new(config()).unwrap();
    let refused = collector.handle_connection(at(0), ip("127.0.0.9"));
    assert_eq!(refused, Err(Refusal(ip("127.0.0.9"))));
    let mapped = collector.handle_connection(at(0), ip("::ffff:127.0.0.3"));
    assert_eq!(mapped, Ok(PeerId(1)));
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let twice = CollectorConfig::new(vec![neighbour("::ffff:127.0.0.2"), neighbour("127.0.0.2")]);
    let error = Collector::new(twice).unwrap_err();
    assert_eq!(error, CollectorError::TwiceTheSame(ip("127.0.0.2")));
    let nobody = Collector::new(CollectorConfig::new(Vec::new())).unwrap_err();
    assert_eq!(nobody, CollectorError::NoNeighbours);
    let hasty = CollectorConfig {
        hold_time: 2,
        ..config()
    };
    assert_eq!(
        Collector::new(hasty).unwrap_err(),
        CollectorError::HoldTime(2)
    );
}

#[test]
fn publishes_at_once_and_then_at_most_once_a_second() {
    let mut collector = connected(config(), &full_open());
    collector.handle_bytes(at(1), FIRST, &announce(&["8.0.0.0/8"], &[1]));
    assert_eq!(look(&mut collector).published, 1);
    for second_octet in 0..50 {
        let prefix = format!("9.{second_octet}.0.0/16");
        collector.handle_bytes(at(1), FIRST, &announce(&[&prefix], &[1]));
    }
    let seen = look(&mut collector);
    assert_eq!((seen.published, seen.wait), (0, Some(at(2))));
    collector.handle_timeout(at(2));
    assert_eq!(look(&mut collector).published, 1);
    collector.handle_timeout(at(4));
    assert_eq!(look(&mut collector).published, 0, "nothing has changed");
}

#[test]
fn a_large_first_table_is_published_rarely_while_it_comes_and_soon_when_it_is_there() {
    let mut collector = connected(config(), &full_open());
    collector.handle_bytes(at(1), FIRST, &announce(&["8.0.0.0/8"], &[1]));
    assert_eq!(look(&mut collector).published, 1);
    for number in 0..11_000 {
        let prefix = format!("9.{}.{}.0/24", number / 256, number % 256);
        collector.handle_bytes(at(1), FIRST, &announce(&[&prefix], &[1]));
    }
    collector.handle_timeout(at(2));
    let seen = look(&mut collector);
    assert_eq!((seen.published, seen.wait), (0, Some(at(6))));
    collector.handle_bytes(at(3), FIRST, &markers());
    assert_eq!(look(&mut collector).published, 1);
}

fn markers() -> Vec<u8> {
    [end_of_rib_v4(), end_of_rib_v6()].concat()
}

#[test]
fn a_lost_session_keeps_its_routes_until_their_time_is_over() {
    let mut collector = connected(config(), &full_open());
    collector.handle_bytes(at(1), FIRST, &announce(&["8.0.0.0/8"], &[1]));
    collector.handle_disconnect(at(2), FIRST);
    let seen = look(&mut collector);
    assert_eq!(seen.closed, [], "the shell knows that it is gone");
    assert_eq!(prefixes(&collector), ["8.0.0.0/8"]);
    collector.handle_timeout(at(3));
    let seen = look(&mut collector);
    assert_eq!(seen.wait, Some(at(2 + 60 * 60)));
    collector.handle_timeout(at(2 + 60 * 60));
    assert_eq!(look(&mut collector).published, 1);
    assert_eq!(prefixes(&collector), Vec::<String>::new());
}

#[test]
fn a_second_connection_replaces_the_first_and_its_routes_replace_the_stale_ones() {
    let mut collector = connected(config(), &full_open());
    let both = announce(&["8.0.0.0/8", "9.0.0.0/8"], &[1]);
    collector.handle_bytes(at(1), FIRST, &both);
    connect(&mut collector, at(5), &full_open());
    assert_eq!(prefixes(&collector), ["8.0.0.0/8", "9.0.0.0/8"]);
    collector.handle_bytes(at(6), FIRST, &announce(&["9.0.0.0/8"], &[1]));
    collector.handle_bytes(at(6), FIRST, &markers());
    let seen = look(&mut collector);
    assert_eq!(seen.events, [PeerEvent::Loaded { prefixes: 1 }]);
    assert_eq!(prefixes(&collector), ["9.0.0.0/8"]);
}

#[test]
fn without_a_marker_ten_quiet_seconds_mean_that_all_is_there() {
    let plain = open(240, &[CAPABILITY_V4, CAPABILITY_FOUR_OCTETS]);
    let mut collector = connected(config(), &plain);
    collector.handle_bytes(at(1), FIRST, &announce(&["8.0.0.0/8"], &[1]));
    collector.handle_disconnect(at(2), FIRST);
    connect(&mut collector, at(3), &plain);
    collector.handle_timeout(at(60));
    assert_eq!(prefixes(&collector), ["8.0.0.0/8"], "it has not begun yet");
    collector.handle_bytes(at(61), FIRST, &announce(&["9.0.0.0/8"], &[1]));
    collector.handle_timeout(at(70));
    assert_eq!(prefixes(&collector).len(), 2);
    look(&mut collector);
    collector.handle_timeout(at(71));
    let seen = look(&mut collector);
    assert_eq!(seen.events, [PeerEvent::Loaded { prefixes: 1 }]);
    assert_eq!(prefixes(&collector), ["9.0.0.0/8"]);
}

#[test]
fn too_many_prefixes_end_the_session_and_leave_the_table() {
    let mut config = config();
    config.rib.prefix_limit = 1;
    let mut collector = connected(config, &full_open());
    let two = announce(&["8.0.0.0/8", "9.0.0.0/8"], &[1]);
    collector.handle_bytes(at(1), FIRST, &two);
    let seen = look(&mut collector);
    assert_eq!(seen.last_sent, notification(6, 1));
    assert_eq!(seen.closed, [FIRST]);
    assert_eq!(prefixes(&collector), ["8.0.0.0/8"]);
}

#[test]
fn a_broken_update_is_reported_and_only_its_routes_go() {
    let mut collector = connected(config(), &full_open());
    let both = announce(&["8.0.0.0/8", "9.0.0.0/8"], &[1]);
    collector.handle_bytes(at(1), FIRST, &both);
    look(&mut collector);
    let no_path = [origin_attribute(), next_hop()];
    let broken = update(&[], &no_path, &nlri(&["9.0.0.0/8"]));
    collector.handle_bytes(at(2), FIRST, &broken);
    let seen = look(&mut collector);
    assert!(matches!(seen.events.as_slice(), [PeerEvent::Malformed(_)]));
    assert!(collector.is_established(FIRST));
    assert_eq!(prefixes(&collector), ["8.0.0.0/8"]);
}

#[test]
fn everybody_is_told_at_the_end() {
    let mut collector = connected(config(), &full_open());
    collector.shut_down(at(1));
    let seen = look(&mut collector);
    assert_eq!(seen.last_sent, notification(6, 2));
    assert_eq!(seen.closed, [FIRST]);
}

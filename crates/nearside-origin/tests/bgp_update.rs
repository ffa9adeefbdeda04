//! What UPDATEs mean, good ones and broken ones (RFC 7606).

mod bgp_support;

use bgp_support::*;
use nearside_origin::bgp::{CloseReason, Event, Family, Fault, Update};
use nearside_types::{Asn, Prefix};

fn read(message: &[u8]) -> Update {
    read_in(established(), message)
}

fn read_in(mut session: nearside_origin::bgp::Session, message: &[u8]) -> Update {
    let done = feed(&mut session, message);
    assert!(session.is_established(), "{:?}", done.events);
    match done.events.as_slice() {
        [Event::Update(update)] => update.clone(),
        other => panic!("{other:?}"),
    }
}

fn prefixes(texts: &[&str]) -> Vec<Prefix> {
    texts.iter().map(|text| prefix(text)).collect()
}

/// Sends attributes with one good prefix and returns whom we blame.
fn blamed(attributes: &[Vec<u8>]) -> (u8, Fault) {
    let update = read(&update(&[], attributes, &nlri(&["192.0.2.0/24"])));
    assert_eq!(update.announced, []);
    assert_eq!(update.withdrawn, prefixes(&["192.0.2.0/24"]));
    let malformed = update.malformed.expect("somebody to blame");
    (malformed.attribute, malformed.fault)
}

/// The codes by which the session was ended.
fn ended_by(message: &[u8]) -> (u8, u8) {
    let done = feed(&mut established(), message);
    match done.events.as_slice() {
        [
            Event::Closed {
                reason: CloseReason::Sent(notification),
            },
        ] => (notification.code, notification.subcode),
        other => panic!("{other:?}"),
    }
}

#[test]
fn announcements_bring_prefixes_and_their_origin() {
    let found = read(&announce(
        &["192.0.2.0/24", "10.0.0.0/8"],
        &[64_501, 174, 24_940],
    ));
    assert_eq!(found.announced, prefixes(&["192.0.2.0/24", "10.0.0.0/8"]));
    assert_eq!(found.origin, Some(Asn(24_940)));
    assert_eq!((found.withdrawn.len(), found.malformed), (0, None));
}

#[test]
fn ipv6_comes_and_goes_inside_attributes() {
    let found = read(&announce_v6(
        &["2001:db8::/32", "2001:db8:1::/48"],
        &[1, 210_000],
    ));
    assert_eq!(
        found.announced,
        prefixes(&["2001:db8::/32", "2001:db8:1::/48"])
    );
    assert_eq!(found.origin, Some(Asn(210_000)));
    let gone = read(&update(&[], &[mp_unreach_v6(&["2001:db8::/32"])], &[]));
    assert_eq!(gone.withdrawn, prefixes(&["2001:db8::/32"]));
}

#[test]
fn withdrawals_need_no_attributes() {
    let found = read(&withdraw(&["192.0.2.0/24"]));
    assert_eq!(found.withdrawn, prefixes(&["192.0.2.0/24"]));
    assert_eq!((found.announced.len(), found.malformed), (0, None));
}

#[test]
fn an_empty_path_is_the_neighbours_own_route() {
    assert_eq!(
        read(&announce(&["192.0.2.0/24"], &[])).origin,
        Some(Asn(PEER_ASN))
    );
}

#[test]
fn a_set_hides_the_origin() {
    let set = attribute(0x40, 2, &[1, 2, 0, 0, 0, 7, 0, 0, 0, 9]);
    let attributes = [origin_attribute(), set, next_hop()];
    let found = read(&update(&[], &attributes, &nlri(&["192.0.2.0/24"])));
    assert_eq!((found.announced.len(), found.origin), (1, None));
    assert_eq!(found.malformed, None);
}

#[test]
fn two_octet_neighbours_hide_long_numbers_in_as4_path() {
    let short = attribute(0x40, 2, &[2, 2, 0xFB, 0xF5, 0x5B, 0xA0]);
    let long = attribute(0xC0, 17, &[2, 1, 0, 3, 0x34, 0x50]);
    let attributes = [origin_attribute(), short, next_hop(), long];
    let message = update(&[], &attributes, &nlri(&["192.0.2.0/24"]));
    let found = read_in(established_with(&[]), &message);
    assert_eq!(found.origin, Some(Asn(210_000)));
}

#[test]
fn as4_path_is_stale_behind_an_aggregator_that_does_not_know_it() {
    let short = attribute(0x40, 2, &[2, 2, 0xFB, 0xF5, 0, 174]);
    let aggregator = attribute(0xC0, 7, &[0, 174, 10, 0, 0, 1]);
    let long = attribute(0xC0, 17, &[2, 1, 0, 3, 0x34, 0x50]);
    let attributes = [origin_attribute(), short, next_hop(), aggregator, long];
    let message = update(&[], &attributes, &nlri(&["192.0.2.0/24"]));
    let found = read_in(established_with(&[]), &message);
    assert_eq!(found.origin, Some(Asn(174)));
}

#[test]
fn markers_say_which_family_is_complete() {
    let mut session = established();
    let done = feed(&mut session, &end_of_rib_v4());
    assert_eq!(done.events, [Event::EndOfRib(Family::V4)]);
    let done = feed(&mut session, &end_of_rib_v6());
    assert_eq!(done.events, [Event::EndOfRib(Family::V6)]);
}

#[test]
fn families_nobody_asked_for_are_ignored() {
    let multicast = attribute(0x80, 14, &[0, 1, 2, 4, 10, 0, 0, 1, 0, 24, 192, 0, 2]);
    let attributes = [multicast, origin_attribute(), as_path(&[1])];
    let found = read(&update(&[], &attributes, &[]));
    assert_eq!((found.announced.len(), found.malformed), (0, None));
}

#[test]
fn broken_attributes_cost_only_the_routes_of_their_message() {
    let (good, path, hop) = (origin_attribute(), as_path(&[1]), next_hop());
    let path_cut = attribute(0x40, 2, &[2, 3, 0, 0, 0, 1]);
    assert_eq!(
        blamed(&[good.clone(), path_cut, hop.clone()]),
        (2, Fault::Value)
    );
    let odd = attribute(0x40, 1, &[7]);
    assert_eq!(blamed(&[odd, path.clone(), hop.clone()]), (1, Fault::Value));
    let long = attribute(0x40, 1, &[0, 0]);
    assert_eq!(
        blamed(&[long, path.clone(), hop.clone()]),
        (1, Fault::Length)
    );
    let optional = attribute(0xC0, 1, &[0]);
    assert_eq!(
        blamed(&[optional, path.clone(), hop.clone()]),
        (1, Fault::Flags)
    );
    assert_eq!(blamed(&[good.clone(), hop.clone()]), (2, Fault::Missing));
    assert_eq!(blamed(&[good.clone(), path.clone()]), (3, Fault::Missing));
    assert_eq!(blamed(&[path.clone(), hop.clone()]), (1, Fault::Missing));
    let community = attribute(0xC0, 8, &[1, 2, 3]);
    let attributes = [good.clone(), path.clone(), hop.clone(), community];
    assert_eq!(blamed(&attributes), (8, Fault::Length));
    let unknown = attribute(0x40, 99, &[1]);
    let attributes = [good.clone(), path.clone(), hop.clone(), unknown];
    assert_eq!(blamed(&attributes), (99, Fault::Unknown));
    let overrun = vec![0x40, 200, 50, 1];
    assert_eq!(blamed(&[good, path, hop, overrun]), (0, Fault::Truncated));
}

#[test]
fn a_broken_announcement_of_ipv6_is_a_withdrawal_too() {
    let attributes = [mp_reach_v6(&["2001:db8::/32"]), as_path(&[1])];
    let found = read(&update(&[], &attributes, &[]));
    assert_eq!(found.withdrawn, prefixes(&["2001:db8::/32"]));
    assert_eq!(found.malformed.map(|blame| blame.attribute), Some(1));
}

#[test]
fn a_second_attribute_of_a_kind_is_ignored() {
    let attributes = [origin_attribute(), as_path(&[1]), next_hop(), as_path(&[2])];
    let found = read(&update(&[], &attributes, &nlri(&["192.0.2.0/24"])));
    assert_eq!((found.origin, found.malformed), (Some(Asn(1)), None));
}

#[test]
fn what_cannot_be_located_ends_the_session() {
    let overlong = message(2, &[0, 9, 0, 0]);
    assert_eq!(ended_by(&overlong), (3, 1));
    let attributes = [origin_attribute(), as_path(&[1]), next_hop()];
    let bad_prefix = update(&[], &attributes, &[33, 1, 2, 3, 4, 5]);
    assert_eq!(ended_by(&bad_prefix), (3, 10));
    let reach_cut = update(&[], &[attribute(0x80, 14, &[0, 2, 1, 16, 0])], &[]);
    assert_eq!(ended_by(&reach_cut), (3, 9));
    let twice = [mp_unreach_v6(&["2001:db8::/32"]), mp_unreach_v6(&[])];
    assert_eq!(ended_by(&update(&[], &twice, &[])), (3, 1));
}

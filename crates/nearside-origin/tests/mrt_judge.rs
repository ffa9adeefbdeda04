//! `bgpkit-parser` and our reader find the same origins in the same dumps.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bgp_support;
mod mrt_support;

use std::collections::BTreeSet;

use bgp_support::{announce, announce_v6, attribute, nlri, origin_attribute, update, withdraw};
use bgpkit_parser::BgpkitParser;
use bgpkit_parser::models::ElemType;
use mrt_support::*;
use nearside_origin::bgp::{Rib, RibConfig};
use proptest::prelude::*;

/// What bgpkit says in the end: each announced prefix with its single origin.
fn judged(dump: &[u8]) -> BTreeSet<(String, u32)> {
    let mut table = std::collections::BTreeMap::new();
    for elem in BgpkitParser::from_reader(dump).into_elem_iter() {
        let key = (elem.peer_ip, elem.prefix.prefix.to_string());
        let origins: Vec<u32> = elem
            .origin_asns
            .iter()
            .flatten()
            .map(bgpkit_parser::models::Asn::to_u32)
            .collect();
        match (elem.elem_type, origins.as_slice()) {
            (ElemType::ANNOUNCE, [origin]) => drop(table.insert(key, *origin)),
            _ => drop(table.remove(&key)),
        }
    }
    table
        .into_iter()
        .map(|((_, prefix), origin)| (prefix, origin))
        .collect()
}

fn ours(dump: &[u8]) -> BTreeSet<(String, u32)> {
    let mut rib = Rib::new(RibConfig::default());
    nearside_origin::mrt::load(dump, &mut rib).unwrap();
    let routes = rib.routes();
    routes
        .map(|route| (route.prefix.to_string(), route.origin.0))
        .collect()
}

/// One AS path to each prefix, so that nobody has to choose.
fn table() -> impl Strategy<Value = Vec<u8>> {
    // 23456 is nobody's origin (RFC 6793) and left out by us alone.
    let asn = prop_oneof![1_u32..23_456, 23_457_u32..60_000];
    let path = prop::collection::vec(asn, 1..5);
    let v4 = prop::collection::btree_map((any::<u16>(), 8u8..=24), path.clone(), 0..20);
    let v6 = prop::collection::btree_map((any::<u16>(), 20u8..=48), path, 0..20);
    (v4, v6).prop_map(|(v4, v6)| {
        let mut dump = peer_index(&[100]);
        for ((bits, length), path) in v4 {
            let network = std::net::Ipv4Addr::from_bits(u32::from(bits) << 16);
            let network = nearside_types::Prefix::new(network.into(), length);
            dump.extend(rib_v4(&network.to_string(), &[(0, &path)]));
        }
        for ((bits, length), path) in v6 {
            let network = std::net::Ipv6Addr::new(0x2001, bits, 0, 0, 0, 0, 0, 0);
            let network = nearside_types::Prefix::new(network.into(), length);
            dump.extend(rib_v6(&network.to_string(), &[(0, &path)]));
        }
        dump
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn tables_are_read_alike(dump in table()) {
        prop_assert_eq!(ours(&dump), judged(&dump));
    }
}

#[test]
fn updates_are_read_alike() {
    let set = attribute(0x40, 2, &[2, 1, 0, 0, 0, 9, 1, 2, 0, 0, 0, 7, 0, 0, 0, 8]);
    let hidden = [origin_attribute(), set, bgp_support::next_hop()];
    let dump = [
        bgp4mp(&announce(
            &["8.0.0.0/8", "9.0.0.0/8", "7.0.0.0/8"],
            &[64_501, 3356],
        )),
        bgp4mp(&announce_v6(
            &["2001:db8::/32", "2a00::/16"],
            &[64_501, 210_000],
        )),
        bgp4mp(&withdraw(&["9.0.0.0/8"])),
        bgp4mp(&announce(&["8.0.0.0/8"], &[64_501, 42])),
        bgp4mp(&update(&[], &hidden, &nlri(&["7.0.0.0/8"]))),
    ]
    .concat();
    let expected = [
        ("2001:db8::/32", 210_000),
        ("2a00::/16", 210_000),
        ("8.0.0.0/8", 42),
    ];
    let expected = expected.map(|(prefix, origin)| (prefix.to_owned(), origin));
    assert_eq!(judged(&dump), BTreeSet::from(expected.clone()));
    assert_eq!(ours(&dump), BTreeSet::from(expected));
}

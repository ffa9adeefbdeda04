//! Routes as a table for look-ups: the one walk over them gives what sorting and painting gives.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bgp_support;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bgp_support::prefix;
use nearside_origin::bgp::{PeerId, Rib, RibConfig, Update};
use nearside_origin::{AsnRule, Rules, TableBuilder};
use nearside_types::{Asn, Origin, Prefix, PrefixLengths};
use proptest::prelude::*;

/// Two neighbours and no limit on lengths.
fn rib(routes: &[(usize, Prefix, u32)]) -> Rib {
    let mut rib = Rib::new(RibConfig {
        longest: PrefixLengths { v4: 32, v6: 128 },
        asns: AsnRule::Any,
        ..RibConfig::default()
    });
    rib.add_peer();
    rib.add_peer();
    for (peer, prefix, origin) in routes {
        let update = Update {
            announced: vec![*prefix],
            origin: Some(Asn(*origin)),
            ..Update::default()
        };
        rib.apply(PeerId(*peer), &update).unwrap();
    }
    rib
}

fn asn_at(rib: &Rib, ip: &str) -> Option<u32> {
    let found = rib.to_table().0.lookup(ip.parse().unwrap())?;
    found.origin.asn.map(|asn| asn.0)
}

#[test]
fn networks_inside_networks_show_the_innermost() {
    let rib = rib(&[
        (0, prefix("10.0.0.0/8"), 1),
        (0, prefix("10.1.0.0/16"), 2),
        (1, prefix("10.1.255.0/24"), 3),
        (1, prefix("11.0.0.0/8"), 4),
    ]);
    let asns = [
        "9.9.9.9",
        "10.0.0.1",
        "10.1.2.3",
        "10.1.255.9",
        "10.2.0.0",
        "11.0.0.0",
        "12.0.0.0",
    ];
    let asns = asns.map(|ip| asn_at(&rib, ip));
    assert_eq!(
        asns,
        [None, Some(1), Some(2), Some(3), Some(1), Some(4), None]
    );
}

#[test]
fn networks_at_the_end_of_the_address_space_end_with_it() {
    let rib = rib(&[
        (0, prefix("255.0.0.0/8"), 1),
        (0, prefix("255.255.255.255/32"), 2),
        (0, prefix("ffff::/16"), 3),
    ]);
    assert_eq!(asn_at(&rib, "255.255.255.254"), Some(1));
    assert_eq!(asn_at(&rib, "255.255.255.255"), Some(2));
    assert_eq!(asn_at(&rib, "ffff:ffff::"), Some(3));
}

#[test]
fn the_report_counts_routes_and_disputed_origins() {
    let rib = rib(&[
        (0, prefix("10.0.0.0/8"), 9),
        (1, prefix("10.0.0.0/8"), 7),
        (1, prefix("2001:db8::/32"), 7),
    ]);
    let (_, cleaned) = rib.to_table();
    assert_eq!((cleaned.taken, cleaned.multi_origin), (2, 1));
    assert_eq!(asn_at(&rib, "10.0.0.1"), Some(7));
}

/// Few different networks, so that they lie inside, beside and on one another.
fn prefixes() -> impl Strategy<Value = Prefix> {
    let v4 = (any::<u8>(), 1_u8..=32).prop_map(|(bits, length)| {
        let spread = u32::from(bits) * 0x0101_0101;
        Prefix::new(Ipv4Addr::from_bits(spread).into(), length)
    });
    let v6 = (0_u128..16, 1_u8..=128).prop_map(|(bits, length)| {
        let spread = bits << 124 | bits << 60 | bits;
        Prefix::new(Ipv6Addr::from_bits(spread).into(), length)
    });
    prop_oneof![v4, v6]
}

proptest! {
    #[test]
    fn one_walk_gives_the_same_table_as_the_builder(
        routes in prop::collection::vec((0_usize..2, prefixes(), 1_u32..4), 0..60),
    ) {
        let rib = rib(&routes);
        let mut builder = TableBuilder::new(Rules { asns: AsnRule::Any, ..Rules::default() });
        for route in rib.routes() {
            let origin = Origin { asn: Some(route.origin), country: None };
            builder.add_prefix(route.prefix, origin);
        }
        let (table, _) = rib.to_table();
        prop_assert_eq!(&table, &builder.finish().0);
        let networks = routes.iter().map(|(_, prefix, _)| prefix.network());
        for ip in networks.chain([IpAddr::from([1, 2, 3, 4])]) {
            let by_table = table.lookup(ip).and_then(|found| found.origin.asn);
            prop_assert_eq!(by_table, rib.lookup(ip).map(|route| route.origin));
        }
    }
}

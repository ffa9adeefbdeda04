//! What the table keeps, forgets and decides.

mod bgp_support;

use std::time::Duration;

use bgp_support::prefix;
use nearside_origin::AsnRule;
use nearside_origin::bgp::{Family, PeerId, PrefixLimitReached, Rib, RibConfig, Route, Update};
use nearside_types::{Asn, Moment, PrefixLengths};
use proptest::prelude::*;

fn announced(prefixes: &[&str], origin: u32) -> Update {
    Update {
        announced: prefixes.iter().map(|text| prefix(text)).collect(),
        origin: Some(Asn(origin)),
        ..Update::default()
    }
}

fn withdrawn(prefixes: &[&str]) -> Update {
    Update {
        withdrawn: prefixes.iter().map(|text| prefix(text)).collect(),
        ..Update::default()
    }
}

fn rib() -> (Rib, PeerId, PeerId) {
    let mut rib = Rib::new(RibConfig::default());
    let (first, second) = (rib.add_peer(), rib.add_peer());
    (rib, first, second)
}

/// `prefix AS`, with `*` for several origins and `?` for stale.
fn shown(rib: &Rib) -> Vec<String> {
    let show = |route: Route| {
        let several = if route.multi_origin { "*" } else { "" };
        let stale = if route.stale { "?" } else { "" };
        format!("{} {}{several}{stale}", route.prefix, route.origin.0)
    };
    rib.routes().map(show).collect()
}

fn at(seconds: u64) -> Moment {
    Moment::EPOCH + Duration::from_secs(seconds)
}

#[test]
fn routes_come_sorted_and_once_over_all_neighbours() {
    let (mut rib, first, second) = rib();
    let mine = announced(&["2001:db8::/32", "10.2.0.0/16", "10.0.0.0/8"], 7);
    rib.apply(first, &mine).unwrap();
    rib.apply(second, &announced(&["10.1.0.0/16", "10.0.0.0/8"], 7))
        .unwrap();
    let expected = [
        "10.0.0.0/8 7",
        "10.1.0.0/16 7",
        "10.2.0.0/16 7",
        "2001:db8::/32 7",
    ];
    assert_eq!(shown(&rib), expected);
}

#[test]
fn of_several_origins_the_lowest_is_kept_and_marked() {
    let (mut rib, first, second) = rib();
    rib.apply(first, &announced(&["10.0.0.0/8"], 300)).unwrap();
    rib.apply(second, &announced(&["10.0.0.0/8"], 200)).unwrap();
    assert_eq!(shown(&rib), ["10.0.0.0/8 200*"]);
    rib.apply(second, &withdrawn(&["10.0.0.0/8"])).unwrap();
    assert_eq!(shown(&rib), ["10.0.0.0/8 300"]);
}

#[test]
fn defaults_private_origins_and_long_prefixes_are_not_kept() {
    let (mut rib, peer, _) = rib();
    let odd = ["0.0.0.0/0", "::/0", "10.0.0.0/25", "2001:db8::/49"];
    rib.apply(peer, &announced(&odd, 7)).unwrap();
    for private in [64_512, 23_456, 4_200_000_000, 0] {
        rib.apply(peer, &announced(&["10.0.0.0/8"], private))
            .unwrap();
    }
    assert_eq!(shown(&rib), Vec::<String>::new());
}

#[test]
fn a_laboratory_may_keep_what_the_internet_does_not() {
    let mut rib = Rib::new(RibConfig {
        longest: PrefixLengths { v4: 32, v6: 128 },
        asns: AsnRule::Any,
        ..RibConfig::default()
    });
    let peer = rib.add_peer();
    rib.apply(peer, &announced(&["127.1.2.3/32"], 64_512))
        .unwrap();
    assert_eq!(shown(&rib), ["127.1.2.3/32 64512"]);
}

#[test]
fn an_origin_that_became_unknown_takes_the_old_one_away() {
    let (mut rib, peer, _) = rib();
    rib.apply(peer, &announced(&["10.0.0.0/8", "11.0.0.0/8"], 7))
        .unwrap();
    rib.apply(peer, &announced(&["10.0.0.0/8"], 64_512))
        .unwrap();
    let hidden = Update {
        origin: None,
        ..announced(&["11.0.0.0/8"], 7)
    };
    rib.apply(peer, &hidden).unwrap();
    assert_eq!(shown(&rib), Vec::<String>::new());
}

#[test]
fn a_lost_neighbours_routes_stay_for_the_set_time() {
    let (mut rib, peer, _) = rib();
    rib.apply(peer, &announced(&["10.0.0.0/8"], 7)).unwrap();
    rib.mark_stale(peer, at(100));
    assert_eq!(shown(&rib), ["10.0.0.0/8 7?"]);
    assert_eq!(rib.next_expiry(), Some(at(3_700)));
    rib.expire(at(3_699));
    assert_eq!(shown(&rib).len(), 1);
    rib.expire(at(3_700));
    assert_eq!(shown(&rib).len(), 0);
    assert_eq!(rib.next_expiry(), None);
}

#[test]
fn what_is_announced_again_is_fresh_and_the_rest_goes_at_the_end_of_rib() {
    let (mut rib, peer, _) = rib();
    let all = announced(&["10.0.0.0/8", "11.0.0.0/8", "2001:db8::/32"], 7);
    rib.apply(peer, &all).unwrap();
    rib.mark_stale(peer, at(0));
    rib.apply(peer, &announced(&["10.0.0.0/8"], 8)).unwrap();
    assert_eq!(
        shown(&rib),
        ["10.0.0.0/8 8", "11.0.0.0/8 7?", "2001:db8::/32 7?"]
    );
    rib.sweep(peer, Family::V4);
    assert_eq!(shown(&rib), ["10.0.0.0/8 8", "2001:db8::/32 7?"]);
    rib.expire(at(10_000));
    assert_eq!(shown(&rib), ["10.0.0.0/8 8"]);
}

#[test]
fn a_fresh_origin_wins_over_a_lower_stale_one() {
    let (mut rib, first, second) = rib();
    rib.apply(first, &announced(&["10.0.0.0/8"], 100)).unwrap();
    rib.apply(second, &announced(&["10.0.0.0/8"], 200)).unwrap();
    rib.mark_stale(first, at(0));
    assert_eq!(shown(&rib), ["10.0.0.0/8 200"]);
}

#[test]
fn each_loss_has_its_own_end() {
    let (mut rib, peer, _) = rib();
    rib.apply(peer, &announced(&["10.0.0.0/8"], 7)).unwrap();
    rib.mark_stale(peer, at(0));
    rib.apply(peer, &announced(&["11.0.0.0/8"], 7)).unwrap();
    rib.mark_stale(peer, at(1_000));
    rib.expire(at(3_600));
    assert_eq!(shown(&rib), ["11.0.0.0/8 7?"]);
    rib.expire(at(4_600));
    assert_eq!(shown(&rib).len(), 0);
}

#[test]
fn thousands_of_sessions_never_make_an_old_route_fresh() {
    let (mut rib, peer, _) = rib();
    rib.apply(peer, &announced(&["10.0.0.0/8"], 7)).unwrap();
    for second in 0..3_000 {
        rib.mark_stale(peer, at(second));
        rib.apply(peer, &announced(&["11.0.0.0/8"], 7)).unwrap();
        rib.expire(at(second));
        let shown = shown(&rib);
        assert_eq!(shown.last().unwrap(), "11.0.0.0/8 7", "after {second} s");
        assert!(shown.len() == 1 || shown[0] == "10.0.0.0/8 7?", "{shown:?}");
    }
}

#[test]
fn private_numbers_of_four_octets_are_kept_where_they_may_be() {
    let mut rib = Rib::new(RibConfig {
        asns: AsnRule::Any,
        ..RibConfig::default()
    });
    let peer = rib.add_peer();
    rib.apply(peer, &announced(&["10.0.0.0/8"], 4_200_000_000))
        .unwrap();
    rib.apply(peer, &announced(&["11.0.0.0/8"], u32::MAX))
        .unwrap();
    rib.apply(peer, &announced(&["12.0.0.0/8"], 4_200_000_000))
        .unwrap();
    let asns: Vec<u32> = rib.routes().map(|route| route.origin.0).collect();
    assert_eq!(asns, [4_200_000_000, u32::MAX, 4_200_000_000]);
}

#[test]
fn the_limit_stops_new_prefixes_and_spares_old_ones() {
    let limit = RibConfig {
        prefix_limit: 2,
        ..RibConfig::default()
    };
    let mut rib = Rib::new(limit);
    let peer = rib.add_peer();
    let three = announced(&["10.0.0.0/8", "11.0.0.0/8", "12.0.0.0/8"], 7);
    assert_eq!(rib.apply(peer, &three), Err(PrefixLimitReached));
    assert_eq!(shown(&rib), ["10.0.0.0/8 7", "11.0.0.0/8 7"]);
    assert_eq!(rib.apply(peer, &announced(&["11.0.0.0/8"], 9)), Ok(()));
}

#[test]
fn the_version_changes_only_with_the_content() {
    let (mut rib, peer, _) = rib();
    rib.apply(peer, &announced(&["10.0.0.0/8"], 7)).unwrap();
    let version = rib.version();
    rib.apply(peer, &announced(&["10.0.0.0/8"], 7)).unwrap();
    rib.apply(peer, &withdrawn(&["12.0.0.0/8"])).unwrap();
    rib.expire(at(1));
    assert_eq!(rib.version(), version);
    rib.apply(peer, &announced(&["10.0.0.0/8"], 8)).unwrap();
    assert_ne!(rib.version(), version);
}

proptest! {
    #[test]
    fn lookup_agrees_with_a_search_through_all_routes(
        changes in prop::collection::vec((0usize..2, any::<u16>(), 6u8..=16, 1u32..4), 1..60),
        wanted: u16,
    ) {
        let (mut rib, _, _) = rib();
        for (peer, bits, length, origin) in changes {
            let network = std::net::Ipv4Addr::from_bits(u32::from(bits) << 16);
            let update = announced(&[&format!("{network}/{length}")], origin);
            rib.apply(PeerId(peer), &update).unwrap();
        }
        let ip = std::net::Ipv4Addr::from_bits(u32::from(wanted) << 16).into();
        let around = rib.routes().filter(|route| route.prefix.contains(ip));
        prop_assert_eq!(rib.lookup(ip), around.max_by_key(|route| route.prefix.length()));
    }
}

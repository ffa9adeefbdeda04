//! Dumps put together octet by octet, whole, packed, cut and damaged.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bgp_support;
mod mrt_support;

use std::io::Write as _;

use bgp_support::{announce, announce_v6, withdraw};
use mrt_support::*;
use nearside_origin::bgp::{Rib, RibConfig, Route};
use nearside_origin::mrt::{MrtEnd, MrtError, MrtReport, load};

fn read(dump: &[u8]) -> (Vec<String>, MrtReport) {
    let mut rib = Rib::new(RibConfig::default());
    let report = load(dump, &mut rib).unwrap();
    let show = |route: Route| {
        let several = if route.multi_origin { "*" } else { "" };
        format!("{} {}{several}", route.prefix, route.origin.0)
    };
    (rib.routes().map(show).collect(), report)
}

/// Two neighbours, three prefixes, one with two origins.
fn table() -> Vec<u8> {
    [
        peer_index(&[100, 200]),
        rib_v4("8.0.0.0/8", &[(0, &[100, 3356]), (1, &[200, 3356])]),
        rib_v4("9.9.9.0/24", &[(0, &[100, 19_281]), (1, &[200, 42])]),
        rib_v6("2001:db8::/32", &[(0, &[100, 210_000])]),
    ]
    .concat()
}

const TABLE: [&str; 3] = ["8.0.0.0/8 3356", "9.9.9.0/24 42*", "2001:db8::/32 210000"];

#[test]
fn a_table_gives_each_prefix_its_origin() {
    let (routes, report) = read(&table());
    assert_eq!(routes, TABLE);
    assert_eq!((report.records, report.routes), (4, 5));
    assert_eq!((report.malformed, report.skipped), (0, 0));
    assert_eq!(report.end, MrtEnd::Complete);
    let newest = report.newest.expect("records have dates");
    assert_eq!(newest.unix_seconds(), u64::from(WRITTEN));
}

#[test]
fn packed_dumps_are_told_by_their_first_octets() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&table()).unwrap();
    assert_eq!(read(&gzip.finish().unwrap()).0, TABLE);
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(&table()).unwrap();
    assert_eq!(read(&bzip2.finish().unwrap()).0, TABLE);
}

#[test]
fn dumps_of_many_neighbours_mean_the_same() {
    let peers: Vec<u32> = (1..=40).collect();
    let paths: Vec<[u32; 2]> = peers.iter().map(|peer| [*peer, 3356]).collect();
    let mut routes: Vec<(u16, &[u32])> = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        routes.push((index as u16, path));
    }
    routes[7] = (7, &[8, 42]);
    let dump = [peer_index(&peers), rib_v4("8.0.0.0/8", &routes)].concat();
    let (found, report) = read(&dump);
    assert_eq!(found, ["8.0.0.0/8 42*"]);
    assert_eq!(report.routes, 40);
    // An update of one neighbour is younger than the dump and wins.
    let later = bgp4mp(&announce(&["8.0.0.0/8"], &[1, 77]));
    assert_eq!(read(&[dump, later].concat()).0, ["8.0.0.0/8 77"]);
}

#[test]
fn updates_announce_and_withdraw() {
    let dump = [
        bgp4mp(&announce(&["8.0.0.0/8", "9.0.0.0/8"], &[64_501, 3356])),
        bgp4mp(&announce_v6(&["2001:db8::/32"], &[64_501, 42])),
        bgp4mp(&withdraw(&["9.0.0.0/8"])),
        bgp4mp(&bgp_support::keep_alive()),
    ]
    .concat();
    let (routes, report) = read(&dump);
    assert_eq!(routes, ["8.0.0.0/8 3356", "2001:db8::/32 42"]);
    assert_eq!((report.updates, report.skipped), (3, 1));
}

#[test]
fn a_cut_dump_gives_what_it_holds_and_says_where_it_ends() {
    let whole = table();
    let last = whole.len() - rib_v6("2001:db8::/32", &[(0, &[100, 210_000])]).len();
    for length in [last + 1, last + 11, last + 12, whole.len() - 1] {
        let (routes, report) = read(&whole[..length]);
        assert_eq!(routes, TABLE[..2], "cut at {length}");
        assert_eq!(report.end, MrtEnd::Truncated { at: last as u64 });
    }
    assert_eq!(read(&whole[..last]).1.end, MrtEnd::Complete);
}

#[test]
fn a_cut_packed_dump_gives_what_it_holds() {
    let mut many = peer_index(&[100]);
    for index in 0..2_000u32 {
        let prefix = format!("8.{}.{}.0/24", index / 250, index % 250);
        many.extend(rib_v4(&prefix, &[(0, &[100, index + 1])]));
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&many).unwrap();
    let packed = gzip.finish().unwrap();
    let (routes, report) = read(&packed[..packed.len() / 2]);
    assert!((100..2_000).contains(&routes.len()), "{}", routes.len());
    assert!(matches!(report.end, MrtEnd::Truncated { .. }), "{report:?}");
}

#[test]
fn damage_ends_the_reading_at_its_place() {
    let mut dump = table();
    let at = dump.len();
    dump.extend(b"#!/bin/sh and more");
    let (routes, report) = read(&dump);
    assert_eq!(routes, TABLE);
    assert_eq!(report.end, MrtEnd::Damaged { at: at as u64 });
}

#[test]
fn broken_records_are_counted_and_stepped_over() {
    let bad_path = rib_v4_raw("7.0.0.0/8", &[(0, vec![0x40, 2, 3, 2, 9, 9])]);
    let stranger = rib_v4("6.0.0.0/8", &[(9, &[1, 2])]);
    let short = record(13, 2, &[0, 0]);
    let unknown = record(11, 0, &[1, 2, 3]);
    let dump = [table(), bad_path, stranger, short, unknown, table()].concat();
    let (routes, report) = read(&dump);
    assert_eq!(routes, TABLE);
    assert_eq!((report.malformed, report.skipped), (3, 1));
    assert_eq!(report.end, MrtEnd::Complete);
}

#[test]
fn other_files_are_refused_with_what_they_begin_with() {
    let mut rib = Rib::new(RibConfig::default());
    let error = load(b"1.0.0.0,1.0.0.255,13335".as_slice(), &mut rib).unwrap_err();
    assert!(matches!(error, MrtError::NotMrt { .. }));
    assert!(error.to_string().contains("31, 2e, 30"), "{error}");
}

#[test]
fn the_limit_of_the_table_holds_for_dumps() {
    let mut rib = Rib::new(RibConfig {
        prefix_limit: 1,
        ..RibConfig::default()
    });
    let report = load(table().as_slice(), &mut rib).unwrap();
    assert_eq!((report.over_limit, rib.routes().count()), (3, 1));
}

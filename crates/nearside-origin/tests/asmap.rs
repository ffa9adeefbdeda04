//! Bitcoin's asmap files: read as the `asmap` crate reads them, which nobody here wrote; and refused
//! where they are not whole.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod asmap_writer;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use asmap::Asmap;
use asmap_writer::Tree;
use nearside_origin::files::{self, AsmapFault, FileError, Format, Loaded, Place, Problem};
use nearside_origin::{AsnRule, Rules};
use proptest::prelude::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn read(bytes: &[u8]) -> Result<Loaded, FileError> {
    let rules = Rules {
        asns: AsnRule::Any,
        ..Rules::default()
    };
    files::read("ip_asn.map", bytes, rules)
}

fn asn_at(loaded: &Loaded, ip: IpAddr) -> u32 {
    let found = loaded.table.lookup(ip);
    found
        .and_then(|found| found.origin.asn)
        .map_or(0, |asn| asn.0)
}

/// A few networks of both families, one inside another.
fn small() -> Vec<u8> {
    let mut tree = Tree::default();
    for (network, length, asn) in [
        ("8.0.0.0", 8, 3_356),
        ("8.8.8.0", 24, 15_169),
        ("5.9.0.0", 16, 24_940),
        ("2a01:4f8::", 32, 24_940),
        ("2001:4860::", 32, 15_169),
    ] {
        tree.insert(ip(network), length, asn);
    }
    tree.write()
}

#[test]
fn networks_of_both_families_are_read() {
    let loaded = read(&small()).unwrap();
    assert_eq!(loaded.format, Format::Asmap);
    let asns = [
        "8.8.8.8",
        "8.9.0.0",
        "5.9.1.1",
        "9.9.9.9",
        "2a01:4f8::1",
        "2a02::1",
    ];
    let asns = asns.map(|text| asn_at(&loaded, ip(text)));
    assert_eq!(asns, [15_169, 3_356, 24_940, 0, 24_940, 0]);
    assert_eq!(
        loaded
            .table
            .lookup(ip("8.8.8.8"))
            .unwrap()
            .prefix
            .to_string(),
        "8.8.8.0/24"
    );
}

/// The crate counts the one for all of IPv4; to us that is a default route, as in any other file.
#[test]
fn one_as_for_all_of_ipv4_is_a_default_route_and_left_out() {
    for (above, length) in [("::", 1), ("::", 80), ("::ffff:0:0", 96)] {
        let mut tree = Tree::default();
        tree.insert(ip(above), length, 64_500);
        let judge = Asmap::from_bytes(tree.write()).unwrap();
        assert_eq!(judge.lookup(ip("8.8.8.8")), 64_500);
        let loaded = read(&tree.write()).unwrap();
        assert_eq!(asn_at(&loaded, ip("8.8.8.8")), 0, "{above}/{length}");
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused_with_its_place() {
    let file = small();
    for length in 1..file.len() {
        // Such a beginning may be text by chance; then it is refused as that.
        let error = read(&file[..length]).unwrap_err();
        assert!(error.to_string().starts_with("ip_asn.map"), "{error}");
        if let Problem::Asmap(fault) = error.problem {
            assert_eq!(
                (fault, error.place),
                (AsmapFault::Truncated, Place::Byte(length))
            );
        }
    }
}

#[test]
fn what_is_behind_the_end_is_refused() {
    let mut file = small();
    file.push(0);
    assert_eq!(
        read(&file).unwrap_err().problem,
        Problem::Asmap(AsmapFault::Surplus)
    );
}

/// Bits as they stand in a file.
fn bits(text: &str) -> Vec<u8> {
    let bits: Vec<u8> = text
        .bytes()
        .filter(|byte| *byte != b' ')
        .map(|bit| bit - b'0')
        .collect();
    let byte = |bits: &[u8]| (0..).zip(bits).map(|(place, bit)| bit << place).sum();
    bits.chunks(8).map(byte).collect()
}

#[test]
fn branches_that_begin_elsewhere_than_the_last_one_ends_are_refused() {
    // JUMP 17, then a RETURN of 17 bits: right. One bit farther: astray.
    let end = "0 0 111111111111111 0 0 111111111111110";
    let right = format!("10 0 00000 {end}");
    assert!(Asmap::from_bytes(bits(&right)).is_ok());
    assert!(read(&bits(&right)).is_ok());
    let wrong = format!("10 0 00001 {end}");
    assert!(Asmap::from_bytes(bits(&wrong)).is_err());
    assert_eq!(
        read(&bits(&wrong)).unwrap_err().problem,
        Problem::Asmap(AsmapFault::Astray)
    );
}

#[test]
fn more_bits_than_an_address_has_are_refused() {
    // MATCH of the eight bits of 0x1ff, again and again.
    let deep = "110 1111111 11111111".repeat(17);
    assert_eq!(
        read(&bits(&deep)).unwrap_err().problem,
        Problem::Asmap(AsmapFault::TooDeep)
    );
}

fn networks() -> impl Strategy<Value = Vec<(IpAddr, u8, u32)>> {
    let asn = prop_oneof![1_u32..5, 32_760_u32..32_780, 1_u32..400_000];
    let v4 = (any::<u32>(), 1_u8..=32).prop_map(|(bits, length)| {
        let bits = bits & u32::MAX << (32 - length);
        (IpAddr::from(Ipv4Addr::from_bits(bits)), length)
    });
    let v6 = (any::<u128>(), 1_u8..=128).prop_map(|(bits, length)| {
        let bits = bits & u128::MAX << (128 - length);
        (IpAddr::from(Ipv6Addr::from_bits(bits)), length)
    });
    // One of IPv4 at least: see the default route above.
    let first = (v4.clone(), asn.clone());
    let more = prop::collection::vec((prop_oneof![v4, v6], asn), 0..40);
    (first, more).prop_map(|(first, more)| {
        let all = std::iter::once(first).chain(more);
        all.map(|((ip, length), asn)| (ip, length, asn)).collect()
    })
}

proptest! {
    #[test]
    fn our_table_and_the_asmap_crate_agree(
        networks in networks(),
        more in prop::collection::vec(any::<u32>(), 20),
    ) {
        let mut tree = Tree::default();
        for (network, length, asn) in &networks {
            tree.insert(*network, *length, *asn);
        }
        let file = tree.write();
        let judge = Asmap::from_bytes(file.clone()).unwrap();
        prop_assume!(std::str::from_utf8(&file).is_err());
        let ours = read(&file).unwrap();
        let near = networks.iter().map(|(network, _, _)| *network);
        for ip in near.chain(more.into_iter().map(|bits| Ipv4Addr::from_bits(bits).into())) {
            prop_assert_eq!(asn_at(&ours, ip), judge.lookup(ip), "{}", ip);
        }
    }
}

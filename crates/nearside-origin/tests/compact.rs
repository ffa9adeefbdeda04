//! The compact file: what goes in comes out, and what is not whole is refused with place and reason.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nearside_origin::compact::{self, About, Compact, Credit, DecodeError, Fault};
use nearside_origin::{AsnRule, RangeTable, Rules, TableBuilder, Timestamp};
use nearside_types::{Asn, Country, Origin, Prefix};
use proptest::collection::vec;
use proptest::prelude::*;

fn about() -> About {
    let credit = |name: &str, date: &str| Credit {
        name: name.to_owned(),
        licence: "CC-BY-4.0".to_owned(),
        attribution: "Somebody (https://example.org)".to_owned(),
        date: Timestamp::from_date(date).unwrap(),
    };
    About {
        credits: vec![
            credit("numbers 1.2", "2026-06-17"),
            credit("länder", "2026-06-01"),
        ],
    }
}

fn small_table() -> RangeTable {
    let mut builder = TableBuilder::default();
    for (network, length, asn) in [("5.9.0.0", 16, 24940), ("2a01:4f8::", 32, 24940)] {
        let origin = Origin {
            asn: Some(Asn(asn)),
            country: "DE".parse().ok(),
        };
        builder.add_prefix(Prefix::new(network.parse().unwrap(), length), origin);
    }
    builder.finish().0
}

#[test]
fn a_table_and_its_papers_read_back() {
    let (table, about) = (small_table(), about());
    let file = compact::encode(&table, &about);
    assert_eq!(compact::decode(&file), Ok(Compact { about, table }));
}

#[test]
fn the_date_of_a_table_is_that_of_its_oldest_source() {
    assert_eq!(about().date(), Timestamp::from_date("2026-06-01"));
    assert_eq!(About::default().date(), None);
}

#[test]
fn an_empty_table_reads_back() {
    let file = compact::encode(&RangeTable::default(), &About::default());
    assert_eq!(compact::decode(&file).unwrap().table, RangeTable::default());
}

#[test]
fn foreign_files_and_other_versions_are_refused() {
    assert_eq!(compact::decode(b""), Err(DecodeError::Foreign));
    assert_eq!(compact::decode(b"\x1f\x8b gzip"), Err(DecodeError::Foreign));
    let mut file = compact::encode(&small_table(), &about());
    file[8] = 9;
    assert_eq!(
        compact::decode(&file),
        Err(DecodeError::Version { found: 9 })
    );
    // What a text transfer does to line ends.
    let text = [b"\x8ENSORG\n".as_slice(), &file[8..]].concat();
    assert_eq!(compact::decode(&text), Err(DecodeError::Foreign));
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let file = compact::encode(&small_table(), &about());
    for length in 0..file.len() {
        assert!(compact::decode(&file[..length]).is_err(), "{length}");
    }
}

#[test]
fn any_single_flipped_bit_is_noticed() {
    let file = compact::encode(&small_table(), &about());
    for bit in 0..file.len() * 8 {
        let mut damaged = file.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(compact::decode(&damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn a_body_that_makes_no_sense_is_refused_with_its_place() {
    // No credits; then a dictionary that claims more values than any file may.
    let mut body = vec![0];
    body.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0x7f]);
    let mut file = compact::MAGIC.to_vec();
    file.push(compact::VERSION);
    file.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    file.extend_from_slice(&body);
    let error = compact::decode(&file).unwrap_err();
    let expected = DecodeError::Damaged {
        part: "AS numbers",
        offset: file.len(),
        fault: Fault::TooLarge,
    };
    assert_eq!(error, expected);
    assert_eq!(
        error.to_string(),
        "byte 19, in the AS numbers: a number is too large"
    );
}

/// Networks of any length in a small corner of each family, so that they meet and nest, and at the
/// ends of the address space.
fn prefixes() -> impl Strategy<Value = Vec<(Prefix, Origin)>> {
    let v4 = (
        prop_oneof![any::<u32>(), 0x0500_0000_u32..0x0500_ffff],
        8_u8..=32,
    )
        .prop_map(|(bits, length)| Prefix::new(Ipv4Addr::from_bits(bits).into(), length));
    let corner = (any::<u128>(), 0_u32..128).prop_map(|(bits, shift)| bits >> shift);
    let v6 = (prop_oneof![any::<u128>(), corner], 1_u8..=128)
        .prop_map(|(bits, length)| Prefix::new(Ipv6Addr::from_bits(bits).into(), length));
    let asn = prop_oneof![
        Just(None),
        (1_u32..400).prop_map(Some),
        (1_u32..=u32::MAX).prop_map(Some)
    ];
    let country = prop_oneof![
        Just(None),
        prop_oneof!["DE", "FI", "[A-Y][A-Z]"].prop_map(Some)
    ];
    let origin = (asn, country).prop_map(|(asn, country)| Origin {
        asn: asn.map(Asn),
        country: country.and_then(|text| text.parse::<Country>().ok()),
    });
    vec((prop_oneof![v4, v6], origin), 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn any_table_reads_back(prefixes in prefixes()) {
        let mut builder = TableBuilder::new(Rules { asns: AsnRule::Any, ..Rules::default() });
        for (prefix, origin) in &prefixes {
            builder.add_prefix(*prefix, *origin);
        }
        let (table, _) = builder.finish();
        let file = compact::encode(&table, &about());
        let read = compact::decode(&file).unwrap();
        prop_assert_eq!(&read.table, &table);
        for (prefix, _) in &prefixes {
            let ip: IpAddr = prefix.network();
            prop_assert_eq!(read.table.lookup(ip), table.lookup(ip));
        }
    }
}

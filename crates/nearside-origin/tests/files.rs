//! Operator files of every shape we know, and what is said of those we refuse.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod mmdb_writer;

use std::io::Write;
use std::net::IpAddr;

use flate2::Compression;
use flate2::write::GzEncoder;
use mmdb_writer::{MmdbWriter, Value, map, text};
use nearside_origin::files::{self, AsmapFault, FileError, Format, Loaded, Place, Problem};
use nearside_origin::{Rules, SourceKind, Timestamp};
use nearside_types::{Asn, Origin};

fn read(bytes: impl AsRef<[u8]>) -> Result<Loaded, FileError> {
    files::read("table", bytes.as_ref(), Rules::default())
}

fn refused(bytes: impl AsRef<[u8]>) -> String {
    match read(bytes) {
        Ok(loaded) => panic!("taken as {}", loaded.format),
        Err(error) => error.to_string(),
    }
}

/// `"24940 DE"`, with `-` for what is not known.
fn at(loaded: &Loaded, ip: &str) -> String {
    let ip: IpAddr = ip.parse().expect("tests write good addresses");
    let found = loaded.table.lookup(ip);
    let Origin { asn, country } = found.map(|found| found.origin).unwrap_or_default();
    let asn = asn.map_or("-".to_owned(), |Asn(number)| number.to_string());
    let country = country.map_or("-".to_owned(), |country| country.to_string());
    format!("{asn} {country}")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

#[test]
fn iptoasn_tables_are_read() {
    let loaded = read(
        "1.0.0.0\t1.0.0.255\t13335\tUS\tCLOUDFLARENET\n\
         1.0.1.0\t1.0.3.255\t0\tNone\tNot routed\n\
         5.9.0.0\t5.9.255.255\t24940\tDE\tHETZNER \"AS\n\
         2a01:4f8::\t2a01:4f8:ffff:ffff:ffff:ffff:ffff:ffff\t24940\tDE\tHETZNER-AS\n",
    )
    .unwrap();
    assert_eq!(loaded.format, Format::IptoasnTsv);
    assert_eq!(at(&loaded, "1.0.0.1"), "13335 US");
    assert_eq!(at(&loaded, "1.0.2.1"), "- -");
    assert_eq!(at(&loaded, "5.9.1.1"), "24940 DE");
    assert_eq!(at(&loaded, "2a01:4f8::1"), "24940 DE");
}

#[test]
fn prefixes_with_as_and_country_are_read() {
    let loaded = read(
        "prefix,asn,country\n\
         # our own networks\n\
         \n\
         5.9.0.0/16,24940,DE\n\
         5.9.7.0/24,,FI\n\
         2a01:4f8::/32,AS24940,\n\
         ::ffff:1.2.3.0/120,13335,AU\n",
    )
    .unwrap();
    assert_eq!(loaded.format, Format::PrefixCsv);
    assert_eq!(at(&loaded, "5.9.7.7"), "24940 FI");
    assert_eq!(at(&loaded, "2a01:4f8::1"), "24940 -");
    assert_eq!(at(&loaded, "1.2.3.4"), "13335 AU");
}

#[test]
fn ranges_are_read_with_a_dash_or_in_two_columns() {
    let dashed = read("5.9.0.0-5.9.255.255,24940,DE\n8.8.8.0 - 8.8.8.255,AS15169,US\n").unwrap();
    assert_eq!(at(&dashed, "8.8.8.8"), "15169 US");
    let columns = read("start,end,asn,country\n5.9.0.0,5.9.255.255,24940,DE\n").unwrap();
    assert_eq!(
        (columns.format, dashed.format),
        (Format::RangeCsv, Format::RangeCsv)
    );
    assert_eq!(at(&columns, "5.9.0.0"), "24940 DE");
}

#[test]
fn ip_location_db_tables_are_read_and_company_names_are_not_countries() {
    let asns = read(
        "15.0.0.0,15.0.15.255,16509,HP\n\
         1.0.0.0,1.0.0.255,13335,\"Cloudflare, Inc.\"\n",
    )
    .unwrap();
    assert_eq!(at(&asns, "15.0.0.1"), "16509 -");
    assert_eq!(at(&asns, "1.0.0.1"), "13335 -");
    let countries = read("1.0.0.0,1.0.0.255,AU\n1.0.1.0,1.0.3.255,CN\n").unwrap();
    assert_eq!(at(&countries, "1.0.2.0"), "- CN");
}

#[test]
fn tor_tables_are_read_with_their_date() {
    let v4 = read(
        "# Location Database Export\n\
         #\n\
         # Generated: Thu, 5 Jun 2026 04:33:59 GMT\n\
         16777216,16777471,AU\n\
         16777472,16778239,??\n\
         84451328,84516863,DE\n",
    )
    .unwrap();
    assert_eq!(v4.format, Format::RangeCsv);
    assert_eq!(v4.date, Timestamp::from_date("2026-06-05"));
    assert_eq!(at(&v4, "1.0.0.255"), "- AU");
    assert_eq!(at(&v4, "1.0.1.0"), "- -");
    assert_eq!(at(&v4, "5.8.160.1"), "- DE");
    let v6 = read("2001:200::,2001:200:ffff:ffff:ffff:ffff:ffff:ffff,JP\n").unwrap();
    assert_eq!((at(&v6, "2001:200::1"), v6.date), ("- JP".to_owned(), None));
    let unknown_first = read("16777216,16777471,??\n16777472,16778239,CN\n").unwrap();
    assert_eq!(at(&unknown_first, "1.0.1.0"), "- CN");
}

#[test]
fn numbers_are_addresses_in_tables_of_countries_only() {
    assert_eq!(
        refused("16777216,16777471,13335,AU\n"),
        "table, line 1: `16777216` is not an address (write 192.0.2.1 or 2001:db8::1)"
    );
    let too_large = refused("16777216,16777471,AU\n16777472,4294967296,AU\n");
    assert!(
        too_large.starts_with("table, line 2: `4294967296`"),
        "{too_large}"
    );
}

#[test]
fn a_gzip_around_a_table_is_taken_off() {
    let loaded = read(gzip(b"5.9.0.0/16,24940,DE\n")).unwrap();
    assert_eq!(at(&loaded, "5.9.1.1"), "24940 DE");
    let mut cut = gzip("5.9.0.0/16,24940,DE\n".repeat(1000).as_bytes());
    cut.truncate(cut.len() / 2);
    let message = refused(&cut);
    assert!(message.starts_with("table, byte "), "{message}");
    assert!(message.contains("gzip"), "{message}");
}

#[test]
fn a_bad_line_is_refused_with_file_line_and_reason() {
    for (table, message) in [
        (
            "5.9.0.0/16,24940,DE\n5.9.0.0/33,24940,DE\n",
            "table, line 2: `5.9.0.0/33` is not a prefix (write 192.0.2.0/24 or 2001:db8::/32)",
        ),
        (
            "# numbers\n5.9.0.0/16,AS-HETZNER,DE\n",
            "table, line 2: `AS-HETZNER` is not an AS number (write 64496, or leave it empty)",
        ),
        (
            "5.9.0.0/16,24940,Germany\n",
            "table, line 1: `Germany` is not a two-letter country code (write DE, or leave it empty)",
        ),
        (
            "1.0.0.0,1.0.0.255,1,DE\n1.0.9.0,1.0.1.0,1,DE\n",
            "table, line 2: 1.0.1.0 comes before 1.0.9.0; write the lower address first",
        ),
        (
            "1.0.0.0\t1.0.0.255\t13335\tUS\tA\n1.0.0.256\t1.0.1.0\t1\tUS\tB\n",
            "table, line 2: `1.0.0.256` is not an address (write 192.0.2.1 or 2001:db8::1)",
        ),
        (
            "1.0.0.0,2001:db8::,13335,US\n",
            "table, line 1: 1.0.0.0 and 2001:db8:: are of different families; a range has one",
        ),
    ] {
        assert_eq!(refused(table), message);
    }
}

#[test]
fn what_is_no_table_is_refused_as_such() {
    let noise = read([0xff, 0xfe, 0x00]).unwrap_err();
    assert_eq!(noise.problem, Problem::Asmap(AsmapFault::Truncated));
    let whole = |bytes: &[u8]| {
        let error = read(bytes).unwrap_err();
        assert_eq!(error.place, Place::Whole, "{error}");
        error.problem
    };
    assert_eq!(whole(b""), Problem::Empty);
    assert_eq!(whole(b"# only a comment\n"), Problem::Empty);
    let message = refused("hello world\n1.2.3.4\n");
    assert!(message.starts_with("table, line 2: expected"), "{message}");
}

/// One network in each family with the same record.
fn mmdb_of(record: &Value) -> Vec<u8> {
    let mut writer = MmdbWriter::default();
    writer.insert("5.9.0.0/16", record);
    writer.insert("2a01:4f8::/32", record);
    writer.finish("Test-Origin", 1_780_000_000)
}

#[test]
fn mmdb_records_of_all_known_makers_are_read() {
    let country = map([
        ("geoname_id", Value::Number(2_921_044)),
        ("iso_code", text("DE")),
        ("names", map([("en", text("Germany"))])),
    ]);
    let number = || Value::Number(24940);
    let cases = [
        (
            "MaxMind and DB-IP, AS",
            map([
                ("autonomous_system_number", number()),
                (
                    "autonomous_system_organization",
                    text("Hetzner Online GmbH, Gunzenhausen"),
                ),
            ]),
            "24940 -",
        ),
        (
            "MaxMind and DB-IP, country",
            map([
                ("continent", map([("code", text("EU"))])),
                ("country", country),
            ]),
            "- DE",
        ),
        (
            "IPinfo lite",
            map([
                ("asn", text("AS24940")),
                ("as_name", text("Hetzner")),
                ("country", text("Germany")),
                ("country_code", text("DE")),
            ]),
            "24940 DE",
        ),
        (
            "IPinfo country",
            map([("country", text("DE")), ("country_name", text("Germany"))]),
            "- DE",
        ),
        (
            "ip-location-db, country",
            map([("country_code", text("DE"))]),
            "- DE",
        ),
        (
            "numbers as text",
            map([("autonomous_system_number", text("24940"))]),
            "24940 -",
        ),
    ];
    for (maker, record, expected) in cases {
        let loaded = read(mmdb_of(&record)).unwrap();
        assert_eq!(loaded.format, Format::Mmdb);
        for ip in ["5.9.7.7", "2a01:4f8::7", "::ffff:5.9.7.7"] {
            assert_eq!(at(&loaded, ip), expected, "{maker}");
        }
        assert_eq!(at(&loaded, "5.10.0.0"), "- -", "{maker}");
    }
}

#[test]
fn an_mmdb_file_brings_its_date() {
    let loaded = read(mmdb_of(&map([("country_code", text("DE"))]))).unwrap();
    let built = Timestamp::from_unix_seconds(1_780_000_000);
    assert_eq!(loaded.date, Some(built));
    let snapshot = loaded.into_snapshot(SourceKind::File, "table");
    assert_eq!((snapshot.built(), snapshot.label()), (Some(built), "table"));
}

#[test]
fn an_mmdb_file_about_something_else_is_refused_by_its_type() {
    let message = refused(mmdb_of(&map([("is_anonymous_vpn", text("yes"))])));
    assert!(message.contains("`Test-Origin`"), "{message}");
}

#[test]
fn a_damaged_mmdb_file_is_refused() {
    let good = mmdb_of(&map([("country_code", text("DE"))]));
    let marker = good
        .windows(3)
        .rposition(|window| window == b"\xab\xcd\xef")
        .unwrap();
    // The tree is gone, the metadata still promises it.
    let message = refused(&good[marker - 40..]);
    assert!(
        message.starts_with("table") && message.contains("MMDB"),
        "{message}"
    );
}

#[test]
fn rules_of_cleaning_hold_for_files() {
    let loaded = read("1.0.0.0/24,64512,AU\n1.0.1.0/24,4294967294,\n1.0.2.0/24,600000,\n").unwrap();
    assert_eq!(loaded.cleaned.reserved_asns, 2);
    assert_eq!(loaded.cleaned.unallocated_asns, 1);
    assert_eq!(at(&loaded, "1.0.0.1"), "- AU");
}

//! The same data as embedded table, as MMDB file and as a dump of a routing table: our look-up, our
//! readers and the `maxminddb` crate, which nobody here wrote, have to agree.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "addresses/mod.rs"]
mod addresses;
#[path = "../../nearside-origin/tests/mmdb_writer/mod.rs"]
mod mmdb_writer;
#[path = "mrt_writer/mod.rs"]
mod mrt_writer;

use maxminddb::PathElement::Key;
use maxminddb::Reader;
use mmdb_writer::MmdbWriter;
use mrt_writer::MrtWriter;
use nearside_origin::bgp::{Rib, RibConfig};
use nearside_origin::mrt::{self, MrtEnd};
use nearside_origin::{AsnRule, RangeTable, Rules, compact, files};
use nearside_types::{Asn, Country, Origin, PrefixLengths};

/// The table as an MMDB file, with both halves in one record.
fn mmdb(table: &RangeTable) -> Vec<u8> {
    let mut writer = MmdbWriter::default();
    for (first, last, origin) in table.ranges() {
        writer.insert_range(first, last, &mmdb_writer::origin(origin));
    }
    writer.finish("Everything", 1_780_000_000)
}

#[test]
fn embedded_table_and_mmdb_agree_on_100_000_random_addresses() {
    let table = compact::decode(nearside_origin_data::ORIGIN).unwrap().table;
    let file = mmdb(&table);
    let rules = Rules {
        asns: AsnRule::Any,
        ..Rules::default()
    };
    let ours = files::read("everything.mmdb", &file, rules).unwrap().table;
    let judge = Reader::from_source(&file).unwrap();
    let mut known = 0;
    for ip in addresses::draw(&table, 100_000, 3) {
        let embedded = table
            .lookup(ip)
            .map(|found| found.origin)
            .unwrap_or_default();
        assert_eq!(
            ours.lookup(ip)
                .map(|found| found.origin)
                .unwrap_or_default(),
            embedded,
            "{ip}"
        );
        let result = judge.lookup(ip).unwrap();
        let asn: Option<u32> = result
            .decode_path(&[Key("autonomous_system_number")])
            .unwrap();
        let code: Option<&str> = result.decode_path(&[Key("country_code")]).unwrap();
        let country = code.map(|code| code.parse::<Country>().unwrap());
        assert_eq!(
            Origin {
                asn: asn.map(Asn),
                country
            },
            embedded,
            "{ip}"
        );
        known += usize::from(embedded != Origin::default());
    }
    assert!(known > 80_000, "only {known} addresses say anything");
    assert!(ours == table, "the whole tables are equal");
}

/// The AS of each range as routes of one neighbour.
fn dump(table: &RangeTable) -> (Vec<u8>, u32) {
    let mut writer = MrtWriter::new();
    for (first, last, origin) in table.ranges() {
        if let Some(Asn(asn)) = origin.asn {
            writer.insert_range(first, last, asn);
        }
    }
    let routes = writer.routes();
    (writer.finish(), routes)
}

#[test]
fn embedded_table_and_mrt_dump_agree_on_100_000_random_addresses() {
    let table = compact::decode(nearside_origin_data::ORIGIN).unwrap().table;
    let (dump, routes) = dump(&table);
    let mut rib = Rib::new(RibConfig {
        longest: PrefixLengths { v4: 32, v6: 128 },
        ..RibConfig::default()
    });
    let report = mrt::load(dump.as_slice(), &mut rib).unwrap();
    assert_eq!(report.end, MrtEnd::Complete);
    assert_eq!((report.routes, report.malformed), (routes.into(), 0));
    assert_eq!(report.over_limit, 0, "of {routes} routes");
    let (by_routes, cleaned) = rib.to_table();
    assert_eq!((cleaned.taken, cleaned.multi_origin), (routes as usize, 0));
    let mut known = 0;
    for ip in addresses::draw(&table, 100_000, 4) {
        let embedded = table.origin(ip).asn;
        assert_eq!(by_routes.origin(ip).asn, embedded, "{ip}");
        known += usize::from(embedded.is_some());
    }
    assert!(known > 60_000, "only {known} addresses have an AS");
}

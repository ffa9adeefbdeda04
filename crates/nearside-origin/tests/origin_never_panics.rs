//! The bodies of the fuzz targets for tables and files, fed by proptest: noise, and good files with
//! something wrong in them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nearside_origin::compact::{self, About, MAGIC};
use nearside_origin::{Rules, files, fuzzing};
use proptest::collection::vec;
use proptest::prelude::*;

const GOOD: &str = "\
1.0.0.0,1.0.0.255,13335,AU
1.0.4.0,1.0.7.255,38803,AU
1.0.16.0,1.0.16.255,2519,JP
5.9.0.0,5.9.255.255,24940,DE
2001:200::,2001:200:1b9:ffff:ffff:ffff:ffff:ffff,2500,JP
2a01:4f8::,2a01:4f8:ffff:ffff:ffff:ffff:ffff:ffff,24940,DE
";

/// The body of a good compact file: magic, version and checksum are put before it by the target.
fn good_body() -> Vec<u8> {
    let loaded = files::read("good", GOOD.as_bytes(), Rules::default()).unwrap();
    let file = compact::encode(&loaded.table, &About::default());
    file[MAGIC.len() + 5..].to_vec()
}

/// Bytes to overwrite, and where to cut.
fn damage() -> impl Strategy<Value = (Vec<(prop::sample::Index, u8)>, prop::sample::Index)> {
    (
        vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        any::<prop::sample::Index>(),
    )
}

fn damaged(
    mut bytes: Vec<u8>,
    (edits, cut): (Vec<(prop::sample::Index, u8)>, prop::sample::Index),
    is_cut: bool,
) -> Vec<u8> {
    for (at, byte) in edits {
        let at = at.index(bytes.len());
        bytes[at] = byte;
    }
    if is_cut {
        bytes.truncate(cut.index(bytes.len()));
    }
    bytes
}

/// Fields that make sense in some place of a line, and some that never do.
fn lines() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        Just("1.0.0.0"),
        Just("1.0.0.255"),
        Just("2001:db8::"),
        Just("::ffff:1.2.3.0"),
        Just("1.0.0.0/24"),
        Just("::/0"),
        Just("2001:db8::/129"),
        Just("1.0.0.0-1.0.0.9"),
        Just("13335"),
        Just("AS13335"),
        Just("4294967296"),
        Just("0"),
        Just("DE"),
        Just("HP"),
        Just("None"),
        Just("16777216"),
        Just("??"),
        Just("# Generated: Thu, 25 Jun 2026"),
        Just(""),
        Just("\"Cloudflare, Inc.\""),
        Just("\""),
        Just("prefix"),
        Just("#"),
    ];
    let line = (vec(field, 0..6), any::<bool>())
        .prop_map(|(fields, tabs)| fields.join(if tabs { "\t" } else { "," }));
    vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(500)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_bytes_break_the_compact_decoder(
        noise in vec(any::<u8>(), 0..200),
        damage in damage(),
        is_cut: bool,
    ) {
        fuzzing::compact_table(&noise);
        fuzzing::compact_table(&damaged(good_body(), damage, is_cut));
    }

    #[test]
    fn no_bytes_break_the_readers_of_files(
        noise in vec(any::<u8>(), 0..200),
        lines in lines(),
        damage in damage(),
        is_cut: bool,
    ) {
        fuzzing::origin_file(&noise);
        fuzzing::origin_file(lines.as_bytes());
        fuzzing::origin_file(&damaged(GOOD.as_bytes().to_vec(), damage.clone(), is_cut));
        fuzzing::origin_file(&damaged(mmdb(), damage, is_cut));
    }

    #[test]
    fn no_bytes_break_the_reader_of_asmaps(
        noise in vec(any::<u8>(), 0..200),
        damage in damage(),
        is_cut: bool,
    ) {
        fuzzing::asmap(&noise);
        fuzzing::asmap(&damaged(asmap(), damage, is_cut));
    }
}

mod asmap_writer;

fn asmap() -> Vec<u8> {
    let mut tree = asmap_writer::Tree::default();
    for (network, length, asn) in [([5, 9, 0, 0], 16, 24_940), ([8, 8, 8, 0], 24, 15_169)] {
        tree.insert(network.into(), length, asn);
    }
    tree.insert("2a01:4f8::".parse().unwrap(), 32, 24_940);
    tree.write()
}

mod mmdb_writer;

fn mmdb() -> Vec<u8> {
    use mmdb_writer::{MmdbWriter, Value, map, text};
    let mut writer = MmdbWriter::default();
    let record = map([
        ("autonomous_system_number", Value::Number(24940)),
        ("country", map([("iso_code", text("DE"))])),
    ]);
    writer.insert("5.9.0.0/16", &record);
    writer.insert("2a01:4f8::/32", &map([("asn", text("AS24940"))]));
    writer.finish("Test", 1_780_000_000)
}

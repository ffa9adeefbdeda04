//! Writes a synthetic dump of a million routes into memory, and times how it is read, plain, gzip
//! and bzip2, beside `bgpkit-parser`.
//!
//! `cargo run --release --example mrt_speed`; worse than 3 s for any of ours would be a regression.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark"
)]

use std::io::Write as _;
use std::time::{Duration, Instant};

use nearside_origin::bgp::{Rib, RibConfig};
use nearside_origin::mrt;

const V4: u32 = 800_000;
const V6: u32 = 200_000;

fn main() {
    let dump = synthetic_dump();
    println!("{} routes, {:.1} MB", V4 + V6, dump.len() as f64 / 1e6);
    time_ours("plain", &dump);
    time_ours("gzip", &gzip(&dump));
    time_ours("bzip2", &bzip2(&dump));
    let started = Instant::now();
    let parser = bgpkit_parser::BgpkitParser::from_reader(dump.as_slice());
    let routes = parser.into_route_iter().count();
    println!(
        "bgpkit  {routes} routes, not stored, in {}",
        seconds(started.elapsed())
    );
}

fn time_ours(name: &str, dump: &[u8]) {
    let started = Instant::now();
    let mut rib = Rib::new(RibConfig::default());
    let report = mrt::load(dump, &mut rib).expect("our own dump");
    let read = started.elapsed();
    let (table, _) = rib.to_table();
    let built = started.elapsed() - read;
    let (ranges, read, built) = (table.known_ranges(), seconds(read), seconds(built));
    println!(
        "{name:7} {} routes read and stored in {read}, {ranges:?} ranges built in {built}",
        report.routes
    );
    assert_eq!((report.routes, report.malformed), (u64::from(V4 + V6), 0));
}

fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

/// One neighbour; prefixes spread over the address space, paths of four as on the Internet.
fn synthetic_dump() -> Vec<u8> {
    let mut dump = Vec::new();
    let peer = [
        10, 0, 0, 9, 0, 0, 0, 1, 2, 10, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 174,
    ];
    push_record(&mut dump, 1, &peer);
    for index in 0..V4 {
        let [_, a, b, c] = (index * 16 + 0x01_00_00).to_be_bytes();
        push_route(&mut dump, 2, index, &[24, a, b, c]);
    }
    for index in 0..V6 {
        let [_, a, b, c] = index.to_be_bytes();
        push_route(&mut dump, 4, index, &[48, 0x2A, a, b, c, 0, 1]);
    }
    dump
}

fn push_route(dump: &mut Vec<u8>, subtype: u16, index: u32, prefix: &[u8]) {
    let origin = 1 + index.wrapping_mul(2_654_435_761) % 60_000;
    let mut attributes = vec![0x40, 1, 1, 0, 0x40, 2, 18, 2, 4];
    for asn in [174, 3_356, 1_299, origin] {
        attributes.extend(u32::to_be_bytes(asn));
    }
    attributes.extend([0x40, 3, 4, 10, 0, 0, 1]);
    let length = (attributes.len() as u16).to_be_bytes();
    let entry = [[0, 1, 0, 0].as_slice(), &[0, 0, 0, 9], &length, &attributes].concat();
    push_record(
        dump,
        subtype,
        &[&index.to_be_bytes(), prefix, &entry].concat(),
    );
}

fn push_record(dump: &mut Vec<u8>, subtype: u16, body: &[u8]) {
    dump.extend([0x6A, 0, 0, 0, 0, 13]);
    dump.extend(subtype.to_be_bytes());
    dump.extend((body.len() as u32).to_be_bytes());
    dump.extend(body);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    writer.write_all(bytes).expect("memory");
    writer.finish().expect("memory")
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut writer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    writer.write_all(bytes).expect("memory");
    writer.finish().expect("memory")
}

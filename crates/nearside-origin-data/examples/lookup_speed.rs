//! How fast the embedded table loads and answers, beside the `maxminddb` crate on the same data and
//! the same addresses in the same run. Worse would be: loading above 50 ms, a median look-up above
//! 200 ns, less than twice maxminddb's speed, more than 20 MiB.
//!
//! `cargo run --release -p nearside-origin-data --example lookup_speed`

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

#[path = "../tests/addresses/mod.rs"]
mod addresses;
#[path = "../../nearside-origin/tests/mmdb_writer/mod.rs"]
mod mmdb_writer;

use std::hint::black_box;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use maxminddb::{LookupResult, Reader};
use nearside_origin::compact::{self, Compact};
use nearside_origin::{RangeTable, Snapshot, SourceKind, Stack, Timestamp};
use nearside_origin_data::ORIGIN;
use nearside_types::Country;
use serde::Deserialize;

const ADDRESSES: usize = 1_000_000;

fn main() {
    report_loading();
    let Compact { table, .. } = compact::decode(ORIGIN).expect("the table was built by us");
    let memory = mebibytes(table.heap_bytes());
    println!(
        "memory: {memory:.1} MiB, {}",
        verdict(memory < 20.0, "20 MiB")
    );
    let addresses = addresses::draw(&table, ADDRESSES, 1);
    let (v4, v6): (Vec<IpAddr>, Vec<IpAddr>) = addresses.iter().partition(|ip| ip.is_ipv4());
    let file = mmdb(&table);
    println!("the same as MMDB: {:.1} MiB", mebibytes(file.len()));
    let judge = Reader::from_source(&file).expect("the file was built by us");
    compare("IPv4", &v4, &table, &judge);
    compare("IPv6", &v6, &table, &judge);
}

fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn verdict(is_met: bool, target: &str) -> String {
    let words = if is_met { "met" } else { "NOT MET" };
    format!("{target} {words}")
}

fn report_loading() {
    let mut times: Vec<Duration> = (0..21)
        .map(|_| {
            let started = Instant::now();
            black_box(compact::decode(black_box(ORIGIN)).is_ok());
            started.elapsed()
        })
        .collect();
    let first = times[0];
    times.sort();
    let (fastest, median) = (times[0], times[10]);
    println!(
        "loading {} bytes: first {first:.1?}, then fastest {fastest:.1?}, median {median:.1?}, {}",
        ORIGIN.len(),
        verdict(median < Duration::from_millis(50), "50 ms")
    );
}

/// All ways to ask, in nanoseconds for one look-up. Ours and theirs answer the same question.
fn compare(family: &str, addresses: &[IpAddr], table: &RangeTable, judge: &Reader<&Vec<u8>>) {
    let snapshot = Snapshot::new(SourceKind::Embedded, "embedded", table.clone());
    let stack = Stack::new().with(snapshot);
    let ours = measure(addresses, |ip| table.origin(ip));
    let theirs = measure(addresses, |ip| foreign(judge, ip));
    let ours_network = measure(addresses, |ip| table.lookup(ip));
    let theirs_network = measure(addresses, |ip| foreign_with_network(judge, ip));
    let whole = measure(addresses, |ip| stack.lookup(ip, Timestamp::default()));
    let target = verdict(ours.p50 < 200.0, "200 ns");
    println!("{family}, AS and country: {ours}, {target}; maxminddb {theirs}");
    println!("{family}, and the network: {ours_network}; maxminddb {theirs_network}");
    println!("{family}, a stack with age and source: {whole}");
    for (what, ratio) in [
        ("AS and country", theirs.p50 / ours.p50),
        ("and the network", theirs_network.p50 / ours_network.p50),
    ] {
        let target = verdict(ratio >= 2.0, "twice");
        println!("{family}, {what}: {ratio:.1} times as fast as maxminddb, {target}");
    }
}

/// Nanoseconds for one look-up.
#[derive(Clone, Copy)]
struct Speed {
    mean: f64,
    p50: f64,
    p99: f64,
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { mean, p50, p99 } = self;
        write!(f, "mean {mean:.0} ns, p50 {p50:.0} ns, p99 {p99:.0} ns")
    }
}

/// The best of three rounds, by the median: other work on the machine disturbs single ones.
fn measure<T>(addresses: &[IpAddr], lookup: impl Fn(IpAddr) -> T) -> Speed {
    let rounds = (0..3).map(|_| measure_once(addresses, &lookup));
    let best = rounds.min_by(|a, b| a.p50.total_cmp(&b.p50));
    best.expect("there are three")
}

/// Quantiles are over groups of 16 look-ups, since reading the clock takes as long as one.
fn measure_once<T>(addresses: &[IpAddr], lookup: impl Fn(IpAddr) -> T) -> Speed {
    const GROUP: usize = 16;
    let mut groups: Vec<f64> = addresses
        .chunks_exact(GROUP)
        .map(|group| {
            let started = Instant::now();
            for ip in group {
                black_box(lookup(black_box(*ip)));
            }
            started.elapsed().as_nanos() as f64 / GROUP as f64
        })
        .collect();
    groups.sort_by(f64::total_cmp);
    Speed {
        mean: groups.iter().sum::<f64>() / groups.len() as f64,
        p50: groups[groups.len() / 2],
        p99: groups[groups.len() * 99 / 100],
    }
}

/// The same answer from an MMDB file, decoded as its users do.
#[derive(Deserialize)]
struct Record<'a> {
    autonomous_system_number: Option<u32>,
    #[serde(borrow)]
    country_code: Option<&'a str>,
}

fn foreign(reader: &Reader<&Vec<u8>>, ip: IpAddr) -> Option<(Option<u32>, Option<Country>)> {
    decode(&reader.lookup(ip).ok()?)
}

fn foreign_with_network(reader: &Reader<&Vec<u8>>, ip: IpAddr) -> Option<(IpAddr, u8)> {
    let result = reader.lookup(ip).ok()?;
    black_box(decode(&result));
    let network = result.network().ok()?;
    Some((network.ip(), network.prefix()))
}

fn decode(result: &LookupResult<'_, &Vec<u8>>) -> Option<(Option<u32>, Option<Country>)> {
    let record: Record<'_> = result.decode().ok()??;
    let country = record.country_code.and_then(|code| code.parse().ok());
    Some((record.autonomous_system_number, country))
}

fn mmdb(table: &RangeTable) -> Vec<u8> {
    let mut writer = mmdb_writer::MmdbWriter::default();
    for (first, last, origin) in table.ranges() {
        writer.insert_range(first, last, &mmdb_writer::origin(origin));
    }
    writer.finish("Everything", 1_780_000_000)
}

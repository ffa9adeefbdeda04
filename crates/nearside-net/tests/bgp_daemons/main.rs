//! Real BGP daemons feed the collector: what they announce, withdraw and lose is what the table
//! says, and it never becomes empty at once.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(target_os = "linux")]
mod protection;
mod support;

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Command;
use std::time::Duration;

use nearside_origin::bgp::{Rib, RibConfig};
use nearside_origin::mrt::{self, MrtEnd};
use support::*;

const BASE: [(&str, u32); 3] = [
    ("8.8.8.0/24", 15_169),
    ("9.0.0.0/8", 15_169),
    ("2001:4860::/32", 15_169),
];
const ALL: [(&str, u32); 4] = [
    ("5.9.0.0/16", 24_940),
    ("8.8.8.0/24", 15_169),
    ("9.0.0.0/8", 15_169),
    ("2001:4860::/32", 15_169),
];

#[test]
fn bird_announces_withdraws_flaps_dies_and_comes_back() {
    let test = "bird_announces_withdraws_flaps_dies_and_comes_back";
    let Some(program) = foreign(test, "bird", "bird") else {
        return;
    };
    let collector = Running::start(&[("127.0.0.2", 64_501)]);
    let mut bird = Bird::start("bird-life", &program, loopback(2), 64_501, collector.addr);
    collector.wait_for_routes("the first table", &ALL);
    collector.wait_for("the end of it", |told| {
        told.events
            .iter()
            .any(|event| event.contains("Loaded { prefixes: 4 }"))
    });

    bird.tell("disable more");
    collector.wait_for_routes("the withdrawal", &BASE);
    bird.tell("enable more");
    collector.wait_for_routes("the announcement", &ALL);

    // A flap during which a route goes: stale until the new table is complete, then gone.
    bird.tell("disable feed");
    collector.wait_for("the end of the session", |told| has(told, "Closed"));
    assert_eq!(collector.told().routes.len(), ALL.len(), "kept while stale");
    bird.tell("disable more");
    bird.tell("enable feed");
    collector.wait_for_routes("the table after the flap", &BASE);

    bird.kill();
    collector.wait_for("the loss", |_| collector.count("Closed") == 2);
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(
        collector.told().routes.len(),
        BASE.len(),
        "kept after a kill"
    );
    bird.revive();
    collector.wait_for_routes("the table of the new daemon", &ALL);
    assert!(!collector.told().emptied, "the table was empty in between");
}

fn has(told: &Told, word: &str) -> bool {
    told.events.iter().any(|event| event.contains(word))
}

#[test]
fn exabgp_is_heard_beside_bird_and_each_keeps_its_own() {
    let test = "exabgp_is_heard_beside_bird_and_each_keeps_its_own";
    let Some(exabgp) = foreign(test, "exabgp", "exabgp") else {
        return;
    };
    let Some(program) = foreign(test, "bird", "bird") else {
        return;
    };
    let collector = Running::start(&[("127.0.0.3", 64_503), ("127.0.0.4", 64_504)]);
    let bird = Bird::start("exabgp-bird", &program, loopback(4), 64_504, collector.addr);
    let folder = Folder::new("exabgp");
    let steps = folder.path("steps");
    File::create(&steps).unwrap();
    let daemon = start_exabgp(&exabgp, &folder, collector.addr.port());
    let say = |line: &str| {
        let mut file = File::options().append(true).open(&steps).unwrap();
        writeln!(file, "{line}").unwrap();
    };

    say("announce route 1.1.1.0/24 next-hop 127.0.0.3 as-path [ 64503 13335 ]");
    say("announce route 9.0.0.0/8 next-hop 127.0.0.3 as-path [ 64503 19281 ]");
    let mut both = ALL.to_vec();
    both.push(("1.1.1.0/24", 13_335));
    // Two origins for 9.0.0.0/8: the lower number is kept.
    collector.wait_for_routes("both daemons' routes", &both);

    say("announce route 1.1.1.0/24 next-hop 127.0.0.3 as-path [ 64503 [ 13335 4200000 ] ]");
    say("withdraw route 9.0.0.0/8 next-hop 127.0.0.3");
    say("announce route 1.0.0.0/24 next-hop 127.0.0.3 as-path [ 64503 210000 ]");
    let mut later = ALL.to_vec();
    later.push(("1.0.0.0/24", 210_000));
    collector.wait_for_routes("no origin for the set", &later);

    daemon.kill();
    collector.wait_for("the loss", |told| has(told, "127.0.0.3 Closed"));
    bird.tell("disable more");
    let mut last = BASE.to_vec();
    last.push(("1.0.0.0/24", 210_000));
    collector.wait_for_routes("bird's withdrawal beside a stale neighbour", &last);
    assert!(!collector.told().emptied);
}

/// ExaBGP runs a script whose lines are its commands; ours follows a file, and ends when
/// nobody reads it any more.
fn start_exabgp(program: &std::path::Path, folder: &Folder, port: u16) -> Daemon {
    let steps = folder.path("steps");
    let config = format!(
        "process steps {{ run /usr/bin/tail -n +1 -f {}; encoder text; }}
neighbor 127.0.0.1 {{
  router-id 127.0.0.3;
  local-address 127.0.0.3;
  local-as 64503;
  peer-as {LOCAL_ASN};
  connect {port};
  family {{ ipv4 unicast; ipv6 unicast; }}
  api {{ processes [ steps ]; }}
}}
",
        steps.display()
    );
    let path = folder.write("exabgp.conf", &config);
    let mut command = Command::new(program);
    command
        .arg(path)
        .env("exabgp.daemon.user", "root")
        .env("exabgp.daemon.drop", "false")
        .env("exabgp.api.cli", "false")
        .env("exabgp.api.ack", "false")
        .env("exabgp.tcp.bind", "");
    Daemon::start(&mut command, folder)
}

#[test]
fn a_malformed_update_costs_its_routes_and_leaves_bird_alone() {
    let test = "a_malformed_update_costs_its_routes_and_leaves_bird_alone";
    let Some(program) = foreign(test, "bird", "bird") else {
        return;
    };
    let collector = Running::start(&[("127.0.0.5", 64_505), ("127.0.0.6", 64_506)]);
    let bird = Bird::start("malformed", &program, loopback(5), 64_505, collector.addr);
    collector.wait_for_routes("bird's table", &ALL);

    let mut raw = connect_from(loopback(6), collector.addr);
    raw.write_all(&greeting(64_506)).unwrap();
    raw.write_all(&update(&[&ORIGIN, &PATH, &NEXT_HOP], &[16, 1, 2]))
        .unwrap();
    let mut with_raw = ALL.to_vec();
    with_raw.push(("1.2.0.0/16", 3_356));
    collector.wait_for_routes("the raw client's route", &with_raw);

    // Without AS_PATH: taken as a withdrawal, and the session goes on.
    raw.write_all(&update(&[&ORIGIN, &NEXT_HOP], &[16, 1, 2]))
        .unwrap();
    collector.wait_for_routes("treat-as-withdraw", &ALL);
    collector.wait_for("the report", |told| has(told, "127.0.0.6 Malformed"));
    raw.write_all(&update(&[&ORIGIN, &PATH, &NEXT_HOP], &[16, 1, 2]))
        .unwrap();
    collector.wait_for_routes("the session after it", &with_raw);

    // A prefix of 77 bits: nobody can tell what follows, so the session ends; the routes stay.
    raw.write_all(&update(&[&ORIGIN, &PATH, &NEXT_HOP], &[77, 1, 2]))
        .unwrap();
    collector.wait_for("the end", |told| has(told, "127.0.0.6 Closed"));
    let mut heard = Vec::new();
    raw.read_to_end(&mut heard).unwrap();
    assert!(heard.ends_with(&[3, 3, 10]), "NOTIFICATION 3/10 comes last");
    assert_eq!(collector.told().routes.len(), with_raw.len());
    assert_eq!(
        collector.count("127.0.0.5 Closed"),
        0,
        "bird has nothing to do with it"
    );
    drop(bird);
}

const ORIGIN: [u8; 4] = [0x40, 1, 1, 0];
const PATH: [u8; 9] = [0x40, 2, 6, 2, 1, 0, 0, 0x0D, 0x1C];
const NEXT_HOP: [u8; 7] = [0x40, 3, 4, 127, 0, 0, 6];

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (19 + body.len() as u16).to_be_bytes();
    [&[0xFF; 16], length.as_slice(), &[kind], body].concat()
}

/// OPEN with four-octet AS numbers, and KEEPALIVE.
fn greeting(asn: u16) -> Vec<u8> {
    let [high, low] = asn.to_be_bytes();
    let open = [
        4, high, low, 0, 240, 127, 0, 0, 6, 8, 2, 6, 65, 4, 0, 0, high, low,
    ];
    [message(1, &open), message(4, &[])].concat()
}

fn update(attributes: &[&[u8]], nlri: &[u8]) -> Vec<u8> {
    let attributes = attributes.concat();
    let head = [0, 0, 0, attributes.len() as u8];
    message(2, &[&head, attributes.as_slice(), nlri].concat())
}

#[test]
fn tables_that_bird_dumps_are_read_back() {
    let test = "tables_that_bird_dumps_are_read_back";
    let Some(program) = foreign(test, "bird", "bird") else {
        return;
    };
    let collector = Running::start(&[("127.0.0.7", 64_507)]);
    let bird = Bird::start("bird-mrt", &program, loopback(7), 64_507, collector.addr);
    collector.wait_for_routes("bird's table", &ALL);
    let mut rib = Rib::new(RibConfig::default());
    for table in ["master4", "master6"] {
        bird.tell(&format!("mrt dump table \"{table}\" to \"{table}.mrt\""));
        let dump = wait_for_dump(&bird.folder.path(&format!("{table}.mrt")));
        let report = mrt::load(dump.as_slice(), &mut rib).unwrap();
        assert_eq!((report.end, report.malformed), (MrtEnd::Complete, 0));
    }
    let routes = rib.routes();
    let found: Vec<_> = routes
        .map(|route| (route.prefix.to_string(), route.origin.0))
        .collect();
    let mut expected: Vec<_> = ALL
        .iter()
        .map(|(prefix, asn)| (prefix.to_string(), *asn))
        .collect();
    expected.sort_by_key(|(prefix, _)| prefix.starts_with("2001"));
    assert_eq!(found, expected, "the dump and the session agree");
}

/// BIRD writes the dump a moment after it answered.
fn wait_for_dump(path: &std::path::Path) -> Vec<u8> {
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(50));
        if let Ok(bytes) = std::fs::read(path)
            && !bytes.is_empty()
        {
            std::thread::sleep(Duration::from_millis(200));
            return std::fs::read(path).unwrap();
        }
    }
    panic!("{} was not written within 10 s", path.display());
}

//! Routers that spread load over parallel lines choose by ports: the direct path is tried from several
//! source ports, and the quickest is used from then on.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod stage;

use std::time::Duration;

use nearside_player::{Happening, LinkId, Player};
use nearside_testnet::{Path, Testnet};
use nearside_tunnel::link;
use stage::{Directory, Echo, Stream, expect, join, key, say};

const BOB: u64 = 2;

/// A link of a player, whose other source ports are new every time.
fn connect(net: &Testnet, directory: &Directory, name: u64) -> (Player, LinkId) {
    let alice = join(net.host("alice"), directory, name);
    alice.connect(key(BOB));
    let link = expect(&alice, "a link", |happening| match happening {
        Happening::Connected { link, .. } => Some(*link),
        _ => None,
    });
    (alice, link)
}

/// What another source port saves, in milliseconds, if one does.
fn chosen(notes: &[Happening]) -> Option<f64> {
    notes.iter().find_map(|note| match note {
        Happening::Link(_, link::Event::SourcePort { port, gain }) => {
            assert_ne!(*port, 0);
            Some(gain.as_millis_f64())
        }
        _ => None,
    })
}

#[test]
fn the_quickest_of_parallel_lines_is_found_by_its_source_port() {
    let name = "the_quickest_of_parallel_lines_is_found_by_its_source_port";
    if !nearside_testnet::ready(name) {
        return;
    }
    // Each way takes up to 80 ms longer, by the ports of its packets. Nobody relays.
    let net = Testnet::builder()
        .host("directory")
        .host("alice")
        .host("bob")
        .path(Path {
            spread: Duration::from_millis(80),
            ..Path::of_delay(Duration::from_millis(10))
        })
        .build()
        .unwrap();
    let directory = Directory::start(net.host("directory"));
    let _bob = Echo::start(join(net.host("bob"), &directory, BOB));
    // The known port may have the quickest line already, though hardly twelve times.
    for name in 10..22 {
        let (alice, link) = connect(&net, &directory, name);
        let before = Stream::play(&alice, link, Duration::from_millis(500));
        assert_eq!(chosen(&before.notes), None, "not before all were tried");
        let tried = Stream::play(&alice, link, Duration::from_secs(4));
        let (before, after) = (before.median_ms(), tried.median_ms());
        let Some(gain) = chosen(&tried.notes) else {
            assert!((after - before).abs() < 5.0, "{before} ms, then {after} ms");
            continue;
        };
        say(&format!(
            "{before:.1} ms from the known port, {after:.1} ms from another: {gain:.1} ms were promised"
        ));
        assert!(gain >= 3.0);
        assert!((before - after - gain).abs() < 5.0);
        return;
    }
    panic!("no other port was ever quicker");
}

//! A network of namespaces with a triangle that is shorter by way of a third: the detour is found, used
//! and quicker, and the stream goes on whatever happens to relays and the directory.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod stage;

use std::sync::mpsc::Receiver;
use std::time::Duration;

use nearside_detour::path::{self, Reason, Route};
use nearside_player::{Happening, LinkId, Player};
use nearside_testnet::{Passage, Share, Testnet};
use nearside_tunnel::link::{self, Verdict};
use stage::{Directory, Echo, Stream, crowd, expect, join, key, say};

const ALICE: u64 = 1;
const BOB: u64 = 2;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// One-way times: 90 ms directly, 45 by way of one, 55 by way of the next.
fn network() -> Testnet {
    let others = ["near", "next", "three", "four", "five", "six", "seven"];
    let mut builder = Testnet::builder()
        .host("directory")
        .host("alice")
        .host("bob");
    for other in others {
        builder = builder.host(other);
    }
    builder
        .delay(ms(60))
        .delay_between("alice", "bob", ms(90))
        .delay_between("alice", "near", ms(20))
        .delay_between("near", "bob", ms(25))
        .delay_between("alice", "next", ms(25))
        .delay_between("next", "bob", ms(30))
        .build()
        .unwrap()
}

struct Play {
    net: Testnet,
    directory: Directory,
    alice: Player,
    link: LinkId,
    _bob: Echo,
    _crowd: Vec<Player>,
}

/// Ten machines, two of them connected, the detour in use.
fn set() -> Play {
    let net = network();
    let directory = Directory::start(net.host("directory"));
    let crowd = crowd(
        &net,
        &directory,
        &["near", "next", "three", "four", "five", "six", "seven"],
    );
    let bob = join(net.host("bob"), &directory, BOB);
    let alice = join(net.host("alice"), &directory, ALICE);
    let bob = Echo::start(bob);
    // Until all have measured each other and said so.
    std::thread::sleep(ms(5_000));
    alice.connect(key(BOB));
    let link = expect(&alice, "a link", |happening| match happening {
        Happening::Connected {
            link,
            through_relay: false,
            ..
        } => Some(*link),
        _ => None,
    });
    let first = Stream::play(&alice, link, ms(1_000));
    assert!(
        first.median_ms() > 175.0,
        "directly: {} ms",
        first.median_ms()
    );
    let later = Stream::play(&alice, link, ms(14_000));
    let median = later.median_ms();
    say(&format!(
        "round trip {:.1} ms directly, {median:.1} ms on the detour",
        first.median_ms()
    ));
    assert!(
        (89.0..105.0).contains(&median),
        "90 ms by way of near: {median}"
    );
    Play {
        net,
        directory,
        alice,
        link,
        _bob: bob,
        _crowd: crowd,
    }
}

fn endure(play: &Play, what: &str) -> Stream {
    let stream = Stream::play(&play.alice, play.link, ms(5_000));
    let (gap, lost, median) = (stream.gap(), stream.lost(), stream.median_ms());
    say(&format!(
        "{what}: gap {gap:?}, {lost} of {} lost, then {median:.1} ms",
        stream.sent
    ));
    // 300 ms and the way of the next; as much again for a machine that has other things to do.
    assert!(gap < ms(700), "{what}: {gap:?}");
    stream
}

#[test]
fn a_detour_is_found_used_and_survives_everything() {
    if !nearside_testnet::ready("a_detour_is_found_used_and_survives_everything") {
        return;
    }
    let mut play = set();
    play.net
        .change_line("near", |path| path.passage = Passage::Cut);
    let stream = endure(&play, "the relay falls silent");
    assert!(
        (105.0..130.0).contains(&stream.median_ms()),
        "110 ms by way of next"
    );

    play.directory.kill();
    let stream = endure(&play, "the directory is killed");
    assert!(stream.lost() < 5, "nothing is lost for that");

    play.net.change_line("next", |path| path.delay += ms(60));
    let stream = endure(&play, "the next relay lags");
    assert!(
        stream.median_ms() < 200.0,
        "directly again, or by way of another"
    );
}

/// How many packets of at least so many bytes a tap has seen.
fn long_ones(tap: &Receiver<Vec<u8>>, bytes: usize) -> usize {
    tap.try_iter()
        .filter(|packet| packet.len() >= bytes)
        .count()
}

#[test]
fn the_gain_is_proven_on_live_traffic_and_what_is_sent_directly_meets_no_relay() {
    let name = "the_gain_is_proven_on_live_traffic_and_what_is_sent_directly_meets_no_relay";
    if !nearside_testnet::ready(name) {
        return;
    }
    let play = set();
    play.alice.compare(play.link, true);
    // Five turns of each path, and the last answers.
    Stream::play(&play.alice, play.link, ms(32_000));
    let view = play.alice.view().unwrap();
    let compared = view.links[0].comparison.clone().unwrap();
    say(&format!("compared on live traffic: {compared:?}"));
    assert_eq!(compared.verdict, Verdict::DetourIsQuicker);
    assert!((80.0..100.0).contains(&compared.gain_ms.unwrap()), "90 ms");
    let after = Stream::play(&play.alice, play.link, ms(5_000)).median_ms();
    assert!(
        after < 105.0,
        "it ended, and all go by the detour: {after} ms"
    );

    // Longer than anything that is measured with.
    let secret = [7; 900];
    let straight = play.net.tap("alice", "bob");
    let relays = ["near", "next", "three", "four", "five", "six", "seven"];
    let taps = relays.map(|relay| play.net.tap("alice", relay));
    for _ in 0..20 {
        play.alice.send_direct(play.link, &secret);
        std::thread::sleep(ms(20));
    }
    assert_eq!(long_ones(&straight, secret.len()), 20);
    let strayed: usize = taps.iter().map(|tap| long_ones(tap, secret.len())).sum();
    assert_eq!(strayed, 0);
}

#[test]
fn a_relay_that_loses_packets_is_left() {
    if !nearside_testnet::ready("a_relay_that_loses_packets_is_left") {
        return;
    }
    let play = set();
    play.net.change_line("near", |path| path.loss = Share(0.25));
    let stream = endure(&play, "the relay loses a quarter each way");
    assert!(
        (105.0..130.0).contains(&stream.median_ms()),
        "110 ms by way of next"
    );
    assert!(stream.lost() < stream.sent / 3);
}

#[test]
fn a_game_that_says_it_lags_gets_another_path_at_once() {
    if !nearside_testnet::ready("a_game_that_says_it_lags_gets_another_path_at_once") {
        return;
    }
    let play = set();
    play.alice.report_lag(play.link);
    let stream = Stream::play(&play.alice, play.link, ms(3_000));
    let switches = stream.notes.iter().filter_map(|note| match note {
        Happening::Link(_, link::Event::Path(path::Event::Switched { to, reason, .. })) => {
            Some((*to, *reason))
        }
        _ => None,
    });
    let (to, reason) = switches.into_iter().next().unwrap();
    assert_eq!(reason, Reason::LagReported);
    assert_ne!(to, Route::Direct, "next is better than the direct path");
    let median = stream.median_ms();
    say(&format!("after the game said that it lags: {median:.1} ms"));
    assert!((105.0..130.0).contains(&median), "110 ms by way of next");
    assert!(stream.lost() < 5, "nothing is lost for that");
}

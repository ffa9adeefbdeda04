//! A detour is found, used and quicker; when it fails in any way, the stream goes on.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "figures are printed")]

mod world;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use nearside_detour::path::Route;
use nearside_tunnel::link::LONGEST_PAYLOAD;
use nearside_tunnel::messages::Capacity;
use nearside_tunnel::node::{Event, LinkId, NodeConfig};
use nearside_types::Moment;
use world::{Who, World};

const ALICE: usize = 0;
const BOB: usize = 1;
const NEAR: usize = 2;
const NEXT: usize = 3;

const DIRECT_MS: u64 = 180;

/// Round trips of Figure 1 of the paper: 180 ms directly, 90 by way of one, 110 by way of another.
fn rtt_ms(a: usize, b: usize) -> u64 {
    match (a.min(b), a.max(b)) {
        (ALICE, BOB) => DIRECT_MS,
        (ALICE, NEAR) => 40,
        (BOB, NEAR) => 50,
        (ALICE, NEXT) => 50,
        (BOB, NEXT) => 60,
        (NEAR, NEXT) => 30,
        (a, b) => 120 + 10 * (a + b) as u64,
    }
}

/// What goes wrong, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Dead,
    Late,
    Lossy,
}

struct Stage {
    world: World,
    fault: Rc<Cell<Fault>>,
    links: BTreeMap<usize, LinkId>,
    sent: u32,
}

fn relaying() -> NodeConfig {
    NodeConfig {
        relaying: Some(Capacity {
            sessions: 8,
            packets: 4_000,
            kilobits: 8_000,
        }),
        ..NodeConfig::default()
    }
}

impl Stage {
    /// Ten players who know each other, two of them connected, the detour in use.
    fn set() -> Self {
        Self::with_direct(DIRECT_MS)
    }

    /// The same, with a direct path that takes so long.
    fn with_direct(direct_ms: u64) -> Self {
        let fault = Rc::new(Cell::new(Fault::None));
        let seen = Rc::clone(&fault);
        let mut dice = 0_u64;
        let carry = move |_: Moment, from: Who, to: Who, _: u16| {
            let (Who::Player(a), Who::Player(b)) = (from, to) else {
                return Some(Duration::from_millis(20));
            };
            let rtt = match (a.min(b), a.max(b)) {
                (ALICE, BOB) => direct_ms,
                _ => rtt_ms(a, b),
            };
            let takes = Duration::from_micros(rtt * 500);
            let touched = a == NEAR || b == NEAR;
            dice += 1;
            match seen.get() {
                Fault::Dead if touched => None,
                Fault::Late if touched => Some(takes + Duration::from_millis(40)),
                Fault::Lossy
                    if touched
                        && (dice.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33).is_multiple_of(4) =>
                {
                    None
                }
                _ => Some(takes),
            }
        };
        let mut world = World::new(7, carry);
        for _ in 0..10 {
            world.add(relaying());
        }
        world.run_for(Duration::from_secs(150));
        let bob = world.key(BOB);
        world.with(ALICE, |alice, now| alice.connect(now, bob));
        world.run_for(Duration::from_secs(2));
        let links = world
            .events
            .iter()
            .filter_map(|(_, who, event)| match event {
                Event::Connected { link, .. } => Some((*who, *link)),
                _ => None,
            });
        let links = links.collect();
        let mut stage = Self {
            world,
            fault,
            links,
            sent: 0,
        };
        assert_eq!(
            stage.links.len(),
            2,
            "both are told: {:?}",
            stage.world.events
        );
        stage.play(Duration::from_secs(20));
        stage
    }

    fn route(&self, player: usize) -> Route {
        let view = self.world.nodes[player]
            .as_ref()
            .unwrap()
            .view(self.world.now);
        view.links[0].paths[0].route
    }

    fn via(&self, player: usize) -> Route {
        Route::Via(self.world.nodes[player].as_ref().unwrap().id())
    }

    /// Both send 60 packets each second; what came, and when, by receiver.
    fn play(&mut self, time: Duration) -> BTreeMap<usize, Vec<(Moment, u32)>> {
        self.play_at([60, 60], time)
    }

    /// The same, at so many each second.
    fn play_at(&mut self, paces: [u32; 2], time: Duration) -> BTreeMap<usize, Vec<(Moment, u32)>> {
        let (start, first) = (self.world.now, self.world.events.len());
        let quickest = paces[ALICE].max(paces[BOB]);
        let mut turns = 0;
        while self.world.now < start + time {
            self.sent += 1;
            turns += 1;
            let payload = self.sent.to_be_bytes();
            for player in [ALICE, BOB] {
                // Every turn for the quicker one, and for the other as many as fit.
                let words = |turns: u32| turns * paces[player] / quickest;
                if words(turns) > words(turns - 1) {
                    let link = self.links[&player];
                    self.world
                        .with(player, |node, now| node.send(now, link, 0, &payload));
                }
            }
            self.world.run_for(Duration::from_secs(1) / quickest);
        }
        let mut came: BTreeMap<usize, Vec<(Moment, u32)>> = BTreeMap::new();
        for (at, who, event) in &self.world.events[first..] {
            if let Event::Delivered { payload, .. } = event {
                let number = u32::from_be_bytes(payload[..].try_into().unwrap());
                came.entry(*who).or_default().push((*at, number));
            }
        }
        came
    }
}

/// The longest pause between two packets, and how many of those sent never came (nor will: the last
/// quarter of a second is left out).
fn gap_and_lost(came: &[(Moment, u32)], sent: std::ops::Range<u32>) -> (Duration, u32) {
    let gaps = came.windows(2).map(|pair| pair[1].0.since(pair[0].0));
    let numbers: std::collections::BTreeSet<u32> = came.iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers.len(), came.len(), "no packet comes twice");
    let lost = sent.filter(|number| !numbers.contains(number)).count();
    (gaps.max().unwrap(), u32::try_from(lost).unwrap())
}

#[test]
fn the_detour_is_found_used_and_quicker_by_what_it_should_be() {
    let stage = Stage::set();
    assert_eq!(stage.route(ALICE), stage.via(NEAR));
    assert_eq!(stage.route(BOB), stage.via(NEAR), "the other end follows");
    let view = stage.world.nodes[ALICE]
        .as_ref()
        .unwrap()
        .view(stage.world.now);
    let gain = view.links[0].gain_us.unwrap();
    assert!((88_000..=92_000).contains(&gain), "180 - 90 ms: {gain} us");
}

/// Lets a fault happen, and gives the gap and the losses at each end.
fn endure(fault: Fault) -> (Stage, [(Duration, u32); 2]) {
    let mut stage = Stage::set();
    let before = stage.sent + 1;
    stage.fault.set(fault);
    let came = stage.play(Duration::from_secs(4));
    let last = stage.sent - 15;
    let both = [ALICE, BOB].map(|player| gap_and_lost(&came[&player], before..last));
    println!("FIGURE {fault:?}: gap and packets lost at each end {both:?}");
    (stage, both)
}

#[test]
fn a_dead_relay_is_left_within_300_ms_and_the_way_of_the_next() {
    let (stage, both) = endure(Fault::Dead);
    // 110 ms by way of the next: 55 one way.
    for (gap, lost) in both {
        assert!(gap <= Duration::from_millis(355), "{gap:?}");
        // What was on its way at the time is lost too: that is before the gap at the receiver begins.
        assert!(
            f64::from(lost) <= gap.as_secs_f64() * 60.0 + 3.0,
            "{lost} in {gap:?}"
        );
    }
    assert_eq!(stage.route(ALICE), stage.via(NEXT));
    assert_eq!(stage.route(BOB), stage.via(NEXT));
}

#[test]
fn a_relay_that_lags_is_left_and_nothing_is_lost() {
    let (stage, both) = endure(Fault::Late);
    assert_eq!(stage.route(ALICE), stage.via(NEXT), "80 ms more than 90");
    for (_, lost) in both {
        assert_eq!(lost, 0);
    }
}

#[test]
fn a_relay_that_loses_packets_is_left() {
    let (stage, both) = endure(Fault::Lossy);
    assert_eq!(stage.route(ALICE), stage.via(NEXT));
    for (_, lost) in both {
        assert!(lost < 40, "nearly a half, for less than a second: {lost}");
    }
}

#[test]
fn a_dead_directory_stops_no_session() {
    let mut stage = Stage::set();
    stage.world.service = None;
    let before = stage.sent + 1;
    let came = stage.play(Duration::from_secs(120));
    for player in [ALICE, BOB] {
        let (gap, lost) = gap_and_lost(&came[&player], before..stage.sent - 15);
        assert_eq!(lost, 0);
        assert!(gap < Duration::from_millis(60), "{gap:?}");
    }
    // And the relay may die on top of it: the backups are known.
    stage.fault.set(Fault::Dead);
    let came = stage.play(Duration::from_secs(4));
    let (gap, _) = gap_and_lost(&came[&BOB], 0..0);
    assert!(gap <= Duration::from_millis(355), "{gap:?}");
}

impl Stage {
    /// What the directory has in its books: sessions, and what the relay in use carries.
    fn books(&self) -> (usize, u16) {
        let service = self.world.service.as_ref().unwrap();
        let near = self.world.nodes[NEAR].as_ref().unwrap().id();
        let mut clients = service.clients();
        let relay = clients.find(|client| client.id == near).unwrap();
        (service.sessions().count(), relay.carries)
    }
}

#[test]
fn the_directory_learns_that_a_session_ended_from_either_end() {
    for ends in [ALICE, BOB] {
        let mut stage = Stage::set();
        assert_eq!(stage.books(), (1, 1));
        let link = stage.links[&ends];
        stage.world.with(ends, |node, now| node.close(now, link));
        stage.world.run_for(Duration::from_secs(2));
        assert_eq!(stage.books(), (0, 0), "player {ends}");
    }
}

#[test]
fn the_directory_learns_of_a_peer_that_vanished_and_of_one_that_was_never_found() {
    let mut stage = Stage::set();
    stage.world.nodes[ALICE] = None;
    stage.world.run_for(Duration::from_secs(40));
    assert_eq!(stage.books(), (0, 0), "from the one who is still there");

    let gone = stage.world.key(BOB);
    stage.world.nodes[BOB] = None;
    stage.world.with(NEXT, |node, now| node.connect(now, gone));
    stage.world.run_for(Duration::from_secs(2));
    assert_eq!(stage.books(), (1, 0));
    stage.world.run_for(Duration::from_secs(15));
    assert_eq!(stage.books(), (0, 0));
}

#[test]
fn a_session_that_ends_without_a_directory_is_told_to_the_next_one() {
    let mut stage = Stage::set();
    let service = stage.world.service.take();
    let link = stage.links[&ALICE];
    stage.world.with(ALICE, |node, now| node.close(now, link));
    stage.world.run_for(Duration::from_secs(60));
    stage.world.service = service;
    assert_eq!(stage.books(), (1, 1));
    stage.world.run_for(Duration::from_secs(60));
    assert_eq!(stage.books(), (0, 0));
}

#[test]
fn what_is_too_long_for_a_relay_goes_directly_and_no_relay_sees_it() {
    let mut stage = Stage::set();
    assert_eq!(stage.route(ALICE), stage.via(NEAR));
    let first = stage.world.events.len();
    let long = [1; LONGEST_PAYLOAD];
    // In the middle of it the relay dies, and copies go by two paths.
    for n in 0..120 {
        if n == 60 {
            stage.fault.set(Fault::Dead);
        }
        for player in [ALICE, BOB] {
            let link = stage.links[&player];
            stage
                .world
                .with(player, |node, now| node.send(now, link, 0, &long));
        }
        stage.world.run_for(Duration::from_micros(16_667));
    }
    stage.world.run_for(Duration::from_secs(1));
    assert_ne!(stage.route(ALICE), stage.via(NEAR));
    let is_long =
        |event: &Event| matches!(event, Event::Delivered { payload, .. } if *payload == long);
    for player in [ALICE, BOB] {
        let came = stage.world.events[first..].iter();
        let came = came.filter(|(_, who, event)| *who == player && is_long(event));
        assert_eq!(came.count(), 120);
        let view = stage.world.nodes[player]
            .as_ref()
            .unwrap()
            .view(stage.world.now);
        assert_eq!(view.links[0].counts.too_long, 120);
    }
    for relay in [NEAR, NEXT] {
        let view = stage.world.nodes[relay]
            .as_ref()
            .unwrap()
            .view(stage.world.now);
        assert_eq!(view.relay.unwrap().counts.too_long, 0);
    }
}

#[test]
fn packets_that_overtake_each_other_in_a_comparison_are_not_lost() {
    let mut stage = Stage::with_direct(400);
    let link = stage.links[&ALICE];
    let first = stage.world.events.len();
    stage
        .world
        .with(ALICE, |node, now| node.set_comparison(now, link, true));
    stage.play(Duration::from_secs(30));
    let blamed = stage.world.events[first..].iter().filter(|(_, _, event)| {
        use nearside_tunnel::link::Event as Said;
        let Event::Link(_, said) = event else {
            return false;
        };
        matches!(said, Said::Path(_) | Said::RelayFailed { .. })
    });
    assert_eq!(blamed.collect::<Vec<_>>(), Vec::<&(_, _, _)>::new());
    assert_eq!(stage.route(ALICE), stage.via(NEAR));
    assert_eq!(stage.world.service.as_ref().unwrap().counts().complaints, 0);
}

#[test]
fn a_game_that_sends_more_than_its_ticket_allows_goes_directly_and_blames_nobody() {
    for paces in [[250, 60], [60, 250], [1_000, 1_000]] {
        let mut stage = Stage::set();
        assert_eq!(stage.route(ALICE), stage.via(NEAR));
        let before = stage.sent + 1;
        let came = stage.play_at(paces, Duration::from_secs(10));
        assert_eq!(stage.route(ALICE), Route::Direct, "{paces:?}");
        let (quicker, slower) = if paces[ALICE] < paces[BOB] {
            (ALICE, BOB)
        } else {
            (BOB, ALICE)
        };
        let (_, lost) = gap_and_lost(&came[&quicker], before..stage.sent - 200);
        assert_eq!(
            lost, 0,
            "{paces:?}: it was left before anything was dropped"
        );
        assert!(!came[&slower].is_empty());
        let counts = stage.world.service.as_ref().unwrap().counts();
        assert_eq!(counts.complaints, 0, "{paces:?}");
        stage.play(Duration::from_secs(20));
        assert_eq!(stage.route(ALICE), stage.via(NEAR), "slow again");
    }
}

#[test]
fn a_reported_lag_moves_the_session_to_the_next_path_at_once_from_either_end() {
    for (player, heard_after) in [(ALICE, 0), (BOB, 45)] {
        let mut stage = Stage::set();
        let link = stage.links[&player];
        stage
            .world
            .with(player, |node, now| node.report_lag(now, link));
        stage.world.run_for(Duration::from_millis(heard_after));
        assert_eq!(stage.route(ALICE), stage.via(NEXT), "said by {player}");
        stage.play(Duration::from_secs(1));
        assert_eq!(stage.route(BOB), stage.via(NEXT));
        let service = stage.world.service.as_ref().unwrap();
        assert_eq!(service.counts().complaints, 0, "it may be the game's own");
    }
}

#[test]
fn what_is_sent_directly_takes_the_direct_path_and_no_other() {
    let mut stage = Stage::set();
    assert_eq!(stage.route(ALICE), stage.via(NEAR));
    let (link, first) = (stage.links[&ALICE], stage.world.events.len());
    let (sent, forwarded) = (stage.world.now, |stage: &Stage| {
        let relays = (2..10).filter_map(|relay| stage.world.nodes[relay].as_ref());
        let counts = relays.filter_map(|node| node.view(stage.world.now).relay);
        counts.map(|view| view.counts.forwarded_bytes).sum::<u64>()
    });
    let before = forwarded(&stage);
    let secret = [7; 1_000];
    let was_sent = stage
        .world
        .with(ALICE, |node, now| node.send_direct(now, link, 0, &secret));
    assert!(was_sent);
    stage.world.run_for(Duration::from_millis(100));
    let came = stage.world.events[first..].iter().find(|(_, who, event)| {
        *who == BOB && matches!(event, Event::Delivered { payload, .. } if *payload == secret)
    });
    let (came, ..) = came.expect("it came");
    assert_eq!(came.since(sent), Duration::from_millis(DIRECT_MS / 2));
    assert!(forwarded(&stage) - before < 1_000, "probes and beats alone");
    let nobody = LinkId(link.0 ^ 1);
    let was_sent = stage
        .world
        .with(ALICE, |node, now| node.send_direct(now, nobody, 0, &secret));
    assert!(!was_sent);
}

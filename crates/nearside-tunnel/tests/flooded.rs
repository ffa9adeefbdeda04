//! A relay that has more to carry than it can is not offered to others.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "figures are printed")]

mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use nearside_detour::ClientId;
use nearside_detour::path::Route;
use nearside_tunnel::messages::Capacity;
use nearside_tunnel::node::{Event, LinkId, NodeConfig};
use nearside_types::Moment;
use world::{Who, World};

const ALICE: usize = 0;
const BOB: usize = 1;
const NEAR: usize = 2;
const CAROL: usize = 8;
const DAVE: usize = 9;
/// What docs/security.md promises.
const NOT_OFFERED_AFTER: Duration = Duration::from_secs(6);

fn rtt_ms(a: usize, b: usize) -> u64 {
    match (a.min(b), a.max(b)) {
        (ALICE, BOB) => 180,
        (_, NEAR) | (NEAR, _) => 40 + 2 * (a + b) as u64,
        (a, b) => 120 + 10 * (a + b) as u64,
    }
}

struct Stage {
    world: World,
    links: BTreeMap<usize, LinkId>,
}

impl Stage {
    /// Alice and Bob play by way of a relay that carries 200 packets a second; Carol and Dave are linked
    /// and ask for no relays by themselves.
    fn set() -> Self {
        let carry = |_: Moment, from: Who, to: Who, _: u16| match (from, to) {
            (Who::Player(a), Who::Player(b)) => Some(Duration::from_micros(rtt_ms(a, b) * 500)),
            _ => Some(Duration::from_millis(20)),
        };
        let mut world = World::new(7, carry);
        for player in 0..10 {
            world.add(NodeConfig {
                detours: player < CAROL,
                relaying: (player == NEAR).then_some(Capacity {
                    sessions: 8,
                    packets: 200,
                    kilobits: 8_000,
                }),
                ..NodeConfig::default()
            });
        }
        world.run_for(Duration::from_secs(150));
        for (leader, peer) in [(ALICE, BOB), (CAROL, DAVE)] {
            let peer = world.key(peer);
            world.with(leader, |node, now| node.connect(now, peer));
        }
        world.run_for(Duration::from_secs(2));
        let events = world.events.iter();
        let links = events.filter_map(|(_, who, event)| match event {
            Event::Connected { link, .. } => Some((*who, *link)),
            _ => None,
        });
        let links = links.collect();
        let mut stage = Self { world, links };
        stage.play(60, Duration::from_secs(20));
        stage
    }

    fn play(&mut self, per_second: u64, time: Duration) {
        let until = self.world.now + time;
        while self.world.now < until {
            for player in [ALICE, BOB] {
                let link = self.links[&player];
                self.world
                    .with(player, |node, now| node.send(now, link, 0, &[1; 50]));
            }
            self.world
                .run_for(Duration::from_micros(1_000_000 / per_second));
        }
    }

    fn near(&self) -> ClientId {
        self.world.nodes[NEAR].as_ref().unwrap().id()
    }

    fn knows_near(&self, player: usize) -> bool {
        let node = self.world.nodes[player].as_ref().unwrap();
        let view = node.view(self.world.now);
        let mut paths = view.links[0].paths.iter();
        paths.any(|path| path.route == Route::Via(self.near()))
    }

    /// What the directory offers Carol for her session now; whether the relay is among it.
    fn is_offered(&mut self) -> bool {
        let (carol, now) = (
            self.world.nodes[CAROL].as_ref().unwrap().id(),
            self.world.now,
        );
        let mut offered = 0;
        self.world.with_directory(|service| {
            let session = service.sessions().find(|one| one.source == carol).unwrap();
            offered = service.offer_relays(now, session.session, 8).unwrap();
        });
        offered > 0
    }
}

#[test]
fn a_flooded_relay_is_not_offered_any_more_and_again_when_that_is_over() {
    let mut stage = Stage::set();
    assert!(stage.knows_near(ALICE), "the detour is there");
    assert!(stage.is_offered(), "and to others");
    let begun = stage.world.now;
    while stage.is_offered() {
        stage.play(170, Duration::from_millis(100));
        let took = stage.world.now.since(begun);
        assert!(took < NOT_OFFERED_AFTER, "offered after {took:?}");
    }
    let took = stage.world.now.since(begun);
    println!(
        "FIGURE not offered {:.1} s after the flood began",
        took.as_secs_f64()
    );
    let over = stage.world.now;
    while !stage.is_offered() {
        stage.world.run_for(Duration::from_millis(500));
        let took = stage.world.now.since(over);
        assert!(took < Duration::from_secs(20), "not offered after {took:?}");
    }
}

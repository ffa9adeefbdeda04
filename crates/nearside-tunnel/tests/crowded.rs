//! Many games and few relays: those that only measure a relay take no place there, and one that has no
//! place left is no worse for it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "figures are printed")]

mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use nearside_detour::path::Route;
use nearside_tunnel::messages::Capacity;
use nearside_tunnel::node::{Event, NodeConfig, NodeView};
use nearside_types::Moment;
use world::{Who, World};

const RELAYS: usize = 8;
/// The default of a relay at home.
const PLACES: u16 = 8;

fn relaying() -> NodeConfig {
    NodeConfig {
        relaying: Some(Capacity {
            sessions: PLACES,
            packets: 2_000,
            kilobits: 2_000,
        }),
        ..NodeConfig::default()
    }
}

/// Everybody on a circle; players have bad routes to each other, and good ones to relays.
fn one_way(a: usize, b: usize) -> Duration {
    let place = |n: usize| {
        let angle = n as f64 * 2.399;
        (50.0 * angle.cos(), 50.0 * angle.sin())
    };
    let ((x, y), (u, v)) = (place(a), place(b));
    let millis = (x - u).hypot(y - v) / 2.0 + 5.0;
    let among_players = a >= RELAYS && b >= RELAYS;
    Duration::from_secs_f64(millis * if among_players { 2.0 } else { 1.0 } / 1_000.0)
}

struct Evening {
    world: World,
    games: usize,
}

impl Evening {
    /// So many games of two for a minute, begun one after the other.
    fn of(games: usize) -> Self {
        let carry = |_: Moment, from: Who, to: Who, _: u16| match (from, to) {
            (Who::Player(a), Who::Player(b)) => Some(one_way(a, b)),
            _ => Some(Duration::from_millis(20)),
        };
        let mut world = World::new(7, carry);
        for _ in 0..RELAYS {
            world.add(relaying());
        }
        for _ in 0..2 * games {
            world.add(NodeConfig::default());
        }
        world.run_for(Duration::from_secs(150));
        for game in 0..games {
            let peer = world.key(RELAYS + 2 * game + 1);
            world.with(RELAYS + 2 * game, |node, now| node.connect(now, peer));
            world.run_for(Duration::from_secs(1));
        }
        let connected = world
            .events
            .iter()
            .filter_map(|(_, who, event)| match event {
                Event::Connected { link, .. } => Some((*who, *link)),
                _ => None,
            });
        let links: BTreeMap<_, _> = connected.collect();
        assert_eq!(links.len(), 2 * games, "all have met");
        for _ in 0..60 * 60 {
            for (player, link) in &links {
                world.with(*player, |node, now| node.send(now, *link, 0, &[1; 50]));
            }
            world.run_for(Duration::from_micros(16_667));
        }
        Self { world, games }
    }

    fn view(&self, player: usize) -> NodeView {
        let node = self.world.nodes[player].as_ref().unwrap();
        node.view(self.world.now)
    }

    fn detours(&self) -> usize {
        let leaders = (0..self.games).map(|game| self.view(RELAYS + 2 * game));
        let is_detour = |view: &NodeView| view.links[0].paths[0].route != Route::Direct;
        leaders.filter(is_detour).count()
    }

    /// Complaints, and relays that are not offered for another reason than that what they measured is
    /// doubted: in a world with so many bad routes that happens to honest ones, too.
    fn blamed(&self) -> (u64, usize) {
        let service = self.world.service.as_ref().unwrap();
        let paused = service.clients().filter(|client| client.paused);
        let believed = paused.filter(|client| !service.directory().is_distrusted(client.id));
        (service.counts().complaints, believed.count())
    }

    /// What each relay carries, and how many sessions hold a way through it.
    fn relays(&self) -> Vec<(usize, usize)> {
        let relays = (0..RELAYS).map(|relay| self.view(relay).relay.unwrap());
        relays.map(|view| (view.sessions, view.measured)).collect()
    }

    fn tell(&self) {
        println!(
            "FIGURE {} games, {} on a detour, {:?} complaints and relays paused; relays carry and are \
             measured by {:?}",
            self.games,
            self.detours(),
            self.blamed(),
            self.relays()
        );
    }
}

#[test]
fn relays_with_places_left_are_used_and_nobody_complains() {
    let evening = Evening::of(20);
    evening.tell();
    assert_eq!(evening.blamed(), (0, 0));
    assert_eq!(evening.detours(), 20);
    let measured = evening.relays().iter().map(|(_, measured)| *measured).max();
    assert!(measured > Some(PLACES.into()), "{measured:?}");
}

#[test]
fn full_relays_are_left_without_a_complaint() {
    let evening = Evening::of(45);
    evening.tell();
    assert_eq!(evening.blamed(), (0, 0));
    let carried: Vec<usize> = evening
        .relays()
        .iter()
        .map(|(carried, _)| *carried)
        .collect();
    let most = usize::from(PLACES);
    assert!(
        carried.iter().all(|carried| *carried <= most),
        "{carried:?}"
    );
    assert!(carried.contains(&most), "some are full: {carried:?}");
    assert!(evening.detours() >= 40, "{}", evening.detours());
}

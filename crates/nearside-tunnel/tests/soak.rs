//! Five hundred players for an hour of virtual time, with games of 3 to 10 minutes as in section 5.1 of
//! the paper, and players that come and go: nothing is left behind, little is sent, and no session is
//! slower than it has to be.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "figures are printed")]

mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use nearside_detour::ClientId;
use nearside_detour::path::{self, Route};
use nearside_tunnel::link;
use nearside_tunnel::messages::Capacity;
use nearside_tunnel::node::{Event, LinkId, NodeConfig};
use nearside_types::Moment;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use world::{Who, World};

const PLAYERS: usize = 500;
const HOUR: Duration = Duration::from_secs(3_600);
const PING: u8 = 0x95;

/// Round trips in microseconds: places on a plane, some paths much longer than they need be.
fn network(random: &mut ChaCha8Rng) -> Vec<Vec<u64>> {
    let places: Vec<[f64; 3]> = (0..PLAYERS)
        .map(|_| {
            [
                random.random_range(0.0..150.0),
                random.random_range(0.0..60.0),
                random.random_range(2.0..15.0),
            ]
        })
        .collect();
    let mut rtts = vec![vec![0; PLAYERS]; PLAYERS];
    for a in 0..PLAYERS {
        for b in 0..a {
            let [p, q] = [places[a], places[b]];
            let plain = (p[0] - q[0]).hypot(p[1] - q[1]) + p[2] + q[2];
            // Routing follows money: every sixth path takes up to twice as long.
            let detour = if random.random_range(0..6) == 0 {
                random.random_range(1.2..2.2)
            } else {
                1.0
            };
            let micros = (plain * detour * 1_000.0) as u64;
            (rtts[a][b], rtts[b][a]) = (micros, micros);
        }
    }
    rtts
}

struct Game {
    host: usize,
    players: Vec<usize>,
    ends: Moment,
    /// Links of the players to the host.
    links: BTreeMap<usize, LinkId>,
    started: Moment,
}

struct Soak {
    world: World,
    rtts: Vec<Vec<u64>>,
    random: ChaCha8Rng,
    games: Vec<Game>,
    seen: usize,
    busy: Vec<bool>,
    /// Looks that were due, and those that found a path whose ends are known.
    due: usize,
    checked: usize,
    detours: usize,
    /// Sessions that were not there when they should have been.
    vanished: Vec<String>,
    worst: (f64, String),
    names: u64,
    /// Packets of lively games.
    lively: usize,
    /// The last switch of each player, for a verdict that explains itself.
    switched: BTreeMap<usize, String>,
}

fn config() -> NodeConfig {
    NodeConfig {
        relaying: Some(Capacity {
            sessions: 8,
            packets: 4_000,
            kilobits: 8_000,
        }),
        source_ports: 1,
        ..NodeConfig::default()
    }
}

impl Soak {
    fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let rtts = network(&mut random);
        let delays = rtts.clone();
        let mut jitter = ChaCha8Rng::seed_from_u64(seed + 1);
        let carry = move |_: Moment, from: Who, to: Who, _: u16| {
            let micros = match (from, to) {
                (Who::Player(a), Who::Player(b)) => delays[a][b] / 2,
                _ => 20_000,
            };
            let lost = jitter.random_range(0..1_000) < 2;
            (!lost).then(|| Duration::from_micros(micros + jitter.random_range(0..500)))
        };
        let mut world = World::new(seed, carry);
        for _ in 0..PLAYERS {
            world.add(config());
            world.run_for(Duration::from_millis(200));
        }
        Self {
            world,
            rtts,
            random,
            games: Vec::new(),
            seen: 0,
            busy: vec![false; PLAYERS],
            due: 0,
            checked: 0,
            vanished: Vec::new(),
            detours: 0,
            worst: (0.0, String::new()),
            names: 1_000_000,
            lively: 0,
            switched: BTreeMap::new(),
        }
    }

    /// A game of two to five with a host, for 3 to 10 minutes; those who came just now look on.
    fn start_game(&mut self) {
        let is_in = |player: &usize| self.world.nodes[*player].as_ref().unwrap().is_joined();
        let idle = (0..PLAYERS).filter(|player| !self.busy[*player]);
        let mut idle: Vec<usize> = idle.filter(is_in).collect();
        let size = self.random.random_range(2..=5).min(idle.len());
        let mut chosen = Vec::new();
        for _ in 0..size {
            chosen.push(idle.swap_remove(self.random.random_range(0..idle.len())));
        }
        let [host, players @ ..] = chosen.as_slice() else {
            return;
        };
        for player in &chosen {
            self.busy[*player] = true;
        }
        let key = self.world.key(*host);
        for player in players {
            self.world.with(*player, |node, now| node.connect(now, key));
        }
        let seconds = self.random.random_range(180..=600);
        self.games.push(Game {
            host: *host,
            players: players.to_vec(),
            ends: self.world.now + Duration::from_secs(seconds),
            links: BTreeMap::new(),
            started: self.world.now,
        });
    }

    fn note_links(&mut self) {
        for (at, who, event) in &self.world.events[self.seen..] {
            if let Event::Link(_, link::Event::Path(path::Event::Switched { .. })) = event {
                let told = format!("{:.1} s {event:?}", at.since_epoch().as_secs_f64());
                let all = self.switched.entry(*who).or_default();
                all.push_str(&told);
                all.push('\n');
            }
            if let Event::Connected {
                link, leads: true, ..
            } = event
            {
                let games = self.games.iter_mut();
                for game in games.filter(|game| game.players.contains(who)) {
                    game.links.insert(*who, *link);
                }
            }
        }
        // Events are of no use any more, and an hour of them is a lot.
        self.world.events.clear();
        self.seen = 0;
    }

    /// Every player says a word to its host.
    fn play(&mut self) {
        let all = self.games.iter().flat_map(|game| &game.links);
        let all = all.map(|(player, link)| (*player, *link)).collect();
        self.say(all);
    }

    /// Some seconds in which one game in eight is lively: its players say something 20 times a second.
    fn pass(&mut self, time: Duration) {
        let until = self.world.now + time;
        while self.world.now < until {
            let lively = self.games.iter().filter(|game| game.host.is_multiple_of(8));
            let lively = lively.flat_map(|game| &game.links);
            let lively: Vec<_> = lively.map(|(player, link)| (*player, *link)).collect();
            self.lively += lively.len();
            self.say(lively);
            self.world.run_for(Duration::from_millis(50));
        }
    }

    fn say(&mut self, links: Vec<(usize, LinkId)>) {
        for (player, link) in links {
            self.world
                .with(player, |node, now| node.send(now, link, 0, &[1; 50]));
        }
    }

    /// The path each session uses, against the best of it and the direct one, by the true round trips.
    fn check(&mut self) {
        let ids: BTreeMap<ClientId, usize> = (0..PLAYERS)
            .filter_map(|player| Some((self.world.nodes[player].as_ref()?.id(), player)))
            .collect();
        let now = self.world.now;
        for game in &self.games {
            if now.since(game.started) < Duration::from_secs(30) {
                continue;
            }
            for player in &game.players {
                self.due += 1;
                let view = self.world.nodes[*player].as_ref().unwrap().view(now);
                let id = game.links.get(player);
                let link = view.links.iter().find(|link| Some(&link.link) == id);
                let Some(link) = link else {
                    let at = now.since_epoch().as_secs_f64();
                    let text = format!("{player} to {} at {at:.1} s, once {id:?}", game.host);
                    self.vanished.push(text);
                    continue;
                };
                let direct = self.rtts[*player][game.host];
                let active = match link.paths[0].route {
                    Route::Direct => direct,
                    Route::Via(relay) => {
                        self.detours += 1;
                        let Some(relay) = ids.get(&relay) else {
                            continue;
                        };
                        self.rtts[*player][*relay] + self.rtts[*relay][game.host]
                    }
                };
                let best = direct.min(active) as f64;
                let over = active as f64 - best - (0.05 * best).max(10_000.0);
                self.checked += 1;
                if over > self.worst.0 {
                    let why = self.switched.get(player);
                    let at = now.since_epoch().as_secs_f64();
                    let text =
                        format!("{active} us where {direct} is direct, at {at:.1} s: {why:#?}");
                    self.worst = (over, text);
                }
            }
        }
    }

    fn end_games(&mut self) {
        let now = self.world.now;
        let (over, on): (Vec<Game>, Vec<Game>) = std::mem::take(&mut self.games)
            .into_iter()
            .partition(|game| game.ends <= now);
        self.games = on;
        for game in over {
            for (player, link) in &game.links {
                self.world.with(*player, |node, now| node.close(now, *link));
            }
            for player in game.players.iter().chain([&game.host]) {
                self.busy[*player] = false;
            }
        }
    }

    /// One player leaves for good, and a new one comes in its place.
    fn replace_somebody(&mut self) {
        let idle: Vec<usize> = (0..PLAYERS).filter(|p| !self.busy[*p]).collect();
        let player = idle[self.random.random_range(0..idle.len())];
        if self.random.random_range(0..2) == 0 {
            self.world.with(player, nearside_tunnel::node::Node::leave);
        }
        self.names += 1;
        let name = self.names;
        self.world.start(player, config(), name);
    }
}

#[test]
fn five_hundred_players_for_an_hour() {
    let mut soak = Soak::new(3);
    let start = soak.world.now;
    let pings_before = soak.world.sent.get(&PING).copied().unwrap_or(0);
    let reports_before = soak.world.service.as_ref().unwrap().counts().reports;
    let mut next_game = start;
    let mut step = 0_u32;
    let mut memory = None;
    while soak.world.now < start + HOUR {
        if soak.world.now >= next_game {
            soak.start_game();
            next_game = soak.world.now + Duration::from_secs(soak.random.random_range(15..=60));
        }
        soak.pass(Duration::from_secs(5));
        soak.note_links();
        soak.play();
        soak.end_games();
        step += 1;
        if step.is_multiple_of(2) {
            soak.check();
        }
        if step.is_multiple_of(6) {
            soak.replace_somebody();
        }
        if step == 360 {
            memory = resident_kb();
        }
    }
    let hour = soak.world.now.since(start).as_secs_f64();
    let pings = soak.world.sent[&PING] - pings_before;
    let reports = soak.world.service.as_ref().unwrap().counts().reports - reports_before;
    let every = PLAYERS as f64 * hour / (pings + reports) as f64;
    println!("FIGURE a probe or report of each client every {every:.1} s ({pings} and {reports})");
    println!(
        "FIGURE {} looks at sessions of {} that were due, {} of them on a detour",
        soak.checked, soak.due, soak.detours
    );
    println!("FIGURE {} packets of lively games", soak.lively);
    assert!(soak.lively > 50_000, "{}", soak.lively);
    if let Some((half, whole)) = memory.zip(resident_kb()) {
        println!("FIGURE {half} kB in memory after half an hour, {whole} after one");
        assert!(whole < half + half / 4, "from {half} to {whole} kB");
    }
    assert!(every >= 13.0, "{every}");
    assert!(soak.vanished.is_empty(), "{:#?}", soak.vanished);
    // A look finds no path to judge only while a session has not noticed that its relay was replaced.
    assert!(soak.due > 5_000 && soak.checked * 100 > soak.due * 99);
    assert!(soak.detours > 50, "{}", soak.detours);
    assert!(soak.worst.0 <= 0.0, "{}", soak.worst.1);
    everything_is_gone(soak);
}

/// What the process has in memory, where the system says it.
fn resident_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// After the games, nobody holds anything of them.
fn everything_is_gone(mut soak: Soak) {
    let now = soak.world.now;
    for game in &mut soak.games {
        game.ends = now;
    }
    soak.end_games();
    soak.world.run_for(Duration::from_secs(120));
    let now = soak.world.now;
    for node in soak.world.nodes.iter().flatten() {
        let view = node.view(now);
        assert_eq!(view.links, [], "links end");
        assert_eq!(
            view.relay.map(|relay| relay.measured),
            Some(0),
            "ways through relays are closed"
        );
    }
    let service = soak.world.service.as_ref().unwrap();
    assert_eq!(service.sessions().count(), 0, "sessions end");
    let carries = service.clients().filter(|client| client.carries > 0);
    assert_eq!(carries.count(), 0, "relays have their places back");
    let clients = service.clients().count();
    println!(
        "FIGURE {clients} clients and {} connections at the directory",
        service.connections()
    );
    assert!(
        (PLAYERS..PLAYERS + 40).contains(&clients),
        "those who left without a word linger: {clients}"
    );
}

//! Two directories of one identity that hear each other's changes, as by a store that they share.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use nearside_detour::DirectoryConfig;
use nearside_tunnel::crypto::{Chance, TicketKey};
use nearside_tunnel::messages::{Ask, Found, Introduction, Join, RelayOffer, Tell};
use nearside_tunnel::service::{Change, Service, State};
use nearside_types::Rtt;
use support::{Player, START, WALL, World, config, identity, measured, relaying};

/// Two directories, and all they wrote.
struct Two {
    worlds: [World; 2],
    log: Vec<(usize, Change)>,
    heard: [usize; 2],
}

impl Two {
    fn new() -> Self {
        let worlds = [1, 2].map(|seed| {
            let chance = Chance::from_number(seed);
            let directory = DirectoryConfig::default();
            let service = Service::new(config(), identity(), directory, chance, START, WALL);
            let mut world = World::with(service.with_others());
            world.chance = Chance::from_number(10 + seed);
            world
        });
        Self {
            worlds,
            log: Vec::new(),
            heard: [0; 2],
        }
    }

    /// What was written is heard by the other.
    fn exchange(&mut self) {
        for at in [0, 1, 0, 1] {
            self.write(at);
            self.hear(1 - at);
        }
    }

    fn write(&mut self, at: usize) {
        let changes = self.worlds[at].service.take_changes();
        self.log.extend(changes.map(|change| (at, change)));
    }

    fn hear(&mut self, at: usize) {
        let world = &mut self.worlds[at];
        for (by, change) in &self.log[self.heard[at]..] {
            if *by != at {
                world.service.hear(world.now, change);
            }
        }
        self.heard[at] = self.log.len();
        world.drain();
    }

    fn state(&self) -> State {
        let mut state = State::default();
        self.log.iter().for_each(|(_, change)| state.apply(change));
        state
    }
}

fn introduction(player: &mut Player, world: &mut World) -> Introduction {
    let told = player.told(world).into_iter();
    let mut introductions = told.filter_map(|notice| match notice.tell {
        Tell::Introduce(introduction) => Some(introduction),
        _ => None,
    });
    introductions.next_back().expect("it is introduced")
}

fn offers(player: &mut Player, world: &mut World) -> Vec<RelayOffer> {
    let told = player.told(world).into_iter();
    told.filter_map(|notice| match notice.tell {
        Tell::Relays { relays, .. } => Some(relays),
        _ => None,
    })
    .flatten()
    .collect()
}

#[test]
fn players_of_two_directories_are_introduced_and_get_relays() {
    let mut two = Two::new();
    let mut source = two.worlds[0].join("192.0.2.1:1000", Join::default());
    let server = Join {
        exposes: Some(27_960),
        ..Join::default()
    };
    let mut target = two.worlds[1].join("198.51.100.1:2000", server);
    // The relay is behind a NAT that it has to open.
    let mut relay = two.worlds[1].connect("203.0.113.1:3000");
    let Some(Tell::Welcome(welcome)) =
        relay.ask(&mut two.worlds[1], Ask::Join(relaying("10.0.0.1:3000")))
    else {
        panic!("it is let in");
    };
    two.exchange();
    let leg = Rtt::from_micros(10_000);
    let legs = vec![(source.id(), leg), (target.id(), leg)];
    relay.ask(&mut two.worlds[1], Ask::Report(measured(legs)));
    two.exchange();

    let game = "198.51.100.1:27960".parse().unwrap();
    let found = source.ask(&mut two.worlds[0], Ask::Find(game));
    let peer = target.key();
    let is_exit = false;
    assert_eq!(found, Some(Tell::Found(Found { peer, is_exit })));
    let Some(Tell::Introduce(ours)) = source.ask(&mut two.worlds[0], Ask::Connect(peer)) else {
        panic!("it is introduced at once");
    };
    assert_eq!((ours.peer, ours.leads), (peer, true));
    assert_eq!(ours.addresses, [target.address]);
    two.exchange();
    let theirs = introduction(&mut target, &mut two.worlds[1]);
    assert_eq!((theirs.session, theirs.pass), (ours.session, ours.pass));
    assert_eq!((theirs.peer, theirs.leads), (source.key(), false));
    assert_eq!(theirs.addresses, [source.address]);

    two.worlds[1].sent.clear();
    let session = ours.session;
    let relays = source.ask(&mut two.worlds[0], support::relays(session, 3));
    let Some(Tell::Relays { relays, .. }) = relays else {
        panic!("{relays:?}");
    };
    assert_eq!(relays[0].ours.relay, relay.id());
    let key = TicketKey::new(&welcome.ticket_key.unwrap());
    assert!(key.open(&relays[0].theirs.pass.ticket.0).is_ok());
    two.exchange();
    let expects = |notice: &Tell| matches!(notice, Tell::Expect { players, .. } if *players == [source.address, target.address]);
    let told = relay.told(&mut two.worlds[1]);
    assert!(told.iter().any(|notice| expects(&notice.tell)), "{told:?}");
}

#[test]
fn a_lobby_at_one_directory_serves_players_of_another() {
    let mut two = Two::new();
    let mut scene = two.worlds[1].scene(3);
    two.exchange();
    two.worlds[1].sent.clear();
    let (source, target) = (scene.source.id(), scene.target.id());
    let lobby = &mut two.worlds[0];
    let session = lobby.service.register_session(lobby.now, source, target);
    let session = session.unwrap();
    assert_eq!(lobby.service.offer_relays(lobby.now, session, 3), Ok(3));
    two.exchange();
    let world = &mut two.worlds[1];
    let sent = world.sent.clone();
    assert_eq!(introduction(&mut scene.target, world).session, session);
    let offered = offers(&mut scene.source, world);
    assert_eq!(offered.len(), 3);
    world.sent = sent;
    // It says where it is connected that it uses one, and is believed.
    let relay = Some(offered[0].ours.relay);
    let complaint = None;
    let uses = Ask::Uses {
        session,
        relay,
        complaint,
    };
    assert_eq!(scene.source.ask(world, uses), Some(Tell::Done));
    two.exchange();
    let view = two.worlds[0].service.sessions().next().unwrap();
    assert_eq!((view.session, view.relay), (session, relay));
    assert_eq!(two.worlds[0].service.offer_relays(START, session, 3), Ok(2));
}

#[test]
fn letters_that_come_late_or_to_nobody_are_not_delivered() {
    let mut two = Two::new();
    let source = two.worlds[0].join("192.0.2.1:1000", Join::default());
    let target = two.worlds[1].join("198.51.100.1:2000", Join::default());
    two.exchange();
    let world = &mut two.worlds[0];
    let (from, to) = (source.id(), target.id());
    world.service.register_session(world.now, from, to).unwrap();
    two.write(0);
    two.worlds[1].pass(Duration::from_secs(31));
    two.hear(1);
    assert_eq!(two.worlds[1].service.counts().delivered, 0);
    // Without others nothing is posted, and nobody is introduced to somebody who is not there.
    let mut alone = World::new(config());
    let player = alone.join("192.0.2.1:1000", Join::default());
    let refused = alone.service.register_session(alone.now, player.id(), to);
    assert!(refused.is_err());
}

#[test]
fn a_directory_that_missed_everything_catches_up_from_what_was_kept() {
    let mut two = Two::new();
    let mut gone = two.worlds[0].join("192.0.2.9:1000", Join::default());
    let mut own = two.worlds[1].join("192.0.2.10:1000", Join::default());
    two.exchange();
    // From here on the second one hears nothing.
    assert_eq!(gone.ask(&mut two.worlds[0], Ask::Leave), Some(Tell::Done));
    let mut scene = two.worlds[0].scene(2);
    let session = scene.meet(&mut two.worlds[0]).session;
    let relay = scene.offered(&mut two.worlds[0], session)[0];
    let uses = Ask::Uses {
        session,
        relay: Some(relay),
        complaint: None,
    };
    scene.source.ask(&mut two.worlds[0], uses);
    two.write(0);
    let state = two.state();
    let world = &mut two.worlds[1];
    world.service.catch_up(world.now, state);
    let known = world.service.directory();
    assert_eq!(known.state().len(), 5, "four, and its own");
    assert!(known.leg(relay, scene.source.id()).is_some());
    let view = world.service.sessions().next().unwrap();
    assert_eq!((view.session, view.relay), (session, Some(relay)));
    let peer = scene.target.key();
    let told = own.ask(world, Ask::Connect(peer));
    assert!(matches!(told, Some(Tell::Introduce(_))), "{told:?}");
    // One that was here, and has been heard elsewhere since, is let go.
    for world in &mut two.worlds {
        world.pass(Duration::from_secs(5));
    }
    let address = own.address.to_string();
    let mut moved = two.worlds[0].connect_as(own.identity.clone(), &address);
    moved.ask(&mut two.worlds[0], Ask::Join(Join::default()));
    two.write(0);
    let state = two.state();
    let world = &mut two.worlds[1];
    world.service.catch_up(world.now, state);
    assert_eq!(own.ask(world, Ask::Observe), None);
}

#[test]
fn a_clock_that_was_set_back_makes_nobody_immortal() {
    let mut two = Two::new();
    two.worlds[0].pass(Duration::from_secs(3_600));
    two.worlds[0].join("192.0.2.1:1000", Join::default());
    two.write(0);
    // An hour earlier, by the clock of the one who hears it, or of the next process.
    two.hear(1);
    let next = Service::restored(
        config(),
        identity(),
        DirectoryConfig::default(),
        two.state(),
        Chance::from_number(3),
        START,
        WALL,
    );
    let [_, heard] = two.worlds;
    for mut world in [heard, World::with(next)] {
        assert_eq!(world.service.directory().state().len(), 1);
        let silence = DirectoryConfig::default().silence;
        world.pass(silence + Duration::from_secs(2));
        assert_eq!(world.service.directory().state().len(), 0);
    }
}

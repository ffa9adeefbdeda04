//! The bodies of the fuzz targets in `fuzz/`, also called by the property tests in
//! `tests/never_panics.rs`.

mod frames;
mod links;
mod nodes;
mod relays;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use nearside_detour::{ClientId, DirectoryConfig};
use nearside_types::{Moment, Rtt};
use nearside_wire::detour::{Frame, SAFE_BYTES, SEALED_HEADER};

use crate::crypto::{Chance, Dialling, Identity, Keys};
use crate::messages::{
    Ask, Capacity, Complaint, Fault, Join, Measured, Notice, Request, Tell, decode, encode,
};
use crate::service::{Output, Service, ServiceConfig, State};
pub use links::link;
pub use nodes::node;
pub use relays::relay;

/// Any sequence of datagrams, honest, forged or from elsewhere, leaves a directory whose changes rebuild
/// its state, whose datagrams are safe, and which names relays only to those who lead.
pub fn service(bytes: &[u8]) {
    let mut stage = Stage::new();
    for step in bytes.chunks_exact(8) {
        stage.act(step);
        stage.check();
    }
}

const PLAYERS: u8 = 5;
const MOST_UNJOINED: usize = 6;

struct Stage {
    service: Service,
    kept: State,
    chance: Chance,
    now: Moment,
    players: Vec<Player>,
    /// The sessions that were told of, and who leads them.
    sessions: BTreeMap<u64, ClientId>,
    /// Bytes that came from addresses where nobody receives, less those that went there.
    spoofed: BTreeMap<IpAddr, i64>,
}

struct Player {
    identity: Identity,
    address: SocketAddr,
    keys: Option<Keys>,
    /// What it was told to confirm.
    heard: u32,
}

impl Stage {
    fn new() -> Self {
        let mut chance = Chance::from_number(0);
        let player = |n: u8| Player {
            identity: Identity::from_secret([n + 1; 32]),
            address: SocketAddr::new([198, 18, n, 1].into(), 9_000),
            keys: None,
            heard: 0,
        };
        let config = ServiceConfig {
            most_unjoined: MOST_UNJOINED,
            most_clients: 4,
            most_sessions: 2,
            study: 10,
            ..ServiceConfig::default()
        };
        let now = Moment::EPOCH + Duration::from_secs(1_000_000);
        let identity = Identity::generate(&mut chance);
        let directory = DirectoryConfig::default();
        let wall = now.since_epoch();
        Self {
            service: Service::new(config, identity, directory, chance.clone(), now, wall),
            kept: State::default(),
            players: (0..PLAYERS).map(player).collect(),
            chance,
            now,
            sessions: BTreeMap::new(),
            spoofed: BTreeMap::new(),
        }
    }

    fn act(&mut self, step: &[u8]) {
        self.now += Duration::from_millis(u64::from(step[7]) * 40);
        let who = usize::from(step[1] % PLAYERS);
        match step[0] % 8 {
            0 => self.shake_hands(who),
            1 => {
                self.service.handle_time(self.now, self.now.since_epoch());
                assert!(self.service.next_time() > self.now, "time leads forward");
            }
            2 => self.deliver(0, self.players[who].address, &step[2..]),
            3 => {
                let elsewhere = SocketAddr::new([192, 0, 2, step[2]].into(), 53);
                let frame = self.seal(who, step);
                *self.spoofed.entry(elsewhere.ip()).or_default() += frame.len() as i64;
                self.deliver(usize::from(step[3] % 2), elsewhere, &frame);
            }
            _ => {
                let mut from = self.players[who].address;
                from.set_port(9_000 + u16::from(step[2] / 64));
                let frame = self.seal(who, step);
                self.deliver(usize::from(step[3] % 2), from, &frame);
            }
        }
        self.take_outputs();
    }

    fn shake_hands(&mut self, who: usize) {
        let player = &self.players[who];
        let public = self.service.public();
        let dialling = Dialling::new(&player.identity, public, 7, b"", &mut self.chance);
        let (mut dialling, from) = (dialling.expect("the key is one"), player.address);
        let mut pass = [0; 16];
        for _ in 0..2 {
            let hello = Frame::Hello {
                index: 7,
                pass,
                noise: dialling.message(),
            };
            self.deliver(0, from, &hello.emit());
            while let Some(output) = self.service.poll_output() {
                let Output::Send { bytes, .. } = output else {
                    continue;
                };
                match Frame::parse(&bytes) {
                    Ok(Frame::Retry { pass: cookie, .. }) => pass = cookie,
                    Ok(Frame::Answer { noise, .. }) => {
                        let finished = dialling.finish(noise);
                        let (keys, _) = finished.expect("it is the answer");
                        self.players[who].keys = Some(keys);
                    }
                    other => panic!("{other:?} to a hello"),
                }
            }
        }
    }

    fn deliver(&mut self, port: usize, from: SocketAddr, bytes: &[u8]) {
        let wall = self.now.since_epoch();
        self.service
            .handle_datagram(self.now, wall, port, from, bytes);
    }

    fn seal(&mut self, who: usize, step: &[u8]) -> Vec<u8> {
        let ask = self.ask(who, step);
        let number = u32::from(step[6]);
        let Some(keys) = &mut self.players[who].keys else {
            return vec![0x94; 40];
        };
        let mut frame = Vec::new();
        let plain = encode(&Request { number, ask });
        let sealed = keys.sealer.seal(&[&plain], &mut frame);
        sealed.expect("not that many packets");
        if step[4] == 0 {
            frame[20] ^= 1;
        }
        frame
    }

    fn ask(&self, who: usize, step: &[u8]) -> Ask {
        let other = &self.players[usize::from(step[5] % PLAYERS)];
        let own = self.players[who].identity.id();
        let own_session = self.sessions.iter().find(|(_, leader)| **leader == own);
        let any = self.sessions.keys().next_back();
        let session = own_session.map(|(session, _)| *session).or(any.copied());
        let session = session.unwrap_or(1);
        let relay = other.identity.id();
        match step[4] % 12 {
            0 | 1 => Ask::Join(join(step)),
            2 => Ask::Observe,
            3 | 4 => Ask::Report(Measured {
                coordinate: None,
                legs: vec![(relay, Rtt::from_micros(u32::from(step[6]) * 1_000))],
                overloaded: step[6] == 7,
            }),
            5 => Ask::Find(SocketAddr::new(other.address.ip(), step[6].into())),
            6 if step[6] < 64 => Ask::Through(session),
            6 => Ask::Connect(other.identity.public()),
            7 => Ask::Relays {
                session,
                most: step[6],
                known: vec![],
            },
            8 => Ask::Uses {
                session,
                relay: step[6].is_multiple_of(2).then_some(relay),
                complaint: Some(Complaint {
                    relay,
                    fault: Fault::Late,
                }),
            },
            9 => Ask::Nudge(relay),
            10 if step[6] < 16 => Ask::Leave,
            10 if step[6] < 32 => Ask::Part(session),
            _ => Ask::Heard(self.players[who].heard),
        }
    }

    fn take_outputs(&mut self) {
        while let Some(output) = self.service.poll_output() {
            let Output::Send { to, bytes, .. } = output else {
                continue;
            };
            assert!(bytes.len() <= SAFE_BYTES);
            if let Some(left) = self.spoofed.get_mut(&to.ip()) {
                *left -= bytes.len() as i64;
                assert!(*left >= 0, "more than was sent from there");
                continue; // nobody receives there
            }
            for who in 0..self.players.len() {
                if let Some(notice) = self.players[who].read(&bytes) {
                    self.hear(who, notice);
                    break;
                }
            }
        }
    }

    fn hear(&mut self, who: usize, notice: Notice) {
        let player = &mut self.players[who];
        let id = player.identity.id();
        if notice.number != 0 {
            player.heard = notice.number;
        }
        match notice.tell {
            Tell::Introduce(introduction) if introduction.leads => {
                self.sessions.insert(introduction.session, id);
            }
            Tell::Relays { session, relays } => {
                assert_eq!(self.sessions.get(&session), Some(&id), "not the leader's");
                assert!(relays.iter().all(|offer| offer.ours.relay != id));
            }
            _ => {}
        }
    }

    fn check(&mut self) {
        for change in self.service.take_changes() {
            self.kept.apply(&change);
        }
        assert_eq!(self.kept.directory, *self.service.directory().state());
        let sessions: Vec<u64> = self.service.sessions().map(|view| view.session).collect();
        assert!(self.kept.sessions.keys().eq(&sessions));
        let joined = self.service.clients().count();
        assert!(joined <= 4 && self.service.connections() <= MOST_UNJOINED + joined);
    }
}

impl Player {
    fn read(&mut self, frame: &[u8]) -> Option<Notice> {
        let Ok(Frame::Sealed { counter, .. }) = Frame::parse(frame) else {
            return None;
        };
        let mut body = frame[SEALED_HEADER..].to_vec();
        let opener = &mut self.keys.as_mut()?.opener;
        let plain = opener.open(counter, &mut body).ok()?;
        Some(decode(plain).expect("the directory writes what can be read"))
    }
}

fn join(step: &[u8]) -> Join {
    let capacity = Capacity {
        sessions: u16::from(step[2] % 4),
        packets: 100,
        kilobits: 100,
    };
    Join {
        token: None,
        relaying: (!step[2].is_multiple_of(4)).then_some(capacity),
        local: vec![SocketAddr::new(
            [198, 18, step[3] % PLAYERS, 1].into(),
            9_000,
        )],
        exposes: Some(step[6].into()),
        exits: vec![],
    }
}

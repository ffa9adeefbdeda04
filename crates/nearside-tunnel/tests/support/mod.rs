//! A directory and small clients of it, over links that lose nothing and take no time.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::{ClientId, DirectoryConfig};
use nearside_tunnel::crypto::{Chance, Dialling, Identity, Keys, PublicKey};
use nearside_tunnel::messages::{
    Ask, Capacity, Introduction, Join, Measured, Notice, Refusal, RelayOffer, Request, Tell,
    Welcome, decode, encode,
};
use nearside_tunnel::service::{Output, Service, ServiceConfig};
use nearside_types::{Moment, Rtt};
use nearside_wire::detour::{Frame, PASS_BYTES, SEALED_HEADER};

/// A directory, and what it sent.
pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) now: Moment,
    pub(crate) wall: Duration,
    pub(crate) chance: Chance,
    pub(crate) sent: Vec<Sent>,
}

/// A datagram of the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) port: usize,
    pub(crate) to: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) const START: Moment = Moment::from_nanos(1_000_000_000_000);
pub(crate) const WALL: Duration = Duration::from_secs(1_000_000);

pub(crate) fn identity() -> Identity {
    Identity::from_secret([9; 32])
}

pub(crate) fn config() -> ServiceConfig {
    ServiceConfig {
        second_port: Some(4_444),
        ..ServiceConfig::default()
    }
}

impl World {
    pub(crate) fn new(config: ServiceConfig) -> Self {
        let directory = DirectoryConfig::default();
        let chance = Chance::from_number(1);
        let service = Service::new(config, identity(), directory, chance, START, WALL);
        Self::with(service)
    }

    pub(crate) fn with(service: Service) -> Self {
        Self {
            service,
            now: START,
            wall: WALL,
            chance: Chance::from_number(2),
            sent: Vec::new(),
        }
    }

    /// Hands a datagram to the directory; gives what it sent for it.
    pub(crate) fn deliver(&mut self, port: usize, from: SocketAddr, bytes: &[u8]) -> Vec<Sent> {
        self.service
            .handle_datagram(self.now, self.wall, port, from, bytes);
        self.drain()
    }

    pub(crate) fn drain(&mut self) -> Vec<Sent> {
        let mut sent = Vec::new();
        while let Some(output) = self.service.poll_output() {
            if let Output::Send { port, to, bytes } = output {
                sent.push(Sent { port, to, bytes });
            }
        }
        self.sent.extend(sent.iter().cloned());
        sent
    }

    /// Lets time pass, in the steps that the directory wants.
    pub(crate) fn pass(&mut self, by: Duration) -> Vec<Sent> {
        let until = self.now + by;
        let mut sent = Vec::new();
        while self.service.next_time() <= until {
            let step = self.service.next_time().since(self.now);
            self.now += step;
            self.wall += step;
            self.service.handle_time(self.now, self.wall);
            sent.extend(self.drain());
        }
        self.wall += until.since(self.now);
        self.now = until;
        sent
    }

    /// A client whose handshake is done.
    pub(crate) fn connect(&mut self, address: &str) -> Player {
        let identity = Identity::generate(&mut self.chance);
        self.connect_as(identity, address)
    }

    pub(crate) fn connect_as(&mut self, identity: Identity, address: &str) -> Player {
        let address: SocketAddr = address.parse().unwrap();
        let directory = self.service.public();
        let index = u32::from_be_bytes(self.chance.bytes());
        let dialling = Dialling::new(&identity, directory, index, b"", &mut self.chance);
        let mut dialling = dialling.unwrap();
        let retry = self.deliver(0, address, &hello(&dialling, [0; PASS_BYTES]));
        let Ok(Frame::Retry { to, pass }) = Frame::parse(&retry[0].bytes) else {
            panic!("a cookie first: {retry:?}");
        };
        assert_eq!((to, retry.len()), (index, 1));
        let answer = self.deliver(0, address, &hello(&dialling, pass));
        let Ok(Frame::Answer { to, noise }) = Frame::parse(&answer[0].bytes) else {
            panic!("then an answer: {answer:?}");
        };
        assert_eq!(to, index);
        let (keys, _) = dialling.finish(noise).unwrap();
        Player {
            identity,
            keys,
            address,
            number: 0,
        }
    }

    /// A client that has joined.
    pub(crate) fn join(&mut self, address: &str, join: Join) -> Player {
        let mut player = self.connect(address);
        let told = player.ask(self, Ask::Join(join));
        assert!(matches!(told, Some(Tell::Welcome(_))), "{told:?}");
        player
    }

    /// One that relays, without a NAT.
    pub(crate) fn join_relay(&mut self, address: &str) -> (Player, Welcome) {
        let mut player = self.connect(address);
        let join = relaying(address);
        match player.ask(self, Ask::Join(join)) {
            Some(Tell::Welcome(welcome)) => (player, welcome),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn capacity() -> Capacity {
    Capacity {
        sessions: 8,
        packets: 2_000,
        kilobits: 4_000,
    }
}

pub(crate) fn relaying(address: &str) -> Join {
    Join {
        relaying: Some(capacity()),
        local: vec![address.parse().unwrap()],
        ..Join::default()
    }
}

pub(crate) fn hello(dialling: &Dialling, pass: [u8; PASS_BYTES]) -> Vec<u8> {
    let frame = Frame::Hello {
        index: dialling.index(),
        pass,
        noise: dialling.message(),
    };
    frame.emit()
}

/// A client of the directory.
pub(crate) struct Player {
    pub(crate) identity: Identity,
    pub(crate) keys: Keys,
    pub(crate) address: SocketAddr,
    pub(crate) number: u32,
}

impl Player {
    pub(crate) fn id(&self) -> ClientId {
        self.identity.id()
    }

    pub(crate) fn key(&self) -> PublicKey {
        self.identity.public()
    }

    /// A sealed request.
    pub(crate) fn seal(&mut self, ask: Ask) -> Vec<u8> {
        self.number += 1;
        let number = self.number;
        self.seal_as(number, ask)
    }

    pub(crate) fn seal_as(&mut self, number: u32, ask: Ask) -> Vec<u8> {
        let mut frame = Vec::new();
        let plain = encode(&Request { number, ask });
        self.keys.sealer.seal(&[&plain], &mut frame).unwrap();
        frame
    }

    /// Asks on the first port; gives the answer. Unasked notices stay in [`World::sent`].
    pub(crate) fn ask(&mut self, world: &mut World, ask: Ask) -> Option<Tell> {
        self.ask_on(world, 0, self.address, ask)
    }

    pub(crate) fn ask_on(
        &mut self,
        world: &mut World,
        port: usize,
        from: SocketAddr,
        ask: Ask,
    ) -> Option<Tell> {
        let frame = self.seal(ask);
        let sent = world.deliver(port, from, &frame);
        let number = self.number;
        let mut answers = self.read(&sent).into_iter();
        answers
            .find(|(_, notice)| notice.answers == Some(number))
            .map(|(_, notice)| notice.tell)
    }

    pub(crate) fn refusal(&mut self, world: &mut World, ask: Ask) -> Option<Refusal> {
        match self.ask(world, ask) {
            Some(Tell::Refused(refusal)) => Some(refusal),
            _ => None,
        }
    }

    /// Those datagrams that are for this client, opened.
    pub(crate) fn read(&mut self, sent: &[Sent]) -> Vec<(SocketAddr, Notice)> {
        let mut notices = Vec::new();
        for sent in sent {
            let Ok(Frame::Sealed { counter, .. }) = Frame::parse(&sent.bytes) else {
                continue;
            };
            let mut body = sent.bytes[SEALED_HEADER..].to_vec();
            if let Ok(plain) = self.keys.opener.open(counter, &mut body) {
                notices.push((sent.to, decode(plain).unwrap()));
            }
        }
        notices
    }

    /// What this client was told unasked so far, each once.
    pub(crate) fn told(&mut self, world: &mut World) -> Vec<Notice> {
        let sent = std::mem::take(&mut world.sent);
        let read = self.read(&sent).into_iter().map(|(_, notice)| notice);
        let mut told: Vec<Notice> = read.filter(|notice| notice.answers.is_none()).collect();
        world.sent = sent;
        told.dedup_by_key(|notice| notice.number);
        told
    }
}

/// A source, a target, and relays between them, the first the best; all legs are reported.
pub(crate) struct Scene {
    pub(crate) source: Player,
    pub(crate) target: Player,
    pub(crate) relays: Vec<(Player, Welcome)>,
}

impl World {
    pub(crate) fn scene(&mut self, relays: u8) -> Scene {
        let source = self.join("192.0.2.1:1000", Join::default());
        let target = self.join("198.51.100.1:2000", Join::default());
        let relays = (0..relays).map(|n| {
            let (mut relay, welcome) = self.join_relay(&format!("203.0.{n}.1:3000"));
            let leg = Rtt::from_micros(10_000 + u32::from(n) * 5_000);
            let legs = vec![(source.id(), leg), (target.id(), leg)];
            let told = relay.ask(self, Ask::Report(measured(legs)));
            assert_eq!(told, Some(Tell::Done));
            (relay, welcome)
        });
        let relays = relays.collect();
        Scene {
            source,
            target,
            relays,
        }
    }
}

pub(crate) fn measured(legs: Vec<(ClientId, Rtt)>) -> Measured {
    Measured {
        legs,
        ..Measured::default()
    }
}

impl Scene {
    /// Has the source introduced to the target.
    pub(crate) fn meet(&mut self, world: &mut World) -> Introduction {
        let peer = self.target.key();
        match self.source.ask(world, Ask::Connect(peer)) {
            Some(Tell::Introduce(introduction)) => introduction,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn offers(&mut self, world: &mut World, session: u64, most: u8) -> Vec<RelayOffer> {
        match self.source.ask(world, relays(session, most)) {
            Some(Tell::Relays { relays, .. }) => relays,
            other => panic!("{other:?}"),
        }
    }

    /// Which relays are offered, the best first.
    pub(crate) fn offered(&mut self, world: &mut World, session: u64) -> Vec<ClientId> {
        let offers = self.offers(world, session, 3);
        offers.iter().map(|offer| offer.ours.relay).collect()
    }
}

pub(crate) fn relays(session: u64, most: u8) -> Ask {
    Ask::Relays {
        session,
        most,
        known: Vec::new(),
    }
}

//! Attacks of those who joined and have real tickets.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use nearside_tunnel::crypto::{Chance, Dialling, Identity, PublicKey};
use nearside_tunnel::messages::{
    Ask, Introduction, Join, Measured, RelayOffer, RelayPass, Tell, Welcome,
};
use nearside_types::Rtt;
use nearside_wire::detour::{Carry, CarryFlags, Frame};

use super::TICKET_LIFE;
use super::scene::{Scene, victim};
use crate::directory::Player;

/// Somebody of the attacker's who joined the directory.
pub(super) struct Member {
    pub(super) player: Player,
    welcome: Welcome,
}

impl Member {
    /// Joins, and claims that addresses of others are its own.
    pub(super) fn join(scene: &Scene, number: u8) -> Self {
        Self::join_from(scene, "mallory", number)
    }

    fn join_from(scene: &Scene, host: &str, number: u8) -> Self {
        let socket = scene.stage.net.host(host).udp(0).unwrap();
        let directory: SocketAddr = scene.stage.directory().parse().unwrap();
        let key = scene.stage.directory_key().parse().unwrap();
        let mut player = Player::connect_by(socket, directory, key, number);
        let local = (0..4).map(|number| victim(number).into()).collect();
        let told = player.ask(Ask::Join(Join {
            local,
            ..Join::default()
        }));
        let Tell::Welcome(welcome) = told else {
            panic!("{told:?}");
        };
        // Seen at the same port twice: tickets are for that port alone.
        let mut second = directory;
        second.set_port(welcome.second_port.unwrap());
        let seen = player.ask_at(second, Ask::Observe);
        assert_eq!(seen, Tell::Observed(welcome.observed));
        Self { player, welcome }
    }

    /// Lets the directory introduce it to somebody.
    pub(super) fn meet(&mut self, peer: PublicKey) -> Introduction {
        match self.player.ask(Ask::Connect(peer)) {
            Tell::Introduce(introduction) => introduction,
            other => panic!("{other:?}"),
        }
    }

    /// Relays for a session, the most promising first.
    pub(super) fn relays(&mut self, session: u64) -> Vec<RelayOffer> {
        let ask = Ask::Relays {
            session,
            most: 8,
            known: Vec::new(),
        };
        match self.player.ask(ask) {
            Tell::Relays { relays, .. } => relays,
            other => panic!("{other:?}"),
        }
    }

    /// Says that it is next door to one client and far from all others.
    pub(super) fn lie(&mut self, neighbour: SocketAddr) {
        let legs = self.welcome.neighbours.iter().map(|known| {
            let near = known.address == neighbour;
            let micros = if near { 1_000 } else { 300_000 };
            (known.id, Rtt::from_micros(micros))
        });
        let measured = Measured {
            legs: legs.collect(),
            ..Measured::default()
        };
        assert_eq!(self.player.ask(Ask::Report(measured)), Tell::Done);
    }

    /// Sends a frame from its own address.
    fn send(&self, frame: &Frame<'_>, to: SocketAddr) {
        self.player.socket.send_to(&frame.emit(), to).unwrap();
    }

    /// Whether the relay takes a ticket.
    fn opens(&self, pass: &RelayPass) -> bool {
        let (ticket, tag) = (&pass.ticket.0, pass.key.tag_open(&pass.ticket.0));
        let deadline = Instant::now() + Duration::from_millis(1_500);
        self.send(&Frame::Open { ticket, tag }, pass.address);
        let mut bytes = [0; 2_048];
        while Instant::now() < deadline {
            let moment = Duration::from_millis(100);
            self.player.socket.set_read_timeout(Some(moment)).unwrap();
            let came = self.player.socket.recv(&mut bytes);
            if let Ok(Ok(Frame::Opened { hop, .. })) =
                came.map(|length| Frame::parse(&bytes[..length]))
                && hop == pass.hop
            {
                return true;
            }
        }
        false
    }
}

/// A packet for the other end of a way.
fn carried(pass: &RelayPass, counter: u64) -> Vec<u8> {
    let carry = Carry {
        flags: CarryFlags::default(),
        residence: 0,
        hop: pass.hop,
        counter,
        tag: 0,
        inner: &[7; 60],
    };
    let tag = pass.key.tag(&carry);
    Frame::Carry(Carry { tag, ..carry }).emit()
}

/// Two attackers who may use the relay: no more than their tickets say, and no longer.
pub(super) fn attack_with_tickets(scene: &Scene) {
    let relay = scene.target("near", "near");
    let mut mallory = Member::join(scene, 201);
    let mut trudy = Member::join(scene, 202);
    mallory.lie(relay.at.into());
    trudy.lie(relay.at.into());
    let session = mallory.meet(trudy.player.identity.public()).session;
    let relays = mallory.relays(session);
    let offered = Instant::now();
    let is_near = |pass: &RelayPass| pass.address == SocketAddr::from(relay.at);
    let near = relays
        .iter()
        .find(|offer| is_near(&offer.ours))
        .expect("near, the first");
    let other = relays
        .iter()
        .find(|offer| !is_near(&offer.ours))
        .expect("another");

    assert!(!trudy.opens(&near.ours), "the same address, another port");
    assert!(mallory.opens(&near.ours) && trudy.opens(&near.theirs.pass));
    let before = scene.counted("near", "too_many");
    let to_us = || scene.stage.net.traffic("near", "mallory").packets;
    let came = to_us();
    let harm = scene.attack("a flood with a ticket", relay, |n| {
        let frame = carried(&near.ours, n.into());
        mallory.player.socket.send_to(&frame, relay.at).unwrap();
    });
    let (passed, held) = (to_us() - came, scene.counted("near", "too_many") - before);
    // 200 packets a second, and half of that at once.
    let most = 200 * 3 + 100;
    assert!(
        passed > 100 && passed <= most,
        "{passed} of {} forwarded",
        harm.packets
    );
    assert!(
        held + passed >= harm.sent.packets * 9 / 10,
        "{held} held back"
    );

    std::thread::sleep((offered + TICKET_LIFE + Duration::from_secs(1)) - Instant::now());
    assert!(!mallory.opens(&other.ours), "it is too old");
    assert!(
        !mallory.opens(&near.ours),
        "it was taken once, and is too old"
    );
}

/// Connections that nobody uses, from one who does get the directory's cookie: few are made, and others
/// get in meanwhile.
pub(super) fn flood_with_connections(scene: &Scene) {
    let directory = scene.directory();
    let socket = scene.stage.net.host("mallory").udp(0).unwrap();
    let hello = |number: u8, pass| {
        let key = scene.stage.directory_key().parse().unwrap();
        let own = Identity::from_secret([number; 32]);
        let mut chance = Chance::from_number(number.into());
        let index = number.into();
        let dialling = Dialling::new(&own, key, index, b"", &mut chance).unwrap();
        let noise = dialling.message();
        Frame::Hello { index, pass, noise }.emit()
    };
    let pass = cookie(&socket, &hello(0, [0; 16]), directory.at.into());
    let hellos: Vec<Vec<u8>> = (1..=200).map(|number| hello(number, pass)).collect();
    let to_us = || scene.stage.net.traffic("directory", "mallory").packets;
    let came = to_us();
    scene.attack("a flood of connections", directory, |n| {
        let hello = &hellos[n as usize % hellos.len()];
        socket.send_to(hello, directory.at).unwrap();
        if n == 2_000 {
            Member::join_from(scene, "victims", 204);
        }
    });
    // 64 that have not joined, from one network, and whatever the members before still hear.
    let answers = to_us() - came;
    assert!((32..=128).contains(&answers), "{answers} answers");
}

/// What the directory wants to hear again before it answers.
fn cookie(socket: &UdpSocket, hello: &[u8], directory: SocketAddr) -> [u8; 16] {
    socket.send_to(hello, directory).unwrap();
    let patience = Duration::from_secs(5);
    socket.set_read_timeout(Some(patience)).unwrap();
    let mut bytes = [0; 2_048];
    let length = socket.recv(&mut bytes).unwrap();
    match Frame::parse(&bytes[..length]) {
        Ok(Frame::Retry { pass, .. }) => pass,
        other => panic!("{other:?}"),
    }
}

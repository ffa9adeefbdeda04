//! Attacks of a peer that the directory introduced: what it says is heard, and goes no further.

use std::time::{Duration, Instant};

use nearside_detour::ClientId;
use nearside_tunnel::crypto::{Chance, Dialling, Keys, PublicKey};
use nearside_tunnel::link::Inner;
use nearside_tunnel::messages::{Talk, encode};
use nearside_tunnel::vouched::Vouched;
use nearside_wire::detour::Frame;

use super::members::Member;
use super::scene::{Scene, Target, victim};

/// A peer with a link to somebody who did nothing but be there.
struct Peer {
    member: Member,
    keys: Keys,
    /// A way through a relay that the directory made for the other.
    vouched: Vouched,
}

impl Peer {
    fn meet(scene: &Scene, target: Target<'_>) -> Self {
        const OURS: u32 = 9;
        let mut member = Member::join(scene, 203);
        let status = scene.stage.status(target.program);
        let key: PublicKey = status["key"].as_str().unwrap().parse().unwrap();
        member.lie(scene.target("near", "near").at.into());
        let introduction = member.meet(key);
        let offered = member.relays(introduction.session);
        let vouched = offered.first().expect("near").theirs.clone();
        let mut chance = Chance::from_number(203);
        let own = &member.player.identity;
        let mut dialling = Dialling::new(own, key, OURS, b"", &mut chance).unwrap();
        let hello = Frame::Hello {
            index: OURS,
            pass: introduction.pass,
            noise: dialling.message(),
        };
        let hello = hello.emit();
        let socket = &member.player.socket;
        let moment = Duration::from_millis(300);
        socket.set_read_timeout(Some(moment)).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut bytes = [0; 2_048];
        while Instant::now() < deadline {
            socket.send_to(&hello, target.at).unwrap();
            let length = socket.recv(&mut bytes).unwrap_or(0);
            if let Ok(Frame::Answer { to: OURS, noise }) = Frame::parse(&bytes[..length])
                && let Ok((keys, _)) = dialling.finish(noise)
            {
                return Self {
                    member,
                    keys,
                    vouched,
                };
            }
        }
        panic!("{} does not answer who was introduced", target.program);
    }

    fn send(&mut self, inner: &Inner<'_>, target: Target<'_>) {
        let mut frame = Vec::new();
        self.keys.sealer.seal(&[&inner.emit()], &mut frame).unwrap();
        let socket = &self.member.player.socket;
        socket.send_to(&frame, target.at).unwrap();
    }

    fn talk(&mut self, id: u32, talk: &Talk, target: Target<'_>) {
        let message = &encode(talk);
        self.send(&Inner::Talk { id, message }, target);
    }
}

pub(super) fn attack_a_peer(scene: &Scene) {
    let program = format!("bob-{}", super::PORT);
    let bob = scene.target(&program, "bob");
    let mut peer = Peer::meet(scene, bob);
    let what = "a peer that names others' addresses";
    let harm = scene.attack(what, bob, |n| match n % 2 {
        0 => {
            let mut pass = peer.vouched.clone();
            pass.pass.address = victim(n).into();
            pass.pass.relay = ClientId(n.into());
            let number = (n / 2) as u8;
            peer.talk(n, &Talk::Meet { pass, number }, bob);
        }
        _ => {
            let (flow, to) = (n as u16, Some(victim(n).into()));
            peer.talk(n, &Talk::Flow { flow, to }, bob);
        }
    });
    harm.reached_nobody(what);

    let sockets = || open_files(scene, &program);
    let before = sockets();
    let what = "a peer that floods";
    scene.attack(what, bob, |n| {
        let data = Inner::Data {
            flow: (n % 1_000) as u16,
            sent: n,
            word: n as u16,
            path: 255,
            payload: b"x",
        };
        peer.send(&data, bob);
    });
    let more = sockets().saturating_sub(before);
    assert!(more <= 64, "{more} sockets for one peer");
}

fn open_files(scene: &Scene, program: &str) -> usize {
    let id = scene.stage.process(program).id();
    std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().count()
}

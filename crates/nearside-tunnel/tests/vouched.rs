//! Relays that one end of a link names to the other: taken if the directory vouches for them, and without
//! harm to ways that are open.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::path::Route;
use nearside_detour::{ClientId, PathConfig};
use nearside_tunnel::crypto::{Chance, Dialling, HopKey, Identity, PingKey, accept};
use nearside_tunnel::link::{Arrival, Link, Output, Outset};
use nearside_tunnel::messages::{RelayPass, Talk, TicketBytes};
use nearside_tunnel::vouched::{Authority, Vouched, Voucher};
use nearside_types::Moment;
use nearside_wire::detour::{Frame, SEALED_HEADER, TICKET_BYTES};

const SESSION: u64 = 11;
const WALL: Duration = Duration::from_secs(1_800_000_000);
const LIFE: Duration = Duration::from_secs(45);
const KEY: PingKey = PingKey([5; 16]);
const START: Moment = Moment::from_nanos(10_000_000_000);

/// Two ends on one wire; what goes elsewhere is noted.
struct Pair {
    ends: [Link; 2],
    now: Moment,
    elsewhere: [Vec<SocketAddr>; 2],
}

fn address(end: usize) -> SocketAddr {
    ([192, 0, 2, u8::from(end == 1)], 4_000).into()
}

fn pass(hop: u32, address: &str) -> RelayPass {
    RelayPass {
        relay: ClientId(77),
        address: address.parse().unwrap(),
        hop,
        key: HopKey([hop.to_be_bytes()[3]; 16]),
        ticket: TicketBytes([1; TICKET_BYTES]),
        packets: 200,
        kilobits: 512,
    }
}

fn vouched(session: u64, pass: RelayPass) -> Vouched {
    Voucher { key: KEY, session }.vouch(pass, WALL + LIFE)
}

impl Pair {
    fn new() -> Self {
        let mut chance = Chance::from_number(0);
        let [one, two] = [(); 2].map(|()| Identity::generate(&mut chance));
        let mut dialling = Dialling::new(&one, two.public(), 1, b"", &mut chance).unwrap();
        let message = dialling.message().to_vec();
        let said = accept(&two, (1, 2), &message, &mut chance, |_, _| Some(Vec::new()));
        let accepted = said.unwrap();
        let (keys, _) = dialling.finish(&accepted.answer).unwrap();
        let first = |end: usize| (Route::Direct, Outset::Direct(address(end)));
        let authority = Authority {
            key: KEY,
            clock: (WALL, START),
        };
        let lead = Link::leading(keys, first(1), PathConfig::default(), 1, START);
        let follow = Link::following(accepted.keys, first(0), (authority, SESSION), START);
        Self {
            ends: [lead, follow],
            now: START,
            elsewhere: [Vec::new(), Vec::new()],
        }
    }

    /// Lets time pass; what the ends send each other comes at once.
    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now += Duration::from_millis(10);
            for end in [0, 1] {
                self.ends[end].handle_time(self.now);
            }
            self.settle();
        }
    }

    fn settle(&mut self) {
        for end in [0, 1, 0, 1] {
            while let Some(output) = self.ends[end].poll_output() {
                let Output::Send(sent) = output else { continue };
                let mut bytes = sent.bytes;
                let Ok(Frame::Sealed { counter, .. }) = Frame::parse(&bytes) else {
                    self.elsewhere[end].push(sent.to);
                    continue;
                };
                let arrival = Arrival {
                    route: Route::Direct,
                    from: address(end),
                    port: 0,
                    received: self.now,
                    residence: Duration::ZERO,
                };
                let body = &mut bytes[SEALED_HEADER..];
                self.ends[1 - end].handle_sealed(self.now, arrival, counter, body);
            }
        }
    }

    fn meet(&mut self, pass: Vouched) {
        let number = 1;
        self.ends[0].talk(self.now, &Talk::Meet { pass, number });
        self.run(Duration::from_secs(1));
    }

    fn is_open(&self, end: usize) -> bool {
        let relayed = |route| route == Route::Via(ClientId(77));
        let mut paths = self.ends[end].paths().into_iter();
        paths.any(|path| relayed(path.route) && path.open)
    }
}

#[test]
fn a_peer_can_name_no_address_that_the_directory_did_not() {
    let mut pair = Pair::new();
    let relay = pass(3, "198.51.100.1:4000");
    // Its own invention, an old word with another address, one of another session, one for somebody else.
    let victim = pass(3, "203.0.113.66:53");
    let forged = Vouched {
        pass: victim.clone(),
        ..vouched(SESSION, relay.clone())
    };
    let strange = Voucher {
        key: PingKey([6; 16]),
        session: SESSION,
    };
    let lies = [
        forged,
        vouched(SESSION + 1, victim.clone()),
        strange.vouch(victim, WALL + LIFE),
    ];
    for lie in lies {
        pair.meet(lie);
    }
    assert_eq!(pair.elsewhere[1], [], "the victim is left alone");
    assert_eq!(pair.ends[1].counts().unvouched, 3);
    assert_eq!(pair.ends[1].paths().len(), 1);
    // The directory's own word is taken, until it ends.
    pair.meet(vouched(SESSION, relay.clone()));
    assert!(!pair.elsewhere[1].is_empty());
    assert!(pair.elsewhere[1].iter().all(|to| *to == relay.address));
    pair.run(LIFE);
    pair.elsewhere[1].clear();
    pair.meet(vouched(SESSION, pass(4, "198.51.100.1:4000")));
    assert_eq!(
        (pair.elsewhere[1].len(), pair.ends[1].counts().unvouched),
        (0, 4)
    );
}

#[test]
fn a_relay_that_is_offered_again_stays_open_at_both_ends() {
    let mut pair = Pair::new();
    let [ours, theirs] = [5, 6].map(|hop| pass(hop, "198.51.100.1:4000"));
    let offered = vouched(SESSION, theirs.clone());
    pair.ends[0].add_relay(pair.now, ours.clone(), offered);
    pair.run(Duration::from_millis(100));
    for (end, pass) in [ours, theirs].iter().enumerate() {
        let tag = pass.key.tag_opened(pass.hop);
        assert!(pair.ends[end].handle_opened(pair.now, pass.hop, tag));
    }
    assert!(pair.is_open(0) && pair.is_open(1));
    let [ours, theirs] = [7, 8].map(|hop| pass(hop, "198.51.100.1:4000"));
    pair.ends[0].add_relay(pair.now, ours, vouched(SESSION, theirs));
    pair.settle();
    pair.run(Duration::from_millis(100));
    assert!(pair.is_open(0) && pair.is_open(1));
}

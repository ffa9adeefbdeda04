//! A relay forwards between the two ends of a session it has tickets for, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::ClientId;
use nearside_tunnel::crypto::{Chance, HopKey, Ticket, TicketKey};
use nearside_tunnel::messages::Capacity;
use nearside_tunnel::relay::{Arrival, Relay};
use nearside_types::Moment;
use nearside_wire::detour::{Carry, CarryFlags, Frame, SAFE_BYTES, TICKET_BYTES};

const RELAY: ClientId = ClientId(7);
const WALL: Duration = Duration::from_secs(1_000);

fn address(end: u8) -> SocketAddr {
    format!("192.0.2.{end}:4000").parse().unwrap()
}

fn ticket(end: u8) -> Ticket {
    Ticket {
        relay: RELAY,
        session: 99,
        end,
        hop: 10 + u32::from(end),
        other_hop: 11 - u32::from(end),
        address: address(end),
        any_port: false,
        key: HopKey([end; 16]),
        expires: WALL + Duration::from_secs(30),
        packets: 100,
        kilobits: 1_000,
    }
}

struct Bench {
    relay: Relay,
    key: TicketKey,
    chance: Chance,
    now: Moment,
    counters: [u64; 2],
}

impl Bench {
    fn new() -> Self {
        let capacity = Capacity {
            sessions: 2,
            packets: 1_000,
            kilobits: 10_000,
        };
        let key = TicketKey::new(&[5; 32]);
        let mut relay = Relay::new(RELAY, capacity, Moment::EPOCH);
        relay.set_ticket_key(key.clone());
        Self {
            relay,
            key,
            chance: Chance::from_number(1),
            now: Moment::EPOCH + Duration::from_secs(1),
            counters: [0; 2],
        }
    }

    fn send(&mut self, from: SocketAddr, frame: &[u8]) -> Option<(SocketAddr, Vec<u8>)> {
        let mut frame = frame.to_vec();
        let arrival = Arrival {
            from,
            received: self.now.saturating_sub(Duration::from_micros(80)),
            now: self.now,
            wall: WALL,
        };
        let to = self.relay.handle(arrival, &mut frame)?;
        Some((to, frame))
    }

    fn sealed(&mut self, ticket: &Ticket) -> [u8; TICKET_BYTES] {
        self.key.seal(ticket, &mut self.chance)
    }

    fn open(&mut self, ticket: &Ticket, from: SocketAddr) -> Option<(SocketAddr, Vec<u8>)> {
        let sealed = self.sealed(ticket);
        let tag = ticket.key.tag_open(&sealed);
        self.send(
            from,
            &Frame::Open {
                ticket: &sealed,
                tag,
            }
            .emit(),
        )
    }

    fn both_open(&mut self) {
        for end in [0, 1] {
            let (to, frame) = self.open(&ticket(end), address(end)).unwrap();
            assert_eq!(to, address(end));
            let hop = ticket(end).hop;
            let tag = ticket(end).key.tag_opened(hop);
            assert_eq!(Frame::parse(&frame), Ok(Frame::Opened { hop, tag }));
        }
    }

    fn carry(&mut self, end: u8, inner: &[u8]) -> Vec<u8> {
        self.counters[usize::from(end)] += 1;
        let carry = Carry {
            flags: CarryFlags::STAMP,
            residence: 1,
            hop: ticket(end).hop,
            counter: self.counters[usize::from(end)],
            tag: 0,
            inner,
        };
        let tag = ticket(end).key.tag(&carry);
        Frame::Carry(Carry { tag, ..carry }).emit()
    }
}

#[test]
fn packets_go_to_the_other_end_with_its_tag_and_the_time_they_were_held() {
    let mut bench = Bench::new();
    bench.both_open();
    for end in [0, 1, 0] {
        let frame = bench.carry(end, b"sealed bytes");
        let (to, out) = bench.send(address(end), &frame).unwrap();
        let other = 1 - end;
        assert_eq!(to, address(other));
        let Ok(Frame::Carry(carry)) = Frame::parse(&out) else {
            panic!("{out:?}");
        };
        assert_eq!(
            (carry.hop, carry.inner),
            (ticket(other).hop, b"sealed bytes".as_slice())
        );
        assert!(carry.flags.has(CarryFlags::FROM_RELAY));
        assert_eq!(carry.residence, 1 + 80 / 4);
        assert_eq!(ticket(other).key.tag(&carry), carry.tag);
        assert_eq!(out.len(), frame.len());
        assert_eq!(
            bench.send(to, &out),
            None,
            "what a relay sent is not sent back through it"
        );
    }
    assert_eq!(bench.relay.sessions(), 1);
}

#[test]
fn nothing_is_forwarded_without_a_good_ticket() {
    let mut bench = Bench::new();
    let frame = bench.carry(0, b"x");
    assert_eq!(bench.send(address(0), &frame), None, "no ticket");

    let good = ticket(0);
    let refused = [
        (
            Ticket {
                relay: ClientId(8),
                ..good
            },
            address(0),
            "for another relay",
        ),
        (
            Ticket {
                expires: WALL - Duration::from_millis(1),
                ..good
            },
            address(0),
            "expired",
        ),
        (good, address(9), "shown by another address"),
        (good, "192.0.2.0:4001".parse().unwrap(), "or another port"),
    ];
    for (ticket, from, why) in refused {
        assert_eq!(bench.open(&ticket, from), None, "{why}");
    }
    let sealed = bench.sealed(&good);
    let stolen = Frame::Open {
        ticket: &sealed,
        tag: 1,
    }
    .emit();
    assert_eq!(
        bench.send(address(0), &stolen),
        None,
        "without the key inside"
    );
    let tag = good.key.tag_open(&sealed);
    for at in [0, 50, 99] {
        let mut forged = sealed;
        forged[at] ^= 1;
        assert_eq!(
            bench.send(
                address(0),
                &Frame::Open {
                    ticket: &forged,
                    tag
                }
                .emit()
            ),
            None
        );
    }
    assert_eq!(bench.relay.counts().refused, 8);
    assert_eq!(bench.relay.sessions(), 0);
}

#[test]
fn replayed_changed_and_foreign_packets_are_dropped() {
    let mut bench = Bench::new();
    bench.both_open();
    let frame = bench.carry(0, b"sealed");
    assert!(bench.send(address(0), &frame).is_some());
    assert_eq!(bench.send(address(0), &frame), None, "replayed");
    let fresh = bench.carry(0, b"sealed");
    for at in 1..fresh.len() {
        let mut changed = fresh.clone();
        changed[at] ^= 1;
        assert_eq!(bench.send(address(0), &changed), None, "byte {at}");
    }
    assert_eq!(bench.send(address(1), &fresh), None, "from another address");
    assert!(
        bench.send(address(0), &fresh).is_some(),
        "none of it spoilt the true one"
    );
}

#[test]
fn a_nat_that_gives_another_port_is_followed_by_the_newest_packet() {
    let mut bench = Bench::new();
    bench.both_open();
    let old = bench.carry(0, b"old");
    let new = bench.carry(0, b"new");
    let moved: SocketAddr = "192.0.2.0:5000".parse().unwrap();
    assert!(bench.send(moved, &new).is_some());
    assert!(bench.send(address(0), &old).is_some(), "late, but its turn");
    let back = bench.carry(1, b"back");
    assert_eq!(bench.send(address(1), &back).unwrap().0, moved);
}

#[test]
fn a_flood_is_cut_to_the_rate_and_told() {
    let mut bench = Bench::new();
    bench.both_open();
    let sent = (0..500).filter(|_| {
        let frame = bench.carry(0, b"x");
        bench.send(address(0), &frame).is_some()
    });
    assert_eq!(sent.count(), 50, "half a second's worth of a hundred");
    assert_eq!(bench.relay.counts().too_many, 450);
    let frame = bench.carry(1, b"x");
    assert!(
        bench.send(address(1), &frame).is_some(),
        "the other end has its own"
    );
}

/// One end of a session, of which there may be many.
fn end_of(session: u64, end: u8) -> Ticket {
    let hop = 100 + 2 * u32::try_from(session).unwrap();
    let (own, other) = (u32::from(end), u32::from(1 - end));
    Ticket {
        session,
        hop: hop + own,
        other_hop: hop + other,
        ..ticket(end)
    }
}

impl Bench {
    fn open_session(&mut self, session: u64) {
        for end in [0, 1] {
            let (_, frame) = self.open(&end_of(session, end), address(end)).unwrap();
            assert!(matches!(Frame::parse(&frame), Ok(Frame::Opened { .. })));
        }
    }

    /// One packet of a session, and what becomes of it.
    fn word(&mut self, session: u64, end: u8) -> Option<Word> {
        self.counters[0] += 1;
        let ticket = end_of(session, end);
        let carry = Carry {
            flags: CarryFlags::default(),
            residence: 0,
            hop: ticket.hop,
            counter: self.counters[0],
            tag: 0,
            inner: b"sealed",
        };
        let tag = ticket.key.tag(&carry);
        let frame = Frame::Carry(Carry { tag, ..carry }).emit();
        let (to, out) = self.send(address(end), &frame)?;
        assert!(out.len() <= frame.len(), "nothing is amplified");
        match Frame::parse(&out) {
            Ok(Frame::Carry(_)) => Some(Word::Carried),
            Ok(Frame::Refused { hop, tag }) => {
                assert_eq!((hop, to), (ticket.hop, address(end)));
                assert_eq!(tag, ticket.key.tag_refused(hop));
                Some(Word::Refused)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Both ends say so many words in a second; those that were refused.
    fn second(&mut self, session: u64, words: u32) -> usize {
        let refused = (0..words).flat_map(|_| {
            self.now += Duration::from_secs(1) / words;
            [0, 1].map(|end| self.word(session, end))
        });
        refused.filter(|word| *word == Some(Word::Refused)).count()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Word {
    Carried,
    Refused,
}

#[test]
fn sessions_that_only_measure_take_no_place() {
    let mut bench = Bench::new();
    for session in 0..60 {
        bench.open_session(session);
    }
    for _ in 0..30 {
        for session in 0..60 {
            for end in [0, 1] {
                assert_eq!(bench.word(session, end), Some(Word::Carried));
            }
        }
        bench.now += Duration::from_secs(1);
    }
    assert_eq!(bench.relay.carried(bench.now), 0);
    assert_eq!(bench.relay.sessions(), 60);
    assert_eq!(bench.second(7, 60), 0, "and a game finds one");
    assert_eq!(bench.relay.carried(bench.now), 1, "for both of its ends");
}

#[test]
fn a_game_without_a_place_is_told_so_before_anything_of_it_is_lost() {
    let mut bench = Bench::new();
    for session in 0..3 {
        bench.open_session(session);
    }
    assert_eq!([0, 1].map(|session| bench.second(session, 60)), [0, 0]);
    assert_eq!(bench.relay.carried(bench.now), 2, "as many as it carries");

    let words: Vec<_> = (0..30).map(|_| bench.word(2, 0)).collect();
    let told = words.iter().position(|word| *word == Some(Word::Refused));
    assert_eq!(told, Some(15));
    let refused = words.iter().filter(|word| **word == Some(Word::Refused));
    assert_eq!(refused.count(), 1, "a quarter of a second to leave");
    assert!((0..15).all(|_| bench.word(2, 0) == Some(Word::Refused)));
    assert_eq!(bench.second(0, 60), 0, "others go on");

    bench.now += Duration::from_secs(11);
    assert_eq!(bench.second(2, 60), 0, "games that ended gave their places");
}

#[test]
fn ways_are_bounded_idle_ones_end_and_long_packets_stay_out() {
    let mut bench = Bench::new();
    bench.both_open();
    for session in 0..63 {
        bench.open_session(session);
    }
    let last = end_of(63, 0);
    let (to, refused) = bench.open(&last, address(0)).unwrap();
    let (hop, tag) = (last.hop, last.key.tag_refused(last.hop));
    assert_eq!(to, address(0));
    assert_eq!(
        Frame::parse(&refused),
        Ok(Frame::Refused { hop, tag }),
        "thirty-two sessions for each of two places"
    );
    let other = Ticket {
        session: 4,
        ..end_of(0, 0)
    };
    assert!(
        bench.open(&other, address(0)).is_none(),
        "nobody takes another's way"
    );
    let long = bench.carry(0, &[0; SAFE_BYTES]);
    assert_eq!(bench.send(address(0), &long), None);

    bench.now = Moment::EPOCH + Duration::from_secs(62);
    let (_, opened) = bench.open(&last, address(0)).unwrap();
    let is_open = matches!(Frame::parse(&opened), Ok(Frame::Opened { .. }));
    assert!(is_open, "idle ones made room");
    assert_eq!(bench.relay.sessions(), 1);
}

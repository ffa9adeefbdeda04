//! A relay, players with tickets of three sessions, and strangers who send anything in anybody's name.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::ClientId;
use nearside_types::Moment;
use nearside_wire::detour::{Carry, CarryFlags, Frame};

use super::frames;
use crate::crypto::{Chance, HopKey, Ticket, TicketKey};
use crate::messages::Capacity;
use crate::relay::{Arrival, Relay};

/// Any sequence of datagrams leaves a relay that sends nothing but what came from one end of a session on
/// to the other, answers nobody with more than came from there, and knows a bounded number of ways.
pub fn relay(bytes: &[u8]) {
    let mut stage = Stage::new();
    for step in bytes.chunks_exact(6) {
        stage.act([step[0], step[1], step[2], step[3], step[4], step[5]]);
    }
}

const RELAY: ClientId = ClientId(7);
const SESSIONS: u8 = 3;
/// The sessions that it carries, and those that may measure it for each of them, with two ends each.
const MOST_SESSIONS: usize = 32;

struct Stage {
    relay: Relay,
    key: TicketKey,
    chance: Chance,
    now: Moment,
    /// The last counter of each end.
    counters: BTreeMap<u32, u64>,
}

fn address(end: u8) -> SocketAddr {
    ([192, 0, 2, end % (2 * SESSIONS)], 4_000).into()
}

impl Stage {
    fn new() -> Self {
        let capacity = Capacity {
            sessions: 1,
            packets: 50,
            kilobits: 100,
        };
        let now = Moment::EPOCH + Duration::from_secs(1);
        let key = TicketKey::new(&[5; 32]);
        let mut relay = Relay::new(RELAY, capacity, now);
        relay.set_ticket_key(key.clone());
        Self {
            relay,
            key,
            chance: Chance::from_number(1),
            now,
            counters: BTreeMap::new(),
        }
    }

    fn ticket(&self, end: u8, life_s: u8) -> Ticket {
        let end = end % (2 * SESSIONS);
        Ticket {
            relay: RELAY,
            session: u64::from(end / 2),
            end: end % 2,
            hop: end.into(),
            other_hop: (end ^ 1).into(),
            address: address(end),
            any_port: end < 2,
            key: HopKey([end; 16]),
            expires: self.now.since_epoch() + Duration::from_secs(life_s.into()),
            packets: 20,
            kilobits: 40,
        }
    }

    fn act(&mut self, [what, a, b, c, d, e]: [u8; 6]) {
        let frame = match what % 6 {
            0 => self.show(a, b, c),
            1 | 2 => self.carry(a, b, c),
            3 => frames::any(&mut self.chance, a, b, c),
            4 => frames::damaged(&self.carry(a, b, c), d),
            _ => {
                self.now += Duration::from_millis(u64::from(b) * u64::from(c));
                return self.relay.sweep(self.now);
            }
        };
        // As a rule from where its end is; else from anywhere.
        let mut from = match d % 4 {
            0 => ([198, 51, 100, d], 53).into(),
            _ => address(a),
        };
        from.set_port(from.port() + u16::from(e == 1));
        self.send(from, &frame);
    }

    fn show(&mut self, end: u8, life_s: u8, damage: u8) -> Vec<u8> {
        let ticket = self.ticket(end, life_s);
        let sealed = self.key.seal(&ticket, &mut self.chance);
        let tag = ticket.key.tag_open(&sealed) ^ u64::from(damage == 1);
        let ticket = &sealed;
        let shown = Frame::Open { ticket, tag }.emit();
        match damage {
            2..=5 => frames::damaged(&shown, damage),
            _ => shown,
        }
    }

    fn carry(&mut self, end: u8, length: u8, back: u8) -> Vec<u8> {
        let ticket = self.ticket(end, 30);
        let last = self.counters.entry(ticket.hop).or_default();
        *last += 1;
        let inner = vec![back; usize::from(length) * 6];
        let carry = Carry {
            flags: CarryFlags(back & 3),
            residence: back.into(),
            hop: ticket.hop,
            counter: last.saturating_sub(u64::from(back % 4)),
            tag: 0,
            inner: &inner,
        };
        let tag = ticket.key.tag(&carry);
        Frame::Carry(Carry { tag, ..carry }).emit()
    }

    fn send(&mut self, from: SocketAddr, frame: &[u8]) {
        let mut out = frame.to_vec();
        let arrival = Arrival {
            from,
            received: self.now,
            now: self.now,
            wall: self.now.since_epoch(),
        };
        let to = self.relay.handle(arrival, &mut out);
        assert!(
            self.relay.sessions() <= MOST_SESSIONS * 2,
            "ways are bounded"
        );
        let Some(to) = to else {
            return;
        };
        assert!(out.len() <= frame.len(), "more than came");
        match Frame::parse(&out) {
            Ok(Frame::Opened { .. } | Frame::Refused { .. }) => assert_eq!(to, from),
            Ok(Frame::Carry(carry)) => {
                let Ok(Frame::Carry(came)) = Frame::parse(frame) else {
                    panic!("made of something else");
                };
                assert_eq!(carry.hop, came.hop ^ 1, "to the other end");
                assert_eq!(carry.inner, came.inner, "unchanged");
                assert!(carry.flags.has(CarryFlags::FROM_RELAY));
                assert_eq!(to.ip(), address(carry.hop as u8).ip(), "where that is");
                let sender = address(came.hop as u8);
                assert_eq!(from.ip(), sender.ip(), "nobody else is carried");
            }
            other => panic!("{other:?}"),
        }
    }
}

//! Two ends of a link, a network that does as it pleases, and an end that says anything.

use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::path::Route;
use nearside_detour::{ClientId, PathConfig};
use nearside_types::Moment;
use nearside_wire::detour::{Frame, SEALED_HEADER, TICKET_BYTES};

use crate::crypto::{Chance, Dialling, HopKey, Identity, PingKey, accept};
use crate::link::{Arrival, Link, Outgoing, Output, Outset};
use crate::messages::{RelayPass, Talk, TicketBytes, encode};
use crate::vouched::{Authority, Vouched, Voucher};

/// Any sequence of packets that come, are lost, come twice, late or changed, and any words of the other
/// end, leave a link that delivers nothing twice, keeps its paths bounded and has a time to look after.
pub fn link(bytes: &[u8]) {
    let mut stage = Stage::new();
    for step in bytes.chunks_exact(4) {
        stage.act([step[0], step[1], step[2], step[3]]);
    }
}

struct Stage {
    ends: [Link; 2],
    under_way: Vec<(usize, Outgoing)>,
    now: Moment,
    sent: [u64; 2],
    delivered: [u64; 2],
}

fn address(end: usize) -> SocketAddr {
    ([192, 0, 2, u8::from(end == 1)], 4_000).into()
}

fn pass(relay: u8) -> RelayPass {
    RelayPass {
        relay: ClientId(relay.into()),
        address: ([198, 18, 0, relay], 4_000).into(),
        hop: u32::from(relay),
        key: HopKey([relay; 16]),
        ticket: TicketBytes([relay; TICKET_BYTES]),
        packets: 200,
        kilobits: 512,
    }
}

const SESSION: u64 = 1;
const KEY: PingKey = PingKey([3; 16]);

/// The same with the directory's word, for the session of the test or another.
fn vouched(relay: u8, session: u64) -> Vouched {
    let until = Duration::from_secs(1_000);
    Voucher { key: KEY, session }.vouch(pass(relay), until)
}

impl Stage {
    fn new() -> Self {
        let mut chance = Chance::from_number(0);
        let [one, two] = [(); 2].map(|()| Identity::generate(&mut chance));
        let dialled = Dialling::new(&one, two.public(), 1, b"", &mut chance);
        let mut dialling = dialled.expect("a good key");
        let message = dialling.message().to_vec();
        let said = accept(&two, (1, 2), &message, &mut chance, |_, _| Some(Vec::new()));
        let accepted = said.expect("a good hello");
        let (keys, _) = dialling.finish(&accepted.answer).expect("a good answer");
        let now = Moment::EPOCH + Duration::from_secs(10);
        let first = |end: usize| (Route::Direct, Outset::Direct(address(end)));
        let lead = Link::leading(keys, first(1), PathConfig::default(), 2, now);
        let authority = Authority {
            key: KEY,
            clock: (Duration::from_secs(10), now),
        };
        let follow = Link::following(accepted.keys, first(0), (authority, SESSION), now);
        Self {
            ends: [lead, follow],
            under_way: Vec::new(),
            now,
            sent: [0; 2],
            delivered: [0; 2],
        }
    }

    fn act(&mut self, [what, a, b, c]: [u8; 4]) {
        let end = usize::from(a & 1);
        match what % 10 {
            0..=2 => self.deliver(usize::from(b), c & 3 == 0, false),
            3 => self.deliver(usize::from(b), false, true),
            4 => drop_one(&mut self.under_way, usize::from(b)),
            5 => {
                self.sent[end] += 1;
                self.ends[end].send(self.now, b.into(), &[c; 20]);
            }
            6 => self.ends[end].report_lag(self.now),
            7 => self.ends[0].add_relay(self.now, pass(b % 50), vouched(b % 50, SESSION)),
            8 => self.say_anything(end, b, c),
            _ => {
                self.now += Duration::from_millis(u64::from(b) * u64::from(c & 15));
                self.ends[0].handle_time(self.now);
                self.ends[1].handle_time(self.now);
            }
        }
        self.drain();
        for end in &self.ends {
            assert!(end.paths().len() <= 41, "paths are bounded");
            assert!(end.next_time() < self.now + Duration::from_secs(3_600));
        }
        for end in [0, 1] {
            assert!(
                self.delivered[end] <= self.sent[1 - end],
                "nothing comes twice"
            );
        }
    }

    /// What an end with the right keys but no manners may say.
    fn say_anything(&mut self, end: usize, b: u8, c: u8) {
        let talk = match b % 5 {
            0 => Talk::Lagging(Some(ClientId(c.into()))),
            1 => Talk::Losing(None),
            2 => Talk::Meet {
                pass: vouched(c, u64::from(c % 2)),
                number: c,
            },
            3 => Talk::Flow {
                flow: c.into(),
                to: None,
            },
            _ => Talk::NoFlow { flow: c.into() },
        };
        assert!(!encode(&talk).is_empty());
        self.ends[end].talk(self.now, &talk);
        self.ends[end].handle_time(self.now);
    }

    fn deliver(&mut self, which: usize, keep: bool, change: bool) {
        if self.under_way.is_empty() {
            return;
        }
        let at = which % self.under_way.len();
        let (from, outgoing) = self.under_way[at].clone();
        if !keep {
            self.under_way.swap_remove(at);
        }
        let mut bytes = outgoing.bytes;
        if change && let Some(byte) = bytes.last_mut() {
            *byte ^= 1;
        }
        let Ok(Frame::Sealed { counter, .. }) = Frame::parse(&bytes) else {
            return;
        };
        let arrival = Arrival {
            route: Route::Direct,
            from: address(from),
            port: outgoing.port,
            received: self.now,
            residence: Duration::ZERO,
        };
        let body = &mut bytes[SEALED_HEADER..];
        self.ends[1 - from].handle_sealed(self.now, arrival, counter, body);
    }

    fn drain(&mut self) {
        for end in [0, 1] {
            while let Some(output) = self.ends[end].poll_output() {
                match output {
                    Output::Send(outgoing) if self.under_way.len() < 200 => {
                        self.under_way.push((end, outgoing));
                    }
                    Output::Deliver { .. } => self.delivered[end] += 1,
                    _ => {}
                }
            }
        }
    }
}

fn drop_one(under_way: &mut Vec<(usize, Outgoing)>, which: usize) {
    if !under_way.is_empty() {
        under_way.swap_remove(which % under_way.len());
    }
}

//! A game under way, and somebody who attacks those who carry it. Forged sources are a network's that
//! is there, so that all it gets is counted.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

use nearside_testnet::{HostSpec, Traffic};

use crate::forge::Forger;
use crate::say;
use crate::stage::Stage;
use crate::stream::{Stream, Stretch};

/// More than all players of a relay send, and what a debug build on two busy cores still drains.
const PACKETS_PER_SECOND: f64 = 2_000.0;
const ASSAULT: Duration = Duration::from_secs(2);
/// What a program's memory may grow by at its highest, over all attacks on it. One that kept 100 bytes
/// for each forged source would need that for every 80,000 packets, some twenty attacks; one that kept
/// datagrams, for the first.
const MOST_GROWTH_MIB: f64 = 4.0;

/// Hosts beside the usual ones: the attacker, and those whose addresses it forges.
pub(super) fn hosts() -> Vec<HostSpec> {
    let victims = HostSpec::new("victims").network(Ipv4Addr::new(30, 0, 0, 0), 8);
    vec![HostSpec::new("mallory"), victims]
}

/// Addresses spread over sixteen million, never twice in a row.
pub(super) fn victim(number: u32) -> SocketAddrV4 {
    let bits = 0x1E00_0000 + (number.wrapping_mul(0x9E37_79B1) >> 8);
    SocketAddrV4::new(Ipv4Addr::from_bits(bits), 5_000)
}

/// Bytes that look random, the same every time.
pub(super) fn noise(seed: u32, length: usize) -> Vec<u8> {
    let mut state = u64::from(seed) << 1 | 1;
    let mut next = || {
        state = state
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(seed.into());
        (state >> 33) as u8
    };
    (0..length).map(|_| next()).collect()
}

pub(super) struct Scene {
    pub(super) stream: Stream,
    pub(super) player: String,
    forger: Forger,
    /// A socket of the attacker's own.
    pub(super) own: UdpSocket,
    /// The most memory that programs had before, by name.
    memory: BTreeMap<String, f64>,
    pub(super) stage: Stage,
}

/// Who is attacked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    /// The program.
    pub(super) program: &'a str,
    pub(super) host: &'a str,
    pub(super) at: SocketAddrV4,
}

/// What an attack did.
#[derive(Debug)]
pub(super) struct Harm {
    /// Packets that were sent, and what left the attacker's host with headers.
    pub(super) packets: u32,
    pub(super) sent: Traffic,
    /// What those got whose addresses were forged.
    pub(super) reached: Traffic,
    pub(super) stretch: Stretch,
}

impl Scene {
    pub(super) fn new(stage: Stage, player: String, stream: Stream) -> Self {
        let mallory = stage.net.host("mallory");
        let programs = stage.programs();
        let memory = programs.map(|name| (name.to_owned(), peak_mib(&stage, name)));
        Self {
            memory: memory.collect(),
            forger: mallory.run(Forger::open),
            own: mallory.udp(4_000).unwrap(),
            stage,
            player,
            stream,
        }
    }

    /// Where a program's socket to the world is.
    pub(super) fn target<'a>(&self, program: &'a str, host: &'a str) -> Target<'a> {
        let status = self.stage.status(program);
        let at = status["observed"].as_str().unwrap().parse().unwrap();
        Target { program, host, at }
    }

    pub(super) fn directory(&self) -> Target<'static> {
        Target {
            program: "directory",
            host: "directory",
            at: self.stage.directory().parse().unwrap(),
        }
    }

    /// Sends `packet(0)`, `packet(1)` and so on for two seconds, each in the name of whom it says, while
    /// the game goes on; nobody may get more bytes than were sent in their name.
    pub(super) fn forge(
        &self,
        what: &str,
        target: Target<'_>,
        mut packet: impl FnMut(u32) -> (SocketAddrV4, Vec<u8>),
    ) -> Harm {
        self.attack(what, target, |number| {
            let (source, payload) = packet(number);
            self.forger.send(source, target.at, &payload);
        })
    }

    /// The same by any means.
    pub(super) fn attack(&self, what: &str, target: Target<'_>, mut send: impl FnMut(u32)) -> Harm {
        let (sent, reached) = self.traffic(target.host);
        let mark = self.stream.mark();
        let began = Instant::now();
        let mut packets = 0;
        while began.elapsed() < ASSAULT {
            let due = (began.elapsed().as_secs_f64() * PACKETS_PER_SECOND) as u32;
            while packets < due {
                send(packets);
                packets += 1;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let stretch = self
            .stream
            .after(mark, ASSAULT + Duration::from_millis(200));
        let (sent_now, reached_now) = self.traffic(target.host);
        let harm = Harm {
            packets,
            sent: difference(sent_now, sent),
            reached: difference(reached_now, reached),
            stretch,
        };
        let grown = peak_mib(&self.stage, target.program) - self.memory[target.program];
        harm.tell(what, target, grown);
        harm.is_bearable(what);
        assert!(grown < MOST_GROWTH_MIB, "{what}: {grown} MiB more");
        harm
    }

    /// From the attacker to a host, and from there to those whose addresses are forged.
    fn traffic(&self, host: &str) -> (Traffic, Traffic) {
        let net = &self.stage.net;
        (net.traffic("mallory", host), net.traffic(host, "victims"))
    }

    /// What a relay counted.
    pub(super) fn counted(&self, relay: &str, what: &str) -> u64 {
        self.stage.status(relay)["relay"]["counts"][what]
            .as_u64()
            .unwrap()
    }
}

/// The most resident memory that a program had so far.
fn peak_mib(stage: &Stage, program: &str) -> f64 {
    let path = format!("/proc/{}/status", stage.process(program).id());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    kib.unwrap().parse::<f64>().unwrap() / 1024.0
}

impl Harm {
    fn tell(&self, what: &str, target: Target<'_>, grown: f64) {
        let stretch = &self.stretch;
        say(&format!(
            "{what} at {}: {} packets, {} bytes; {} bytes to forged sources; {grown:+.1} MiB; of the game {} of \
             {} packets lost, nothing for {:.0?} at most",
            target.program,
            self.packets,
            self.sent.bytes,
            self.reached.bytes,
            stretch.lost,
            stretch.sent,
            stretch.gap_at_player.max(stretch.gap_at_server)
        ));
    }

    fn is_bearable(&self, what: &str) {
        let (out, came) = (self.reached.bytes, self.sent.bytes);
        assert!(
            self.sent.packets > 1_000,
            "{what}: {} packets",
            self.sent.packets
        );
        assert!(out <= came, "{what}: {out} bytes out for {came} in");
        let stretch = &self.stretch;
        assert!(stretch.lost * 10 <= stretch.sent, "{what}: {stretch:?}");
        let allowed = Duration::from_millis(800) + stretch.stall;
        assert!(stretch.gap_at_player < allowed, "{what}: {stretch:?}");
    }

    /// Nobody got anything for it.
    pub(super) fn reached_nobody(&self, what: &str) {
        assert_eq!(self.reached.packets, 0, "{what}");
    }
}

fn difference(after: Traffic, before: Traffic) -> Traffic {
    Traffic {
        packets: after.packets - before.packets,
        bytes: after.bytes - before.bytes,
        lost: after.lost - before.lost,
    }
}

//! Abuse of a real `nearside master` by forged packets and by clients that prove who they are, in a
//! network of its own.
//!
//! The test starts itself again inside a new network namespace, where whole networks are local: raw
//! sockets forge any source, and what the master sends to a forged source arrives at a socket of the
//! test, which counts it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

mod forge;
mod guests;
mod honest;
mod victims;

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::Folder;
use common::foreign::program;
use common::process::Program;
use forge::Forger;
use guests::Guests;
use honest::{Client, Servers};
use nearside_wire::quake3::Heartbeat;
use nearside_wire::quake3::master::ListRequest;
use victims::Victims;

const MASTER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(20, 0, 0, 1), 27950);
/// Forged sources are in here.
const VICTIMS: u32 = 0x1E00_0000;
const HONEST: usize = 200;
/// A flood that a debug build on two busy cores still drains: beyond what a machine can read, packets
/// are lost in the kernel, and no program can choose which.
const PACKETS_PER_SECOND: f64 = 15_000.0;
/// Clients that prove their addresses ask less often, and for more.
const QUESTIONS_PER_SECOND: f64 = 700.0;
/// Servers that their questions are about: one question takes 40 ms of a release build, and the flood
/// asks for twenty times what one core can do.
const FOLLOWED: u32 = 5_000;

fn say(line: &str) {
    let _closed = writeln!(std::io::stderr(), "FIGURE {line}");
}

#[test]
fn forged_packets_neither_amplify_nor_drive_anybody_out() {
    let test = "forged_packets_neither_amplify_nor_drive_anybody_out";
    let allowed = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "true"])
        .output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        let line = format!("SKIPPED {test}: network namespaces are not allowed here");
        let _closed = writeln!(std::io::stderr(), "{line}");
        return;
    }
    if program(test, "ip", "ip").is_none() {
        return;
    }
    let mut again = Command::new("unshare");
    again.args(["--user", "--map-root-user", "--net"]);
    again.arg(std::env::current_exe().unwrap());
    again.args([
        "--exact",
        "inside_the_namespace",
        "--ignored",
        "--nocapture",
    ]);
    let finished = Program(again).finish(b"", Duration::from_secs(170));
    for line in finished
        .stderr
        .lines()
        .filter(|line| line.starts_with("FIGURE"))
    {
        let _closed = writeln!(std::io::stderr(), "{line}");
    }
    assert!(finished.stdout.contains("1 passed"), "{finished}");
}

/// The master, ended with the test.
struct Master(Child);

impl Drop for Master {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// Everything that takes part.
struct Scene {
    forger: Forger,
    victims: Victims,
    client: Client,
    master: Master,
}

impl Scene {
    /// Floods for some seconds; gives the bytes that were forged and that reached victims.
    fn flood(&mut self, what: &str, mut packet: impl FnMut(u32) -> (u32, Vec<u8>)) -> (u64, u64) {
        self.flood_by(what, PACKETS_PER_SECOND, |forger, number| {
            let (source, payload) = packet(number);
            let source = SocketAddrV4::new(Ipv4Addr::from_bits(source), victims::PORT);
            forger.send(source, MASTER, &payload)
        })
    }

    /// The same by whatever sends packets.
    fn flood_by(
        &mut self,
        what: &str,
        per_second: f64,
        mut send: impl FnMut(&Forger, u32) -> usize,
    ) -> (u64, u64) {
        let (before, began) = (self.victims.bytes(), Instant::now());
        let (mut forged, mut packets) = (0, 0_u32);
        while began.elapsed() < Duration::from_secs(3) {
            let due = (began.elapsed().as_secs_f64() * per_second) as u32;
            while packets < due {
                forged += send(&self.forger, packets) as u64;
                packets += 1;
            }
            self.client.turn();
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_millis(300));
        let reached = self.victims.bytes() - before;
        let served = self.client.take();
        say(&format!(
            "{what}: {packets} packets with {forged} bytes, {reached} bytes to victims; an honest \
             client got {} of {} lists, p99 {:.1} ms; {:.1} MiB",
            served.lists,
            served.asked,
            served.p99_ms,
            self.memory_mib()
        ));
        assert!(
            served.asked > 10,
            "{what}: {} lists asked for",
            served.asked
        );
        assert!(
            served.lists * 10 >= served.asked * 9,
            "{what}: {} of {} lists",
            served.lists,
            served.asked
        );
        assert_eq!(served.servers, HONEST, "{what}: servers on the last list");
        (forged, reached)
    }

    fn memory_mib(&self) -> f64 {
        let path = format!("/proc/{}/status", self.master.0.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: f64 = line
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap()
            .parse()
            .unwrap();
        kib / 1024.0
    }
}

/// Source addresses spread over sixteen million, never twice in a row.
fn scattered(number: u32) -> u32 {
    VICTIMS + (number.wrapping_mul(0x9E37_79B1) >> 8)
}

#[test]
#[ignore = "runs inside the namespace that the other test makes"]
fn inside_the_namespace() {
    make_networks_local();
    let folder = Folder::new();
    let followed = folder.write("followed.json", guests::followed(FOLLOWED));
    let config = format!(
        "listen = [\"{MASTER}\"]\nstore = \"none\"\n[origins]\nfolders = false\n\
         [[follow]]\nfrom = \"{followed}\"\n"
    );
    let config = folder.write("master.toml", config);
    let master = Master(
        Command::new(env!("CARGO_BIN_EXE_nearside"))
            .args(["master", "--config", &config])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let mut servers = Servers::open();
    let client = Client::open(MASTER.into());
    servers.register(MASTER.into(), HONEST);
    let guests = Guests::open(MASTER.into(), 15);
    guests.wait_for_a_list();
    let mut scene = Scene {
        forger: Forger::open(),
        victims: Victims::open(),
        client,
        master,
    };
    let memory = scene.memory_mib();
    let heartbeat = Heartbeat {
        tag: "QuakeArena-1".into(),
    }
    .emit();
    let (forged, reached) = scene.flood("heartbeats", |n| (scattered(n), heartbeat.clone()));
    assert!(reached <= forged);

    let request = ListRequest::new(None, 71).emit();
    let steam = b"1\xFF0.0.0.0:0\0\\gamedir\\x\0".to_vec();
    let (forged, reached) = scene.flood("list queries", |n| {
        let payload = if n % 2 == 0 { &request } else { &steam };
        (scattered(n), payload.clone())
    });
    assert!(reached <= forged);

    let replayed = scene.client.request_with_cookie();
    let (forged, reached) = scene.flood("a replayed cookie", |n| (scattered(n), replayed.clone()));
    assert!(reached <= forged);

    // The one exception: a byte is answered by ten, from an allowance for each /24.
    let (_, reached) = scene.flood("`q` in the name of one /24", |n| {
        (VICTIMS + n % 256, b"q".to_vec())
    });
    assert!(reached <= 500 + 50 * 5, "{reached} bytes to one network");

    let (forged, reached) = scene.flood("random bytes", |n| {
        let length = [3, 20, 200, 1400, 9000, 60_000][n as usize % 6];
        let mut payload: Vec<u8> = (0..length)
            .map(|at| (scattered(n ^ at) >> 7) as u8)
            .collect();
        if n % 2 == 0 {
            payload[..3].copy_from_slice(&[0xFF; 3]);
        }
        (scattered(n), payload)
    });
    assert!(reached <= forged);
    let grown = scene.memory_mib() - memory;
    say(&format!(
        "after these floods the master has {grown:.1} MiB more than before"
    ));
    assert!(grown < 16.0, "{grown} MiB more than before");

    for (what, guests_asked, filter) in [
        ("costly new questions of one client", 1, true),
        ("costly new questions of 15 networks", 15, true),
        ("short new questions of 15 networks", 15, false),
    ] {
        scene.flood_by(what, QUESTIONS_PER_SECOND, |_, number| {
            let question = match filter {
                true => guests::costly(number),
                false => format!(r"\map\x{number}"),
            };
            guests.ask(number % guests_asked, &question)
        });
    }
}

/// Everything sent to these networks stays on this machine ("AnyIP", ip-route(8)).
fn make_networks_local() {
    let ip = |arguments: &str| {
        let mut ip = program("inside_the_namespace", "ip", "ip").unwrap();
        ip.0.args(arguments.split(' '));
        ip.finish(b"", Duration::from_secs(10)).expect_code(0);
    };
    ip("link set lo up");
    for first in [20, 30, 40, 41, 50, 60] {
        ip(&format!("route add local {first}.0.0.0/8 dev lo"));
    }
}

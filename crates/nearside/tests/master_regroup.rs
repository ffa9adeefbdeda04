//! A list as players see it by UDP while a prefix moves to another AS: a real `nearside master`, a
//! real BIRD, game servers that register themselves, and a client with a socket of its own.
//!
//! The test starts itself again inside a network namespace, where public addresses are this machine's.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Write as _;
use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use common::foreign::program;
use common::process::{self, Program};
use common::{Folder, LONG};
use nearside_wire::list::OriginForm;
use nearside_wire::quake3::master::{ListReply, ListRequest};
use nearside_wire::quake3::{Heartbeat, InfoString, Request, Response};

const TEST: &str = "a_udp_client_sees_a_moved_prefix_regrouped_within_four_seconds";
const NAMESPACE: [&str; 3] = ["--user", "--map-root-user", "--net"];
const MASTER: &str = "20.0.0.1:27950";
const SERVERS: [&str; 3] = ["9.9.9.9:27960", "8.8.8.8:27960", "1.1.1.1:27960"];
const BGP_PORT: u16 = 1790;

#[test]
fn a_udp_client_sees_a_moved_prefix_regrouped_within_four_seconds() {
    let allowed = Command::new("unshare").args(NAMESPACE).arg("true").output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        let line = format!("SKIPPED {TEST}: network namespaces are not allowed here");
        let _closed = writeln!(std::io::stderr(), "{line}");
        return;
    }
    for (foreign, name) in [("ip", "ip"), ("bird", "bird"), ("bird", "birdc")] {
        if program(TEST, foreign, name).is_none() {
            return;
        }
    }
    let mut again = Command::new("unshare");
    again.args(NAMESPACE).arg(std::env::current_exe().unwrap());
    let inner = [
        "--exact",
        "inside_the_namespace",
        "--ignored",
        "--nocapture",
    ];
    again.args(inner);
    let finished = Program(again).finish(b"", LONG);
    let figures = finished.stderr.lines();
    for line in figures.filter(|line| line.starts_with("FIGURE")) {
        let _closed = writeln!(std::io::stderr(), "{line}");
    }
    assert!(finished.stdout.contains("1 passed"), "{finished}");
}

/// BIRD with one route for 9.9.9.0/24 that ends in this AS.
fn bird_config(folder: &Folder, asn: u32) {
    folder.write(
        "bird.conf",
        format!(
            "router id 127.0.0.2;\nprotocol device {{ }}\n\
             protocol static {{ ipv4; route 9.9.9.0/24 blackhole {{ bgp_path.prepend({asn}); }}; }}\n\
             protocol bgp feed {{ local 127.0.0.2 port 1791 as 64501;\n\
               neighbor 127.0.0.1 port {BGP_PORT} as 64512; strict bind yes; multihop;\n\
               connect delay time 1; ipv4 {{ import none; export all; }}; }}\n",
        ),
    );
}

fn here(folder: &Folder, name: &str, arguments: &[&str]) -> Program {
    let mut found = program(TEST, name, name).unwrap();
    found.0.current_dir(folder.path()).args(arguments);
    found
}

#[test]
#[ignore = "runs inside the namespace that the other test makes"]
fn inside_the_namespace() {
    let folder = Folder::new();
    let ip = |arguments: &str| {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        here(&folder, "ip", &arguments)
            .finish(b"", LONG)
            .expect_code(0);
    };
    ip("link set lo up");
    for network in ["1.0.0.0/8", "8.0.0.0/8", "9.0.0.0/8", "20.0.0.0/8"] {
        ip(&format!("route add local {network} dev lo"));
    }
    folder.write(
        "own.csv",
        "8.8.8.0/24,15169,US\n1.1.1.0/24,13335,AU\n9.9.9.0/24,,CH\n",
    );
    let config = format!(
        "listen = [\"{MASTER}\"]\nstore = \"none\"\n\
         [origins]\noverrides = [\"own.csv\"]\nfolders = false\nembedded = false\n\
         [bgp]\nlisten = \"127.0.0.1:{BGP_PORT}\"\n\
         [[bgp.neighbour]]\naddr = \"127.0.0.2\"\nasn = 64501\n"
    );
    let config = folder.write("master.toml", config);
    let _master = process::nearside(&["master", "--config", &config]).start();
    bird_config(&folder, 3356);
    let arguments = ["-f", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid"];
    let _bird = here(&folder, "bird", &arguments).start();
    let _servers = SERVERS.map(register);
    let client = socket("20.0.0.2:0");
    wait_until(&client, [3356, 13335, 15169], LONG);
    bird_config(&folder, 20940);
    let configure = here(&folder, "birdc", &["-s", "bird.ctl", "configure"]);
    let moved = Instant::now();
    configure.finish(b"", LONG).expect_code(0);
    wait_until(&client, [13335, 15169, 20940], Duration::from_secs(4));
    let seconds = moved.elapsed().as_secs_f64();
    let line = format!("FIGURE a UDP client saw the list regrouped after {seconds:.2} s");
    let _closed = writeln!(std::io::stderr(), "{line}");
}

fn socket(addr: &str) -> UdpSocket {
    let socket = UdpSocket::bind(addr).unwrap();
    let soon = Duration::from_millis(300);
    socket.set_read_timeout(Some(soon)).unwrap();
    socket
}

fn receive(socket: &UdpSocket) -> Option<Vec<u8>> {
    let mut buffer = [0; 2000];
    let length = socket.recv(&mut buffer).ok()?;
    Some(buffer[..length].to_vec())
}

/// A game server that sends heartbeats until it was asked, and answers.
fn register(addr: &str) -> UdpSocket {
    let socket = socket(addr);
    let began = Instant::now();
    let challenge = loop {
        assert!(began.elapsed() < LONG, "the master does not ask {addr}");
        let tag = "QuakeArena-1".into();
        let _not_there_yet = socket.send_to(&Heartbeat { tag }.emit(), MASTER);
        let asked = receive(&socket);
        let asked = asked.as_deref().map(Request::parse);
        if let Some(Ok(Request::GetInfo { challenge })) = asked {
            break challenge.unwrap();
        }
    };
    let info = InfoString::new()
        .with("protocol", "71")
        .with("clients", "3")
        .with("sv_maxclients", "8")
        .with("challenge", challenge.as_bytes());
    let answer = Response::Info(info).emit();
    socket.send_to(&answer, MASTER).unwrap();
    socket
}

/// The ASes of a list, in its order.
fn systems(client: &UdpSocket) -> Option<Vec<u32>> {
    let origin = Some(OriginForm::As);
    let mut request = ListRequest {
        origin,
        ..ListRequest::new(None, 71)
    };
    client.send_to(&request.emit(), MASTER).unwrap();
    if let Ok(ListReply::Cookie(cookie)) = ListReply::parse(&receive(client)?, origin) {
        request.challenge = Some(cookie);
    }
    client.send_to(&request.emit(), MASTER).unwrap();
    match ListReply::parse(&receive(client)?, origin) {
        Ok(ListReply::List(packet)) => {
            let servers = packet.servers();
            let systems = servers.map(|listed| listed.origin.asn.map_or(u32::MAX, |asn| asn.0));
            Some(systems.collect())
        }
        _ => None,
    }
}

fn wait_until(client: &UdpSocket, wanted: [u32; 3], most: Duration) {
    let began = Instant::now();
    let mut seen = None;
    while seen.as_deref() != Some(&wanted[..]) {
        assert!(began.elapsed() < most, "{seen:?} and not {wanted:?}");
        std::thread::sleep(Duration::from_millis(50));
        seen = systems(client).or(seen);
    }
}

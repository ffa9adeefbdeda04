//! `nearside master` while the disk of its store is full: it says so, goes on, writes what waited
//! when there is room again, and does not end as if all were written when there is not.
//!
//! The master runs inside a mount namespace, on a small disk in memory that a shell beside it fills and
//! empties.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Write as _;
use std::net::UdpSocket;
use std::process::Command;

use common::master::Master;
use common::openarena::free_port;
use common::process::Program;
use common::web::{ask, free_tcp_port, wait_for};
use common::{Folder, LONG};

const TEST: &str = "a_full_disk_is_told_and_outlived_and_what_was_not_written_is_counted";
const NAMESPACE: [&str; 3] = ["--user", "--map-root-user", "--mount"];

/// Fills the disk while the file `full` is there, for as long as the master lives, whose process the
/// shell becomes.
const SCRIPT: &str = r#"
mount -t tmpfs -o size=8m tmpfs "$DISK" || exit 9
(
  while kill -0 $$; do
    if [ -e "$SIGNS/full" ]; then cat /dev/zero >> "$DISK/filler"; else rm -f "$DISK/filler"; fi
    sleep 0.05
  done
) > "$SIGNS/said" 2>&1 &
exec "$@"
"#;

#[test]
fn a_full_disk_is_told_and_outlived_and_what_was_not_written_is_counted() {
    let allowed = Command::new("unshare").args(NAMESPACE).arg("true").output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        let line = format!("SKIPPED {TEST}: namespaces are not allowed here");
        let _closed = writeln!(std::io::stderr(), "{line}");
        return;
    }
    let (disk, signs) = (Folder::new(), Folder::new());
    let udp = format!("127.0.0.1:{}", free_port());
    let http = format!("127.0.0.1:{}", free_tcp_port());
    let mut program = Command::new("unshare");
    program.args(NAMESPACE).args(["sh", "-c", SCRIPT, "sh"]);
    program.arg(env!("CARGO_BIN_EXE_nearside"));
    let arguments = ["master", "--lan", "--listen", &udp, "--http", &http];
    program.args(arguments);
    program.args(["--store", &disk.join("master.redb")]);
    program.env("DISK", disk.path()).env("SIGNS", signs.path());
    let master = Master::start(Program(program));
    let health = || ask(&http, "GET", "/health", "", "").unwrap().1;

    signs.write("full", "");
    std::thread::sleep(std::time::Duration::from_millis(500));
    let _homes: Vec<UdpSocket> = (0..20).map(|_| register(&http)).collect();
    let line = master.wait_for("store fails");
    assert!(line.contains("master.redb"), "{line}");
    assert!(health().starts_with("degraded"), "{}", health());
    std::fs::remove_file(signs.join("full")).unwrap();
    master.wait_for("store works again");
    wait_for("health", || health() == "ok\n");

    signs.write("full", "");
    std::thread::sleep(std::time::Duration::from_millis(500));
    let _homes: Vec<UdpSocket> = (0..20).map(|_| register(&http)).collect();
    master.wait_for("store fails");
    master.running.interrupt();
    master.wait_for("changes not written why=");
    master.running.finish(LONG).expect_code(3);
}

/// A game server that registers over HTTP.
fn register(http: &str) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    let addr = socket.local_addr().unwrap();
    let post = |challenge: &str| {
        let body = format!(r#"{{"address":"{addr}","game":"mygame"{challenge}}}"#);
        ask(http, "POST", "/servers", "", &body).unwrap()
    };
    while post("").0 == 429 {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let mut buffer = [0; 64];
    let length = socket.recv(&mut buffer).unwrap();
    let challenge = String::from_utf8(buffer[13..length].to_vec()).unwrap();
    let (status, answer) = post(&format!(r#","challenge":"{challenge}""#));
    assert_eq!(status, 200, "{answer}");
    socket
}

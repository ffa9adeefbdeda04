//! `nearside origin listen` with a real BIRD: what it announces is what HTTP tells, under the
//! sources' order of trust, also after the daemon is gone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use common::process::{self, Running};
use common::{Folder, LONG, foreign, is_refused};
use serde_json::Value;

/// A port that is free now. Another program could take it before we do; then the test fails loudly.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Asks with HTTP/1.0 and returns status line and body.
fn get(addr: SocketAddr, path: &str) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(addr).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.lines().next()?.to_owned(), body.to_owned()))
}

fn origin(addr: SocketAddr, ip: &str) -> Value {
    let (_, body) = get(addr, &format!("/origin/{ip}")).unwrap();
    serde_json::from_str(&body).unwrap()
}

fn wait_for(what: &str, wanted: impl Fn() -> bool) {
    for _ in 0..300 {
        if wanted() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("30 s passed without {what}");
}

struct Scene {
    folder: Folder,
    http: SocketAddr,
    listener: Running,
    bgp_port: u16,
}

fn listen() -> Scene {
    let folder = Folder::new();
    let (bgp_port, http_port) = (free_port(), free_port());
    folder.write("own.csv", "9.9.9.0/24,,FI\n");
    let config = folder.write(
        "listen.toml",
        format!(
            "[bgp]\nlisten = \"127.0.0.1:{bgp_port}\"\nhttp = \"127.0.0.1:{http_port}\"\n\
             [[bgp.neighbour]]\naddr = \"127.0.0.2\"\nasn = 64501\n\
             [sources]\noverrides = [\"own.csv\"]\nfolders = false\n"
        ),
    );
    let listener = process::nearside(&["origin", "listen", "--config", &config]).start();
    let http = SocketAddr::from(([127, 0, 0, 1], http_port));
    wait_for("HTTP", || get(http, "/health").is_some());
    Scene {
        folder,
        http,
        listener,
        bgp_port,
    }
}

fn bird(scene: &Scene, program: process::Program) -> Running {
    let port = scene.bgp_port;
    scene.folder.write(
        "bird.conf",
        format!(
            "router id 127.0.0.2;\nprotocol device {{ }}\n\
             protocol static {{ ipv4; route 9.9.9.0/24 blackhole {{ bgp_path.prepend(3356); }}; }}\n\
             protocol static {{ ipv6; route 2001:4860::/32 blackhole {{ bgp_path.prepend(174); }}; }}\n\
             protocol bgp feed {{ local 127.0.0.2 port {local} as 64501;\n\
               neighbor 127.0.0.1 port {port} as 64512; strict bind yes; multihop;\n\
               connect delay time 1; ipv4 {{ import none; export all; }};\n\
               ipv6 {{ import none; export all; next hop address 2001:db8::1; }}; }}\n",
            local = free_port(),
        ),
    );
    let mut program = program;
    program.0.current_dir(scene.folder.path());
    program
        .0
        .args(["-f", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid"]);
    program.start()
}

#[test]
fn a_real_daemon_feeds_the_table_that_http_tells_of() {
    let test = "a_real_daemon_feeds_the_table_that_http_tells_of";
    let Some(program) = foreign::program(test, "bird", "bird") else {
        return;
    };
    let scene = listen();
    let http = scene.http;
    assert!(get(http, "/health").unwrap().0.contains("503"));
    assert_eq!(origin(http, "9.9.9.9")["source"], "embedded");

    let daemon = bird(&scene, program);
    wait_for("the route", || origin(http, "9.9.9.9")["source"] == "bgp");
    let answer = origin(http, "9.9.9.9");
    assert_eq!(answer["asn"], 3356);
    assert_eq!(
        answer["country"], "FI",
        "the operator's word for the country"
    );
    assert_eq!(answer["prefix"], "9.9.9.0/24");
    assert_eq!(answer["age_days"], 0);
    wait_for("the IPv6 route", || {
        origin(http, "2001:4860:4860::8888")["asn"] == 174
    });
    assert_eq!(origin(http, "1.1.1.1")["source"], "embedded");
    assert!(get(http, "/health").unwrap().0.contains("200"));
    let metrics = get(http, "/metrics").unwrap().1;
    for line in [
        "nearside_origin_ranges{family=\"ipv4\"} 1",
        "nearside_origin_neighbour_up{neighbour=\"127.0.0.2\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }

    // The user's files are followed while the feed runs.
    scene
        .folder
        .write("own.csv", "9.9.9.0/24,,NO\n1.1.1.0/24,64500,\n");
    wait_for("the changed file", || {
        origin(http, "9.9.9.9")["country"] == "NO"
    });
    assert_eq!(origin(http, "1.1.1.1")["source"], "override");

    drop(daemon);
    wait_for("the loss", || {
        get(http, "/health").unwrap().0.contains("503")
    });
    assert_eq!(origin(http, "9.9.9.9")["asn"], 3356, "stale, but kept");
    wait_for("the age of the feed", || {
        let metrics = get(http, "/metrics").unwrap().1;
        let age = metrics
            .lines()
            .find_map(|line| line.strip_prefix("nearside_origin_feed_age_seconds "));
        age.unwrap().parse::<u64>().unwrap() >= 1
    });
    assert!(get(http, "/origin/nonsense").unwrap().0.contains("400"));

    scene.listener.interrupt();
    let finished = scene.listener.finish(LONG).expect_code(130);
    for words in ["session established", "2 prefixes loaded", "session over"] {
        assert!(finished.stderr.contains(words), "{words}: {finished}");
    }
}

#[test]
fn configurations_that_cannot_work_are_refused_with_a_next_step() {
    let folder = Folder::new();
    let neighbour = "[[bgp.neighbour]]\naddr = \"127.0.0.2\"\nasn = 64501\n";
    for (text, words) in [
        (String::new(), "no BGP neighbour"),
        (
            format!("[bgp]\nhold_time_s = 90\n{neighbour}"),
            "240 or more",
        ),
        (format!("[bgp]\nstale_s = 0\n{neighbour}"), "bgp.stale_s"),
        (
            format!("{neighbour}password_file = \"gone\"\n"),
            "cannot read",
        ),
        (
            format!("[bgp]\nhttp = \"here\"\n{neighbour}"),
            "`here` is not IP:PORT",
        ),
        (format!("[bgp]\nlongest_v4 = 33\n{neighbour}"), "up to 32"),
        (neighbour.replace("64501", "0"), "AS 0 is nobody's"),
        (format!("{neighbour}{neighbour}"), "configured twice"),
        ("[bgb]\n".to_owned(), "line 1"),
    ] {
        let config = folder.write("listen.toml", text);
        is_refused(&["origin", "listen", "--config", &config], &[words]);
    }
}

#[test]
fn a_port_that_is_taken_is_the_worlds_fault() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let folder = Folder::new();
    let config = folder.write(
        "listen.toml",
        format!(
            "[bgp]\nlisten = \"127.0.0.1:{port}\"\n\
             [[bgp.neighbour]]\naddr = \"127.0.0.2\"\nasn = 64501\n"
        ),
    );
    let finished = common::nearside(&["origin", "listen", "--config", &config]).expect_code(3);
    assert!(finished.stderr.contains(&port.to_string()), "{finished}");
}

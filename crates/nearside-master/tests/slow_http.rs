//! Slow, greedy and endless clients do not keep the master from serving others.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use common::{Scene, connect, get, read_answer, wait_for};
use nearside_master::http::Limits;

fn limits() -> Limits {
    Limits {
        connections: 20,
        per_network: 15,
        arrival: Duration::from_millis(700),
        lifetime: Duration::from_secs(2),
    }
}

/// How long until the master closes.
fn held(mut stream: std::net::TcpStream) -> Duration {
    let began = Instant::now();
    let mut bytes = Vec::new();
    let _reset = stream.read_to_end(&mut bytes);
    began.elapsed()
}

#[test]
fn a_head_that_drips_is_cut_off() {
    let scene = Scene::start(limits());
    let mut stream = connect(scene.public);
    stream.write_all(b"GET /servers HTTP/1.1\r\nHost:").unwrap();
    let mut dripping = stream.try_clone().unwrap();
    std::thread::spawn(move || {
        while dripping.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    assert!(held(stream) < Duration::from_secs(2));
    assert_eq!(get(scene.public, "/health").status, 200);
}

#[test]
fn a_body_that_drips_or_is_too_large_is_refused() {
    let scene = Scene::start(limits());
    let mut stream = connect(scene.public);
    let head = b"POST /servers HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n{";
    stream.write_all(head).unwrap();
    assert_eq!(read_answer(stream).status, 408);
    let large = vec![b' '; 9 << 10];
    let answer = common::ask(scene.public, "POST", "/servers", &[], &large);
    assert_eq!(answer.status, 413);
    let mut endless = connect(scene.public);
    let head = "POST /servers HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n";
    endless.write_all(head.as_bytes()).unwrap();
    let began = Instant::now();
    while endless.write_all(b"400\r\n").is_ok()
        && endless.write_all(&[b' '; 0x400]).is_ok()
        && endless.write_all(b"\r\n").is_ok()
    {
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn heads_without_end_are_refused() {
    let scene = Scene::start(limits());
    let mut stream = connect(scene.public);
    stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    let line = format!("X-Long: {}\r\n", "y".repeat(1000));
    let mut written = 0;
    while written < 1 << 20 && stream.write_all(line.as_bytes()).is_ok() {
        written += line.len();
    }
    assert!(held(stream) < Duration::from_secs(2));
}

#[test]
fn idle_connections_fill_the_house_for_a_moment_only_and_are_counted() {
    let scene = Scene::start(limits());
    let idle: Vec<_> = (0..30).map(|_| connect(scene.public)).collect();
    wait_for("room", || {
        let mut stream = connect(scene.public);
        let asked = stream.write_all(b"GET /health HTTP/1.0\r\n\r\n");
        let mut bytes = Vec::new();
        asked.is_ok()
            && stream.read_to_end(&mut bytes).is_ok()
            && bytes.starts_with(b"HTTP/1.0 200")
    });
    let metrics = String::from_utf8(get(scene.admin, "/metrics").body).unwrap();
    let turned = metrics
        .lines()
        .find_map(|line| line.strip_prefix("nearside_master_http_turned_away_total "));
    let turned: u32 = turned.unwrap().parse().unwrap();
    assert!(
        turned >= 15,
        "{turned} of 30 from one network, where 15 may"
    );
    drop(idle);
}

#[test]
fn a_connection_that_asks_again_and_again_ends_with_its_time() {
    let scene = Scene::start(limits());
    let mut stream = connect(scene.public);
    let began = Instant::now();
    let mut buffer = [0; 4096];
    loop {
        let asked = stream.write_all(b"GET /health HTTP/1.1\r\nHost: test\r\n\r\n");
        if asked.is_err() || stream.read(&mut buffer).is_ok_and(|read| read == 0) {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(8));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(began.elapsed() > Duration::from_secs(1));
}

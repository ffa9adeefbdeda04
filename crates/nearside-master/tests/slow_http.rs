//! Slow, greedy and endless clients do not keep the master from serving others.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use common::{Scene, admin, connect, get, read_answer, wait_for};
use nearside_master::http::Limits;
use nearside_master::store::{Change, Loaded, Store, StoreError};
use nearside_registry::{Facts, Family, Server, Settings, Standing, Text};
use nearside_types::{Moment, Origin, ServerAddr};

fn limits() -> Limits {
    Limits {
        connections: 20,
        per_network: 15,
        arrival: Duration::from_millis(700),
        lifetime: Duration::from_secs(2),
        ..Limits::default()
    }
}

/// Remembers servers with long texts, so that few of them make a large list.
struct Wordy;

/// More than 8 MB in all, which is more than the sockets between two programs take.
const WORDY: u16 = 10_000;

impl Store for Wordy {
    fn load(&mut self) -> Result<Loaded, StoreError> {
        let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let expires = Moment::EPOCH + since_epoch.unwrap() + Duration::from_secs(600);
        let long = [b'"'; 1000];
        let texts = [Text::Name, Text::Map, Text::Mode, Text::Version, Text::Data];
        let server = |number: u16| Server {
            addr: ServerAddr::new([127, 1, 1, 1].into(), 20_000 + number).unwrap(),
            // Nobody asks them whether they are still there, so the list stays as it is.
            family: Family::Other,
            standing: Standing::Remembered,
            origin: Origin::default(),
            expires,
            facts: Facts::of_texts(&texts.map(|text| (text, &long[..]))),
        };
        Ok(Loaded {
            servers: (0..WORDY).map(server).collect(),
            unreadable: 0,
        })
    }

    fn write(&mut self, _changes: &[Change]) -> Result<(), StoreError> {
        Ok(())
    }
}

fn wordy(limits: Limits) -> Scene {
    let settings = Settings {
        lan: true,
        servers_per_address: u32::MAX,
        servers_per_network: u32::MAX,
        ..Settings::default()
    };
    let scene = Scene::keeping(limits, settings, Vec::new(), Wordy);
    wait_for("a large list", || {
        get(scene.public, "/servers").body.len() > 8_000_000
    });
    scene
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

#[test]
fn a_network_pays_for_its_filters_and_neither_others_nor_the_whole_list_do() {
    let scene = wordy(Limits {
        list_bytes_per_second: 100_000,
        ..Limits::default()
    });
    let first = get(scene.public, "/servers?name=*&full=1");
    assert_eq!(first.status, 200);
    assert!(first.body.len() > 8_000_000);
    let same = get(scene.public, "/servers?full=1&name=***&region=255");
    assert_eq!(same.status, 200, "another spelling, the same list");
    assert_eq!(same.header("etag"), first.header("etag"));
    let other = get(scene.public, "/servers?own=1");
    assert_eq!(other.status, 429);
    assert!(other.header("retry-after").is_some());
    assert_eq!(get(scene.public, "/servers").status, 200);
    assert_eq!(get(scene.public, "/servers.bin?name=*").status, 200);
    assert_eq!(get(scene.public_v6, "/servers?own=1").status, 200);
}

#[test]
fn lists_that_slow_readers_hold_are_bounded_and_the_whole_list_is_there_for_all() {
    let scene = wordy(Limits {
        list_bytes_per_second: u32::MAX,
        list_memory: 20 << 20,
        ..Limits::default()
    });
    let length = get(scene.public, "/servers?own=1").body.len();
    assert!(length > 8_000_000, "{length} bytes");
    let slow: Vec<_> = (1..=20)
        .map(|number| {
            // So many quotes with something between: other filters, and all select all.
            let name = "*%22".repeat(number);
            let mut stream = connect(scene.public);
            let request = format!("GET /servers?name={name}* HTTP/1.1\r\nHost: test\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            // The head says whether the list comes; the rest is left where it is.
            let mut status = [0; 12];
            stream.read_exact(&mut status).unwrap();
            (stream, status)
        })
        .collect();
    let given = slow.iter().filter(|(_, head)| head.ends_with(b"200"));
    let given = given.count();
    let busy = slow.iter().filter(|(_, head)| head.ends_with(b"503"));
    assert_eq!(given + busy.count(), slow.len());
    // As much as is kept, as much again outside, and the one that went beyond.
    let most = 2 * (20 << 20) / length + 1;
    assert!((2..=most).contains(&given), "{given} of {most}");
    let began = Instant::now();
    assert_eq!(get(scene.public, "/servers").status, 200);
    assert!(began.elapsed() < Duration::from_secs(3));
    drop(slow);
    wait_for("room for filters", || {
        get(scene.public, "/servers?name=*%22*%22a*").status == 200
    });
}

#[test]
fn a_crowd_on_the_public_side_does_not_lock_the_operator_out() {
    let scene = Scene::start(Limits {
        connections: 8,
        arrival: Duration::from_secs(30),
        lifetime: Duration::from_secs(60),
        ..limits()
    });
    let crowd: Vec<_> = (0..8).map(|_| connect(scene.public)).collect();
    wait_for("the crowd", || {
        let mut stream = connect(scene.public);
        let asked = stream.write_all(b"GET /health HTTP/1.0\r\n\r\n");
        let mut bytes = Vec::new();
        asked.is_err() || stream.read_to_end(&mut bytes).is_err() || bytes.is_empty()
    });
    assert_eq!(admin(&scene, "GET", "/bans", b"").status, 200);
    assert_eq!(get(scene.admin, "/metrics").status, 200);
    drop(crowd);
}

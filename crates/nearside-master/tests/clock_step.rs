//! A wall clock that is set while the master runs, as at boot when the network comes up.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::servers::Recorder;
use common::wait_for;
use nearside_master::store::Change;
use nearside_master::{Service, ServiceConfig, Wall};
use nearside_net::Stop;
use nearside_registry::{Bans, Secret, Settings};
use nearside_types::Origin;
use nearside_wire::quake3::{InfoString, Request, Response};

/// A server's heartbeat, and its answer to what comes back.
fn heartbeat(server: &UdpSocket, master: SocketAddr, map: &str) {
    server
        .send_to(b"\xFF\xFF\xFF\xFFheartbeat QuakeArena-1\n", master)
        .unwrap();
    let mut buffer = [0; 2000];
    let (length, _) = server.recv_from(&mut buffer).unwrap();
    let Ok(Request::GetInfo {
        challenge: Some(challenge),
    }) = Request::parse(&buffer[..length])
    else {
        panic!("a getinfo, not {:?}", &buffer[..length]);
    };
    let info = InfoString::new()
        .with("protocol", "71")
        .with("clients", "1")
        .with("sv_maxclients", "8")
        .with("mapname", map)
        .with("challenge", challenge.as_bytes());
    server
        .send_to(&Response::Info(info).emit(), master)
        .unwrap();
}

/// The expiry of the last record that was written, in seconds.
fn expiry(store: &Recorder) -> Option<u64> {
    let groups = store.groups.lock().unwrap();
    match groups.last()?.last()? {
        Change::Put(server) => Some(server.expires.since_epoch().as_secs()),
        Change::Remove(_) => None,
    }
}

#[test]
fn records_follow_a_wall_clock_that_is_set_and_nobody_is_taken_off() {
    const BEGINNING: u64 = 1_000_000;
    const HOUR: u64 = 3600;
    const TIMEOUT: u64 = 900;
    let wall = Arc::new(AtomicU64::new(BEGINNING));
    let (read, began) = (Arc::clone(&wall), Instant::now());
    let fake = Wall::new(move || {
        let base = Duration::from_secs(read.load(Ordering::SeqCst));
        base + began.elapsed()
    });
    let config = ServiceConfig {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        settings: Settings {
            lan: true,
            timeout_s: TIMEOUT as u32,
            ..Settings::default()
        },
        secret: Secret([7; 16]),
        bans: Bans::default(),
    };
    let (store, stop) = (Recorder::default(), Stop::new().unwrap());
    let origin = |_| Origin::default();
    let (service, _) =
        Service::start_by(fake, config, store.clone(), origin, stop.clone()).unwrap();
    let handle = service.handle();
    let serving = service.spawn().unwrap();
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    for (time, map) in [
        (BEGINNING, "first"),
        (BEGINNING + HOUR, "forward"),
        (BEGINNING - HOUR, "back"),
    ] {
        wall.store(time, Ordering::SeqCst);
        // It is read once a second.
        std::thread::sleep(Duration::from_millis(1500));
        heartbeat(&server, handle.addresses()[0], map);
        let due = time + TIMEOUT;
        wait_for("a record by the new clock", || {
            expiry(&store).is_some_and(|expiry| (due..due + 60).contains(&expiry))
        });
        wait_for("it on the list", || handle.snapshot().servers == 1);
    }
    stop.stop();
    serving.join().unwrap().unwrap();
}

//! A store that never returns from a write, as a disk does that hangs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::net::UdpSocket;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use common::servers::server;
use common::{Scene, get, wait_for};
use nearside_master::Keeper;
use nearside_master::http::Limits;
use nearside_master::store::{Change, Loaded, Store, StoreError};
use nearside_registry::Settings;
use serde_json::json;

/// Writes return when the disk works again.
#[derive(Clone, Default)]
struct Disk {
    works: Arc<(Mutex<bool>, Condvar)>,
    written: Arc<Mutex<Vec<Change>>>,
}

impl Disk {
    fn work(&self) {
        *self.works.0.lock().unwrap() = true;
        self.works.1.notify_all();
    }
}

impl Store for Disk {
    fn load(&mut self) -> Result<Loaded, StoreError> {
        Ok(Loaded::default())
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let (works, told) = &*self.works;
        let works = told.wait_while(works.lock().unwrap(), |works| !*works);
        drop(works.unwrap());
        self.written.lock().unwrap().extend(changes.to_vec());
        Ok(())
    }
}

#[test]
fn a_disk_that_hangs_stops_neither_registration_nor_lists_and_health_says_so() {
    let disk = Disk::default();
    let settings = Settings {
        lan: true,
        claim_challenge_bytes_per_second: 1_000_000,
        ..Settings::default()
    };
    let scene = Scene::keeping(Limits::default(), settings, Vec::new(), disk.clone());
    let sockets: Vec<UdpSocket> = (0..2)
        .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
        .collect();
    let health = || String::from_utf8(get(scene.public, "/health").body).unwrap();
    assert_eq!(scene.register(&sockets[0], &json!({})).status, 200);
    wait_for("a health that is degraded", || {
        health().starts_with("degraded: ")
    });
    // The first group is in the disk's hands; this one comes while it hangs.
    assert_eq!(scene.register(&sockets[1], &json!({})).status, 200);
    wait_for("both on the list", || {
        let list = get(scene.public, "/servers").json();
        list["servers"].as_array().unwrap().len() == 2
    });
    assert_eq!(scene.handle.keeper().waiting(), 2);
    let reason = scene.handle.store_trouble().unwrap().reason;
    assert!(reason.contains("not returned from a write for"), "{reason}");
    disk.work();
    wait_for("a health that is well", || health() == "ok\n");
    wait_for("both in the store", || {
        disk.written.lock().unwrap().len() == 2
    });
}

#[test]
fn a_flood_of_changes_to_one_server_waits_as_one_while_the_disk_hangs() {
    let disk = Disk::default();
    let keeper = Keeper::start(disk.clone());
    let put = |expires| Change::Put(Box::new(server(1, expires)));
    keeper.keep(put(1));
    // Until the writing thread has taken it.
    std::thread::sleep(Duration::from_secs(1));
    (2..10_000).for_each(|expires| keeper.keep(put(expires)));
    assert_eq!(keeper.stats().waiting(), 2, "in hand, and the last of many");
    disk.work();
    drop(keeper);
    assert_eq!(*disk.written.lock().unwrap(), [put(1), put(9_999)]);
}

#[test]
fn a_master_whose_disk_hangs_can_end() {
    let keeper = Keeper::start(Disk::default());
    let stats = keeper.stats();
    keeper.keep(Change::Remove(server(1, 1).addr));
    let began = Instant::now();
    drop(keeper);
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(stats.waiting(), 1, "and it is known what was not written");
}

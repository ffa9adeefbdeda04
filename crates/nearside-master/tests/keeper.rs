//! The writing thread: groups, coalescing, and a store that is away.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use common::servers::{Recorder, server};
use nearside_master::Keeper;
use nearside_master::store::Change;

fn put(number: u32, expires: u64) -> Change {
    Change::Put(Box::new(server(number, expires)))
}

#[test]
fn only_the_last_change_of_each_server_is_written() {
    let store = Recorder::default();
    let keeper = Keeper::start(store.clone());
    for expires in 1..=100 {
        keeper.keep(put(1, expires));
    }
    keeper.keep(put(2, 7));
    keeper.keep(Change::Remove(server(2, 7).addr));
    drop(keeper);
    let written: Vec<Change> = store.groups.lock().unwrap().concat();
    assert_eq!(written.len(), 2, "{written:?}");
    assert!(written.contains(&put(1, 100)));
    assert!(written.contains(&Change::Remove(server(2, 7).addr)));
}

#[test]
fn what_waits_for_a_store_that_is_away_is_written_when_it_is_back() {
    let store = Recorder::default();
    store.away.store(true, Ordering::SeqCst);
    let keeper = Keeper::start(store.clone());
    let stats = keeper.stats();
    keeper.keep(put(1, 1));
    wait_until(|| stats.failures() >= 2);
    assert_eq!(stats.waiting(), 1);
    assert!(stats.last_error().unwrap().contains("away"));
    keeper.keep(put(1, 2));
    keeper.keep(put(2, 2));
    wait_until(|| stats.waiting() == 2);
    store.away.store(false, Ordering::SeqCst);
    wait_until(|| stats.written() == 2);
    assert_eq!(
        (stats.groups(), stats.waiting(), stats.last_error()),
        (1, 0, None)
    );
    let groups = store.groups.lock().unwrap().concat();
    assert!(groups.contains(&put(1, 2)) && groups.contains(&put(2, 2)));
}

#[test]
fn ending_without_a_store_does_not_wait_for_ever() {
    let store = Recorder::default();
    store.away.store(true, Ordering::SeqCst);
    let keeper = Keeper::start(store);
    let stats = keeper.stats();
    keeper.keep(put(1, 1));
    let began = Instant::now();
    drop(keeper);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(stats.waiting(), 1, "and it is known what was not written");
}

#[test]
fn a_store_that_fails_again_and_again_is_tried_less_often() {
    let store = Recorder::default();
    store.away.store(true, Ordering::SeqCst);
    let keeper = Keeper::start(store.clone());
    let stats = keeper.stats();
    keeper.keep(put(1, 1));
    std::thread::sleep(Duration::from_secs(4));
    // After 0.5, 1.5, 2.5 and 3.5 s; without pauses there would be eight.
    assert!((1..=4).contains(&stats.failures()), "{}", stats.failures());
    store.away.store(false, Ordering::SeqCst);
    drop(keeper);
    assert_eq!((stats.written(), stats.waiting()), (1, 0));
}

fn wait_until(condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "it does not happen"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

//! Masters with 100,000 servers: what a crash, a lost database and a lost front end leave behind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

mod cluster;
mod driver;
mod front_end;
mod killed;
mod newcomers;
mod reader;
mod redis;
mod seen;

use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Both tests want the whole machine.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A figure for whoever reads the test's output, also when it passes.
fn say(line: &str) {
    let _closed = writeln!(std::io::stderr(), "FIGURE {line}");
}

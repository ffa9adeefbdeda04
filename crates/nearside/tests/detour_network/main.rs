//! Real programs on a network of namespaces whose triangles are shorter by way of a third: the detour is
//! found, used and quicker, and a game goes on whatever happens to relays and the directory, and whoever
//! attacks them.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../nearside-directory/tests/common/mod.rs"]
mod directory;
#[path = "../master_abuse/forge.rs"]
mod forge;

mod attacks;
mod failures;
mod game;
mod stage;
mod stream;

use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A line that says what was measured.
fn say(line: &str) {
    let _closed = writeln!(std::io::stderr(), "FIGURE {line}");
}

/// Each has a dozen programs, and looks at the clock.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

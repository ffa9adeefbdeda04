//! What the end-to-end tests share: the binary, labs, folders and foreign programs, each with a
//! guard that cleans up, and no wait without an end.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "every test file takes what it needs"
)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub mod fake;
pub mod foreign;
pub mod lab;
pub mod master;
pub mod openarena;
pub mod process;
pub mod web;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nearside_discover::snapshot::{Row, Snapshot, Summary};
use serde::Deserialize;

use self::process::Finished;

/// Longer than anything here takes on a busy machine.
pub const LONG: Duration = Duration::from_secs(90);

/// Runs `nearside` to its end.
pub fn nearside<S: AsRef<str>>(arguments: &[S]) -> Finished {
    process::nearside(arguments).finish(b"", LONG)
}

/// Refused as bad usage or bad input, with all of these words and nothing on standard output.
#[track_caller]
pub fn is_refused(arguments: &[&str], words: &[&str]) {
    let mut finished = nearside(arguments).expect_code(2);
    for words in words {
        finished = finished.expect_stderr(words);
    }
    assert_eq!(finished.stdout, "");
}

/// Labs have fixed ports for their masters: one at a time in each test program.
pub fn one_lab_at_a_time() -> MutexGuard<'static, ()> {
    static LAB: Mutex<()> = Mutex::new(());
    LAB.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder of its own for a test, gone when dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("nearside-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a file and returns its path, ready for a command line.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Reads the document of `--format json`, which may have no unknown field.
pub fn snapshot(finished: &Finished) -> Snapshot {
    serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error} in the JSON of {finished}"))
}

/// Reads the lines of `--format ndjson`: servers first, the summary last.
pub fn ndjson(text: &str) -> (Vec<Row>, Summary) {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Last {
        summary: Summary,
    }
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines.pop().expect("at least the summary");
    let last: Last = serde_json::from_str(last).unwrap();
    let rows = lines
        .into_iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    (rows, last.summary)
}

//! The embedded store on a disk that is full for a while.
//!
//! The test starts itself again inside a mount namespace of its own, where it may mount a small disk
//! in memory.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use common::servers::server;
use nearside_master::store::{Change, Embedded, Store};

const NAMESPACE: [&str; 3] = ["--user", "--map-root-user", "--mount"];

#[test]
fn a_full_disk_costs_nothing_but_time() {
    let mut trial = Command::new("unshare");
    let allowed = trial.args(NAMESPACE).arg("true").output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        let line = "SKIPPED a_full_disk_costs_nothing_but_time: namespaces are not allowed here";
        let _closed = writeln!(std::io::stderr(), "{line}");
        return;
    }
    let mut again = Command::new("unshare");
    again.args(NAMESPACE).arg(std::env::current_exe().unwrap());
    again.args(["--exact", "inside_the_namespace", "--ignored"]);
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "{said}");
}

fn put(numbers: std::ops::Range<u32>) -> Vec<Change> {
    let changes = numbers.map(|number| Change::Put(Box::new(server(number, 2_000_000_000))));
    changes.collect()
}

/// Takes all the room that is left.
fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).unwrap();
    let zeros = [0; 4096];
    while file.write_all(&zeros).is_ok() {}
}

#[test]
#[ignore = "runs inside the namespace that the other test makes"]
fn inside_the_namespace() {
    let folder = std::env::temp_dir();
    let mut mount = Command::new("mount");
    let mounted = mount.args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"]);
    assert!(mounted.arg(&folder).status().unwrap().success());
    let (path, filler) = (folder.join("master.redb"), folder.join("filler"));
    let mut store = Embedded::open(&path).unwrap();
    store.write(&put(0..1000)).unwrap();

    fill(&filler);
    let many = put(1000..60_000);
    let error = store.write(&many).unwrap_err().to_string();
    assert!(error.contains("master.redb"), "{error}");
    // However often it is tried, with the disk still full.
    assert!(store.write(&many).is_err());
    assert!(store.write(&many).is_err());

    std::fs::remove_file(&filler).unwrap();
    store.write(&many).unwrap();
    drop(store);
    let loaded = Embedded::open(&path).unwrap().load().unwrap();
    assert_eq!((loaded.servers.len(), loaded.unreadable), (60_000, 0));
}

//! Favourites are probed first, shown whatever the filters say, and shown even when they are down.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::fake::FakeServer;
use common::{Folder, nearside, snapshot};

#[test]
fn a_favourite_that_is_down_is_shown_without_a_ping() {
    let folder = Folder::new();
    let up = FakeServer::a2s(b"up", b"de_dust2", b"Counter-Strike: Source");
    let down = "127.0.0.1:9";
    let favourites = folder.write("favourites.txt", format!("{}\n{down}\n", up.addr));
    let arguments = [
        "browse",
        "--favourites",
        &favourites,
        "--lan",
        "--timeout",
        "200",
        "--max-rtt",
        "0.001",
        "--name",
        "nobody has this name",
        "--format",
        "json",
    ];
    let found = snapshot(&nearside(&arguments).expect_code(0));
    assert_eq!(found.servers.len(), 2);
    assert_eq!(found.servers[0].addr.to_string(), up.addr.to_string());
    assert_eq!(found.servers[0].name.as_deref(), Some("up"));
    assert_eq!(found.servers[1].addr.to_string(), down);
    assert_eq!(found.servers[1].rtt_ms, None);
    assert_eq!(found.summary.answered, 1);
}

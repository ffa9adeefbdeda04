//! What a lobby may do to those who play already: it registers sessions, and cannot come between a game
//! and its server by that.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod stage;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use nearside_player::{Happening, Player, Role};
use nearside_testnet::{Host, Testnet};
use stage::game::{Game, proxy, serve};
use stage::{Directory, join_as};

const PORT: u16 = 27_960;
const PROXY: u64 = 1;
const OURS: u64 = 2;
const OTHER: u64 = 3;

fn expose(host: &Host, directory: &Directory, name: u64) -> Player {
    let role = Role::Expose {
        game: Some((Ipv4Addr::LOCALHOST, PORT).into()),
        exits: Vec::new(),
    };
    join_as(host, directory, name, role, &[])
}

/// How often a player was linked within a time.
fn links(player: &Player, time: Duration) -> usize {
    let until = std::time::Instant::now() + time;
    let left = || until.saturating_duration_since(std::time::Instant::now());
    let happenings = std::iter::from_fn(|| player.wait(left()));
    let is_link = |happening: &Happening| matches!(happening, Happening::Connected { .. });
    happenings.filter(is_link).count()
}

#[test]
fn a_lobby_cannot_take_a_game_from_its_server() {
    if !nearside_testnet::ready("a_lobby_cannot_take_a_game_from_its_server") {
        return;
    }
    let net = Testnet::builder()
        .host("directory")
        .host("alice")
        .host("ours")
        .host("other")
        .delay(Duration::from_millis(5))
        .build()
        .unwrap();
    let directory = Directory::start(net.host("directory"));
    let _servers = ["ours", "other"].map(|name| serve(net.host(name), PORT));
    let _beside_ours = expose(net.host("ours"), &directory, OURS);
    let beside_other = expose(net.host("other"), &directory, OTHER);
    let server = SocketAddr::from((net.host("ours").address(), PORT));
    let alice = proxy(net.host("alice"), &directory, PROXY, server);
    let game = Game::start(net.host("alice"), &alice);
    let seen = game.ask();
    let patience = Duration::from_secs(3);
    assert_eq!(links(&alice, patience), 1);

    directory.register(PROXY, OTHER);
    assert_eq!(links(&beside_other, patience), 1, "it did reach the proxy");
    assert_eq!(links(&alice, Duration::ZERO), 0, "which wants it not");
    assert_eq!(game.ask(), seen, "the same server at the same address");
    let view = alice.view().unwrap();
    assert_eq!(view.links.len(), 1, "{:?}", view.links);

    directory.register(PROXY, OURS);
    assert_eq!(links(&alice, patience), 1, "the two are introduced anew");
    assert_eq!(game.ask(), seen, "its server notices nothing");
    let games = alice.view().unwrap().games.unwrap();
    assert_eq!((games.sealed, games.plain), (1, 0));
}

//! A game server that runs nothing of ours is reached through a fixed exit, sealed up to there; nothing
//! but what the exit lists can be reached through it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod stage;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use nearside_player::Role;
use nearside_testnet::{Share, Testnet};
use stage::game::{Game, proxy, serve};
use stage::{Directory, join_as};

#[test]
fn a_server_is_reached_by_an_exit_that_lists_it_and_plainly_else() {
    let name = "a_server_is_reached_by_an_exit_that_lists_it_and_plainly_else";
    if !nearside_testnet::ready(name) {
        return;
    }
    let net = Testnet::builder()
        .host("directory")
        .host("alice")
        .host("exit")
        .host("server")
        .delay(Duration::from_millis(5))
        .build()
        .unwrap();
    let directory = Directory::start(net.host("directory"));
    let server = net.host("server").address();
    let (listed, unlisted) = (27_960, 27_961);
    let _servers = [listed, unlisted].map(|port| serve(net.host("server"), port));
    let exits = [SocketAddr::from((server, listed))];
    let role = Role::Expose {
        game: None,
        exits: exits.to_vec(),
    };
    let _exit = join_as(net.host("exit"), &directory, 1, role, &exits);
    let alice = net.host("alice");
    let seen_by = |name: u64, port: u16| {
        let player = proxy(alice, &directory, name, (server, port).into());
        let game = Game::start(alice, &player);
        (game.ask().ip(), player.view().unwrap().games.unwrap())
    };
    let (seen, games) = seen_by(2, listed);
    assert_eq!(seen, net.host("exit").address(), "the exit asks for us");
    assert_eq!((games.sealed, games.plain), (1, 0));
    let (seen, games) = seen_by(3, unlisted);
    assert_eq!(seen, alice.address(), "as without us");
    assert_eq!((games.sealed, games.plain), (0, 1));
}

#[test]
fn a_game_goes_on_by_another_exit_when_the_first_vanishes() {
    let name = "a_game_goes_on_by_another_exit_when_the_first_vanishes";
    if !nearside_testnet::ready(name) {
        return;
    }
    let net = Testnet::builder()
        .host("directory")
        .host("alice")
        .host("first")
        .host("second")
        .host("server")
        .delay(Duration::from_millis(5))
        .build()
        .unwrap();
    let directory = Directory::start(net.host("directory"));
    let server = SocketAddr::from((net.host("server").address(), 27_960));
    let _server = serve(net.host("server"), server.port());
    let exits = ["first", "second"].map(|host| {
        let role = Role::Expose {
            game: None,
            exits: vec![server],
        };
        let name = u64::from(host == "second") + 1;
        join_as(net.host(host), &directory, name, role, &[server])
    });
    let alice = net.host("alice");
    let player = proxy(alice, &directory, 3, server);
    let game = Game::start(alice, &player);
    assert_eq!(game.ask().ip(), net.host("first").address());
    for other in ["directory", "alice", "second", "server"] {
        net.change("first", other, |path| path.loss = Share(1.0));
    }
    let begun = Instant::now();
    assert_eq!(game.ask().ip(), net.host("second").address());
    let took = begun.elapsed();
    stage::say(&format!("another exit after {:.1} s", took.as_secs_f64()));
    assert!(took < Duration::from_secs(15), "{took:?}");
    drop(exits);
}

#[test]
fn what_is_lost_at_the_start_sends_no_game_past_its_exit() {
    let name = "what_is_lost_at_the_start_sends_no_game_past_its_exit";
    if !nearside_testnet::ready(name) {
        return;
    }
    let net = Testnet::builder()
        .host("directory")
        .host("alice")
        .host("exit")
        .host("server")
        .delay(Duration::from_millis(5))
        .build()
        .unwrap();
    let directory = Directory::start(net.host("directory"));
    let server = SocketAddr::from((net.host("server").address(), 27_960));
    let _server = serve(net.host("server"), server.port());
    let role = Role::Expose {
        game: None,
        exits: vec![server],
    };
    let _exit = join_as(net.host("exit"), &directory, 1, role, &[server]);
    let alice = net.host("alice");
    let player = proxy(alice, &directory, 2, server);
    // The link is there: what is lost from now on is lost of games that begin.
    Game::start(alice, &player).ask();
    net.change("alice", "exit", |path| path.loss = Share(0.3));
    for _ in 0..30 {
        let seen = Game::start(alice, &player).ask();
        assert_eq!(seen.ip(), net.host("exit").address());
    }
    let games = player.view().unwrap().games.unwrap();
    assert_eq!((games.sealed, games.plain), (31, 0));
}

//! `nearside detour serve` as its operator and its clients see it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "../../nearside-directory/tests/common/mod.rs"]
mod directory;

use std::net::SocketAddr;

use common::master::Master;
use common::openarena::free_port;
use common::web::{ask, free_tcp_port};
use common::{Folder, LONG, is_refused, nearside, process};
use directory::Player;
use nearside_tunnel::crypto::PublicKey;
use nearside_tunnel::messages::{Ask, Join, Refusal, Tell};

const TOKEN: &str = "0123456789abcdef0123";

/// A directory in a folder of its own.
struct Scene {
    folder: Folder,
    config: String,
    address: SocketAddr,
    admin: String,
    key: PublicKey,
}

impl Scene {
    fn new(config: &str) -> Self {
        let folder = Folder::new();
        folder.write("token", TOKEN);
        let config = folder.write("detour.toml", config);
        let identity = folder.join("directory.key");
        let printed = nearside(&["detour", "serve", "--identity", &identity, "--print-key"]);
        let key = printed.expect_code(0).stdout.trim().parse().unwrap();
        Self {
            folder,
            config,
            address: SocketAddr::from(([127, 0, 0, 1], free_port())),
            admin: format!("127.0.0.1:{}", free_tcp_port()),
            key,
        }
    }

    fn start(&self) -> Master {
        let listen = self.address.to_string();
        let mut program = process::nearside(&["detour", "serve", "--config", &self.config]);
        program.0.args(["--listen", &listen, "--second-port", "0"]);
        program
            .0
            .args(["--identity", &self.folder.join("directory.key")]);
        program
            .0
            .args(["--store", &self.folder.join("directory.redb")]);
        program.0.args(["--admin", &self.admin]);
        program
            .0
            .args(["--admin-token-file", &self.folder.join("token")]);
        let master = Master::start(program);
        master.wait_for("the operator's side on");
        master
    }

    fn player(&self, number: u8) -> Player {
        Player::connect_to(self.address, self.key, number)
    }

    fn get(&self, path: &str) -> String {
        let head = format!("Authorization: Bearer {TOKEN}\r\n");
        let (status, body) = ask(&self.admin, "GET", path, &head, "").unwrap();
        assert_eq!(status, 200, "{path}: {body}");
        body
    }
}

#[test]
fn clients_join_are_seen_by_the_operator_and_known_after_a_restart() {
    let scene = Scene::new("");
    let serving = scene.start();
    let mut player = scene.player(1);
    let told = player.ask(Ask::Join(Join::default()));
    assert!(matches!(told, Tell::Welcome(_)), "{told:?}");
    let line = serving.wait_for("joined id=");
    let id = player.identity.id().0.to_string();
    assert!(line.contains(&id), "{line}");
    let clients = scene.get("/v1/clients");
    assert!(clients.contains(&id), "{clients}");
    assert_eq!(scene.get("/health"), "ok\n");
    serving.running.interrupt();
    assert_eq!(player.told(|tell| *tell == Tell::Rejoin), Tell::Rejoin);
    serving.wait_for("ended clients=1");
    serving.running.finish(LONG).expect_code(130);
    let serving = scene.start();
    let clients = scene.get("/v1/clients");
    assert!(clients.contains(&id), "{clients}");
    serving.running.interrupt();
    serving.running.finish(LONG).expect_code(130);
}

#[test]
fn tokens_are_taken_up_while_it_runs() {
    let scene = Scene::new("[open]\njoin = false\n[[token]]\ntoken = \"first\"\n");
    let serving = scene.start();
    let mut player = scene.player(1);
    let mut join = |token: Option<&str>| {
        let token = token.map(str::to_owned);
        player.ask(Ask::Join(Join {
            token,
            ..Join::default()
        }))
    };
    assert_eq!(join(None), Tell::Refused(Refusal::Token));
    assert_eq!(join(Some("second")), Tell::Refused(Refusal::Token));
    assert!(matches!(join(Some("first")), Tell::Welcome(_)));
    scene.folder.write(
        "detour.toml",
        "[open]\njoin = false\n[[token]]\ntoken = \"second\"\n",
    );
    serving.running.hang_up();
    serving.wait_for("reloaded");
    common::web::wait_for("the new token", || {
        matches!(join(Some("second")), Tell::Welcome(_))
    });
}

#[test]
fn what_cannot_work_is_refused_with_a_sentence() {
    let folder = Folder::new();
    let identity = folder.join("some.key");
    let serve = [
        "detour",
        "serve",
        "--store",
        "none",
        "--identity",
        &identity,
    ];
    let with = |more: &[&'static str]| [&serve[..], more].concat();
    is_refused(&with(&["--closed"]), &["nobody could join"]);
    is_refused(&with(&["--admin", "127.0.0.1:0"]), &["needs a token"]);
    is_refused(
        &with(&["--listen", "127.0.0.1:1,127.0.0.1:2"]),
        &["one address in each family"],
    );
    let config = folder.write("bad.toml", "nonsense = 1\n");
    is_refused(&["detour", "serve", "--config", &config], &["nonsense"]);
    let known = folder.write("known.key", "not a key");
    is_refused(
        &["detour", "serve", "--identity", &known, "--print-key"],
        &["known.key"],
    );
}

#[test]
fn the_printed_configuration_is_one() {
    let folder = Folder::new();
    let printed = nearside(&["detour", "serve", "--print-config"]).expect_code(0);
    let config = folder.write("detour.toml", &printed.stdout);
    let identity = folder.join("some.key");
    let arguments = [
        "detour",
        "serve",
        "--config",
        &config,
        "--identity",
        &identity,
    ];
    nearside(&[&arguments[..], &["--print-key"]].concat()).expect_code(0);
}

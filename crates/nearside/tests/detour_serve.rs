//! `nearside detour serve` as its operator and its clients see it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "../../nearside-directory/tests/common/mod.rs"]
mod directory;

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

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

    /// A program of a player's or a server's that joins this directory.
    fn beside(&self, name: &str, arguments: &[&str]) -> process::Running {
        let directory = format!("{}@{}", self.key, self.address);
        let status = self.folder.join(name);
        let joining = ["--directory", &directory, "--status", &status];
        process::nearside(&[&["detour", name][..], &joining, arguments].concat()).start()
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
    is_refused(&with(&["--listen", "127.0.0.1:65535"]), &["--second-port"]);
    let config = folder.write("none.toml", "[limits]\nclients = 0\n");
    is_refused(
        &["detour", "serve", "--config", &config],
        &["[limits] clients"],
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
fn a_program_whose_output_nobody_reads_any_more_goes_on() {
    let scene = Scene::new("");
    let _serving = scene.start();
    let directory = format!("{}@{}", scene.key, scene.address);
    let status = scene.folder.join("status.sock");
    let join = ["detour", "join", "--directory", &directory, "--json"];
    let program = process::nearside(&[&join[..], &["--status", &status]].concat());
    let mut running = program.start();
    let mut first = String::new();
    BufReader::new(running.stdout())
        .read_line(&mut first)
        .unwrap();
    assert!(first.contains("joining from"), "{first}");
    common::web::wait_for("it has joined, and said so to nobody", || {
        scene.get("/v1/clients").contains("127.0.0.1")
    });
    let shown = nearside(&["detour", "status", "--socket", &status]).expect_code(0);
    assert!(shown.stdout.contains("joined"), "{}", shown.stdout);
    running.interrupt();
    running.finish(LONG).expect_code(130);
}

/// A line of a program that contains these words; nobody reads what it says later.
fn heard(running: &mut process::Running, words: &str) -> String {
    let mut lines = BufReader::new(running.stdout()).lines();
    lines
        .find_map(|line| line.ok().filter(|line| line.contains(words)))
        .unwrap()
}

/// A game server that says again what it is told, for as long as the test.
fn echo() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 2_000];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..length], from);
        }
    });
    address
}

/// Kills `expose` beside a game server and starts it again; how long the game gets no answer.
fn gap_when_expose_is_killed(keyed: bool) -> Duration {
    let scene = Scene::new("");
    let _serving = scene.start();
    let game = echo().to_string();
    let key = scene.folder.join("expose.key");
    let more: &[&str] = if keyed { &["--key", &key] } else { &[] };
    let expose = || scene.beside("expose", &[&["--game", &game], more].concat());
    let mut first = expose();
    heard(&mut first, "joined");
    let mut proxy = scene.beside("proxy", &["--to", &game, "--listen", "127.0.0.1:0"]);
    let line = heard(&mut proxy, "connect the game to");
    let local: SocketAddr = line.rsplit(' ').next().unwrap().parse().unwrap();
    let player = UdpSocket::bind("127.0.0.1:0").unwrap();
    let patience = Some(Duration::from_millis(50));
    player.set_read_timeout(patience).unwrap();
    let mut number = 0_u32;
    let mut answered = || {
        number += 1;
        player.send_to(&number.to_be_bytes(), local).unwrap();
        let mut buffer = [0; 100];
        // What is not of this moment was on its way.
        let came = player.recv(&mut buffer);
        came.is_ok_and(|length| buffer[..length] == number.to_be_bytes())
    };
    common::web::wait_for("an answer of the game server", &mut answered);
    let sealed =
        nearside(&["detour", "status", "--socket", &scene.folder.join("proxy")]).expect_code(0);
    assert!(
        sealed.stdout.contains("1 flows sealed"),
        "{}",
        sealed.stdout
    );
    first.child.kill().unwrap();
    let killed = Instant::now();
    std::thread::sleep(Duration::from_secs(1));
    let _second = expose();
    while !answered() {
        assert!(killed.elapsed() < LONG, "no answer any more");
    }
    killed.elapsed()
}

#[test]
fn a_game_goes_on_soon_when_expose_is_killed_and_started_again() {
    let gap = gap_when_expose_is_killed(false);
    assert!(gap < Duration::from_secs(15), "{gap:?} under a new key");
    let gap = gap_when_expose_is_killed(true);
    assert!(gap < Duration::from_secs(15), "{gap:?} under the same key");
}

/// Whether a game at this socket gets an answer through a proxy, within some tries.
fn is_answered(player: &UdpSocket, local: SocketAddr) -> bool {
    let patience = Some(Duration::from_millis(100));
    player.set_read_timeout(patience).unwrap();
    let mut buffer = [0; 100];
    (0..50).any(|_| {
        player.send_to(b"there?", local).unwrap();
        player.recv(&mut buffer).is_ok()
    })
}

#[cfg(target_os = "linux")]
#[test]
fn who_may_open_no_more_files_goes_on_serving_those_it_knows() {
    let scene = Scene::new("");
    let _serving = scene.start();
    let game = echo().to_string();
    let mut expose = scene.beside("expose", &["--game", &game]);
    heard(&mut expose, "joined");
    let mut proxy = scene.beside("proxy", &["--to", &game, "--listen", "127.0.0.1:0"]);
    let line = heard(&mut proxy, "connect the game to");
    let local: SocketAddr = line.rsplit(' ').next().unwrap().parse().unwrap();
    let first = UdpSocket::bind("127.0.0.1:0").unwrap();
    assert!(is_answered(&first, local));
    // Room for a few sockets more, and then for none.
    expose.may_open(24);
    let crowd: Vec<UdpSocket> = (0..40)
        .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
        .collect();
    for _ in 0..3 {
        for player in &crowd {
            player.send_to(b"me too", local).unwrap();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let served = crowd.iter().filter(|player| {
        player.set_nonblocking(true).unwrap();
        player.recv(&mut [0; 100]).is_ok()
    });
    let served = served.count();
    assert!((1..40).contains(&served), "{served} of 40 with 24 files");
    assert!(is_answered(&first, local), "it was there before");
    assert_eq!(expose.child.try_wait().unwrap(), None, "it lives");
}

#[test]
fn games_that_nobody_can_be_are_refused_with_a_sentence() {
    let directory = format!("{}@127.0.0.1:4800", "ab".repeat(32));
    let with = |command: &'static str, more: [&'static str; 2]| {
        [
            "detour".to_owned(),
            command.to_owned(),
            "--directory".to_owned(),
            directory.clone(),
            more[0].to_owned(),
            more[1].to_owned(),
        ]
    };
    let refused = |command, more, words: &[&str]| {
        let arguments = with(command, more);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        is_refused(&arguments, words);
    };
    refused("proxy", ["--to", "127.0.0.1"], &["HOST:PORT"]);
    refused("proxy", ["--to", "127.0.0.1:0"], &["HOST:PORT"]);
    refused("proxy", ["--to", "host:99999"], &["HOST:PORT"]);
    refused("proxy", ["--to", "224.0.0.1:27960"], &["one machine"]);
    refused("join", ["--exit", "0.0.0.0:27960"], &["one machine"]);
    refused("expose", ["--game", "127.0.0.1:0"], &["no port"]);
    is_refused(&["detour", "serve", "--seconds", "nan"], &["--seconds"]);
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

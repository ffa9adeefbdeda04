//! Directories that share a Redis Cluster of one node.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use common::{Player, Running, wait_until};
use nearside_directory::store::{News, Redis, Store};
use nearside_directory::{self as directory, Reply};
use nearside_tunnel::messages::{Ask, Introduction, Join, Measured, Tell};
use nearside_types::Rtt;

/// A cluster of one node.
struct Node {
    child: Child,
    addr: String,
    folder: PathBuf,
}

impl Node {
    fn start(test: &str) -> Option<Self> {
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
        let [port, bus] = [free(), free()].map(|addr| addr.unwrap().port().to_string());
        let folder = std::env::temp_dir().join(format!("nearside-directory-redis-{port}"));
        std::fs::create_dir_all(&folder).unwrap();
        let mut server = Command::new("redis-server");
        server.args(["--bind", "127.0.0.1", "--cluster-enabled", "yes"]);
        server.args(["--save", "", "--port", &port, "--cluster-port", &bus]);
        server.arg("--dir").arg(&folder);
        let child = server.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let Ok(child) = child else {
            let excused = std::env::var("NEARSIDE_SKIP_FOREIGN").unwrap_or_default();
            let is_excused = excused.split(',').any(|name| name == "redis");
            assert!(is_excused, "redis is missing: run `cargo xtask setup`");
            let _closed = writeln!(std::io::stderr(), "SKIPPED {test}: redis is missing");
            return None;
        };
        let node = Self {
            child,
            addr: format!("127.0.0.1:{port}"),
            folder,
        };
        node.cli(&["cluster", "addslotsrange", "0", "16383"], "OK");
        node.cli(&["cluster", "info"], "cluster_state:ok");
        Some(node)
    }

    /// Says something to it until it answers with these words.
    fn cli(&self, words: &[&str], expected: &str) {
        let (_, port) = self.addr.split_once(':').unwrap();
        let began = Instant::now();
        loop {
            let mut cli = Command::new("redis-cli");
            let output = cli.args(["-p", port]).args(words).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            if said.contains(expected) {
                return;
            }
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{words:?}: {said}"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn open(&self, name: u8) -> Redis {
        Redis::connect(std::slice::from_ref(&self.addr), [name; 16]).unwrap()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}

/// The directory of another process, killed with the test at the latest.
struct Process(Child);

/// Where a process of [`a_directory_for_another_test`] finds the cluster.
const CLUSTER: &str = "NEARSIDE_TEST_CLUSTER";

impl Process {
    fn start(node: &Node) -> (Self, SocketAddr) {
        let mut itself = Command::new(std::env::current_exe().unwrap());
        itself.args(["--exact", "a_directory_for_another_test", "--ignored"]);
        itself.arg("--nocapture").env(CLUSTER, &node.addr);
        let mut child = itself.stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let process = Self(child);
        let address = said.lines().find_map(|line| {
            let line = line.unwrap();
            line.rsplit_once("listening on ")?.1.parse().ok()
        });
        (process, address.expect("it says where it listens"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

#[test]
#[ignore = "the process that other tests start and kill"]
#[allow(clippy::print_stdout, reason = "says where it listens")]
fn a_directory_for_another_test() {
    let Ok(cluster) = std::env::var(CLUSTER) else {
        return;
    };
    let store = Redis::connect(&[cluster], [77; 16]).unwrap();
    let running = Running::start(store);
    println!("listening on {}", running.address());
    std::thread::sleep(Duration::from_secs(300));
}

fn introduced(tell: Tell) -> Option<Introduction> {
    match tell {
        Tell::Introduce(introduction) => Some(introduction),
        _ => None,
    }
}

#[test]
fn players_of_two_directories_meet_and_of_one_that_was_killed_at_the_other() {
    let Some(node) = Node::start("players_of_two_directories_meet") else {
        return;
    };
    let one = Running::start(node.open(1));
    let (process, address) = Process::start(&node);
    let mut source = Player::join(one.address(), 1, Join::default());
    let mut target = Player::join(address, 2, Join::default());
    let peer = target.identity.public();
    wait_until("the target is known at once to who asks", || {
        one.handle.snapshot().clients == 2
    });
    let mut ours = None;
    wait_until("they are introduced", || {
        ours = introduced(source.ask(Ask::Connect(peer)));
        ours.is_some()
    });
    let ours = ours.unwrap();
    let theirs =
        target.told(|tell| matches!(tell, Tell::Introduce(i) if i.session == ours.session));
    let theirs = introduced(theirs).unwrap();
    assert_eq!(theirs.peer, source.identity.public());
    assert_eq!(theirs.pass, ours.pass);
    assert_eq!(theirs.addresses, [source.socket.local_addr().unwrap()]);
    // Its directory is killed, without a word; it goes to the other, and is introduced there.
    drop(process);
    let mut target = Player::join(one.address(), 2, Join::default());
    let again = introduced(source.ask(Ask::Connect(peer))).unwrap();
    assert_ne!(again.session, ours.session);
    target.told(|tell| matches!(tell, Tell::Introduce(i) if i.session == again.session));
    // A directory that starts afterwards knows both, and serves a lobby on their behalf.
    let next = Running::start(node.open(3));
    wait_until("it knows both", || next.handle.snapshot().clients == 2);
    let (sender, receiver) = channel();
    let reply = Reply::to(move |registered| sender.send(registered).unwrap());
    next.handle.tell(directory::Command::Register {
        source: source.identity.id(),
        target: target.identity.id(),
        reply,
    });
    let session = receiver.recv().unwrap().unwrap();
    for player in [&mut source, &mut target] {
        player.told(|tell| matches!(tell, Tell::Introduce(i) if i.session == session));
    }
}

#[test]
fn a_directory_that_lags_behind_the_log_reads_everything_anew() {
    let Some(node) = Node::start("a_directory_that_lags_behind_the_log") else {
        return;
    };
    let one = Running::start(node.open(1));
    let mut late = node.open(2);
    late.load().unwrap();
    let mut late = late.watch().unwrap();
    assert!(matches!(late.next().unwrap(), News::Changes(c) if c.is_empty()));
    let player = Player::join(one.address(), 1, Join::default());
    let mut store = node.open(3);
    wait_until("it is kept", || {
        store.load().unwrap().state.directory.len() == 1
    });
    node.cli(&["xtrim", "nearside:dir:log", "MAXLEN", "0"], "");
    let News::Everything(state) = late.next().unwrap() else {
        panic!("the log is gone");
    };
    assert!(state.directory.node(player.identity.id()).is_some());
    assert!(state.cards.contains_key(&player.identity.id()));
    assert!(matches!(late.next().unwrap(), News::Changes(c) if c.is_empty()));
    // And so a running directory does: it hears of somebody who came and whose entry is gone.
    let two = Running::start(node.open(4));
    let _other = Player::join(one.address(), 2, Join::default());
    node.cli(&["xtrim", "nearside:dir:log", "MAXLEN", "0"], "");
    wait_until("both know both", || two.handle.snapshot().clients == 2);
    wait_until("nothing is wrong", || two.handle.store_trouble().is_none());
}

#[test]
fn directories_that_share_a_cluster_know_each_others_clients_and_legs() {
    let Some(node) = Node::start("directories_that_share_a_cluster") else {
        return;
    };
    let [one, other] = [1, 2].map(|name| Running::start(node.open(name)));
    let mut first = Player::join(one.address(), 1, Join::default());
    let mut second = Player::join(other.address(), 2, Join::default());
    for running in [&one, &other] {
        wait_until("both know both", || running.handle.snapshot().clients == 2);
    }
    let leg = Rtt::from_micros(20_000);
    let report = Measured {
        legs: vec![(second.identity.id(), leg)],
        ..Measured::default()
    };
    assert_eq!(first.ask(Ask::Report(report)), Tell::Done);
    let mut store = node.open(3);
    wait_until("the leg is kept", || {
        let state = store.load().unwrap().state.directory;
        let place = |player: &Player| state.node(player.identity.id());
        let (Some(from), Some(to)) = (place(&first), place(&second)) else {
            return false;
        };
        state
            .measured(from, to)
            .is_some_and(|measured| measured.rtt == leg)
    });
    assert_eq!(second.ask(Ask::Leave), Tell::Done);
    wait_until("one hears that it left", || {
        one.handle.snapshot().clients == 1
    });
    wait_until("it is gone from the store", || {
        store.load().unwrap().state.directory.len() == 1
    });
    // The first directory ends; its client is known to the second, and comes to it.
    one.end();
    let mut again = Player::connect(other.address(), 1);
    let told = again.ask(Ask::Join(Join::default()));
    assert!(matches!(told, Tell::Welcome(_)), "{told:?}");
    assert_eq!(other.handle.snapshot().clients, 1);
    assert_eq!(store.load().unwrap().unreadable, 0);
}

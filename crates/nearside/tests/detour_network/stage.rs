//! The network and the programs on it, each a process of its own in a namespace of its own.
//!
//! ```text
//!          near 90 ms, next 104, third 118, fourth 132, fifth 146, sixth 160
//!             ┌──────────────── relays ────────────────┐
//!  stream ─ proxy  alice ─────── direct 180 ms ─────── bob  expose ─ game server
//!                    and seven, eight, nine, who only join, and the directory
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nearside_testnet::{Builder, HostSpec, Running, Testnet};
use serde_json::Value;

use crate::common::{self, Folder};

/// A relay with its one-way times to alice and to bob, and how it joins. Round trips are further apart
/// than the 10 ms that another path must save, so that their order is certain.
struct Relay {
    name: &'static str,
    to_alice: Duration,
    to_bob: Duration,
    flag: &'static str,
}

const fn relay(name: &'static str, to_alice: u64, to_bob: u64, flag: &'static str) -> Relay {
    Relay {
        name,
        to_alice: Duration::from_millis(to_alice),
        to_bob: Duration::from_millis(to_bob),
        flag,
    }
}

const RELAYS: [Relay; 6] = [
    relay("near", 20, 25, "--relay"),
    relay("next", 23, 29, "--relay-only"),
    relay("third", 27, 32, "--relay"),
    relay("fourth", 30, 36, "--relay-only"),
    relay("fifth", 34, 39, "--relay"),
    relay("sixth", 38, 42, "--relay-only"),
];
const CROWD: [&str; 3] = ["seven", "eight", "nine"];
const DIRECT: Duration = Duration::from_millis(90);
const OTHERWISE: Duration = Duration::from_millis(60);

const BINARY: &str = env!("CARGO_BIN_EXE_nearside");
/// A new client has measured and told its legs after 42 s, and relays are asked for every minute.
const FOUND: Duration = Duration::from_secs(200);

/// The network with all that runs on it, ended with the test.
pub(crate) struct Stage {
    // Before the network they run on.
    programs: BTreeMap<String, Running>,
    pub(crate) net: Testnet,
    pub(crate) folder: Folder,
    key: String,
}

/// The path in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Active {
    Direct,
    /// By way of the host of this name.
    Via(String),
}

impl Stage {
    /// A directory with these settings and nine who joined it, six of them relays; `more` hosts are on
    /// the network, too.
    pub(crate) fn set(settings: &str, more: Vec<HostSpec>) -> Self {
        let folder = Folder::new();
        let identity = folder.join("directory.key");
        let printed =
            common::nearside(&["detour", "serve", "--identity", &identity, "--print-key"]);
        let mut stage = Self {
            programs: BTreeMap::new(),
            net: network(more),
            folder,
            key: printed.expect_code(0).stdout.trim().to_owned(),
        };
        stage.start_directory(settings);
        for relay in RELAYS {
            stage.join(relay.name, &["join", relay.flag]);
        }
        for name in CROWD {
            stage.join(name, &["join"]);
        }
        stage
    }

    fn start_directory(&mut self, settings: &str) {
        let config = self.folder.write("detour.toml", settings);
        let identity = self.folder.join("directory.key");
        let listen = self.directory();
        let arguments = ["serve", "--listen", &listen, "--store", "none"];
        let files = ["--identity", &identity, "--config", &config];
        self.start(
            "directory",
            "directory",
            &[arguments.as_slice(), &files].concat(),
        );
        self.wait_for("directory", "listening on");
    }

    /// Address and port of the directory.
    pub(crate) fn directory(&self) -> String {
        format!("{}:27980", self.net.host("directory").address())
    }

    /// Its public key.
    pub(crate) fn directory_key(&self) -> &str {
        &self.key
    }

    /// Starts a program of the detour that joins the directory, on the host of its name.
    fn join(&mut self, name: &str, arguments: &[&str]) {
        self.join_at(name, name, arguments);
    }

    fn join_at(&mut self, name: &str, host: &str, arguments: &[&str]) {
        let directory = format!("{}@{}", self.key, self.directory());
        let socket = self.folder.join(&format!("{name}.sock"));
        let joins = ["--directory", &directory, "--status", &socket, "--no-ipv6"];
        self.start(name, host, &[arguments, &joins].concat());
        self.wait_for(name, "joined;");
    }

    /// A game server of bob's at this port of his loopback, and a port of alice's loopback that leads
    /// there. Gives alice's program's name.
    pub(crate) fn connect(&mut self, port: u16) -> String {
        let (beside, player) = (format!("bob-{port}"), format!("alice-{port}"));
        let game = format!("127.0.0.1:{port}");
        let to = format!("{}:{port}", self.net.host("bob").address());
        self.join_at(&beside, "bob", &["expose", "--game", &game]);
        self.join_at(&player, "alice", &["proxy", "--to", &to]);
        self.wait_for(&player, "connected to");
        player
    }

    fn start(&mut self, name: &str, host: &str, arguments: &[&str]) {
        let log = File::create(self.log_of(name)).unwrap();
        let mut command = self.net.host(host).punctual_command(BINARY);
        command.arg("detour").args(arguments).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let running = Running::start(&mut command).unwrap();
        self.programs.insert(name.to_owned(), running);
    }

    fn log_of(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }

    /// What a program has said so far.
    pub(crate) fn said(&self, name: &str) -> String {
        std::fs::read_to_string(self.log_of(name)).unwrap_or_default()
    }

    fn wait_for(&self, name: &str, words: &str) {
        let wait = Duration::from_secs(30);
        let said = eventually(wait, || self.said(name).contains(words).then_some(()));
        assert!(
            said.is_some(),
            "{name}: no `{words}` in\n{}",
            self.said(name)
        );
    }

    /// The names of all programs that run.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &str> {
        self.programs.keys().map(String::as_str)
    }

    /// The process of a program.
    pub(crate) fn process(&self, name: &str) -> &Running {
        &self.programs[name]
    }

    /// Ends a program at once (SIGKILL): it says goodbye to nobody.
    pub(crate) fn kill(&mut self, name: &str) {
        drop(self.programs.remove(name).expect("it runs"));
    }

    /// What `nearside detour status --json` shows of a program.
    pub(crate) fn status(&self, name: &str) -> Value {
        let socket = self.folder.join(&format!("{name}.sock"));
        let shown = common::nearside(&["detour", "status", "--json", "--socket", &socket]);
        serde_json::from_str(&shown.expect_code(0).stdout).unwrap()
    }

    /// The link that a player leads, as its status shows it.
    pub(crate) fn link(&self, player: &str) -> Value {
        let status = self.status(player);
        let links = status["links"].as_array().unwrap();
        let leading = links.iter().find(|link| link["leads"] == true);
        leading.expect("the player has a link").clone()
    }

    /// The path that a player uses now.
    pub(crate) fn active(&self, player: &str) -> Active {
        let link = self.link(player);
        let mut paths = link["paths"].as_array().unwrap().iter();
        let active = paths.find(|path| path["active"] == true).unwrap();
        let address = active["address"].as_str().unwrap();
        let of_host =
            |host: &&nearside_testnet::Host| address.starts_with(&format!("{}:", host.address()));
        let host = self.net.hosts().iter().find(of_host).unwrap().name();
        match host {
            "bob" => Active::Direct,
            relay => Active::Via(relay.to_owned()),
        }
    }

    /// Waits until the quickest relay is used.
    pub(crate) fn wait_for_detour(&self, player: &str) {
        let quickest = Active::Via(RELAYS[0].name.to_owned());
        let found = eventually(FOUND, || (self.active(player) == quickest).then_some(()));
        assert!(found.is_some(), "{player}:\n{}", self.said(player));
    }

    /// The relay in use; waits a little for one.
    pub(crate) fn relay_in_use(&self, player: &str) -> String {
        let relay = eventually(Duration::from_secs(20), || match self.active(player) {
            Active::Via(relay) => Some(relay),
            Active::Direct => None,
        });
        relay.unwrap_or_else(|| panic!("{player} uses no relay:\n{}", self.said(player)))
    }
}

impl Active {
    /// One way by this path, by the hub's delays.
    pub(crate) fn one_way(&self) -> Duration {
        match self {
            Self::Direct => DIRECT,
            Self::Via(name) => {
                let relay = RELAYS.iter().find(|relay| relay.name == name.as_str());
                relay.map(|relay| relay.to_alice + relay.to_bob).unwrap()
            }
        }
    }

    /// There and back.
    pub(crate) fn round_trip_ms(&self) -> f64 {
        self.one_way().as_secs_f64() * 2e3
    }
}

impl std::fmt::Display for Active {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Direct => f.write_str("directly"),
            Self::Via(relay) => write!(f, "by way of {relay}"),
        }
    }
}

fn network(more: Vec<HostSpec>) -> Testnet {
    let relays = RELAYS.iter().map(|relay| relay.name);
    let names = ["directory", "alice", "bob"].into_iter();
    let hosts = names.chain(relays).chain(CROWD).map(HostSpec::new);
    let builder = hosts.chain(more).fold(Testnet::builder(), Builder::host);
    let builder = builder
        .delay(OTHERWISE)
        .delay_between("alice", "bob", DIRECT);
    let near = RELAYS.iter().fold(builder, |builder, relay| {
        builder
            .delay_between("alice", relay.name, relay.to_alice)
            .delay_between(relay.name, "bob", relay.to_bob)
    });
    near.build().unwrap()
}

/// Looks until there is something, but not for ever.
pub(crate) fn eventually<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + patience;
    loop {
        let seen = look();
        if seen.is_some() || Instant::now() >= deadline {
            return seen;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

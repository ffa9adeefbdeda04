//! A directory and players, each in a namespace of its own.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

pub mod game;

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nearside_detour::{ClientConfig, DirectoryConfig};
use nearside_directory::store::Memory;
use nearside_directory::{Command, Handle, Reply, Server, ServerConfig};
use nearside_net::Stop;
use nearside_player::{Happening, LinkId, Player, Role, Settings};
use nearside_testnet::{Host, Testnet};
use nearside_tunnel::crypto::{Chance, Identity, PublicKey};
use nearside_tunnel::messages::Capacity;
use nearside_tunnel::node::{DirectoryAddress, NodeConfig};
use nearside_tunnel::service::{Admission, Rights, ServiceConfig};

pub fn say(line: &str) {
    let _closed = writeln!(std::io::stderr(), "FIGURE {line}");
}

fn identity(name: u64) -> Identity {
    Identity::generate(&mut Chance::from_number(name))
}

/// A directory that ends when it is dropped.
pub struct Directory {
    pub at: DirectoryAddress,
    handle: Handle,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Directory {
    pub fn start(host: &Host) -> Self {
        let stop = Stop::new().unwrap();
        let identity = identity(1);
        let key = identity.public();
        let address: SocketAddr = (host.address(), 27_980).into();
        let six: Vec<SocketAddr> = host
            .ipv6()
            .map(|six| (six, 27_980).into())
            .into_iter()
            .collect();
        let config = ServerConfig {
            listen: [&[address], &six[..]].concat(),
            second: vec![(host.address(), 27_981).into()],
            service: ServiceConfig {
                admission: exits_with_a_token(),
                ..ServiceConfig::default()
            },
            directory: DirectoryConfig::default(),
        };
        let ours = stop.clone();
        let (server, _) =
            host.run(move || Server::start(config, identity, [9; 32], Memory, ours).unwrap());
        let handle = server.handle();
        let thread = std::thread::spawn(move || drop(server.run()));
        Self {
            at: DirectoryAddress {
                address,
                other: six.first().copied(),
                key,
            },
            handle,
            stop,
            thread: Some(thread),
        }
    }

    /// What a lobby does: introduces two players, the first of whom leads.
    pub fn register(&self, source: u64, target: u64) {
        let (sender, registered) = std::sync::mpsc::channel();
        self.handle.tell(Command::Register {
            source: key(source).id(),
            target: key(target).id(),
            reply: Reply::to(move |session| sender.send(session).unwrap()),
        });
        let patience = Duration::from_secs(10);
        registered.recv_timeout(patience).unwrap().unwrap();
    }

    /// As if the machine had lost its power.
    pub fn kill(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What lets a client be an exit.
pub const EXIT_TOKEN: &str = "exit";

fn exits_with_a_token() -> Admission {
    let rights = Rights {
        relay: true,
        exit: true,
    };
    Admission {
        tokens: [(EXIT_TOKEN.to_owned(), rights)].into(),
        ..Admission::default()
    }
}

/// A player in a namespace, joined.
pub fn join(host: &Host, directory: &Directory, name: u64) -> Player {
    join_as(host, directory, name, Role::Library, &[])
}

/// The same with games, and as a way out to game servers.
pub fn join_as(
    host: &Host,
    directory: &Directory,
    name: u64,
    role: Role,
    exits: &[SocketAddr],
) -> Player {
    let identity = identity(100 + name);
    let (at, exits) = (directory.at, exits.to_vec());
    let exposes = match &role {
        Role::Expose { game, .. } => game.map(|game| game.port()),
        _ => None,
    };
    let player = host.run(move || {
        let usual = NodeConfig::default();
        Player::start(Settings {
            node: NodeConfig {
                token: (!exits.is_empty()).then(|| EXIT_TOKEN.to_owned()),
                exits,
                exposes,
                directories: vec![at],
                // Neighbours are measured within a second, and reported two later.
                client: ClientConfig {
                    shortest_interval: Duration::from_secs(1),
                    ..usual.client.clone()
                },
                relaying: Some(Capacity {
                    sessions: 16,
                    packets: 5_000,
                    kilobits: 10_000,
                }),
                ..usual
            },
            identity,
            seed: [u8::try_from(name).unwrap(); 32],
            listen: "0.0.0.0:4000".parse().unwrap(),
            listen_v6: Some("[::]:4000".parse().unwrap()),
            role,
        })
        .unwrap()
    });
    expect(&player, "a welcome", |happening| match happening {
        Happening::Joined(_) => Some(()),
        _ => None,
    });
    player
}

pub fn key(name: u64) -> PublicKey {
    identity(100 + name).public()
}

/// Waits for something to happen.
pub fn expect<T>(player: &Player, what: &str, wanted: impl Fn(&Happening) -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(40);
    while Instant::now() < until {
        if let Some(found) = player
            .wait(Duration::from_millis(200))
            .as_ref()
            .and_then(&wanted)
        {
            return found;
        }
    }
    panic!("{what} never came");
}

/// Sends everything back that comes, until it is dropped.
pub struct Echo {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Player>>,
}

impl Echo {
    pub fn start(player: Player) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                if let Some(Happening::Delivered { link, payload }) =
                    player.wait(Duration::from_millis(50))
                {
                    player.send(link, &payload);
                }
            }
            player
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What came back of a stream of 60 packets each second.
#[derive(Debug)]
pub struct Stream {
    begun: Instant,
    pub sent: usize,
    /// Number of the packet, when it came back, and how long that took.
    pub came: Vec<(usize, Instant, Duration)>,
    pub notes: Vec<Happening>,
}

impl Stream {
    /// Plays for some time against an echo.
    pub fn play(player: &Player, link: LinkId, time: Duration) -> Self {
        let mut stream = Self {
            begun: Instant::now(),
            sent: 0,
            came: Vec::new(),
            notes: Vec::new(),
        };
        let start = Instant::now();
        let mut sent = Vec::new();
        while start.elapsed() < time + Duration::from_millis(600) {
            if start.elapsed() < time {
                let number = u32::try_from(stream.sent).unwrap().to_be_bytes();
                player.send(link, &[number.as_slice(), &[0; 40]].concat());
                sent.push(Instant::now());
                stream.sent += 1;
            }
            let next = start + Duration::from_micros(16_667) * u32::try_from(sent.len()).unwrap();
            loop {
                let left = next.saturating_duration_since(Instant::now());
                match player.wait(left) {
                    Some(Happening::Delivered { payload, .. }) => {
                        let number = u32::from_be_bytes(payload[..4].try_into().unwrap()) as usize;
                        if let Some(at) = sent.get(number) {
                            stream.came.push((number, Instant::now(), at.elapsed()));
                        }
                    }
                    Some(note) => stream.notes.push(note),
                    None => break,
                }
            }
            if start.elapsed() >= time && next <= Instant::now() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        stream
    }

    /// The median round trip of the last third, in milliseconds.
    pub fn median_ms(&self) -> f64 {
        let last = &self.came[self.came.len() * 2 / 3..];
        let mut times: Vec<f64> = last
            .iter()
            .map(|(_, _, took)| took.as_secs_f64() * 1e3)
            .collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }

    /// The longest time in which nothing came back, from the beginning on: harm may have been done before.
    pub fn gap(&self) -> Duration {
        let arrivals = self.came.iter().map(|(_, at, _)| *at);
        let times: Vec<Instant> = std::iter::once(self.begun).chain(arrivals).collect();
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.max().unwrap()
    }

    pub fn lost(&self) -> usize {
        self.sent - self.came.len()
    }
}

/// All hosts but those named, joined as players who relay.
pub fn crowd(net: &Testnet, directory: &Directory, names: &[&str]) -> Vec<Player> {
    let hosts = names.iter().zip(50..);
    hosts
        .map(|(name, number)| join(net.host(name), directory, number))
        .collect()
}

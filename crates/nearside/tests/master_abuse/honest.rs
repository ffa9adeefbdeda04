//! Those who want to be served meanwhile: game servers and a player.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use nearside_types::quantile;
use nearside_wire::quake3::master::{ListReply, ListRequest};
use nearside_wire::quake3::{Heartbeat, InfoString, Request, Response};

/// Game servers, each in a network of its own.
pub(crate) struct Servers;

impl Servers {
    pub(crate) const fn open() -> Self {
        Self
    }

    /// All of them register, one after the other.
    pub(crate) fn register(&mut self, master: SocketAddr, count: usize) {
        for number in 0..count {
            let ip = Ipv4Addr::new(40, 0, number as u8, 1);
            let socket = UdpSocket::bind((ip, 27960)).unwrap();
            socket
                .set_read_timeout(Some(Duration::from_millis(200)))
                .unwrap();
            let mut buffer = [0; 2000];
            let asked = (0..100).find_map(|_| {
                let heartbeat = Heartbeat {
                    tag: "QuakeArena-1".into(),
                };
                socket.send_to(&heartbeat.emit(), master).unwrap();
                let length = socket.recv(&mut buffer).ok()?;
                Request::parse(&buffer[..length]).ok()
            });
            let Some(Request::GetInfo {
                challenge: Some(challenge),
            }) = asked
            else {
                panic!("a getinfo, not {asked:?}");
            };
            let info = InfoString::new()
                .with("protocol", "71")
                .with("clients", "3")
                .with("sv_maxclients", "8")
                .with("challenge", challenge.as_bytes());
            socket
                .send_to(&Response::Info(info).emit(), master)
                .unwrap();
        }
    }
}

/// A player who asks for the list again and again.
pub(crate) struct Client {
    socket: UdpSocket,
    request: ListRequest,
    cookie_at: Instant,
    asked_at: Option<Instant>,
    next_at: Instant,
    listed: usize,
    served: Served,
    latencies: Vec<f64>,
}

/// How a player fared.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Served {
    pub(crate) asked: usize,
    pub(crate) lists: usize,
    /// Servers on the last list.
    pub(crate) servers: usize,
    pub(crate) p99_ms: f64,
}

/// A list that takes longer is given up.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long a player looks at a list. 500 lists of 1,400 bytes in a second are below what a network may
/// have; without a pause a fast machine would ask for more than that, and be refused.
const PAUSE: Duration = Duration::from_millis(2);

impl Client {
    pub(crate) fn open(master: SocketAddr) -> Self {
        let socket = UdpSocket::bind("50.0.0.1:0").unwrap();
        socket.connect(master).unwrap();
        socket.set_nonblocking(true).unwrap();
        Self {
            socket,
            request: ListRequest::new(None, 71),
            cookie_at: Instant::now(),
            asked_at: None,
            next_at: Instant::now(),
            listed: 0,
            served: Served::default(),
            latencies: Vec::new(),
        }
    }

    /// Takes in what came, and asks if nothing is under way. Never waits.
    pub(crate) fn turn(&mut self) {
        let mut buffer = [0; 2000];
        while let Ok(length) = self.socket.recv(&mut buffer) {
            match ListReply::parse(&buffer[..length], None) {
                Ok(ListReply::Cookie(cookie)) => {
                    (self.request.challenge, self.cookie_at) = (Some(cookie), Instant::now());
                    self.asked_at = None;
                }
                Ok(ListReply::List(packet)) => {
                    self.listed += packet.servers().count();
                    if packet.end {
                        self.finish();
                    }
                }
                Err(error) => panic!("{error} in a list"),
            }
        }
        let is_free = self.asked_at.is_none_or(|asked| asked.elapsed() > PATIENCE);
        if is_free && Instant::now() >= self.next_at {
            self.ask();
        }
    }

    fn ask(&mut self) {
        // As a player who comes anew every half minute.
        if self.cookie_at.elapsed() > Duration::from_secs(30) {
            self.request.challenge = None;
        }
        if self.request.challenge.is_some() {
            self.served.asked += 1;
        }
        self.listed = 0;
        self.asked_at = Some(Instant::now());
        // The master may not be there yet.
        let _refused = self.socket.send(&self.request.emit());
    }

    fn finish(&mut self) {
        if let Some(asked) = self.asked_at.take() {
            self.latencies.push(asked.elapsed().as_secs_f64() * 1e3);
            self.served.lists += 1;
            self.served.servers = self.listed;
            self.next_at = Instant::now() + PAUSE;
        }
        self.listed = 0;
    }

    /// How it fared since the last time.
    pub(crate) fn take(&mut self) -> Served {
        self.turn();
        self.latencies.sort_unstable_by(f64::total_cmp);
        self.served.p99_ms = quantile(&self.latencies, 0.99).unwrap_or_default();
        self.latencies.clear();
        std::mem::take(&mut self.served)
    }

    /// Its question with its cookie, for somebody who overheard it.
    pub(crate) fn request_with_cookie(&self) -> Vec<u8> {
        assert!(self.request.challenge.is_some());
        self.request.emit()
    }
}

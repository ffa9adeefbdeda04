//! A master with its web side on loopback, and a client without any library.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "every test file takes what it needs"
)]

pub mod servers;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use nearside_master::http::{Http, HttpConfig, Limits, Token};
use nearside_master::store::{Memory, Store};
use nearside_master::{
    BanEntry, BanPlace, Command, Operator, OperatorError, OriginStatus, Service, ServiceConfig,
    ServiceHandle, SourceStatus,
};
use nearside_net::Stop;
use nearside_registry::{Ban, BanTarget, Bans, Secret, Settings};
use nearside_types::{Asn, Origin};
use serde_json::Value;

pub const TOKEN: &str = "a token for tests only";

/// Bans in memory, told to the engine.
pub struct Desk {
    handle: ServiceHandle,
    bans: Mutex<Vec<Ban>>,
}

impl Desk {
    fn tell(&self) {
        let bans = self.bans.lock().unwrap().clone();
        self.handle.tell(Command::SetBans(Bans::new(bans)));
    }
}

impl Operator for Desk {
    fn bans(&self) -> Vec<BanEntry> {
        let bans = self.bans.lock().unwrap().clone().into_iter();
        bans.map(|ban| BanEntry {
            ban,
            place: BanPlace::Memory,
        })
        .collect()
    }

    fn ban(&self, ban: Ban) -> Result<(), OperatorError> {
        self.bans.lock().unwrap().push(ban);
        self.tell();
        Ok(())
    }

    fn unban(&self, target: BanTarget) -> Result<(), OperatorError> {
        let mut bans = self.bans.lock().unwrap();
        let before = bans.len();
        bans.retain(|ban| ban.target != target);
        let lifted = bans.len() < before;
        drop(bans);
        self.tell();
        lifted
            .then_some(())
            .ok_or(OperatorError::NotThere(format!("{target} is not banned")))
    }

    fn sources(&self) -> Vec<SourceStatus> {
        Vec::new()
    }

    fn origins(&self) -> OriginStatus {
        OriginStatus::default()
    }

    fn reload(&self) -> Result<Vec<String>, OperatorError> {
        Ok(vec!["nothing".to_owned()])
    }
}

pub struct Scene {
    pub handle: ServiceHandle,
    pub public: SocketAddr,
    pub public_v6: SocketAddr,
    pub admin: SocketAddr,
    pub stop: Stop,
    http: Option<Http>,
    serving: Option<JoinHandle<()>>,
}

impl Scene {
    pub fn start(limits: Limits) -> Self {
        let settings = Settings {
            lan: true,
            claim_challenge_bytes_per_second: 1_000_000,
            ..Settings::default()
        };
        Self::with(limits, settings)
    }

    pub fn with(limits: Limits, settings: Settings) -> Self {
        Self::named(limits, settings, Vec::new())
    }

    /// With names for the masters it follows.
    pub fn named(limits: Limits, settings: Settings, sources: Vec<String>) -> Self {
        Self::keeping(limits, settings, sources, Memory)
    }

    /// With a store.
    pub fn keeping(
        limits: Limits,
        settings: Settings,
        sources: Vec<String>,
        store: impl Store + 'static,
    ) -> Self {
        Self::behind(&[], limits, settings, sources, store)
    }

    /// Behind proxies in these networks.
    pub fn behind(
        proxies: &[&str],
        limits: Limits,
        settings: Settings,
        sources: Vec<String>,
        store: impl Store + 'static,
    ) -> Self {
        let stop = Stop::new().unwrap();
        let config = ServiceConfig {
            listen: vec!["127.0.0.1:0".parse().unwrap(), "[::1]:0".parse().unwrap()],
            settings,
            secret: Secret([7; 16]),
            bans: Bans::default(),
        };
        let origin = |_| Origin {
            asn: Some(Asn(64496)),
            country: "DE".parse().ok(),
        };
        let (service, _) = Service::start(config, store, origin, stop.clone()).unwrap();
        let handle = service.handle();
        let thread = service.spawn().unwrap();
        let http = Self::web(proxies, limits, sources, &handle, &stop);
        Self {
            handle,
            public: http.public[0],
            public_v6: http.public[1],
            admin: http.admin.unwrap(),
            stop,
            http: Some(http),
            serving: Some(std::thread::spawn(move || {
                thread.join().unwrap().unwrap();
            })),
        }
    }

    /// A web side whose engine is no more.
    pub fn without_engine() -> (SocketAddr, Stop, Http) {
        let stop = Stop::new().unwrap();
        let config = ServiceConfig {
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            settings: Settings::default(),
            secret: Secret([7; 16]),
            bans: Bans::default(),
        };
        let origin = |_| Origin::default();
        let (service, _) = Service::start(config, Memory, origin, stop.clone()).unwrap();
        let handle = service.handle();
        drop(service);
        let http = Self::web(&[], Limits::default(), Vec::new(), &handle, &stop);
        (http.public[0], stop, http)
    }

    fn web(
        proxies: &[&str],
        limits: Limits,
        sources: Vec<String>,
        handle: &ServiceHandle,
        stop: &Stop,
    ) -> Http {
        let desk = Arc::new(Desk {
            handle: handle.clone(),
            bans: Mutex::default(),
        });
        let config = HttpConfig {
            public: vec!["127.0.0.1:0".parse().unwrap(), "[::1]:0".parse().unwrap()],
            admin: Some(("127.0.0.1:0".parse().unwrap(), Token::new(TOKEN).unwrap())),
            limits,
            trusted_proxies: proxies.iter().map(|text| text.parse().unwrap()).collect(),
            sources,
        };
        Http::start(config, handle.clone(), desk, stop.clone()).unwrap()
    }

    /// A server that registers over HTTP and reads its challenges by UDP.
    pub fn register(&self, socket: &UdpSocket, more: &Value) -> Answer {
        let addr = socket.local_addr().unwrap();
        let mut body =
            serde_json::json!({ "address": addr.to_string(), "game": "mygame", "places": 8 });
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        let first = post(self.public, &body);
        assert_eq!(
            (first.status, &first.json()["state"]),
            (202, &Value::from("challenged"))
        );
        body["challenge"] = challenge(socket).into();
        post(self.public, &body)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.handle.stop();
        drop(self.http.take());
        self.serving.take().unwrap().join().unwrap();
    }
}

/// The challenge that came by UDP.
pub fn challenge(socket: &UdpSocket) -> String {
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let mut buffer = [0; 100];
    let (length, _) = socket.recv_from(&mut buffer).unwrap();
    let datagram = &buffer[..length];
    assert_eq!(&datagram[..13], b"\xFF\xFF\xFF\xFFnearside ");
    String::from_utf8(datagram[13..].to_vec()).unwrap()
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

pub fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream
}

/// One request on a connection of its own.
pub fn ask(addr: SocketAddr, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
    let mut stream = connect(addr);
    let mut request = format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n");
    for header in headers {
        request += &format!("{header}\r\n");
    }
    request += &format!("Content-Length: {}\r\n\r\n", body.len());
    stream.write_all(request.as_bytes()).unwrap();
    // Who is refused early need not read the rest.
    let _refused = stream.write_all(body);
    read_answer(stream)
}

pub fn read_answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let _reset = stream.read_to_end(&mut bytes);
    let end = bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap_or_else(|| panic!("no head in {:?}", String::from_utf8_lossy(&bytes)));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer {
        status,
        head,
        body: bytes[end + 4..].to_vec(),
    }
}

pub fn get(addr: SocketAddr, path: &str) -> Answer {
    ask(addr, "GET", path, &[], b"")
}

pub fn post(addr: SocketAddr, body: &Value) -> Answer {
    let headers = ["Content-Type: application/json"];
    ask(
        addr,
        "POST",
        "/servers",
        &headers,
        body.to_string().as_bytes(),
    )
}

pub fn admin(scene: &Scene, method: &str, path: &str, body: &[u8]) -> Answer {
    let token = format!("Authorization: Bearer {TOKEN}");
    ask(scene.admin, method, path, &[&token], body)
}

/// Waits for something that takes a moment.
pub fn wait_for(what: &str, mut wanted: impl FnMut() -> bool) {
    for _ in 0..200 {
        if wanted() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("10 s passed without {what}");
}

//! A directory on loopback and a client that speaks to it over a real socket.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nearside_detour::DirectoryConfig;
use nearside_directory::store::Store;
use nearside_directory::{Handle, Server, ServerConfig, ServerError};
use nearside_net::Stop;
use nearside_tunnel::crypto::{Chance, Dialling, Identity, Keys, PublicKey};
use nearside_tunnel::messages::{Ask, Join, Notice, Request, Tell, decode, encode};
use nearside_tunnel::service::{Counts, ServiceConfig};
use nearside_wire::detour::{Frame, SEALED_HEADER};

/// A directory that runs; it ends when dropped.
pub(crate) struct Running {
    pub(crate) handle: Handle,
    thread: Option<JoinHandle<Result<Counts, ServerError>>>,
}

pub(crate) fn identity() -> Identity {
    Identity::from_secret([9; 32])
}

impl Running {
    pub(crate) fn start(store: impl Store + 'static) -> Self {
        let server = server(store);
        Self {
            handle: server.handle(),
            thread: Some(server.spawn().unwrap()),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.handle.addresses()[0]
    }

    /// Ends it, with everything written.
    pub(crate) fn end(mut self) -> Counts {
        self.handle.stop();
        let thread = self.thread.take().unwrap();
        thread.join().unwrap().unwrap()
    }
}

/// A directory that does not run yet, on two ports of its own.
pub(crate) fn server(store: impl Store + 'static) -> Server {
    let any = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let config = ServerConfig {
        listen: vec![any(0)],
        second: vec![any(0)],
        service: ServiceConfig::default(),
        directory: DirectoryConfig::default(),
    };
    let stop = Stop::new().unwrap();
    let started = Server::start(config, identity(), [1; 32], store, stop);
    started.unwrap().0
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// A client with a socket.
pub(crate) struct Player {
    pub(crate) identity: Identity,
    pub(crate) socket: UdpSocket,
    pub(crate) directory: SocketAddr,
    keys: Keys,
    number: u32,
    pub(crate) notices: Vec<Notice>,
}

const PATIENCE: Duration = Duration::from_secs(10);
/// Our number of the connection.
const OURS: u32 = 7;

impl Player {
    pub(crate) fn connect(directory: SocketAddr, number: u8) -> Self {
        Self::connect_to(directory, self::identity().public(), number)
    }

    pub(crate) fn connect_to(directory: SocketAddr, key: PublicKey, number: u8) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        Self::connect_by(socket, directory, key, number)
    }

    /// By a socket that may be anywhere.
    pub(crate) fn connect_by(
        socket: UdpSocket,
        directory: SocketAddr,
        key: PublicKey,
        number: u8,
    ) -> Self {
        let identity = Identity::from_secret([number; 32]);
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut chance = Chance::from_number(number.into());
        let mut dialling = Dialling::new(&identity, key, OURS, b"", &mut chance).unwrap();
        let mut pass = [0; 16];
        let keys = loop {
            let hello = Frame::Hello {
                index: OURS,
                pass,
                noise: dialling.message(),
            };
            socket.send_to(&hello.emit(), directory).unwrap();
            let bytes = receive(&socket);
            match Frame::parse(&bytes) {
                Ok(Frame::Retry { pass: cookie, .. }) => pass = cookie,
                Ok(Frame::Answer { noise, .. }) => break dialling.finish(noise).unwrap().0,
                other => panic!("{other:?}"),
            }
        };
        Self {
            identity,
            socket,
            directory,
            keys,
            number: 0,
            notices: Vec::new(),
        }
    }

    pub(crate) fn join(directory: SocketAddr, number: u8, join: Join) -> Self {
        let mut player = Self::connect(directory, number);
        let told = player.ask(Ask::Join(join));
        assert!(matches!(told, Tell::Welcome(_)), "{told:?}");
        player
    }

    /// Asks, and waits for the answer; what comes unasked is kept.
    pub(crate) fn ask(&mut self, ask: Ask) -> Tell {
        self.ask_at(self.directory, ask)
    }

    pub(crate) fn ask_at(&mut self, directory: SocketAddr, ask: Ask) -> Tell {
        self.number += 1;
        let number = self.number;
        let mut frame = Vec::new();
        let plain = encode(&Request { number, ask });
        self.keys.sealer.seal(&[&plain], &mut frame).unwrap();
        self.socket.send_to(&frame, directory).unwrap();
        loop {
            let notice = self.hear();
            if notice.answers == Some(number) {
                return notice.tell;
            }
            self.notices.push(notice);
        }
    }

    /// The next word of the directory; what others send is not listened to.
    pub(crate) fn hear(&mut self) -> Notice {
        let (counter, bytes) = loop {
            let bytes = receive(&self.socket);
            if let Ok(Frame::Sealed {
                to: OURS, counter, ..
            }) = Frame::parse(&bytes)
            {
                break (counter, bytes);
            }
        };
        let mut body = bytes[SEALED_HEADER..].to_vec();
        let plain = self.keys.opener.open(counter, &mut body).unwrap();
        decode(plain).unwrap()
    }

    /// Waits for something that nobody asked for.
    pub(crate) fn told(&mut self, mut is_it: impl FnMut(&Tell) -> bool) -> Tell {
        let known = self.notices.iter().position(|notice| is_it(&notice.tell));
        if let Some(at) = known {
            return self.notices.remove(at).tell;
        }
        loop {
            let notice = self.hear();
            if is_it(&notice.tell) {
                return notice.tell;
            }
        }
    }
}

fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut bytes = vec![0; 2_048];
    let length = socket.recv(&mut bytes).expect("the directory answers");
    bytes.truncate(length);
    bytes
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A folder that goes with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("nearside-directory-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

//! A game server that says from where it is asked, and a game that asks it through a proxy.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use nearside_player::{Player, Role};
use nearside_testnet::Host;

use super::{Directory, join_as};

/// Answers every question with where it came from, until nobody asked for a while.
pub fn serve(host: &Host, port: u16) -> std::thread::JoinHandle<()> {
    let socket = host.udp(port).unwrap();
    let patience = Some(Duration::from_secs(10));
    socket.set_read_timeout(patience).unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 100];
        while let Ok((_, from)) = socket.recv_from(&mut buffer) {
            socket.send_to(from.to_string().as_bytes(), from).unwrap();
        }
    })
}

/// A proxy on the server's port of this machine.
pub fn proxy(host: &Host, directory: &Directory, name: u64, game: SocketAddr) -> Player {
    let listen = (Ipv4Addr::LOCALHOST, game.port()).into();
    join_as(host, directory, name, Role::Proxy { listen, game }, &[])
}

/// A game that reaches its server through a proxy.
pub struct Game {
    socket: UdpSocket,
    proxy: SocketAddr,
}

impl Game {
    pub fn start(host: &Host, proxy: &Player) -> Self {
        let socket = host.udp(0).unwrap();
        let patience = Some(Duration::from_millis(500));
        socket.set_read_timeout(patience).unwrap();
        let proxy = proxy.listens_at().unwrap();
        Self { socket, proxy }
    }

    /// Where the server sees the game, once it hears something.
    pub fn ask(&self) -> SocketAddr {
        let until = Instant::now() + Duration::from_secs(30);
        let mut buffer = [0; 100];
        while Instant::now() < until {
            self.socket.send_to(b"who am I?", self.proxy).unwrap();
            if let Ok((length, _)) = self.socket.recv_from(&mut buffer) {
                return std::str::from_utf8(&buffer[..length])
                    .unwrap()
                    .parse()
                    .unwrap();
            }
        }
        panic!("no answer by way of {}", self.proxy);
    }
}

//! The bare forwarder: receive, look up, send. What a relay would cost that checked nothing, in a
//! process of its own: another `nearside bench detour` that is told what it is by [`VARIABLE`].

use std::collections::HashMap;
use std::io::{self, Read};
use std::net::{SocketAddr, UdpSocket};
use std::thread;

use anyhow::{Context, Result};

/// Where the forwarder is, and whom newcomers are connected to.
pub(super) const VARIABLE: &str = "NEARSIDE_BENCH_FORWARDER";

/// What [`VARIABLE`] says.
pub(super) fn told(at: SocketAddr, to: SocketAddr) -> String {
    format!("{at} {to}")
}

/// Forwards until nobody holds the other end of standard input: however the bench ends, this process
/// ends too.
pub(super) fn serve(told: &str) -> Result<()> {
    let addresses = told.split_once(' ');
    let parsed = addresses.and_then(|(at, to)| Some((at.parse().ok()?, to.parse().ok()?)));
    let (at, to): (SocketAddr, SocketAddr) =
        parsed.with_context(|| format!("{VARIABLE} says `{told}`"))?;
    let socket = UdpSocket::bind(at).with_context(|| format!("cannot bind {at}"))?;
    thread::spawn(move || forward(&socket, to));
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn forward(socket: &UdpSocket, to: SocketAddr) -> io::Result<()> {
    let mut partners = HashMap::new();
    let mut room = [0; 2_048];
    loop {
        let (length, from) = socket.recv_from(&mut room)?;
        let partner = match partners.get(&from) {
            Some(partner) => *partner,
            None => {
                partners.extend([(from, to), (to, from)]);
                to
            }
        };
        // Lost like any other datagram.
        let _ = socket.send_to(&room[..length], partner);
    }
}

//! Datagrams with any source address.

use std::net::{SocketAddr, SocketAddrV4};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// A raw socket that writes its own IP headers.
pub(crate) struct Forger {
    socket: Socket,
}

impl Forger {
    pub(crate) fn open() -> Self {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)).unwrap();
        socket.set_header_included_v4(true).unwrap();
        Self { socket }
    }

    /// Sends a datagram in the name of `source`; gives its payload's bytes, 0 if it did not go.
    pub(crate) fn send(&self, source: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) -> usize {
        let packet = packet(source, to, payload);
        let sent = self
            .socket
            .send_to(&packet, &SockAddr::from(SocketAddr::V4(to)));
        sent.map_or(0, |_| payload.len())
    }
}

/// IPv4 (RFC 791) and UDP (RFC 768) headers; the kernel fills in identification and checksum, and a
/// UDP checksum of zero means none.
fn packet(source: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let udp_length = (8 + payload.len()) as u16;
    let total = 20 + udp_length;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    packet.extend(source.ip().octets());
    packet.extend(to.ip().octets());
    packet.extend(source.port().to_be_bytes());
    packet.extend(to.port().to_be_bytes());
    packet.extend(udp_length.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

//! What somebody on the way has seen.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::mpsc::Receiver;

use nearside_testnet::Testnet;
use nearside_wire::detour::Kind;

/// A datagram as it passed.
#[derive(Debug, Clone)]
pub(super) struct Datagram {
    pub(super) from: SocketAddrV4,
    pub(super) payload: Vec<u8>,
}

impl Datagram {
    /// Out of an IPv4 packet without options, as hosts here send them.
    fn parse(packet: &[u8]) -> Option<Self> {
        const HEADERS: usize = 28;
        let address = |at: usize| Some(Ipv4Addr::from(*packet.get(at..)?.first_chunk::<4>()?));
        let port = |at: usize| Some(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?));
        (*packet.first()? == 0x45 && *packet.get(9)? == 17).then_some(())?;
        Some(Self {
            from: SocketAddrV4::new(address(12)?, port(20)?),
            payload: packet.get(HEADERS..)?.to_vec(),
        })
    }
}

/// Listens on the way from one host to another.
pub(super) struct Wire(Receiver<Vec<u8>>);

impl Wire {
    pub(super) fn tap(net: &Testnet, from: &str, to: &str) -> Self {
        Self(net.tap(from, to))
    }

    /// The frames of one kind that passed since the last time, the latest last; others are forgotten.
    pub(super) fn seen(&self, kind: Kind) -> Vec<Datagram> {
        let all = self.0.try_iter();
        let parsed = all.filter_map(|packet| Datagram::parse(&packet));
        parsed
            .filter(|datagram| Kind::of(&datagram.payload) == Some(kind))
            .collect()
    }
}

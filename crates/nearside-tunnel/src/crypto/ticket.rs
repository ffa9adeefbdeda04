//! The directory's word to a relay that it shall carry a session, brought by the players themselves:
//! sealed under a key that only the two know, so that players can neither read nor change it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use nearside_detour::ClientId;
use nearside_wire::detour::TICKET_BYTES;
use ring::aead::{Aad, LessSafeKey, Nonce};
use thiserror::Error;

use super::seal::{SEAL_BYTES, aead};
use super::{Chance, HopKey};

const NONCE_BYTES: usize = 12;
const PLAIN_BYTES: usize = TICKET_BYTES - NONCE_BYTES - SEAL_BYTES;

/// What one end of a session may do at one relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// The relay it is for.
    pub relay: ClientId,
    /// The session: both ends' tickets have the same.
    pub session: u64,
    /// Which end: 0 who asked for the detour, 1 the other.
    pub end: u8,
    /// The number of this end's way through the relay.
    pub hop: u32,
    /// The number of the other end's.
    pub other_hop: u32,
    /// Where this end sends from.
    pub address: SocketAddr,
    /// Whether the port may be another: behind a symmetric NAT nobody can say beforehand.
    pub any_port: bool,
    /// What this end proves its packets with.
    pub key: HopKey,
    /// Not to be opened after this time since 1970.
    pub expires: Duration,
    /// Packets each second at most.
    pub packets: u16,
    /// Kilobits each second at most.
    pub kilobits: u16,
}

/// Why a ticket opens nothing.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub enum BadTicket {
    /// Not made by our directory for us, or changed.
    #[error("not from this relay's directory")]
    Forged,
    /// For another relay.
    #[error("for another relay")]
    ElsewhereBound,
    /// Too old.
    #[error("expired")]
    Expired,
    /// Shown from another address than it was made for.
    #[error("shown from another address")]
    WrongAddress,
    /// Shown by somebody who does not know its key.
    #[error("shown without its key")]
    Stolen,
}

/// Seals and opens the tickets of one relay.
#[derive(Clone)]
pub struct TicketKey {
    key: LessSafeKey,
}

impl std::fmt::Debug for TicketKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TicketKey(…)")
    }
}

impl TicketKey {
    /// The key that directory and relay agreed on.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { key: aead(key) }
    }

    /// Seals a ticket. The nonce is random: 96 bits do not repeat within a key's life of a few million
    /// tickets at most.
    pub fn seal(&self, ticket: &Ticket, chance: &mut Chance) -> [u8; TICKET_BYTES] {
        let nonce: [u8; NONCE_BYTES] = chance.bytes();
        let mut plain = ticket.to_bytes();
        let proof = self
            .key
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::empty(),
                &mut plain,
            )
            .expect("a ticket is short");
        let mut sealed = [0; TICKET_BYTES];
        sealed[..NONCE_BYTES].copy_from_slice(&nonce);
        sealed[NONCE_BYTES..NONCE_BYTES + PLAIN_BYTES].copy_from_slice(&plain);
        sealed[NONCE_BYTES + PLAIN_BYTES..].copy_from_slice(proof.as_ref());
        sealed
    }

    /// Opens a ticket that somebody shows.
    ///
    /// # Errors
    /// If it was not sealed under this key.
    pub fn open(&self, sealed: &[u8; TICKET_BYTES]) -> Result<Ticket, BadTicket> {
        let mut sealed = *sealed;
        let (nonce, body) = sealed.split_at_mut(NONCE_BYTES);
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| BadTicket::Forged)?;
        let plain = self.key.open_in_place(nonce, Aad::empty(), body);
        let plain = plain.map_err(|_| BadTicket::Forged)?;
        let plain = plain.first_chunk().ok_or(BadTicket::Forged)?;
        Ok(Ticket::from_bytes(plain))
    }
}

impl Ticket {
    /// Who shows it, and whether in time.
    ///
    /// # Errors
    /// If this is not the one it was made for.
    pub fn check(
        &self,
        relay: ClientId,
        from: SocketAddr,
        wall: Duration,
    ) -> Result<(), BadTicket> {
        if self.relay != relay {
            return Err(BadTicket::ElsewhereBound);
        }
        if wall > self.expires {
            return Err(BadTicket::Expired);
        }
        let same_port = self.any_port || self.address.port() == from.port();
        match self.address.ip().to_canonical() == from.ip().to_canonical() && same_port {
            true => Ok(()),
            false => Err(BadTicket::WrongAddress),
        }
    }

    fn to_bytes(self) -> [u8; PLAIN_BYTES] {
        let ip = match self.address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let expires = u64::try_from(self.expires.as_millis()).unwrap_or(u64::MAX);
        let fields = [
            self.relay.0.to_be_bytes().as_slice(),
            &self.session.to_be_bytes(),
            &self.hop.to_be_bytes(),
            &self.other_hop.to_be_bytes(),
            &ip.octets(),
            &self.key.0,
            &expires.to_be_bytes(),
            &self.address.port().to_be_bytes(),
            &self.packets.to_be_bytes(),
            &self.kilobits.to_be_bytes(),
            &[self.end, u8::from(self.any_port)],
        ]
        .concat();
        let mut bytes = [0; PLAIN_BYTES];
        bytes[..fields.len()].copy_from_slice(&fields);
        bytes
    }

    fn from_bytes(bytes: &[u8; PLAIN_BYTES]) -> Self {
        let mut rest = bytes.as_slice();
        let relay = ClientId(u64::from_be_bytes(take(&mut rest)));
        let session = u64::from_be_bytes(take(&mut rest));
        let hop = u32::from_be_bytes(take(&mut rest));
        let other_hop = u32::from_be_bytes(take(&mut rest));
        let ip = Ipv6Addr::from(take::<16>(&mut rest)).to_canonical();
        let key = HopKey(take(&mut rest));
        let expires = Duration::from_millis(u64::from_be_bytes(take(&mut rest)));
        let [port, packets, kilobits] = [(); 3].map(|()| u16::from_be_bytes(take(&mut rest)));
        let [end, any_port] = take(&mut rest);
        Self {
            relay,
            session,
            end,
            hop,
            other_hop,
            address: SocketAddr::new(ip, port),
            any_port: any_port != 0,
            key,
            expires,
            packets,
            kilobits,
        }
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (first, behind) = rest.split_first_chunk().expect("a ticket has all fields");
    *rest = behind;
    *first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket() -> Ticket {
        Ticket {
            relay: ClientId(7),
            session: 8,
            end: 1,
            hop: 9,
            other_hop: 10,
            address: "192.0.2.1:4000".parse().unwrap(),
            any_port: false,
            key: HopKey([3; 16]),
            expires: Duration::from_secs(1_000),
            packets: 200,
            kilobits: 300,
        }
    }

    #[test]
    fn a_ticket_says_the_same_to_the_relay_and_nothing_to_others() {
        let mut chance = Chance::from_number(1);
        let key = TicketKey::new(&[1; 32]);
        let sealed = key.seal(&ticket(), &mut chance);
        assert_eq!(key.open(&sealed), Ok(ticket()));
        assert_ne!(key.seal(&ticket(), &mut chance), sealed, "no nonce twice");
        let other = TicketKey::new(&[2; 32]);
        assert_eq!(other.open(&sealed), Err(BadTicket::Forged));
        for at in 0..TICKET_BYTES {
            let mut changed = sealed;
            changed[at] ^= 1;
            assert_eq!(key.open(&changed), Err(BadTicket::Forged));
        }
    }

    #[test]
    fn a_ticket_is_for_one_relay_one_address_and_a_time() {
        let ticket = ticket();
        let (from, wall) = (ticket.address, Duration::from_secs(999));
        assert_eq!(ticket.check(ClientId(7), from, wall), Ok(()));
        let check = |relay, from: &str, wall| ticket.check(relay, from.parse().unwrap(), wall);
        assert_eq!(
            check(ClientId(8), "192.0.2.1:4000", wall),
            Err(BadTicket::ElsewhereBound)
        );
        let late = Duration::from_secs(1_001);
        assert_eq!(
            check(ClientId(7), "192.0.2.1:4000", late),
            Err(BadTicket::Expired)
        );
        for from in ["192.0.2.2:4000", "192.0.2.1:4001"] {
            assert_eq!(check(ClientId(7), from, wall), Err(BadTicket::WrongAddress));
        }
        let symmetric = Ticket {
            any_port: true,
            ..ticket
        };
        let port = "192.0.2.1:4001".parse().unwrap();
        assert_eq!(symmetric.check(ClientId(7), port, wall), Ok(()));
    }
}

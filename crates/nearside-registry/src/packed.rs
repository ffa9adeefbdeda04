//! A server as stores keep it: an address as key, the rest as a short record with its own version.
//!
//! Origins are not kept: tables change, and whoever reads looks the address up anew.

use std::net::IpAddr;

use nearside_types::{Moment, Origin, ServerAddr};
use thiserror::Error;

use crate::server::{Facts, Family, Flags, Server, Standing, Text};

/// Why a record cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PackedError {
    /// It ends within a field.
    #[error("the record ends within its {0}")]
    Truncated(&'static str),
    /// A later version wrote it.
    #[error("the record has version {0}, this program reads version {VERSION}")]
    Version(u8),
    /// The key is no address.
    #[error("the key has {0} bytes, an address has 6 or 18")]
    Key(usize),
}

const VERSION: u8 = 1;

/// The key of a server: address and port, 6 or 18 bytes, in network byte order.
pub fn key(addr: ServerAddr) -> Vec<u8> {
    let port = addr.port().to_be_bytes();
    match addr.ip() {
        IpAddr::V4(ip) => [&ip.octets()[..], &port].concat(),
        IpAddr::V6(ip) => [&ip.octets()[..], &port].concat(),
    }
}

/// The record of a server.
pub fn pack(server: &Server) -> Vec<u8> {
    let facts = &server.facts;
    let flags = facts.flags;
    let bits = [
        flags.password,
        flags.dedicated,
        flags.secure,
        flags.linux,
        flags.proxy,
        server.family == Family::Steam,
        server.family == Family::Other,
    ];
    let bits = bits
        .iter()
        .rev()
        .fold(0_u8, |all, bit| all << 1 | u8::from(*bit));
    let mut out = vec![VERSION, bits];
    out.extend((server.expires.as_nanos() / 1_000_000).to_be_bytes());
    out.extend(facts.protocol.to_be_bytes());
    out.extend(facts.app_id.to_be_bytes());
    for number in [facts.players, facts.bots, facts.places] {
        out.extend(number.to_be_bytes());
    }
    for text in Text::ALL {
        let bytes = facts.text(text);
        out.push(u8::try_from(bytes.len()).expect("texts are cut to 128 bytes"));
        out.extend(bytes);
    }
    out
}

/// Reads a server back, as one that is remembered.
pub fn unpack(key: &[u8], record: &[u8]) -> Result<Server, PackedError> {
    let addr = addr(key)?;
    let mut reader = Reader(record);
    let [version] = reader.take("version")?;
    if version != VERSION {
        return Err(PackedError::Version(version));
    }
    let [bits] = reader.take("flags")?;
    let has = |bit: u8| bits >> bit & 1 == 1;
    let expires = u64::from_be_bytes(reader.take("expiry")?);
    let protocol = u32::from_be_bytes(reader.take("protocol")?);
    let app_id = u32::from_be_bytes(reader.take("app id")?);
    let mut number = || reader.take("counts").map(u16::from_be_bytes);
    let (players, bots, places) = (number()?, number()?, number()?);
    let mut texts = Vec::new();
    for text in Text::ALL {
        texts.push((text, reader.text()?));
    }
    Ok(Server {
        addr,
        family: match (has(5), has(6)) {
            (_, true) => Family::Other,
            (true, false) => Family::Steam,
            (false, false) => Family::Quake3,
        },
        standing: Standing::Remembered,
        origin: Origin::default(),
        expires: Moment::from_nanos(expires.saturating_mul(1_000_000)),
        facts: Facts {
            protocol,
            app_id,
            players,
            bots,
            places,
            flags: Flags {
                password: has(0),
                dedicated: has(1),
                secure: has(2),
                linux: has(3),
                proxy: has(4),
            },
            ..Facts::of_texts(&texts)
        },
    })
}

/// The address a key stands for.
pub fn addr(key: &[u8]) -> Result<ServerAddr, PackedError> {
    let bad = PackedError::Key(key.len());
    let (ip, port) = key.split_last_chunk::<2>().ok_or(bad)?;
    let v4 = <[u8; 4]>::try_from(ip).map(IpAddr::from);
    let v6 = || <[u8; 16]>::try_from(ip).map(IpAddr::from);
    let ip = v4.or_else(|_| v6()).map_err(|_| bad)?;
    ServerAddr::new(ip, u16::from_be_bytes(*port)).ok_or(bad)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], PackedError> {
        let (head, tail) = self
            .0
            .split_first_chunk()
            .ok_or(PackedError::Truncated(field))?;
        self.0 = tail;
        Ok(*head)
    }

    fn text(&mut self) -> Result<&'a [u8], PackedError> {
        let [length] = self.take("text")?;
        let split = self.0.split_at_checked(usize::from(length));
        let (head, tail) = split.ok_or(PackedError::Truncated("text"))?;
        self.0 = tail;
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn server(bits: u128, numbers: [u16; 3], flags: [bool; 6], name: &[u8]) -> Server {
        let ip: IpAddr = match flags[5] {
            true => std::net::Ipv4Addr::from_bits(bits as u32).into(),
            false => std::net::Ipv6Addr::from_bits(bits).into(),
        };
        let [players, bots, places] = numbers;
        Server {
            addr: ServerAddr::new(ip, players.max(1)).unwrap(),
            family: if flags[5] {
                Family::Steam
            } else {
                Family::Quake3
            },
            standing: Standing::Remembered,
            origin: Origin::default(),
            expires: Moment::from_nanos(u64::from(bots) * 1_000_000),
            facts: Facts {
                protocol: u32::from(places) << 7,
                app_id: bits as u32,
                players,
                bots,
                places,
                flags: Flags {
                    password: flags[0],
                    dedicated: flags[1],
                    secure: flags[2],
                    linux: flags[3],
                    proxy: flags[4],
                },
                ..Facts::of_texts(&[(Text::Name, name), (Text::Data, name)])
            },
        }
    }

    proptest! {
        #[test]
        fn servers_read_back(
            bits: u128, numbers: [u16; 3], flags: [bool; 6], name in prop::collection::vec(any::<u8>(), 0..200)
        ) {
            let server = server(bits, numbers, flags, &name);
            let (key, record) = (key(server.addr), pack(&server));
            prop_assert_eq!(unpack(&key, &record), Ok(server));
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            key in prop::collection::vec(any::<u8>(), 0..20), record in prop::collection::vec(any::<u8>(), 0..300)
        ) {
            if let Ok(server) = unpack(&key, &record) {
                prop_assert_eq!(super::key(server.addr).len() <= 18, true);
                let again = unpack(&super::key(server.addr), &pack(&server));
                prop_assert_eq!(again, Ok(server));
            }
        }
    }

    #[test]
    fn a_later_version_and_a_cut_record_are_refused_by_name() {
        let server = server(1, [1, 2, 3], [true; 6], b"name");
        let mut record = pack(&server);
        let cut = unpack(&key(server.addr), &record[..9]);
        assert_eq!(cut, Err(PackedError::Truncated("expiry")));
        record[0] = 9;
        assert_eq!(
            unpack(&key(server.addr), &record),
            Err(PackedError::Version(9))
        );
        assert_eq!(unpack(b"short", &record), Err(PackedError::Key(5)));
    }
}

//! The compact web list: all servers of a master in one body, some 24 bytes each
//! (`docs/wire/master-http.md`). Numbers are in network byte order.

use std::net::IpAddr;

use nearside_types::{Asn, Country, Listed, Origin, ServerAddr};

use crate::cursor::Cursor;
use crate::list::UNKNOWN_COUNTRY;
use crate::{DecodeError, GameText};

/// A whole list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CompactList {
    /// The games that entries name by their place here.
    pub games: Vec<GameText>,
    /// The servers.
    pub entries: Vec<CompactEntry>,
}

/// One server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactEntry {
    /// Address and origin.
    pub listed: Listed,
    /// Which of the games.
    pub game: u16,
    /// The protocol number.
    pub protocol: u32,
    /// Who plays, bots included.
    pub players: u16,
    /// Places.
    pub places: u16,
    /// A password is needed.
    pub password: bool,
    /// Only another master lists it.
    pub followed: bool,
    /// Not verified since the master started.
    pub remembered: bool,
}

/// `NSL` and the version.
const MAGIC: &[u8; 4] = b"NSL\x01";

mod flag {
    pub(super) const IPV6: u8 = 1;
    pub(super) const PASSWORD: u8 = 2;
    pub(super) const FOLLOWED: u8 = 4;
    pub(super) const REMEMBERED: u8 = 8;
}

/// The smallest entry: what a count may promise for each byte that follows.
const ENTRY_BYTES: usize = 23;

impl CompactList {
    /// The body. Games are cut to 255 bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.reserve(self.entries.len() * ENTRY_BYTES);
        let games = u16::try_from(self.games.len()).unwrap_or(u16::MAX);
        out.extend(games.to_be_bytes());
        for game in self.games.iter().take(usize::from(games)) {
            let name = &game.as_bytes()[..game.as_bytes().len().min(255)];
            out.push(name.len() as u8);
            out.extend(name);
        }
        let count = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        out.extend(count.to_be_bytes());
        for entry in &self.entries {
            entry.emit(&mut out);
        }
        out
    }

    /// Reads a body; bytes behind the last entry are refused, since they would be a mistake.
    pub fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::after(body, MAGIC, "a compact list")?;
        let games = u16::from_be_bytes(cursor.array("games")?);
        let game = |cursor: &mut Cursor<'_>| {
            let length = usize::from(cursor.u8("game")?);
            let name: Result<Vec<u8>, _> = (0..length).map(|_| cursor.u8("game")).collect();
            name.map(GameText::new)
        };
        let games: Vec<GameText> = (0..games)
            .map(|_| game(&mut cursor))
            .collect::<Result<_, _>>()?;
        let count = u32::from_be_bytes(cursor.array("count")?) as usize;
        let mut entries = Vec::with_capacity(count.min(cursor.rest().len() / ENTRY_BYTES));
        for _ in 0..count {
            entries.push(CompactEntry::parse(&mut cursor, games.len())?);
        }
        if !cursor.is_empty() {
            let expected = "no bytes behind the last entry";
            return Err(DecodeError::bad_value("end", cursor.rest(), expected));
        }
        Ok(Self { games, entries })
    }
}

impl CompactEntry {
    fn emit(&self, out: &mut Vec<u8>) {
        let Listed { addr, origin } = self.listed;
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        out.push(
            bit(addr.ip().is_ipv6(), flag::IPV6)
                | bit(self.password, flag::PASSWORD)
                | bit(self.followed, flag::FOLLOWED)
                | bit(self.remembered, flag::REMEMBERED),
        );
        match addr.ip() {
            IpAddr::V4(ip) => out.extend(ip.octets()),
            IpAddr::V6(ip) => out.extend(ip.octets()),
        }
        out.extend(addr.port().to_be_bytes());
        out.extend(origin.asn.map_or(0, |asn| asn.0).to_be_bytes());
        out.extend(origin.country.map_or(UNKNOWN_COUNTRY, Country::as_bytes));
        out.extend(self.game.to_be_bytes());
        out.extend(self.protocol.to_be_bytes());
        out.extend(self.players.to_be_bytes());
        out.extend(self.places.to_be_bytes());
    }

    fn parse(cursor: &mut Cursor<'_>, games: usize) -> Result<Self, DecodeError> {
        let flags = cursor.u8("flags")?;
        let ip: IpAddr = match flags & flag::IPV6 {
            0 => cursor.array::<4>("address")?.into(),
            _ => cursor.array::<16>("address")?.into(),
        };
        let port: [u8; 2] = cursor.array("port")?;
        let addr = ServerAddr::new(ip, u16::from_be_bytes(port));
        let addr = addr.ok_or(DecodeError::bad_value("port", &port, "not 0"))?;
        // An IPv4 address in IPv6 clothes would be written differently than it was read.
        if addr.ip().is_ipv4() != ip.is_ipv4() {
            let expected = "no IPv4 address in IPv6 form";
            return Err(DecodeError::bad_value("address", &[flags], expected));
        }
        let asn = u32::from_be_bytes(cursor.array("AS")?);
        let country = Country::from_bytes(cursor.array("country")?);
        let game = u16::from_be_bytes(cursor.array("game")?);
        if usize::from(game) >= games {
            let expected = "one of the games above";
            return Err(DecodeError::bad_value(
                "game",
                &game.to_be_bytes(),
                expected,
            ));
        }
        Ok(Self {
            listed: Listed {
                addr,
                origin: Origin {
                    asn: (asn != 0).then_some(Asn(asn)),
                    country,
                },
            },
            game,
            protocol: u32::from_be_bytes(cursor.array("protocol")?),
            players: u16::from_be_bytes(cursor.array("players")?),
            places: u16::from_be_bytes(cursor.array("places")?),
            password: flags & flag::PASSWORD != 0,
            followed: flags & flag::FOLLOWED != 0,
            remembered: flags & flag::REMEMBERED != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(addr: &str, game: u16) -> CompactEntry {
        CompactEntry {
            listed: Listed {
                addr: addr.parse().unwrap(),
                origin: Origin {
                    asn: Some(Asn(64496)),
                    country: "DE".parse().ok(),
                },
            },
            game,
            protocol: 71,
            players: 3,
            places: 8,
            password: true,
            followed: false,
            remembered: true,
        }
    }

    #[test]
    fn a_list_reads_back_and_an_ipv4_server_takes_23_bytes() {
        let list = CompactList {
            games: vec!["Quake3Arena".into(), "mygame".into()],
            entries: vec![entry("192.0.2.7:27960", 0), entry("[2001:db8::1]:1", 1)],
        };
        let body = list.emit();
        assert_eq!(CompactList::parse(&body), Ok(list));
        let header = 4 + 2 + 12 + 7 + 4;
        assert_eq!(body.len(), header + 23 + 35);
    }

    #[test]
    fn a_count_that_lies_takes_no_memory_and_is_refused() {
        let mut body = CompactList::default().emit();
        let count = body.len() - 4;
        body[count..].fill(0xFF);
        assert_eq!(CompactList::parse(&body).unwrap_err().label(), "truncated");
        let mut longer = CompactList::default().emit();
        longer.push(0);
        assert_eq!(
            CompactList::parse(&longer).unwrap_err().label(),
            "bad-value"
        );
    }
}

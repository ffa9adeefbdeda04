//! The Steam master server query protocol: request `31`, reply `66 0A`, paged by the last address
//! of each reply (Valve developer wiki, "Master Server Query Protocol").
//!
//! Layouts with byte tables, and the origin extensions: `docs/wire/master-lists.md`.

mod filter;
mod heartbeat;

use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use nearside_types::Country;

use crate::cursor::{Cursor, put_text};
use crate::list::{Costs, Entry, ListPacket, Listed, OriginForm, RawEntry, country_bytes, fill};
use crate::{CONNECTIONLESS, DecodeError};

pub use filter::{Combine, Condition, Filter};
pub(crate) use heartbeat::JOIN;
pub use heartbeat::{Heartbeat, JoinChallenge};

/// The part of the world to list; what servers say of themselves, so a hint at best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Region {
    /// 00.
    UsEast,
    /// 01.
    UsWest,
    /// 02.
    SouthAmerica,
    /// 03.
    Europe,
    /// 04.
    Asia,
    /// 05.
    Australia,
    /// 06.
    MiddleEast,
    /// 07.
    Africa,
    /// FF: everywhere.
    All,
    /// A byte that no document names.
    Other(u8),
}

impl Region {
    /// The regions in the order of their bytes.
    const NAMED: [Self; 8] = [
        Self::UsEast,
        Self::UsWest,
        Self::SouthAmerica,
        Self::Europe,
        Self::Asia,
        Self::Australia,
        Self::MiddleEast,
        Self::Africa,
    ];

    /// The region a byte stands for.
    pub fn from_byte(byte: u8) -> Self {
        let named = Self::NAMED.get(usize::from(byte)).copied();
        let unnamed = if byte == 0xFF {
            Self::All
        } else {
            Self::Other(byte)
        };
        named.unwrap_or(unnamed)
    }

    /// The byte that stands for this region.
    pub fn byte(self) -> u8 {
        let named = Self::NAMED
            .iter()
            .zip(0..)
            .find(|(region, _)| **region == self);
        match (self, named) {
            (Self::Other(byte), _) => byte,
            (_, Some((_, byte))) => byte,
            _ => 0xFF,
        }
    }
}

/// A request for a page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRequest {
    /// Where the servers should be.
    pub region: Region,
    /// The last server of the page before, [`ListRequest::FIRST`] for the first page.
    pub seed: SocketAddrV4,
    /// Which servers to list.
    pub filter: Filter,
}

const REQUEST: u8 = 0x31;

impl ListRequest {
    /// The seed of the first page, 0.0.0.0:0.
    pub const FIRST: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);

    /// A request for the first page, from all regions.
    pub const fn new(filter: Filter) -> Self {
        Self {
            region: Region::All,
            seed: Self::FIRST,
            filter,
        }
    }

    /// The request for the page after `packet`; `None` if there is none. Send it from the same
    /// socket: masters start anew for a new source port.
    pub fn next_page(&self, packet: &ListPacket) -> Option<Self> {
        let last = packet.last_server().filter(|_| !packet.end)?;
        match last.ip() {
            IpAddr::V4(ip) => Some(Self {
                seed: SocketAddrV4::new(ip, last.port()),
                ..self.clone()
            }),
            IpAddr::V6(_) => None,
        }
    }

    /// The datagram to send.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = vec![REQUEST, self.region.byte()];
        out.extend(self.seed.to_string().as_bytes());
        out.push(0);
        put_text(&mut out, &self.filter.emit());
        out
    }

    /// Reads a request as a master does; the last NUL may be missing.
    pub fn parse(datagram: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::after(datagram, &[REQUEST], "a Steam master request")?;
        let region = Region::from_byte(cursor.u8("region")?);
        let seed = cursor.text("seed address")?;
        let filter = Filter::parse(cursor.text_or_rest().as_bytes())?;
        let expected = "address and port, 0.0.0.0:0 for the first page";
        let text = std::str::from_utf8(seed.as_bytes()).ok();
        let seed = text
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| DecodeError::bad_value("seed address", seed.as_bytes(), expected))?;
        Ok(Self {
            region,
            seed,
            filter,
        })
    }
}

/// What a master answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListReply {
    /// A page of the list, with markers if they were asked for and the master knows them.
    List(ListPacket),
    /// A page of the list with countries; only sent when asked for.
    Countries(ListPacket),
    /// "Ask again with `\challenge\` and these four bytes in hexadecimal."
    Cookie([u8; 4]),
}

const LIST: [u8; 2] = [0x66, 0x0A];
const COUNTRIES: [u8; 2] = [0x66, 0x43];
const COOKIE: u8 = 0x41;

/// The end of the list: 0.0.0.0:0.
const END: RawEntry = RawEntry {
    address: 0,
    port: 0,
};

impl ListReply {
    /// Reads a reply to a request that asked for `asked`. Without [`OriginForm::As`] entries with
    /// port 0 are nothing.
    pub fn parse(datagram: &[u8], asked: Option<OriginForm>) -> Result<Self, DecodeError> {
        let expected = "a Steam master reply";
        let mut cursor = Cursor::after(datagram, &CONNECTIONLESS, expected)?;
        if cursor.skip(&LIST) {
            parse_list(&mut cursor, asked).map(Self::List)
        } else if cursor.skip(&COUNTRIES) {
            parse_countries(&mut cursor).map(Self::Countries)
        } else if cursor.skip(&[COOKIE]) {
            cursor.array("list cookie").map(Self::Cookie)
        } else {
            Err(DecodeError::unrecognised(expected, datagram))
        }
    }

    /// The datagram to send. IPv6 servers have no place in these lists and are left out; markers
    /// are sent as they stand in the packet, so they belong only into the reply to `\origin\as`.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = CONNECTIONLESS.to_vec();
        match self {
            Self::List(packet) => {
                out.extend(LIST);
                out.extend(
                    packet
                        .entries
                        .iter()
                        .filter_map(raw)
                        .flat_map(RawEntry::to_bytes),
                );
                if packet.end {
                    out.extend(END.to_bytes());
                }
            }
            Self::Countries(packet) => emit_countries(packet, &mut out),
            Self::Cookie(cookie) => {
                out.push(COOKIE);
                out.extend(cookie);
            }
        }
        out
    }
}

fn parse_list(
    cursor: &mut Cursor<'_>,
    asked: Option<OriginForm>,
) -> Result<ListPacket, DecodeError> {
    let mut packet = ListPacket::default();
    while !packet.end && !cursor.is_empty() {
        let raw = RawEntry::from_bytes(cursor.array("entry")?);
        packet.end = raw == END;
        packet
            .entries
            .extend(raw.meaning(asked).filter(|_| raw != END));
    }
    Ok(packet)
}

fn parse_countries(cursor: &mut Cursor<'_>) -> Result<ListPacket, DecodeError> {
    let mut packet = ListPacket::default();
    while !packet.end && !cursor.is_empty() {
        let raw = RawEntry::from_bytes(cursor.array("entry")?);
        let country = Country::from_bytes(cursor.array("country")?);
        packet.end = raw == END;
        if let Some(Entry::Server { addr, .. }) = raw.meaning(None) {
            packet.entries.push(Entry::Server { addr, country });
        }
    }
    Ok(packet)
}

fn raw(entry: &Entry) -> Option<RawEntry> {
    match *entry {
        Entry::Server { addr, .. } => RawEntry::of_server(addr),
        Entry::Marker(asn) => Some(RawEntry::of_marker(asn, END)),
    }
}

fn emit_countries(packet: &ListPacket, out: &mut Vec<u8>) {
    out.extend(COUNTRIES);
    for entry in &packet.entries {
        if let Entry::Server { addr, country } = *entry
            && let Some(raw) = RawEntry::of_server(addr)
        {
            out.extend(raw.to_bytes());
            out.extend(country_bytes(country));
        }
    }
    if packet.end {
        out.extend(END.to_bytes());
        out.extend(country_bytes(None));
    }
}

/// Entries in a full reply of 1392 bytes, markers and the end mark included.
pub const MAX_ENTRIES: usize = 231;

/// Entries in a reply of countries that stays within the same 1392 bytes at 8 bytes each.
pub const MAX_COUNTRY_ENTRIES: usize = 173;

/// The page that starts with the first of `rest`, the servers behind the request's seed; for
/// [`OriginForm::As`] they must be sorted by [`as_order`](crate::list::as_order). A page that is exactly full
/// leaves the end mark to the next one.
pub fn page(rest: &[Listed], form: Option<OriginForm>) -> ListReply {
    let room = match form {
        Some(OriginForm::Country) => MAX_COUNTRY_ENTRIES,
        _ => MAX_ENTRIES,
    };
    let costs = Costs {
        marker: 1,
        server: &|addr| addr.ip().is_ipv4().then_some(1),
    };
    let (entries, covered) = fill(rest, form, room, &costs);
    let end = covered == rest.len() && entries.len() < room;
    let packet = ListPacket { entries, end };
    match form {
        Some(OriginForm::Country) => ListReply::Countries(packet),
        _ => ListReply::List(packet),
    }
}

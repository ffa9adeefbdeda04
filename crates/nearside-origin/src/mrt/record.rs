//! What records mean: TABLE_DUMP_V2 (RFC 6396 section 4.3) and BGP4MP (section 4.4).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nearside_types::{Asn, Prefix};

use super::records::Header;
use crate::bgp::Family;
use crate::bgp::wire::{
    AS_PATH, AsPath, AsWidth, Cursor, PathOrigin, Speaker, Update, UpdateOrMarker, read_attribute,
    read_prefix,
};

/// A neighbour of the collector that wrote the dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct MrtPeer {
    pub(super) addr: IpAddr,
    pub(super) asn: Asn,
}

/// One record, as far as it is about origins.
pub(super) enum Record<'a> {
    /// The neighbours that table records speak of by number.
    Peers(Vec<MrtPeer>),
    /// All routes to one prefix.
    Routes(Routes<'a>),
    /// An UPDATE that the collector received.
    Update(MrtPeer, Update),
    /// Nothing for us.
    Other,
}

const TABLE_DUMP_V2: u16 = 13;
const BGP4MP: u16 = 16;
/// The same with microseconds in front.
const BGP4MP_ET: u16 = 17;

impl<'a> Record<'a> {
    /// `None` when the record breaks its own format.
    pub(super) fn read(header: &Header, body: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(body);
        match (header.kind, header.subtype) {
            (TABLE_DUMP_V2, 1) => read_peers(cursor).map(Self::Peers),
            (TABLE_DUMP_V2, 2) => Routes::read(cursor, Family::V4, PathIds::Absent),
            (TABLE_DUMP_V2, 4) => Routes::read(cursor, Family::V6, PathIds::Absent),
            // With path identifiers (RFC 8050).
            (TABLE_DUMP_V2, 8) => Routes::read(cursor, Family::V4, PathIds::Present),
            (TABLE_DUMP_V2, 10) => Routes::read(cursor, Family::V6, PathIds::Present),
            (BGP4MP, subtype) => read_message(cursor, subtype),
            (BGP4MP_ET, subtype) => {
                cursor.u32()?;
                read_message(cursor, subtype)
            }
            _ => Some(Self::Other),
        }
    }
}

fn read_peers(mut cursor: Cursor<'_>) -> Option<Vec<MrtPeer>> {
    let _collector_id = cursor.u32()?;
    let _view_name = cursor.long_field()?;
    let count = cursor.u16()?;
    (0..count).map(|_| read_peer(&mut cursor)).collect()
}

/// Two bits of the type say how long address and AS number are.
fn read_peer(cursor: &mut Cursor<'_>) -> Option<MrtPeer> {
    let kind = cursor.u8()?;
    let _bgp_id = cursor.u32()?;
    let addr = read_addr(cursor, if kind & 1 == 0 { 1 } else { 2 })?;
    let asn = match kind & 2 {
        0 => u32::from(cursor.u16()?),
        _ => cursor.u32()?,
    };
    let asn = Asn(asn);
    Some(MrtPeer { addr, asn })
}

fn read_addr(cursor: &mut Cursor<'_>, afi: u16) -> Option<IpAddr> {
    match afi {
        1 => cursor.u32().map(|bits| Ipv4Addr::from_bits(bits).into()),
        2 => cursor.array().map(|octets| Ipv6Addr::from(octets).into()),
        _ => None,
    }
}

/// Whether routes carry a path identifier, which tells several of one neighbour apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathIds {
    Absent,
    Present,
}

/// The routes to one prefix, read while they are iterated.
pub(super) struct Routes<'a> {
    pub(super) prefix: Prefix,
    entries: Cursor<'a>,
    left: u16,
    path_ids: PathIds,
}

/// One neighbour's route.
pub(super) struct MrtRoute {
    /// Its number in the list of neighbours.
    pub(super) peer: usize,
    pub(super) origin: PathOrigin,
}

impl<'a> Routes<'a> {
    fn read(mut cursor: Cursor<'a>, family: Family, path_ids: PathIds) -> Option<Record<'a>> {
        let _sequence = cursor.u32()?;
        let Some(prefix) = read_prefix(&mut cursor, family).ok()? else {
            return Some(Record::Other);
        };
        let left = cursor.u16()?;
        Some(Record::Routes(Self {
            prefix,
            entries: cursor,
            left,
            path_ids,
        }))
    }

    /// The next route: `None` at the end, an error where the entry breaks its format or its path.
    pub(super) fn next(&mut self) -> Option<Result<MrtRoute, BrokenRoute>> {
        self.left = self.left.checked_sub(1)?;
        let Some((peer, attributes)) = self.next_entry() else {
            self.left = 0;
            return Some(Err(BrokenRoute));
        };
        let origin = path_origin(attributes).ok_or(BrokenRoute);
        Some(origin.map(|origin| MrtRoute { peer, origin }))
    }

    fn next_entry(&mut self) -> Option<(usize, &'a [u8])> {
        let peer = usize::from(self.entries.u16()?);
        let _originated = self.entries.u32()?;
        if self.path_ids == PathIds::Present {
            self.entries.u32()?;
        }
        let attributes = self.entries.long_field()?;
        Some((peer, attributes))
    }
}

/// A route that cannot be read.
pub(super) struct BrokenRoute;

/// The origin among a route's attributes. Only AS_PATH is looked at, which is always in four octets
/// here; MP_REACH_NLRI is not even complete (RFC 6396 section 4.3.4).
fn path_origin(attributes: &[u8]) -> Option<PathOrigin> {
    let mut cursor = Cursor::new(attributes);
    while !cursor.is_empty() {
        let attribute = read_attribute(&mut cursor)?;
        if attribute.kind == AS_PATH {
            let path = AsPath::parse(attribute.value, AsWidth::Four)?;
            return Some(path.origin);
        }
    }
    None
}

/// BGP4MP_MESSAGE and its relatives; state changes and path identifiers are not for us.
fn read_message(mut cursor: Cursor<'_>, subtype: u16) -> Option<Record<'_>> {
    let width = match subtype {
        1 | 6 => AsWidth::Two,
        4 | 7 => AsWidth::Four,
        _ => return Some(Record::Other),
    };
    let asn = width.read(&mut cursor)?;
    let _local_asn = width.read(&mut cursor)?;
    let _interface = cursor.u16()?;
    let afi = cursor.u16()?;
    let addr = read_addr(&mut cursor, afi)?;
    let _local_addr = read_addr(&mut cursor, afi)?;
    let peer = MrtPeer {
        addr,
        asn: Asn(asn),
    };
    let Some(body) = update_body(cursor)? else {
        return Some(Record::Other);
    };
    match Update::parse(
        body,
        Speaker {
            asn: peer.asn,
            width,
        },
    )
    .ok()?
    {
        UpdateOrMarker::Update(update) => Some(Record::Update(peer, update)),
        UpdateOrMarker::EndOfRib(_) => Some(Record::Other),
    }
}

/// The body of the BGP message, when it is an UPDATE. Collectors may write longer ones than a session
/// of ours would take (RFC 8654).
fn update_body(mut cursor: Cursor<'_>) -> Option<Option<&[u8]>> {
    const HEADER: usize = 19;
    const UPDATE: u8 = 2;
    let _marker = cursor.take(16)?;
    let length = usize::from(cursor.u16()?);
    let kind = cursor.u8()?;
    let body = cursor.take(length.checked_sub(HEADER)?)?;
    Some((kind == UPDATE).then_some(body))
}

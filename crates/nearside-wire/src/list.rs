//! What the lists of all master servers have in common: entries, packets, and the two extensions by
//! which a master says where servers come from.
//!
//! AS markers follow Armitage, "Optimising online FPS game server discovery through clustering
//! servers by origin autonomous system" (2008), section 3.4; the country form follows section 5.1
//! of his country paper of the same year. Both are opt-in, see `docs/wire/master-lists.md`.

use std::net::{IpAddr, Ipv4Addr};

pub use nearside_types::Listed;
use nearside_types::{Asn, Country, Origin, ServerAddr};

/// Which origins a client asks a master for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OriginForm {
    /// A marker with the AS number before the servers of each AS.
    As,
    /// Two letters behind each server.
    Country,
}

impl OriginForm {
    /// The word for it in requests: `as` or `country`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::As => "as",
            Self::Country => "country",
        }
    }

    /// The form that a word in a request asks for.
    pub fn from_word(word: &[u8]) -> Option<Self> {
        let forms = [Self::As, Self::Country];
        forms
            .into_iter()
            .find(|form| form.word().as_bytes().eq_ignore_ascii_case(word))
    }
}

/// One entry of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Entry {
    /// A game server.
    Server {
        /// Where it answers.
        addr: ServerAddr,
        /// Its country, in the country form.
        country: Option<Country>,
    },
    /// The servers that follow, up to the next marker or the end of the packet, originate in this
    /// AS; `None` if the master does not know it.
    Marker(Option<Asn>),
}

/// One packet of a list, which may span many.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListPacket {
    /// The entries in the master's order, which says nothing about distance.
    pub entries: Vec<Entry>,
    /// Whether the packet carries the end mark. Old Quake 3 masters put one into every packet.
    pub end: bool,
}

/// Sorting by this key puts servers in the order of AS marker lists, which is also the order of
/// paging: AS, address, port; unknown origins last.
pub fn as_order(listed: &Listed) -> (u32, ServerAddr) {
    let asn = listed.origin.asn.map_or(UNKNOWN_AS, |asn| asn.0);
    (asn, listed.addr)
}

impl ListPacket {
    /// The servers with the origins that markers and countries give them. Markers do not reach
    /// beyond their packet, since packets are lost and reordered.
    pub fn servers(&self) -> impl Iterator<Item = Listed> {
        let mut asn = None;
        self.entries.iter().filter_map(move |entry| match *entry {
            Entry::Marker(marker) => {
                asn = marker;
                None
            }
            Entry::Server { addr, country } => Some(Listed {
                addr,
                origin: Origin { asn, country },
            }),
        })
    }

    /// The last server: where the next page of a Steam list starts.
    pub fn last_server(&self) -> Option<ServerAddr> {
        self.servers().last().map(|listed| listed.addr)
    }

    /// Whether the first entry is a marker. A packet without one comes from a master that does not
    /// know the extension.
    pub fn starts_with_marker(&self) -> bool {
        matches!(self.entries.first(), Some(Entry::Marker(_)))
    }
}

/// In the address field of a marker: the origin is not known. AS 4294967295 is reserved (RFC 7300).
const UNKNOWN_AS: u32 = u32::MAX;

/// The two letters of a country that the master does not know.
pub(crate) const UNKNOWN_COUNTRY: [u8; 2] = *b"ZZ";

/// An IPv4 entry as all lists carry it, address and port in network byte order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawEntry {
    pub(crate) address: u32,
    pub(crate) port: u16,
}

impl RawEntry {
    pub(crate) const fn from_bytes([a, b, c, d, high, low]: [u8; 6]) -> Self {
        Self {
            address: u32::from_be_bytes([a, b, c, d]),
            port: u16::from_be_bytes([high, low]),
        }
    }

    pub(crate) const fn to_bytes(self) -> [u8; 6] {
        let [a, b, c, d] = self.address.to_be_bytes();
        let [high, low] = self.port.to_be_bytes();
        [a, b, c, d, high, low]
    }

    /// `None` for an IPv6 address.
    pub(crate) fn of_server(addr: ServerAddr) -> Option<Self> {
        match addr.ip() {
            IpAddr::V4(ip) => Some(Self {
                address: ip.to_bits(),
                port: addr.port(),
            }),
            IpAddr::V6(_) => None,
        }
    }

    /// A marker. AS 0 never originates anything (RFC 7607), and a number that would read as the
    /// list's end mark cannot be written: both go as unknown.
    pub(crate) fn of_marker(asn: Option<Asn>, end: Self) -> Self {
        let number = asn.map_or(UNKNOWN_AS, |asn| asn.0);
        let reserved = [0, end.address].contains(&number);
        Self {
            address: if reserved { UNKNOWN_AS } else { number },
            port: 0,
        }
    }

    /// What the entry means to a client that asked for `asked`: whoever did not ask for markers
    /// sees nothing in an entry with port 0.
    pub(crate) fn meaning(self, asked: Option<OriginForm>) -> Option<Entry> {
        let server = ServerAddr::new(IpAddr::V4(Ipv4Addr::from_bits(self.address)), self.port);
        match (server, asked) {
            (Some(addr), _) => Some(Entry::Server {
                addr,
                country: None,
            }),
            (None, Some(OriginForm::As)) => Some(Entry::Marker(self.marked_as())),
            (None, _) => None,
        }
    }

    fn marked_as(self) -> Option<Asn> {
        (![0, UNKNOWN_AS].contains(&self.address)).then_some(Asn(self.address))
    }
}

/// Two letters on the wire.
pub(crate) fn country_bytes(country: Option<Country>) -> [u8; 2] {
    country.map_or(UNKNOWN_COUNTRY, Country::as_bytes)
}

/// What entries cost in a packet, in bytes or in entries as the caller counts; `None` for a server
/// that the format cannot carry.
pub(crate) struct Costs<'a> {
    pub(crate) marker: usize,
    pub(crate) server: &'a dyn Fn(ServerAddr) -> Option<usize>,
}

/// Fills a packet from the front of `servers`, with a marker before each change of AS where the
/// client asked for it. Gives the entries and how many servers they cover.
pub(crate) fn fill(
    servers: &[Listed],
    form: Option<OriginForm>,
    mut room: usize,
    costs: &Costs<'_>,
) -> (Vec<Entry>, usize) {
    let mut entries = Vec::new();
    let mut marked = None;
    for (covered, listed) in servers.iter().enumerate() {
        let Some(server_cost) = (costs.server)(listed.addr) else {
            continue;
        };
        let Origin { asn, country } = listed.origin;
        let new_as = form == Some(OriginForm::As) && marked != Some(asn);
        let cost = server_cost + if new_as { costs.marker } else { 0 };
        if cost > room {
            return (entries, covered);
        }
        room -= cost;
        if new_as {
            entries.push(Entry::Marker(asn));
            marked = Some(asn);
        }
        let country = country.filter(|_| form == Some(OriginForm::Country));
        entries.push(Entry::Server {
            addr: listed.addr,
            country,
        });
    }
    (entries, servers.len())
}

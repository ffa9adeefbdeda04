//! What can be said of a server by yes or no, and where it is: few enough to be part of the order in
//! which servers lie, so that a question for them meets no others.

use nearside_wire::steam::Region;

use crate::region::region_of;
use crate::server::{Server, Standing};

/// A yes-or-no fact that lists are filtered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trait {
    Password,
    Dedicated,
    Secure,
    Linux,
    Proxy,
    /// Nobody plays.
    Empty,
    Full,
    /// Only other masters list it.
    Followed,
    Ipv6,
}

/// All traits of a server: a bit for each, and above them its region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Traits(u16);

const REGION_SHIFT: u16 = 9;

impl Trait {
    const ALL: [Self; 9] = [
        Self::Password,
        Self::Dedicated,
        Self::Secure,
        Self::Linux,
        Self::Proxy,
        Self::Empty,
        Self::Full,
        Self::Followed,
        Self::Ipv6,
    ];

    /// Whether a server has it.
    pub(crate) fn is_of(self, server: &Server) -> bool {
        let facts = &server.facts;
        match self {
            Self::Password => facts.flags.password,
            Self::Dedicated => facts.flags.dedicated,
            Self::Secure => facts.flags.secure,
            Self::Linux => facts.flags.linux,
            Self::Proxy => facts.flags.proxy,
            Self::Empty => facts.is_empty(),
            Self::Full => facts.is_full(),
            Self::Followed => server.standing == Standing::Followed,
            Self::Ipv6 => server.addr.ip().is_ipv6(),
        }
    }
}

impl Traits {
    pub(crate) const FIRST: Self = Self(0);

    pub(crate) fn of(server: &Server) -> Self {
        let bits = Trait::ALL.into_iter().filter(|one| one.is_of(server));
        let bits = bits.fold(0, |bits, one| bits | 1 << one as u16);
        Self(bits | code(region_of(server.origin.country)) << REGION_SHIFT)
    }

    pub(crate) const fn has(self, one: Trait) -> bool {
        self.0 >> one as u16 & 1 == 1
    }

    /// Whether servers with these traits are in a region.
    pub(crate) fn are_in(self, region: Region) -> bool {
        match region {
            Region::All => true,
            Region::Other(_) => false,
            // East and west are one.
            Region::UsWest => self.are_in(Region::UsEast),
            _ => self.0 >> REGION_SHIFT == code(Some(region)),
        }
    }

    /// Those that come next in the order.
    pub(crate) fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }
}

/// A region in four bits; 0 if it is not known.
fn code(region: Option<Region>) -> u16 {
    region.map_or(0, |region| 1 + u16::from(region.byte() & 7))
}

//! The look-up table for addresses of both families.

use std::net::IpAddr;

use nearside_types::{Origin, Prefix};

use crate::rows::Rows;

/// Every address of both families with its origin, in sorted ranges. Immutable; less than 9 bytes for
/// a range of IPv4 addresses, 13 for one of IPv6.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeTable {
    pub(crate) v4: Rows<u32>,
    pub(crate) v6: Rows<u128>,
}

/// What a table knows of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The AS and the country; at least one is there.
    pub origin: Origin,
    /// The largest network around the address for which the answer is the same.
    pub prefix: Prefix,
}

impl RangeTable {
    /// What is known of `ip`. IPv4 addresses dressed up as IPv6 (`::ffff:a.b.c.d`) count as what
    /// they carry.
    pub fn lookup(&self, ip: IpAddr) -> Option<Found> {
        match ip.to_canonical() {
            IpAddr::V4(ip) => self.v4.lookup(ip.to_bits()),
            IpAddr::V6(ip) => self.v6.lookup(ip.to_bits()),
        }
    }

    /// The AS and the country of `ip` alone, which is faster; nothing where nothing is known.
    pub fn origin(&self, ip: IpAddr) -> Origin {
        match ip.to_canonical() {
            IpAddr::V4(ip) => self.v4.origin(ip.to_bits()),
            IpAddr::V6(ip) => self.v6.origin(ip.to_bits()),
        }
    }

    /// One table of two: what this one knows, and from `below` what it leaves open, for each half.
    #[must_use]
    pub fn over(&self, below: &Self) -> Self {
        Self {
            v4: self.v4.over(&below.v4),
            v6: self.v6.over(&below.v6),
        }
    }

    /// All ranges about which something is known: first and last address, and what is known.
    pub fn ranges(&self) -> impl Iterator<Item = (IpAddr, IpAddr, Origin)> + '_ {
        self.v4.ranges().chain(self.v6.ranges())
    }

    /// Ranges of IPv4 and of IPv6 addresses about which something is known.
    pub fn known_ranges(&self) -> (usize, usize) {
        (self.v4.known_ranges(), self.v6.known_ranges())
    }

    /// Bytes of memory the ranges take.
    pub fn heap_bytes(&self) -> usize {
        self.v4.heap_bytes() + self.v6.heap_bytes()
    }
}

impl Default for RangeTable {
    /// A table that knows nothing.
    fn default() -> Self {
        Self {
            v4: Rows::unknown(),
            v6: Rows::unknown(),
        }
    }
}

//! Network layer reachability information: prefixes as a length in bits and just enough octets
//! (RFC 4271 section 4.3, RFC 4760 section 5).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nearside_types::Prefix;

use super::cursor::Cursor;

/// An address family whose unicast routes are collected; the numbers are RFC 4760's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// IPv4 unicast: AFI 1, SAFI 1.
    V4,
    /// IPv6 unicast: AFI 2, SAFI 1.
    V6,
}

/// Unicast forwarding, the one subsequent address family we ask for.
pub(super) const SAFI_UNICAST: u8 = 1;

impl Family {
    /// Both families, IPv4 first.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// The family of a pair of numbers on the wire, if it is one of ours.
    pub(super) fn from_wire(afi: u16, safi: u8) -> Option<Self> {
        match (afi, safi) {
            (1, SAFI_UNICAST) => Some(Self::V4),
            (2, SAFI_UNICAST) => Some(Self::V6),
            _ => None,
        }
    }

    pub(super) fn afi(self) -> u16 {
        match self {
            Self::V4 => 1,
            Self::V6 => 2,
        }
    }

    /// The family a prefix belongs to.
    pub fn of(prefix: Prefix) -> Self {
        if prefix.network().is_ipv4() {
            Self::V4
        } else {
            Self::V6
        }
    }
}

/// A length beyond the family's, or one that promises more octets than there are. Nothing after it
/// can be trusted, since nobody knows where the next prefix begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BrokenPrefix;

/// Appends every prefix in `bytes` to `prefixes`.
pub(super) fn read_prefixes(
    bytes: &[u8],
    family: Family,
    prefixes: &mut Vec<Prefix>,
) -> Result<(), BrokenPrefix> {
    let mut cursor = Cursor::new(bytes);
    while !cursor.is_empty() {
        prefixes.extend(read_prefix(&mut cursor, family)?);
    }
    Ok(())
}

/// One prefix; `None` for IPv6 routes inside `::ffff:0:0/96`, which name IPv4 addresses that no
/// router may carry this way (RFC 4291 section 2.5.5.2 keeps them inside hosts).
pub(crate) fn read_prefix(
    cursor: &mut Cursor<'_>,
    family: Family,
) -> Result<Option<Prefix>, BrokenPrefix> {
    let length = cursor.u8().ok_or(BrokenPrefix)?;
    let octets = cursor
        .take(usize::from(length.div_ceil(8)))
        .ok_or(BrokenPrefix)?;
    let network = match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::from(padded(octets)?)),
        Family::V6 => IpAddr::V6(Ipv6Addr::from(padded(octets)?)),
    };
    if network.to_canonical() != network {
        return Ok(None);
    }
    Ok(Some(Prefix::new(network, length)))
}

/// The octets with zeros behind them. A length beyond the family's shows here: it needs more octets
/// than an address has.
fn padded<const N: usize>(octets: &[u8]) -> Result<[u8; N], BrokenPrefix> {
    let mut address = [0; N];
    let head = address.get_mut(..octets.len()).ok_or(BrokenPrefix)?;
    head.copy_from_slice(octets);
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], family: Family) -> Result<Vec<String>, BrokenPrefix> {
        let mut prefixes = Vec::new();
        read_prefixes(bytes, family, &mut prefixes)?;
        Ok(prefixes.iter().map(Prefix::to_string).collect())
    }

    #[test]
    fn prefixes_take_only_the_octets_they_need() {
        let bytes = [24, 192, 0, 2, 0, 9, 10, 0xFF, 32, 192, 0, 2, 1];
        let found = read(&bytes, Family::V4).unwrap();
        assert_eq!(
            found,
            ["192.0.2.0/24", "0.0.0.0/0", "10.128.0.0/9", "192.0.2.1/32"]
        );
        let v6 = [32, 0x20, 0x01, 0x0D, 0xB8, 0];
        assert_eq!(read(&v6, Family::V6).unwrap(), ["2001:db8::/32", "::/0"]);
    }

    #[test]
    fn impossible_lengths_are_refused() {
        assert_eq!(read(&[33, 1, 2, 3, 4, 5], Family::V4), Err(BrokenPrefix));
        assert_eq!(read(&[24, 1, 2], Family::V4), Err(BrokenPrefix));
        let mut too_long = vec![129];
        too_long.extend([0x20; 17]);
        assert_eq!(read(&too_long, Family::V6), Err(BrokenPrefix));
    }

    #[test]
    fn mapped_addresses_are_not_routes() {
        let mut mapped = vec![120];
        mapped.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 192, 0, 2]);
        assert_eq!(read(&mapped, Family::V6), Ok(vec![]));
    }
}

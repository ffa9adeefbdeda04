use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// The address a game server answers on: never port 0, and never an IPv4 address dressed up as
/// IPv6 (`::ffff:a.b.c.d` becomes `a.b.c.d`), so that equal servers compare equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerAddr {
    ip: IpAddr,
    port: u16,
}

impl ServerAddr {
    /// `None` when the port is 0, which no server can answer on.
    pub fn new(ip: IpAddr, port: u16) -> Option<Self> {
        (port != 0).then_some(Self {
            ip: ip.to_canonical(),
            port,
        })
    }

    /// The same as [`ServerAddr::new`] for a socket address; scope and flow label are dropped.
    pub fn from_socket(addr: SocketAddr) -> Option<Self> {
        Self::new(addr.ip(), addr.port())
    }

    /// The IP address, in canonical form.
    pub const fn ip(self) -> IpAddr {
        self.ip
    }

    /// The port, never 0.
    pub const fn port(self) -> u16 {
        self.port
    }

    /// The address in the form sockets take.
    pub const fn socket(self) -> SocketAddr {
        SocketAddr::new(self.ip, self.port)
    }

    /// The network this address is in, cut at the length `lengths` gives for its family.
    pub fn prefix(self, lengths: PrefixLengths) -> Prefix {
        match self.ip {
            IpAddr::V4(_) => Prefix::new(self.ip, lengths.v4),
            IpAddr::V6(_) => Prefix::new(self.ip, lengths.v6),
        }
    }

    /// What kind of address this is: only [`AddrClass::Public`] can be a game server on the open
    /// Internet.
    pub fn class(self) -> AddrClass {
        AddrClass::of(self.ip)
    }
}

impl fmt::Display for ServerAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.socket().fmt(f)
    }
}

impl fmt::Debug for ServerAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Why a text is not a server address.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseAddrError {
    /// Not an IP address with a port.
    #[error("`{0}` is not an address with a port (write 192.0.2.1:27015 or [2001:db8::1]:27015)")]
    Malformed(String),
    /// Port 0 is not a port a server can answer on.
    #[error("`{0}` has port 0, which no server can answer on")]
    PortZero(String),
}

impl FromStr for ServerAddr {
    type Err = ParseAddrError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let addr: SocketAddr = text
            .parse()
            .map_err(|_| ParseAddrError::Malformed(text.to_owned()))?;
        Self::from_socket(addr).ok_or_else(|| ParseAddrError::PortZero(text.to_owned()))
    }
}

impl Serialize for ServerAddr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ServerAddr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// How long a prefix is in each address family: the papers say "/16" and mean IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PrefixLengths {
    /// Bits of an IPv4 prefix, at most 32.
    pub v4: u8,
    /// Bits of an IPv6 prefix, at most 128.
    pub v6: u8,
}

/// A network: an address with all bits after `len` cleared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    network: IpAddr,
    len: u8,
}

impl Prefix {
    /// The network of `ip` with `len` bits; a length beyond the family's is cut to it.
    pub fn new(ip: IpAddr, len: u8) -> Self {
        match ip.to_canonical() {
            IpAddr::V4(v4) => {
                let len = len.min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
                Self {
                    network: IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask)),
                    len,
                }
            }
            IpAddr::V6(v6) => {
                let len = len.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
                Self {
                    network: IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask)),
                    len,
                }
            }
        }
    }

    /// The first address of the network.
    pub const fn network(self) -> IpAddr {
        self.network
    }

    /// The number of fixed bits.
    pub const fn length(self) -> u8 {
        self.len
    }

    /// Whether `ip` lies in this network.
    pub fn contains(self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        ip.is_ipv4() == self.network.is_ipv4() && Self::new(ip, self.len) == self
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.len)
    }
}

/// Why a text is not a prefix.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a prefix (write 192.0.2.0/24 or 2001:db8::/32)")]
pub struct ParsePrefixError(String);

impl FromStr for Prefix {
    type Err = ParsePrefixError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (ip, length) = text.split_once('/')?;
            let (ip, length): (IpAddr, u8) = (ip.parse().ok()?, length.parse().ok()?);
            let longest = if ip.is_ipv4() { 32 } else { 128 };
            (length <= longest).then(|| Self::new(ip, length))
        };
        parse().ok_or_else(|| ParsePrefixError(text.to_owned()))
    }
}

impl Serialize for Prefix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Prefix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What kind of address an IP address is, as far as probing it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddrClass {
    /// Routed on the open Internet, as far as the registries' reservations tell.
    Public,
    /// This machine (127.0.0.0/8, ::1).
    Loopback,
    /// A private or link-local network; 169.254/16 is also how Steam writes relayed servers, which
    /// nobody can probe directly.
    Local,
    /// Never a host: 0/8, multicast, documentation and reserved ranges (RFC 6890 and its tables).
    Unusable,
}

impl AddrClass {
    /// Classifies an address; IPv4 inside IPv6 counts as the IPv4 address it carries.
    pub fn of(ip: IpAddr) -> Self {
        match ip.to_canonical() {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => Self::of_v6(v6),
        }
    }

    fn of_v4(ip: Ipv4Addr) -> Self {
        let [a, b, c, _] = ip.octets();
        match (a, b, c) {
            (127, ..) => Self::Loopback,
            (10, ..) | (172, 16..=31, _) | (192, 168, _) | (169, 254, _) | (100, 64..=127, _) => {
                Self::Local
            }
            (0, ..) | (224..=255, ..) => Self::Unusable,
            (192, 0, 0 | 2) | (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => Self::Unusable,
            _ => Self::Public,
        }
    }

    fn of_v6(ip: Ipv6Addr) -> Self {
        let [first, second, ..] = ip.segments();
        match first {
            _ if ip.is_loopback() => Self::Loopback,
            0xfe80..=0xfebf | 0xfc00..=0xfdff => Self::Local,
            0x2001 if second == 0x0db8 => Self::Unusable,
            0x2000..=0x3fff => Self::Public,
            _ => Self::Unusable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mapped_addresses_are_unmapped_so_that_duplicates_meet() {
        let mapped: ServerAddr = "[::ffff:192.0.2.7]:27015".parse().unwrap();
        let plain: ServerAddr = "192.0.2.7:27015".parse().unwrap();
        assert_eq!(mapped, plain);
    }

    #[test]
    fn port_zero_and_nonsense_are_refused_with_the_text() {
        assert!(matches!(
            "192.0.2.7:0".parse::<ServerAddr>(),
            Err(ParseAddrError::PortZero(_))
        ));
        let message = "example".parse::<ServerAddr>().unwrap_err().to_string();
        assert!(message.contains("`example`"), "{message}");
    }

    #[test]
    fn prefixes_cut_at_any_length() {
        let ip: IpAddr = "203.0.113.77".parse().unwrap();
        assert_eq!(Prefix::new(ip, 16).to_string(), "203.0.0.0/16");
        assert_eq!(Prefix::new(ip, 0).to_string(), "0.0.0.0/0");
        assert_eq!(Prefix::new(ip, 99).to_string(), "203.0.113.77/32");
        let v6: IpAddr = "2001:db8:1234::5".parse().unwrap();
        assert_eq!(Prefix::new(v6, 32).to_string(), "2001:db8::/32");
        assert!(!Prefix::new(ip, 0).contains(v6));
    }

    #[test]
    fn classes_follow_the_registries() {
        let class = |text: &str| AddrClass::of(text.parse().unwrap());
        for public in ["8.8.8.8", "172.32.0.1", "2a00::1", "100.63.0.1"] {
            assert_eq!(class(public), AddrClass::Public, "{public}");
        }
        for local in [
            "10.1.2.3",
            "192.168.0.1",
            "169.254.1.1",
            "100.64.0.1",
            "fe80::1",
            "fd00::1",
        ] {
            assert_eq!(class(local), AddrClass::Local, "{local}");
        }
        for unusable in [
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "2001:db8::1",
            "ff02::1",
            "::",
        ] {
            assert_eq!(class(unusable), AddrClass::Unusable, "{unusable}");
        }
        for loopback in ["127.9.8.7", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(class(loopback), AddrClass::Loopback, "{loopback}");
        }
    }

    proptest! {
        #[test]
        fn a_prefix_contains_every_address_it_was_cut_from(bits: u128, v4: bool, len in 0u8..=128) {
            let ip = if v4 {
                IpAddr::V4(Ipv4Addr::from_bits(bits as u32))
            } else {
                IpAddr::V6(Ipv6Addr::from_bits(bits))
            };
            prop_assert!(Prefix::new(ip, len).contains(ip));
        }

        #[test]
        fn addresses_read_back_from_their_text(bits: u32, port in 1u16..) {
            let addr = ServerAddr::new(IpAddr::V4(Ipv4Addr::from_bits(bits)), port).unwrap();
            prop_assert_eq!(addr.to_string().parse::<ServerAddr>(), Ok(addr));
        }
    }
}

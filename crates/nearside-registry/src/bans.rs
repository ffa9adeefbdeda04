//! Who may not register: addresses, networks and whole ASes, each with the operator's reason.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use nearside_types::{Asn, Prefix};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a ban is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BanTarget {
    /// A network; a single address is one of full length.
    Network(Prefix),
    /// All networks of an origin AS.
    As(Asn),
}

/// One ban.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ban {
    /// Whom it concerns.
    pub target: BanTarget,
    /// Why, in the operator's words; told to the game server's operator.
    pub reason: String,
}

/// Why a text names nobody that could be banned.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BanParseError {
    /// It is none of the things that can be banned.
    #[error(
        "`{0}` is no address, network or AS (write 192.0.2.1, 192.0.2.0/24, 2001:db8::/48 or AS64496)"
    )]
    Nobody(String),
    /// Bans are for all servers of an address.
    #[error("`{text}` has a port, and a ban is for all ports of an address: write {ip}")]
    Port {
        /// As it was written.
        text: String,
        /// The address without the port.
        ip: IpAddr,
    },
}

impl FromStr for BanTarget {
    type Err = BanParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || BanParseError::Nobody(text.to_owned());
        if let Ok(addr) = text.parse::<SocketAddr>() {
            let (text, ip) = (text.to_owned(), addr.ip());
            return Err(BanParseError::Port { text, ip });
        }
        if text.to_ascii_uppercase().starts_with("AS") {
            return text.parse().map(Self::As).map_err(|_| bad());
        }
        let (ip, length) = match text.split_once('/') {
            Some((ip, length)) => (ip, Some(length.parse::<u8>().map_err(|_| bad())?)),
            None => (text, None),
        };
        let ip: IpAddr = ip.parse().map_err(|_| bad())?;
        let whole = if ip.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(whole);
        if length > whole {
            return Err(bad());
        }
        Ok(Self::Network(Prefix::new(ip, length)))
    }
}

impl fmt::Display for BanTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(prefix) => prefix.fmt(f),
            Self::As(asn) => asn.fmt(f),
        }
    }
}

impl Serialize for BanTarget {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BanTarget {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// All bans. A look-up costs one step for each prefix length in use, however many bans there are.
#[derive(Debug, Clone, Default)]
pub struct Bans {
    reasons: HashMap<BanTarget, String>,
    /// The lengths that occur, so that others need not be tried.
    lengths: Vec<u8>,
}

impl Bans {
    /// Takes these bans and no others.
    pub fn new(bans: impl IntoIterator<Item = Ban>) -> Self {
        let mut all = Self::default();
        for ban in bans {
            if let BanTarget::Network(prefix) = ban.target {
                all.lengths.push(prefix.length());
            }
            all.reasons.insert(ban.target, ban.reason);
        }
        all.lengths.sort_unstable();
        all.lengths.dedup();
        all
    }

    /// Why an address is banned, if it is; the narrowest ban speaks.
    pub fn reason(&self, ip: IpAddr, asn: Option<Asn>) -> Option<&str> {
        let networks = self.lengths.iter().rev();
        let networks = networks.map(|length| BanTarget::Network(Prefix::new(ip, *length)));
        let mut targets = networks.chain(asn.map(BanTarget::As));
        targets.find_map(|target| self.reasons.get(&target).map(String::as_str))
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (BanTarget, &str)> {
        let reasons = self.reasons.iter();
        reasons.map(|(target, reason)| (*target, reason.as_str()))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.reasons.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bans(list: &[(&str, &str)]) -> Bans {
        Bans::new(list.iter().map(|(target, reason)| Ban {
            target: target.parse().unwrap(),
            reason: (*reason).to_owned(),
        }))
    }

    #[test]
    fn the_narrowest_ban_tells_its_reason() {
        let bans = bans(&[
            ("192.0.2.0/24", "spam"),
            ("192.0.2.7", "fake players"),
            ("2001:db8::/32", "flood"),
            ("AS64496", "bullet-proof"),
        ]);
        let reason = |ip: &str, asn| bans.reason(ip.parse().unwrap(), asn);
        assert_eq!(reason("192.0.2.7", None), Some("fake players"));
        assert_eq!(reason("192.0.2.8", Some(Asn(64496))), Some("spam"));
        assert_eq!(
            reason("198.51.100.1", Some(Asn(64496))),
            Some("bullet-proof")
        );
        assert_eq!(reason("198.51.100.1", Some(Asn(64497))), None);
        assert_eq!(reason("2001:db8:1::1", None), Some("flood"));
        assert_eq!(reason("::ffff:192.0.2.7", None), Some("fake players"));
    }

    #[test]
    fn targets_read_back_and_nonsense_is_refused() {
        for good in ["192.0.2.0/24", "192.0.2.7/32", "2001:db8::/48", "AS64496"] {
            let target: BanTarget = good.parse().unwrap();
            assert_eq!(target.to_string(), good);
        }
        for bad in [
            "",
            "192.0.2.0/33",
            "AS",
            "ASx",
            "192.0.2/24",
            "x/8",
            "1.2.3.4/",
        ] {
            assert!(bad.parse::<BanTarget>().is_err(), "{bad}");
        }
        for (with_port, without) in [
            ("192.0.2.1:0", "192.0.2.1"),
            ("[2001:db8::1]:27960", "2001:db8::1"),
        ] {
            let message = with_port.parse::<BanTarget>().unwrap_err().to_string();
            assert!(message.ends_with(&format!("write {without}")), "{message}");
        }
    }
}

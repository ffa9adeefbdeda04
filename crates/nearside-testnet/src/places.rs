//! Which host an address leads to.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use crate::{Host, TestnetError};

/// All addresses of one prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) first: Ipv4Addr,
    pub(crate) length: u8,
}

impl Network {
    fn has(self, address: IpAddr) -> bool {
        let IpAddr::V4(address) = address else {
            return false;
        };
        let differs = self.first.to_bits() ^ address.to_bits();
        differs.leading_zeros() >= self.length.into()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.length)
    }
}

/// Hosts by address; those with a network are asked last.
#[derive(Debug, Default)]
pub(crate) struct Places {
    addresses: HashMap<IpAddr, usize>,
    networks: Vec<(Network, usize)>,
}

impl Places {
    pub(crate) fn of(hosts: &[Host]) -> Result<Self, TestnetError> {
        let mut places = Self::default();
        for (index, host) in hosts.iter().enumerate() {
            let network = host.network.map(|network| (network, index));
            places.networks.extend(network);
            for address in host.addresses() {
                if places.addresses.insert(address, index).is_some() {
                    return Err(TestnetError::Plan {
                        host: host.name().to_owned(),
                        fault: "another host has its address",
                    });
                }
            }
        }
        Ok(places)
    }

    pub(crate) fn find(&self, address: IpAddr) -> Option<usize> {
        let own = self.addresses.get(&address).copied();
        let networks = self.networks.iter();
        let mut around = networks.filter(|(network, _)| network.has(address));
        own.or_else(|| around.next().map(|(_, index)| *index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_of_its_prefix() {
        let network = Network {
            first: Ipv4Addr::new(30, 0, 0, 0),
            length: 8,
        };
        assert!(network.has("30.255.1.2".parse().unwrap()));
        assert!(!network.has("31.0.0.0".parse().unwrap()));
        assert!(!network.has("::1".parse().unwrap()));
        assert_eq!(network.to_string(), "30.0.0.0/8");
    }
}

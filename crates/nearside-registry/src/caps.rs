//! How many servers one address, one network and one AS may register.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;

use nearside_types::{Asn, Prefix, ServerAddr};

use crate::budget::network;
use crate::refusals::Refusal;
use crate::settings::Settings;

/// Counts of registered servers, kept up to date by the registry.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    addresses: HashMap<IpAddr, u32>,
    networks: HashMap<Prefix, u32>,
    systems: HashMap<Asn, u32>,
}

impl Counts {
    pub(crate) fn add(&mut self, addr: ServerAddr, asn: Option<Asn>) {
        *self.addresses.entry(addr.ip()).or_default() += 1;
        *self.networks.entry(network(addr.ip())).or_default() += 1;
        if let Some(asn) = asn {
            *self.systems.entry(asn).or_default() += 1;
        }
    }

    pub(crate) fn remove(&mut self, addr: ServerAddr, asn: Option<Asn>) {
        take_one(&mut self.addresses, &addr.ip());
        take_one(&mut self.networks, &network(addr.ip()));
        if let Some(asn) = asn {
            take_one(&mut self.systems, &asn);
        }
    }

    /// Whether one more server may register there, and which cap forbids it.
    pub(crate) fn room_for(
        &self,
        settings: &Settings,
        addr: ServerAddr,
        asn: Option<Asn>,
    ) -> Result<(), Refusal> {
        if settings.is_uncapped(addr.ip(), asn) {
            return Ok(());
        }
        let count = |known: Option<&u32>| known.copied().unwrap_or(0);
        if count(self.addresses.get(&addr.ip())) >= settings.servers_per_address {
            return Err(Refusal::AddressFull(settings.servers_per_address));
        }
        if count(self.networks.get(&network(addr.ip()))) >= settings.servers_per_network {
            return Err(Refusal::NetworkFull(settings.servers_per_network));
        }
        let in_system = asn.map_or(0, |asn| count(self.systems.get(&asn)));
        if settings.servers_per_as.is_some_and(|cap| in_system >= cap) {
            return Err(Refusal::AsFull(settings.servers_per_as.unwrap_or_default()));
        }
        Ok(())
    }
}

fn take_one<K: Eq + Hash>(counts: &mut HashMap<K, u32>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

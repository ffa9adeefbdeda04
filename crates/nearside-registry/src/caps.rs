//! How many servers one address, one network and one AS may register.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nearside_types::{Asn, ServerAddr};

use crate::budget::network;
use crate::refusals::Refusal;
use crate::server::Standing;
use crate::settings::Settings;
use crate::shelf::Shelf;

/// Counts of registered servers, kept up to date by the registry. Those of one address are counted on
/// the shelf, which finds them.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// By the first address of each /24 and /48.
    networks: PerAddress,
    systems: HashMap<Asn, u32>,
}

impl Counts {
    pub(crate) fn add(&mut self, addr: ServerAddr, asn: Option<Asn>) {
        self.networks.add(network(addr.ip()).network());
        if let Some(asn) = asn {
            *self.systems.entry(asn).or_default() += 1;
        }
    }

    pub(crate) fn remove(&mut self, addr: ServerAddr, asn: Option<Asn>) {
        self.networks.remove(network(addr.ip()).network());
        if let Some(asn) = asn {
            take_one(&mut self.systems, &asn);
        }
    }

    /// Whether one more server may register there, and which cap forbids it.
    pub(crate) fn room_for(
        &self,
        settings: &Settings,
        shelf: &Shelf,
        addr: ServerAddr,
        asn: Option<Asn>,
    ) -> Result<(), Refusal> {
        if settings.is_uncapped(addr.ip(), asn) {
            return Ok(());
        }
        let counts = |standing| standing != Standing::Followed;
        if !has_place(settings, shelf, addr.ip(), counts) {
            return Err(Refusal::AddressFull(settings.servers_per_address));
        }
        let network = network(addr.ip()).network();
        if self.networks.count(network) >= settings.servers_per_network {
            return Err(Refusal::NetworkFull(settings.servers_per_network));
        }
        let in_system = asn.and_then(|asn| self.systems.get(&asn).copied());
        let in_system = in_system.unwrap_or(0);
        if settings.servers_per_as.is_some_and(|cap| in_system >= cap) {
            return Err(Refusal::AsFull(settings.servers_per_as.unwrap_or_default()));
        }
        Ok(())
    }
}

/// Whether one more server there may be followed. Registered ones do not count, nor the network:
/// somebody else's list has caps of its own.
pub(crate) fn has_room_for_followed(
    settings: &Settings,
    shelf: &Shelf,
    ip: IpAddr,
    asn: Option<Asn>,
) -> bool {
    let counts = |standing| standing == Standing::Followed;
    settings.is_uncapped(ip, asn) || has_place(settings, shelf, ip, counts)
}

/// Whether an address has fewer servers of a standing than the cap.
fn has_place(
    settings: &Settings,
    shelf: &Shelf,
    ip: IpAddr,
    counts: impl Fn(Standing) -> bool,
) -> bool {
    let most = settings.servers_per_address as usize;
    let there = shelf
        .at_address(ip)
        .filter(|server| counts(server.standing));
    there.take(most).count() < most
}

/// Counts by address; the two families apart, since one table for both would take three times the
/// room for each IPv4 address.
#[derive(Debug, Default)]
struct PerAddress {
    v4: HashMap<Ipv4Addr, u32>,
    v6: HashMap<Ipv6Addr, u32>,
}

impl PerAddress {
    fn add(&mut self, ip: IpAddr) {
        match ip {
            IpAddr::V4(ip) => *self.v4.entry(ip).or_default() += 1,
            IpAddr::V6(ip) => *self.v6.entry(ip).or_default() += 1,
        }
    }

    fn remove(&mut self, ip: IpAddr) {
        match ip {
            IpAddr::V4(ip) => take_one(&mut self.v4, &ip),
            IpAddr::V6(ip) => take_one(&mut self.v6, &ip),
        }
    }

    fn count(&self, ip: IpAddr) -> u32 {
        let count = match ip {
            IpAddr::V4(ip) => self.v4.get(&ip),
            IpAddr::V6(ip) => self.v6.get(&ip),
        };
        count.copied().unwrap_or(0)
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

//! The registered servers, each found by its address, and in the order that lists and their pages
//! have: (AS, address, port).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use nearside_types::{Moment, Origin, ServerAddr};
use nearside_wire::list::{Listed, as_order};

use crate::server::{Family, Server};

/// The servers of one family and protocol number, so that a Quake 3 query meets only its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Group(Family, u32);

type Place = (u32, ServerAddr);

/// All registered servers.
#[derive(Debug, Default)]
pub struct Shelf {
    servers: HashMap<ServerAddr, Server>,
    order: BTreeMap<Group, BTreeSet<Place>>,
    /// By the second of expiry; entries of servers heard of since are stale and skipped.
    expiries: BTreeMap<u64, Vec<ServerAddr>>,
    /// Grows with every change that a list could show.
    version: u64,
}

fn group(server: &Server) -> Group {
    let protocol = match server.family {
        Family::Quake3 => server.facts.protocol,
        Family::Steam | Family::Other => 0,
    };
    Group(server.family, protocol)
}

fn place(addr: ServerAddr, origin: Origin) -> Place {
    as_order(&Listed { addr, origin })
}

fn second(moment: Moment) -> u64 {
    moment.since_epoch().as_secs()
}

impl Shelf {
    /// Puts a server in, in place of what was known of its address, which is given back.
    pub fn put(&mut self, server: Server) -> Option<Server> {
        let before = self.servers.get(&server.addr);
        let due = second(server.expires);
        if before.map(|server| second(server.expires)) != Some(due) {
            self.expiries.entry(due).or_default().push(server.addr);
        }
        let key = |server: &Server| (group(server), place(server.addr, server.origin));
        let shown_alike = before
            .is_some_and(|before| key(before) == key(&server) && before.facts == server.facts)
            && before.is_some_and(|before| before.standing == server.standing);
        if !shown_alike {
            self.version += 1;
            self.unlist(server.addr);
            let (group, place) = key(&server);
            self.order.entry(group).or_default().insert(place);
        }
        self.servers.insert(server.addr, server)
    }

    /// Takes a server out.
    pub fn remove(&mut self, addr: ServerAddr) -> Option<Server> {
        self.unlist(addr);
        let removed = self.servers.remove(&addr);
        self.version += u64::from(removed.is_some());
        removed
    }

    fn unlist(&mut self, addr: ServerAddr) {
        let Some(server) = self.servers.get(&addr) else {
            return;
        };
        let group = group(server);
        if let Some(places) = self.order.get_mut(&group) {
            places.remove(&place(addr, server.origin));
            if places.is_empty() {
                self.order.remove(&group);
            }
        }
    }

    /// Takes out those whose time is up.
    pub fn expire(&mut self, now: Moment) -> Vec<Server> {
        let later = self.expiries.split_off(&(second(now) + 1));
        let due = std::mem::replace(&mut self.expiries, later);
        let mut expired = Vec::new();
        for addr in due.into_values().flatten() {
            let is_due = |server: &Server| server.expires <= now;
            if self.servers.get(&addr).is_some_and(is_due) {
                expired.extend(self.remove(addr));
            } else if let Some(server) = self.servers.get(&addr)
                && second(server.expires) <= second(now)
            {
                // Due within this very second: look again in the next.
                self.expiries.entry(second(now) + 1).or_default().push(addr);
            }
        }
        expired
    }

    /// A server by its address.
    pub fn get(&self, addr: ServerAddr) -> Option<&Server> {
        self.servers.get(&addr)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// All servers, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Server> {
        self.servers.values()
    }

    /// The servers of a family, in list order; of one protocol if given.
    pub fn listed(&self, family: Family, protocol: Option<u32>) -> impl Iterator<Item = &Server> {
        let (first, last) = protocol.map_or((0, u32::MAX), |protocol| (protocol, protocol));
        let groups = self.order.range(Group(family, first)..=Group(family, last));
        let places = groups.flat_map(|(_, places)| places);
        places.filter_map(|(_, addr)| self.servers.get(addr))
    }

    /// Grows with every change that a list could show.
    pub const fn version(&self) -> u64 {
        self.version
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Facts, Standing, Text};
    use nearside_types::Asn;
    use std::time::Duration;

    fn at(seconds: u64) -> Moment {
        Moment::EPOCH + Duration::from_secs(seconds)
    }

    fn server(host: u8, asn: u32, expires: u64) -> Server {
        Server {
            addr: ServerAddr::new([192, 0, 2, host].into(), 27960).unwrap(),
            family: Family::Quake3,
            standing: Standing::Verified,
            origin: Origin {
                asn: Some(Asn(asn)),
                country: None,
            },
            expires: at(expires),
            facts: Facts {
                protocol: 71,
                ..Facts::of_texts(&[(Text::Map, b"oa_dm1")])
            },
        }
    }

    fn hosts(shelf: &Shelf, protocol: Option<u32>) -> Vec<u8> {
        let listed = shelf.listed(Family::Quake3, protocol);
        listed
            .map(|server| match server.addr.ip() {
                std::net::IpAddr::V4(ip) => ip.octets()[3],
                std::net::IpAddr::V6(_) => unreachable!("only IPv4 here"),
            })
            .collect()
    }

    #[test]
    fn lists_are_in_the_order_of_as_and_address_and_follow_changes() {
        let mut shelf = Shelf::default();
        for (host, asn) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
            shelf.put(server(host, asn, 100));
        }
        assert_eq!(hosts(&shelf, Some(71)), [2, 4, 3, 1]);
        shelf.put(server(4, 40, 100));
        assert_eq!(hosts(&shelf, None), [2, 3, 1, 4]);
        assert_eq!(hosts(&shelf, Some(68)), []);
        assert_eq!(shelf.listed(Family::Steam, None).count(), 0);
    }

    #[test]
    fn a_heartbeat_without_news_changes_no_list() {
        let mut shelf = Shelf::default();
        shelf.put(server(1, 10, 100));
        let version = shelf.version();
        shelf.put(server(1, 10, 200));
        assert_eq!(shelf.version(), version);
    }

    #[test]
    fn servers_expire_when_their_time_is_up_and_not_before() {
        let mut shelf = Shelf::default();
        shelf.put(server(1, 10, 100));
        shelf.put(server(2, 10, 100));
        shelf.put(server(2, 10, 150));
        assert!(shelf.expire(at(99)).is_empty());
        let expired = shelf.expire(at(100));
        assert_eq!(expired.len(), 1);
        assert_eq!(hosts(&shelf, None), [2]);
        assert_eq!(shelf.expire(at(500)).len(), 1);
        assert!(shelf.is_empty() && shelf.expiries.is_empty());
    }
}

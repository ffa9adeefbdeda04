//! The registered servers, each found by its address, and in the order that lists and their pages
//! have: (AS, address, port).

use std::collections::{BTreeMap, btree_map};
use std::hash::Hasher;

use nearside_types::{Moment, ServerAddr};
use nearside_wire::list::{Listed, as_order};
use siphasher::sip::SipHasher13;

use crate::cookie::Secret;
use crate::server::{Family, Server, Standing, Text};
use crate::slots::{Slot, SlotId, Slots};
use crate::wheel::Wheel;

/// Servers that are asked for together, so that a query meets only its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Group {
    family: Family,
    /// Of the Quake 3 family, where clients always name it; 0 for Steam.
    protocol: u32,
    game: GameHash,
}

/// A game by the hash of its name, whatever the case. Two games that share one only cost time: what
/// is listed is compared by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct GameHash(u32);

impl GameHash {
    fn of(name: &[u8]) -> Self {
        let mut hasher = SipHasher13::new();
        name.iter()
            .for_each(|byte| hasher.write_u8(byte.to_ascii_lowercase()));
        Self(hasher.finish() as u32)
    }
}

/// Which groups a query is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Groups {
    first: Group,
    last: Group,
}

impl Groups {
    /// All of a family; of one protocol or game if given. A game without a protocol is sought only
    /// where protocols do not matter, with Steam.
    pub(crate) fn of(family: Family, protocol: Option<u32>, game: Option<&[u8]>) -> Self {
        let protocols = match (family, protocol) {
            (Family::Steam | Family::Other, _) => (0, 0),
            (Family::Quake3, None) => (0, u32::MAX),
            (Family::Quake3, Some(protocol)) => (protocol, protocol),
        };
        let game = game.filter(|_| protocols.0 == protocols.1);
        let games = match game.map(GameHash::of) {
            Some(game) => (game, game),
            None => (GameHash(0), GameHash(u32::MAX)),
        };
        let group = |protocol, game| Group {
            family,
            protocol,
            game,
        };
        Self {
            first: group(protocols.0, games.0),
            last: group(protocols.1, games.1),
        }
    }
}

type Place = (u32, ServerAddr);

/// All registered servers.
#[derive(Debug)]
pub struct Shelf {
    slots: Slots,
    order: BTreeMap<Group, BTreeMap<Place, SlotId>>,
    wheel: Wheel,
    /// Grows with every change that a list could show.
    version: u64,
}

fn group(server: &Server) -> Group {
    let protocol = match server.family {
        Family::Quake3 => server.facts.protocol,
        Family::Steam | Family::Other => 0,
    };
    Group {
        family: server.family,
        protocol,
        game: GameHash::of(server.facts.text(Text::Game)),
    }
}

fn place(server: &Server) -> Place {
    as_order(&Listed {
        addr: server.addr,
        origin: server.origin,
    })
}

/// Whole seconds since the epoch, good until 2106.
fn second(moment: Moment) -> u32 {
    u32::try_from(moment.since_epoch().as_secs()).unwrap_or(u32::MAX)
}

impl Shelf {
    /// An empty shelf. The key must not be known to those who register.
    pub fn new(key: Secret) -> Self {
        Self {
            slots: Slots::new(key),
            order: BTreeMap::new(),
            wheel: Wheel::default(),
            version: 0,
        }
    }

    /// Puts a server in, in place of what was known of its address, which is given back. Plan it,
    /// or it stays for ever.
    pub fn put(&mut self, server: Server) -> Option<Server> {
        let Some(id) = self.slots.find(server.addr) else {
            let (group, place) = (group(&server), place(&server));
            self.version += 1;
            let id = self.slots.insert(server);
            self.order.entry(group).or_default().insert(place, id);
            return None;
        };
        let before = &self.slots.get(id)?.server;
        let was = (group(before), place(before));
        let is = (group(&server), place(&server));
        let shown_alike = before.facts == server.facts && before.standing == server.standing;
        self.version += u64::from(was != is || !shown_alike);
        if was != is {
            self.unlist(was);
            self.order.entry(is.0).or_default().insert(is.1, id);
        }
        let slot = self.slots.get_mut(id)?;
        Some(std::mem::replace(&mut slot.server, server))
    }

    /// A registered server was heard of, and has nothing new to say. Gives what is known of it if
    /// the store should be told, which is when its expiry there is more than `slack` seconds old.
    pub(crate) fn renew(&mut self, id: SlotId, expires: Moment, slack: u32) -> Option<&Server> {
        let slot = self.slots.get_mut(id)?;
        slot.server.expires = expires;
        if slot.server.standing != Standing::Verified {
            slot.server.standing = Standing::Verified;
            self.version += 1;
        }
        if second(expires) <= slot.told.saturating_add(slack) {
            return None;
        }
        slot.told = second(expires);
        Some(&slot.server)
    }

    /// The store knows this server as it is now.
    pub(crate) fn is_told(&mut self, addr: ServerAddr) {
        let slot = self.slots.find(addr).and_then(|id| self.slots.get_mut(id));
        if let Some(slot) = slot {
            slot.told = second(slot.server.expires);
        }
    }

    /// Takes a server out.
    pub fn remove(&mut self, addr: ServerAddr) -> Option<Server> {
        let id = self.slots.find(addr)?;
        let server = self.slots.remove(id)?;
        self.unlist((group(&server), place(&server)));
        self.version += 1;
        Some(server)
    }

    fn unlist(&mut self, (group, place): (Group, Place)) {
        if let btree_map::Entry::Occupied(mut places) = self.order.entry(group) {
            places.get_mut().remove(&place);
            if places.get().is_empty() {
                places.remove();
            }
        }
    }

    /// Plans to look at a server in the second that begins at `at` or later, and at no other time.
    pub(crate) fn plan(&mut self, addr: ServerAddr, at: Moment) {
        let Some(id) = self.slots.find(addr) else {
            return;
        };
        if let Some(slot) = self.slots.get_mut(id) {
            let begun = at.since_epoch().subsec_nanos() > 0;
            slot.planned = second(at).saturating_add(u32::from(begun));
            self.wheel.plan(slot.planned, id);
        }
    }

    /// When a server is looked at again, in seconds.
    pub(crate) fn planned(&self, addr: ServerAddr) -> Option<Moment> {
        let slot = self.slots.get(self.slots.find(addr)?)?;
        let seconds = std::time::Duration::from_secs(slot.planned.into());
        Some(Moment::EPOCH + seconds)
    }

    /// The next server whose time to be looked at has come; plan it again.
    pub(crate) fn due(&mut self, now: Moment) -> Option<&Server> {
        let id = loop {
            let (second, id) = self.wheel.next(second(now))?;
            let is_meant = |slot: &Slot| slot.planned == second;
            if self.slots.get(id).is_some_and(is_meant) {
                break id;
            }
        };
        self.slots.get(id).map(|slot| &slot.server)
    }

    /// A server by its address.
    pub fn get(&self, addr: ServerAddr) -> Option<&Server> {
        self.slots.find(addr).and_then(|id| self.at(id))
    }

    pub(crate) fn find(&self, addr: ServerAddr) -> Option<SlotId> {
        self.slots.find(addr)
    }

    pub(crate) fn at(&self, id: SlotId) -> Option<&Server> {
        self.slots.get(id).map(|slot| &slot.server)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All servers, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Server> {
        self.slots.iter()
    }

    /// The servers of some groups, each group in list order.
    pub(crate) fn listed(&self, groups: Groups) -> impl Iterator<Item = &Server> {
        let groups = self.order.range(groups.first..=groups.last);
        let ids = groups.flat_map(|(_, places)| places.values());
        ids.filter_map(|id| self.at(*id))
    }

    /// How many servers there are in some groups.
    pub(crate) fn count(&self, groups: Groups) -> usize {
        let groups = self.order.range(groups.first..=groups.last);
        groups.map(|(_, places)| places.len()).sum()
    }

    /// Grows with every change that a list could show.
    pub const fn version(&self) -> u64 {
        self.version
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Facts;
    use nearside_types::{Asn, Origin};
    use std::time::Duration;

    fn at(seconds: u64) -> Moment {
        Moment::EPOCH + Duration::from_secs(seconds)
    }

    fn shelf() -> Shelf {
        Shelf::new(Secret([1; 16]))
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
                ..Facts::of_texts(&[(Text::Game, b"Quake3Arena")])
            },
        }
    }

    fn hosts(shelf: &Shelf, protocol: Option<u32>) -> Vec<u8> {
        let listed = shelf.listed(Groups::of(Family::Quake3, protocol, None));
        listed
            .map(|server| match server.addr.ip() {
                std::net::IpAddr::V4(ip) => ip.octets()[3],
                std::net::IpAddr::V6(_) => unreachable!("only IPv4 here"),
            })
            .collect()
    }

    #[test]
    fn lists_are_in_the_order_of_as_and_address_and_follow_changes() {
        let mut shelf = shelf();
        for (host, asn) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
            shelf.put(server(host, asn, 100));
        }
        assert_eq!(hosts(&shelf, Some(71)), [2, 4, 3, 1]);
        shelf.put(server(4, 40, 100));
        assert_eq!(hosts(&shelf, None), [2, 3, 1, 4]);
        assert_eq!(hosts(&shelf, Some(68)), []);
        let count = |family, game: Option<&[u8]>| shelf.count(Groups::of(family, Some(71), game));
        assert_eq!(count(Family::Steam, None), 0);
        assert_eq!(count(Family::Quake3, Some(b"QUAKE3Arena")), 4);
        assert_eq!(count(Family::Quake3, Some(b"xonotic")), 0);
    }

    #[test]
    fn a_heartbeat_without_news_changes_no_list() {
        let mut shelf = shelf();
        shelf.put(server(1, 10, 100));
        let version = shelf.version();
        shelf.put(server(1, 10, 200));
        assert_eq!(shelf.version(), version);
    }

    #[test]
    fn a_server_is_due_when_it_was_planned_last_and_not_when_it_has_gone() {
        let mut shelf = shelf();
        let addr = |host| server(host, 10, 100).addr;
        let due = |shelf: &mut Shelf, now| shelf.due(at(now)).map(|server| server.addr);
        for host in 1..=3 {
            shelf.put(server(host, 10, 100));
            shelf.plan(addr(host), at(100));
        }
        shelf.plan(addr(2), at(150));
        shelf.remove(addr(3));
        assert_eq!(due(&mut shelf, 99), None);
        assert_eq!(due(&mut shelf, 100), Some(addr(1)));
        assert_eq!(due(&mut shelf, 149), None);
        shelf.put(server(4, 10, 100));
        assert_eq!(due(&mut shelf, 500), Some(addr(2)), "not the reused slot");
        assert_eq!(due(&mut shelf, 500), None);
    }

    #[test]
    fn the_store_is_told_of_a_renewal_only_when_its_expiry_has_become_old() {
        let mut shelf = shelf();
        shelf.put(server(1, 10, 100));
        let addr = server(1, 10, 100).addr;
        shelf.is_told(addr);
        let id = shelf.find(addr).unwrap();
        assert_eq!(shelf.renew(id, at(120), 20), None);
        assert!(shelf.renew(id, at(121), 20).is_some());
        assert_eq!(shelf.renew(id, at(141), 20), None);
        assert_eq!(shelf.get(addr).unwrap().expires, at(141));
    }
}

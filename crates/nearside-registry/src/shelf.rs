//! The registered servers, each found by its address, and in the order that lists and their pages
//! have: (AS, address, port).

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;

use nearside_types::{Moment, ServerAddr};
use nearside_wire::list::{Listed, as_order};
use siphasher::sip::SipHasher13;

use crate::cookie::Secret;
use crate::server::{Family, Server, Standing, Text};
use crate::slots::{Slot, SlotId, Slots};
use crate::told::SocketId;
use crate::wheel::Wheel;

/// Servers that are asked for together, so that a query meets only its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Group {
    family: Family,
    /// The protocol of the Quake 3 family, where clients always name it; the app id of Steam.
    number: u32,
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

/// Which groups a query is about: all of a family, or those of one number, one game or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Groups {
    family: Family,
    number: Option<u32>,
    game: Option<GameHash>,
}

impl Groups {
    /// `number` is a protocol of the Quake 3 family or an app id of Steam.
    pub(crate) fn of(family: Family, number: Option<u32>, game: Option<&[u8]>) -> Self {
        Self {
            family,
            number,
            game: game.map(GameHash::of),
        }
    }
}

type Place = (u32, ServerAddr);

/// All registered servers.
#[derive(Debug)]
pub struct Shelf {
    slots: Slots,
    order: BTreeMap<Group, BTreeMap<Place, SlotId>>,
    /// The groups in the order of games, for those who name a game and no number.
    games: BTreeSet<(Family, GameHash, u32)>,
    wheel: Wheel,
    /// Grows with every change that a list could show.
    version: u64,
}

fn group(server: &Server) -> Group {
    let number = match server.family {
        Family::Quake3 => server.facts.protocol,
        Family::Steam => server.facts.app_id,
        Family::Other => 0,
    };
    Group {
        family: server.family,
        number,
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
            games: BTreeSet::new(),
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
            self.list((group, place), id);
            return None;
        };
        let before = &self.slots.get(id)?.server;
        let was = (group(before), place(before));
        let is = (group(&server), place(&server));
        let shown_alike = before.facts == server.facts && before.standing == server.standing;
        self.version += u64::from(was != is || !shown_alike);
        if was != is {
            self.unlist(was);
            self.list(is, id);
        }
        let slot = self.slots.get_mut(id)?;
        Some(std::mem::replace(&mut slot.server, server))
    }

    /// A registered server was heard of, and has nothing new to say. Gives what is known of it if
    /// the store should be told, which is when its expiry there is more than `slack` seconds old.
    pub(crate) fn renew(
        &mut self,
        id: SlotId,
        expires: Moment,
        slack: u32,
        via: Option<SocketId>,
    ) -> Option<&Server> {
        let slot = self.slots.get_mut(id)?;
        slot.server.expires = expires;
        slot.via = via.or(slot.via);
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

    /// A server was heard on this socket.
    pub(crate) fn came_by(&mut self, addr: ServerAddr, via: Option<SocketId>) {
        let slot = self.slots.find(addr).and_then(|id| self.slots.get_mut(id));
        if let Some(slot) = slot {
            slot.via = via.or(slot.via);
        }
    }

    /// The socket that a server was last heard on; it expects to hear from there.
    pub(crate) fn via(&self, addr: ServerAddr) -> Option<SocketId> {
        self.slots.get(self.slots.find(addr)?)?.via
    }

    /// Takes a server out.
    pub fn remove(&mut self, addr: ServerAddr) -> Option<Server> {
        let id = self.slots.find(addr)?;
        let server = self.slots.remove(id)?;
        self.unlist((group(&server), place(&server)));
        self.version += 1;
        Some(server)
    }

    fn list(&mut self, (group, place): (Group, Place), id: SlotId) {
        self.order.entry(group).or_default().insert(place, id);
        self.games.insert((group.family, group.game, group.number));
    }

    fn unlist(&mut self, (group, place): (Group, Place)) {
        let Some(places) = self.order.get_mut(&group) else {
            return;
        };
        places.remove(&place);
        if places.is_empty() {
            self.order.remove(&group);
            self.games.remove(&(group.family, group.game, group.number));
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
        let ids = self.places(groups).flat_map(BTreeMap::values);
        ids.filter_map(|id| self.at(*id))
    }

    /// How many servers there are in some groups.
    pub(crate) fn count(&self, groups: Groups) -> usize {
        self.places(groups).map(BTreeMap::len).sum()
    }

    fn places(&self, groups: Groups) -> Box<dyn Iterator<Item = &BTreeMap<Place, SlotId>> + '_> {
        let Groups { family, .. } = groups;
        let group = move |number, game| Group {
            family,
            number,
            game,
        };
        let range = |first, last| self.order.range(first..=last).map(|(_, places)| places);
        let (none, any) = (GameHash(0), GameHash(u32::MAX));
        match (groups.number, groups.game) {
            (None, None) => Box::new(range(group(0, none), group(u32::MAX, any))),
            (Some(number), None) => Box::new(range(group(number, none), group(number, any))),
            (Some(number), Some(game)) => {
                Box::new(self.order.get(&group(number, game)).into_iter())
            }
            (None, Some(game)) => {
                let numbers = (family, game, 0)..=(family, game, u32::MAX);
                let of_game = self.games.range(numbers);
                let places = move |(_, _, number): &_| self.order.get(&group(*number, game));
                Box::new(of_game.filter_map(places))
            }
        }
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
    fn servers_of_a_game_are_met_by_its_name_by_its_number_and_by_both() {
        let mut shelf = shelf();
        let of_steam = |host, app_id, game: &[u8]| Server {
            family: Family::Steam,
            facts: Facts {
                app_id,
                ..Facts::of_texts(&[(Text::Game, game)])
            },
            ..server(host, 10, 100)
        };
        for (host, app_id, game) in [(1, 10, "cstrike"), (2, 10, "czero"), (3, 0, "cstrike")] {
            shelf.put(of_steam(host, app_id, game.as_bytes()));
        }
        let count = |shelf: &Shelf, number, game: Option<&str>| {
            let game = game.map(str::as_bytes);
            shelf.count(Groups::of(Family::Steam, number, game))
        };
        assert_eq!(count(&shelf, None, None), 3);
        assert_eq!(count(&shelf, Some(10), None), 2);
        assert_eq!(count(&shelf, None, Some("CStrike")), 2);
        assert_eq!(count(&shelf, Some(10), Some("cstrike")), 1);
        assert_eq!(count(&shelf, Some(20), None), 0);
        // It says its number now, and the group that it leaves is empty.
        shelf.put(of_steam(3, 10, b"cstrike"));
        assert_eq!(count(&shelf, None, Some("cstrike")), 2);
        assert_eq!(count(&shelf, Some(0), None), 0);
        (1..=3).for_each(|host| drop(shelf.remove(server(host, 10, 100).addr)));
        assert!(shelf.games.is_empty() && shelf.order.is_empty());
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
        assert_eq!(shelf.renew(id, at(120), 20, None), None);
        assert!(shelf.renew(id, at(121), 20, None).is_some());
        assert_eq!(shelf.renew(id, at(141), 20, None), None);
        assert_eq!(shelf.get(addr).unwrap().expires, at(141));
    }
}

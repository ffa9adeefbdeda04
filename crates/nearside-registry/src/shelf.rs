//! The registered servers, each found by its address, and in the order that lists and their pages
//! have: (AS, address, port).

use std::net::IpAddr;

use nearside_types::{Moment, ServerAddr};
use nearside_wire::list::{Listed, as_order};

use crate::candidates::is_indexed;
use crate::cookie::Secret;
use crate::groups::{Group, Groups, Place};
use crate::hashes::{Hash32, Hashes};
use crate::marks::Marks;
use crate::server::{Family, Server, Standing, Text};
use crate::slots::{Slot, SlotId, Slots};
use crate::told::SocketId;
use crate::traits::Traits;
use crate::wheel::Wheel;

/// All registered servers.
#[derive(Debug)]
pub struct Shelf {
    slots: Slots,
    pub(crate) hashes: Hashes,
    pub(crate) groups: Groups,
    pub(crate) marks: Marks,
    wheel: Wheel,
    /// Grows with every change that a list could show.
    version: u64,
}

/// Where a server is found, by its address aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Whereabouts {
    group: Group,
    place: Place,
    /// Its map and its mode.
    texts: [Option<Hash32>; 2],
}

impl Whereabouts {
    fn of(server: &Server, hashes: Hashes) -> Self {
        let number = match server.family {
            Family::Quake3 => server.facts.protocol,
            Family::Steam => server.facts.app_id,
            Family::Other => 0,
        };
        let text = |which| hashes.text(server.family, which, server.facts.text(which));
        let is_found = |which| is_indexed(server.family, which, server.facts.text(which));
        Self {
            group: Group {
                family: server.family,
                traits: Traits::of(server),
                number,
                game: text(Text::Game),
            },
            place: as_order(&Listed {
                addr: server.addr,
                origin: server.origin,
            }),
            texts: [Text::Map, Text::Mode].map(|which| is_found(which).then(|| text(which))),
        }
    }

    /// Texts as they are indexed.
    fn marks(&self) -> [Option<(Hash32, Traits)>; 2] {
        self.texts.map(|text| Some((text?, self.group.traits)))
    }
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
            hashes: Hashes(key),
            groups: Groups::default(),
            marks: Marks::default(),
            wheel: Wheel::default(),
            version: 0,
        }
    }

    /// Puts a server in, in place of what was known of its address, which is given back. Plan it,
    /// or it stays for ever.
    pub fn put(&mut self, server: Server) -> Option<Server> {
        let is = Whereabouts::of(&server, self.hashes);
        let Some(id) = self.slots.find(server.addr) else {
            self.version += 1;
            let address = self.hashes.address(server.addr.ip());
            let id = self.slots.insert(server);
            self.marks.insert_at(address, id);
            self.list(None, Some(is), id);
            return None;
        };
        let before = &self.slots.get(id)?.server;
        let was = Whereabouts::of(before, self.hashes);
        let shown_alike = before.facts == server.facts && before.standing == server.standing;
        self.version += u64::from(was != is || !shown_alike);
        self.list(Some(was), Some(is), id);
        let slot = self.slots.get_mut(id)?;
        Some(std::mem::replace(&mut slot.server, server))
    }

    /// A registered server was heard of, and has nothing new to say. Gives what is known of it if
    /// the store should be told, which is when its expiry there is more than `slack` seconds old.
    /// One that is only followed is put, not renewed: it is found elsewhere then.
    pub(crate) fn renew(
        &mut self,
        id: SlotId,
        expires: Moment,
        slack: u32,
        via: Option<SocketId>,
    ) -> Option<&Server> {
        let slot = self.slots.get_mut(id)?;
        // That one is a trait, by which it would have to be listed anew.
        debug_assert_ne!(slot.server.standing, Standing::Followed);
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
        let address = self.hashes.address(addr.ip());
        self.marks.remove_at(address, id);
        self.list(Some(Whereabouts::of(&server, self.hashes)), None, id);
        self.version += 1;
        Some(server)
    }

    /// Moves a server from where it was to where it is. Most news, as another number of players, move
    /// nothing.
    fn list(&mut self, was: Option<Whereabouts>, is: Option<Whereabouts>, id: SlotId) {
        let stands = |at: Option<Whereabouts>| at.map(|at| (at.group, at.place));
        if stands(was) != stands(is) {
            if let Some((group, place)) = stands(was) {
                self.groups.remove(group, place);
            }
            if let Some((group, place)) = stands(is) {
                self.groups.insert(group, place, id);
            }
        }
        let marks = |at: Option<Whereabouts>| at.map(|at| at.marks()).unwrap_or_default();
        for (was, is) in marks(was).into_iter().zip(marks(is)) {
            if was == is {
                continue;
            }
            if let Some((text, traits)) = was {
                self.marks.remove(text, traits, id);
            }
            if let Some((text, traits)) = is {
                self.marks.insert(text, traits, id);
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

    /// The servers at an address, in no order.
    pub(crate) fn at_address(&self, ip: IpAddr) -> impl Iterator<Item = &Server> {
        let ids = self.marks.at(self.hashes.address(ip));
        let servers = ids.filter_map(|id| self.at(id));
        servers.filter(move |server| server.addr.ip() == ip)
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

    #[test]
    fn a_server_that_goes_leaves_nothing_behind() {
        let mut shelf = shelf();
        for host in 1..=3 {
            shelf.put(server(host, 10, 100));
            shelf.put(server(host, 20, 100));
        }
        assert_eq!(shelf.at_address([192, 0, 2, 2].into()).count(), 1);
        (1..=3).for_each(|host| drop(shelf.remove(server(host, 10, 100).addr)));
        assert!(shelf.groups.is_empty() && shelf.marks.is_empty());
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

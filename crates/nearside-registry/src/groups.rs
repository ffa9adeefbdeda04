//! Servers in the order of lists, apart by all that questions usually name: traits, number and game.
//!
//! A server lies in one group, so there is one order however many conditions have an index. Traits stand
//! before number and game: a question steps from one signature (servers with the same traits) to the
//! next that occurs, leaves out those that it excludes, and meets only groups that are its own. So
//! neither the servers nor the games of others cost it time, only how many signatures occur: dozens, and
//! 4,608 if somebody registers one server of each kind.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nearside_types::ServerAddr;

use crate::hashes::Hash32;
use crate::server::Family;
use crate::slots::SlotId;
use crate::traits::Traits;

/// Where a server stands in lists: AS and address.
pub(crate) type Place = (u32, ServerAddr);

/// Servers of one group in the order of lists. Address families are never together, since that is a
/// trait; apart, an IPv4 place takes half the room.
#[derive(Debug, Default)]
pub(crate) struct Places {
    v4: BTreeMap<(u32, Ipv4Addr, u16), SlotId>,
    v6: BTreeMap<(u32, Ipv6Addr, u16), SlotId>,
}

impl Places {
    fn insert(&mut self, (asn, addr): Place, id: SlotId) {
        match addr.ip() {
            IpAddr::V4(ip) => self.v4.insert((asn, ip, addr.port()), id),
            IpAddr::V6(ip) => self.v6.insert((asn, ip, addr.port()), id),
        };
    }

    fn remove(&mut self, (asn, addr): Place) {
        match addr.ip() {
            IpAddr::V4(ip) => self.v4.remove(&(asn, ip, addr.port())),
            IpAddr::V6(ip) => self.v6.remove(&(asn, ip, addr.port())),
        };
    }

    pub(crate) fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = SlotId> {
        self.v4.values().chain(self.v6.values()).copied()
    }
}

/// Servers that are asked for together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group {
    pub(crate) family: Family,
    pub(crate) traits: Traits,
    /// The protocol of the Quake 3 family, where clients always name it; the app id of Steam.
    pub(crate) number: u32,
    pub(crate) game: Hash32,
}

/// Which groups a question names: all of a family, or those of one number, one game or both.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named {
    pub(crate) family: Family,
    pub(crate) number: Option<u32>,
    pub(crate) game: Option<Hash32>,
}

/// One step on the way to the groups of a question. Each takes about as long, so that a walk can be paid
/// for step by step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'a> {
    /// Servers with these traits occur; whether they are wanted or not.
    Signature,
    Group(&'a Places),
}

/// The groups that have a server.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    order: BTreeMap<Group, Places>,
    /// The groups in the order of games, for those who name one.
    games: BTreeSet<(Family, Hash32, Traits, u32)>,
}

impl Groups {
    pub(crate) fn insert(&mut self, group: Group, place: Place, id: SlotId) {
        self.order.entry(group).or_default().insert(place, id);
        self.games.insert(by_game(group));
    }

    pub(crate) fn remove(&mut self, group: Group, place: Place) {
        let Some(places) = self.order.get_mut(&group) else {
            return;
        };
        places.remove(place);
        if places.len() == 0 {
            self.order.remove(&group);
            self.games.remove(&by_game(group));
        }
    }

    /// The groups with some names and with traits that are wanted, found as they are taken.
    pub(crate) fn select<'a>(
        &'a self,
        named: Named,
        is_wanted: impl Fn(Traits) -> bool + 'a,
    ) -> Box<dyn Iterator<Item = Step<'a>> + 'a> {
        let Named { family, game, .. } = named;
        let wanted = move |traits: Traits| is_wanted(traits).then_some(traits).into_iter();
        let signature = || std::iter::once(Step::Signature);
        let (first, last) = match named.number {
            Some(number) => (number, number),
            None => (u32::MIN, u32::MAX),
        };
        match game {
            Some(game) => {
                let groups = move |traits| {
                    let key = |number| (family, game, traits, number);
                    let groups = self.games.range(key(first)..=key(last));
                    let places = groups.filter_map(|key| self.order.get(&of_key(*key)));
                    places.map(Step::Group)
                };
                let signatures = self.signatures_of_game(family, game);
                Box::new(
                    signatures
                        .flat_map(move |traits| signature().chain(wanted(traits).flat_map(groups))),
                )
            }
            None => {
                let groups = move |traits| {
                    let from = of_key((family, Hash32::FIRST, traits, first));
                    let to = of_key((family, Hash32::LAST, traits, last));
                    let groups = self.order.range(from..=to);
                    groups.map(|(_, places)| Step::Group(places))
                };
                Box::new(
                    self.signatures(family)
                        .flat_map(move |traits| signature().chain(wanted(traits).flat_map(groups))),
                )
            }
        }
    }

    fn signatures(&self, family: Family) -> impl Iterator<Item = Traits> {
        steps(move |traits| {
            let from = of_key((family, Hash32::FIRST, traits, u32::MIN));
            let (group, _) = self.order.range(from..).next()?;
            (group.family == family).then_some(group.traits)
        })
    }

    fn signatures_of_game(&self, family: Family, game: Hash32) -> impl Iterator<Item = Traits> {
        steps(move |traits| {
            let key = self.games.range((family, game, traits, 0)..).next()?;
            ((key.0, key.1) == (family, game)).then_some(key.2)
        })
    }
}

#[cfg(test)]
impl Groups {
    pub(crate) fn is_empty(&self) -> bool {
        self.games.is_empty() && self.order.is_empty()
    }
}

/// The traits that occur in an order, each once: `next` gives the first from some on.
pub(crate) fn steps(next: impl Fn(Traits) -> Option<Traits>) -> impl Iterator<Item = Traits> {
    std::iter::successors(next(Traits::FIRST), move |traits| next(traits.next()?))
}

const fn by_game(group: Group) -> (Family, Hash32, Traits, u32) {
    (group.family, group.game, group.traits, group.number)
}

const fn of_key((family, game, traits, number): (Family, Hash32, Traits, u32)) -> Group {
    Group {
        family,
        traits,
        number,
        game,
    }
}

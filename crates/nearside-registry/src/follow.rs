//! Servers that other masters list: merged, annotated and listed here too, marked as such.

use std::collections::HashSet;
use std::time::Duration;

use nearside_types::{Asn, Moment, ServerAddr};

use crate::caps::has_room_for_followed;
use crate::master::Master;
use crate::server::{Facts, Family, Server, Standing, Text};
use crate::told::Removal;

/// Which of the other masters; the caller gives out the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SourceId(pub u16);

/// Who lists a followed server, in the order they came unless a later one knew more, and until when
/// each is believed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources(Vec<(SourceId, Moment)>);

impl Sources {
    /// The one whose words on the server are taken.
    pub(crate) fn first(&self) -> Option<SourceId> {
        self.0.first().map(|(source, _)| *source)
    }

    fn note(&mut self, source: SourceId, until: Moment) {
        match self.0.iter_mut().find(|(known, _)| *known == source) {
            Some((_, known)) => *known = until,
            None => self.0.push((source, until)),
        }
    }

    /// From now on this one's words are taken.
    fn lead(&mut self, source: SourceId, until: Moment) {
        self.0.retain(|(known, _)| *known != source);
        self.0.insert(0, (source, until));
    }

    /// Forgets those whose time is up, so that the next one speaks.
    fn forget_ended(&mut self, now: Moment) {
        self.0.retain(|(_, until)| *until > now);
    }

    fn has(&self, source: SourceId) -> bool {
        self.0.iter().any(|(known, _)| *known == source)
    }

    fn without(&self, source: SourceId) -> Self {
        let others = self.0.iter().filter(|(known, _)| *known != source);
        Self(others.copied().collect())
    }

    /// As long as anybody is believed.
    fn until(&self) -> Option<Moment> {
        self.0.iter().map(|(_, until)| *until).max()
    }
}

/// A server as another master lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// Where it answers.
    pub addr: ServerAddr,
    /// Which lists it belongs to.
    pub family: Family,
    /// What is known of it, which may be the game alone.
    pub facts: Facts,
}

impl Followed {
    fn knowledge(&self) -> Knowledge {
        Knowledge::of(self.family, &self.facts)
    }
}

/// How much a list says of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Knowledge {
    /// Where it is.
    Address,
    /// Its protocol or its game.
    Game,
    /// What is played there.
    Facts,
}

impl Knowledge {
    fn of(family: Family, facts: &Facts) -> Self {
        if facts.places > 0 {
            Self::Facts
        } else if family != Family::Other || !facts.text(Text::Game).is_empty() {
            Self::Game
        } else {
            Self::Address
        }
    }
}

/// Whether a list has all that its master knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wholeness {
    /// What is not on it is gone.
    Whole,
    /// It broke off: what is not on it may still be there.
    Partial,
}

/// What became of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FollowCounts {
    /// Listed because of it.
    pub taken: usize,
    /// Registered here or followed from elsewhere already.
    pub known: usize,
    /// Banned, unreachable for players, or beyond a cap.
    pub left_out: usize,
    /// Taken off, since neither this list nor another has them any more.
    pub gone: usize,
}

impl Master {
    /// Another master's list, to be believed until `until`. Who registered here stays as it is.
    pub fn follow(
        &mut self,
        now: Moment,
        source: SourceId,
        servers: impl IntoIterator<Item = Followed>,
        wholeness: Wholeness,
        until: Moment,
    ) -> FollowCounts {
        let mut counts = FollowCounts::default();
        let mut listed = HashSet::new();
        let servers: Vec<Followed> = servers.into_iter().collect();
        let over = (servers.len() as u64 / ASKED_PER_SECOND).min(MOST_SECONDS);
        for server in servers {
            listed.insert(server.addr);
            let asked = now + spread(server.addr, over);
            if let Some(sources) = self.followed.get_mut(&server.addr) {
                sources.forget_ended(now);
            }
            self.follow_one(source, server, until, asked, &mut counts);
        }
        if wholeness == Wholeness::Whole {
            counts.gone = self.leave(source, |addr| !listed.contains(&addr));
        }
        counts
    }

    /// Takes off all that only this source lists.
    pub fn unfollow(&mut self, source: SourceId) -> usize {
        self.leave(source, |_| true)
    }

    fn follow_one(
        &mut self,
        source: SourceId,
        followed: Followed,
        until: Moment,
        asked: Moment,
        counts: &mut FollowCounts,
    ) {
        let addr = followed.addr;
        if self.is_registered(addr) || self.is_listed_by_another(source, &followed, until) {
            counts.known += 1;
            return;
        }
        let before = self.shelf.get(addr);
        let origin = (self.origin_of)(addr.ip());
        let banned = self.bans.reason(addr.ip(), origin.asn).is_some();
        let full = before.is_none() && !self.has_room_to_follow(addr, origin.asn);
        if banned || full || !self.can_list(addr) {
            counts.left_out += 1;
            return;
        }
        let knew = before.map(|before| Knowledge::of(before.family, &before.facts));
        let is_news = knew.is_none_or(|knew| knew < followed.knowledge());
        // A list of mere addresses is no reason to forget which lists the server belongs to.
        let family = before.map(|before| before.family);
        let family = family.filter(|_| followed.family == Family::Other);
        // What the server said to us itself is better than what a list says of it.
        let facts = before.map(|before| before.facts.clone());
        let facts = facts.filter(|facts| facts.places > 0 && followed.facts.places == 0);
        let mut sources = self.followed.get(&addr).cloned().unwrap_or_default();
        match is_news {
            true => sources.lead(source, until),
            false => sources.note(source, until),
        }
        let until = sources.until().unwrap_or(until);
        let server = Server {
            addr,
            family: family.unwrap_or(followed.family),
            standing: Standing::Followed,
            origin,
            expires: until,
            facts: facts.unwrap_or(followed.facts),
        };
        self.replace(server);
        self.followed.insert(addr, sources);
        if is_news {
            self.shelf.plan(addr, asked.min(until));
        }
        counts.taken += 1;
    }

    /// Whether one more server of other masters may be listed.
    fn has_room_to_follow(&self, addr: ServerAddr, asn: Option<Asn>) -> bool {
        self.followed.len() < self.settings.followed_servers
            && has_room_for_followed(&self.settings, &self.shelf, addr.ip(), asn)
    }

    /// Whether another source speaks for the server already, and knows as much; this one then keeps
    /// it listed too.
    fn is_listed_by_another(
        &mut self,
        source: SourceId,
        followed: &Followed,
        until: Moment,
    ) -> bool {
        let addr = followed.addr;
        let known = self.shelf.get(addr);
        let knew = known.map(|known| Knowledge::of(known.family, &known.facts));
        let Some(sources) = self.followed.get_mut(&addr) else {
            return false;
        };
        if sources.first().is_none_or(|first| first == source)
            || knew.is_none_or(|knew| knew < followed.knowledge())
        {
            return false;
        }
        sources.note(source, until);
        let sources = sources.clone();
        self.keep_for(addr, sources);
        true
    }

    /// A source lists some servers no longer; those that nobody else lists go.
    fn leave(&mut self, source: SourceId, is_gone: impl Fn(ServerAddr) -> bool) -> usize {
        let followed = self.followed.iter();
        let left: Vec<(ServerAddr, Sources)> = followed
            .filter(|(addr, sources)| sources.has(source) && is_gone(**addr))
            .map(|(addr, sources)| (*addr, sources.without(source)))
            .collect();
        let mut gone = 0;
        for (addr, sources) in left {
            if !self.keep_for(addr, sources) {
                self.take_off(addr, Removal::Unlisted);
                gone += 1;
            }
        }
        gone
    }

    /// Keeps a server on the word of these sources, for as long as theirs is good; `false` if there
    /// is none.
    fn keep_for(&mut self, addr: ServerAddr, sources: Sources) -> bool {
        let (Some(expires), Some(server)) = (sources.until(), self.shelf.get(addr).cloned()) else {
            return false;
        };
        self.replace(Server { expires, ..server });
        self.followed.insert(addr, sources);
        true
    }
}

/// A list brings thousands of servers at once; they are asked so many a second, over a minute at
/// most.
const ASKED_PER_SECOND: u64 = 20;
const MOST_SECONDS: u64 = 60;

fn spread(addr: ServerAddr, seconds: u64) -> Duration {
    let ip = match addr.ip() {
        std::net::IpAddr::V4(ip) => ip.to_bits(),
        std::net::IpAddr::V6(ip) => ip.to_bits() as u32,
    };
    let mixed = (ip ^ u32::from(addr.port())).wrapping_mul(0x9E37_79B9) >> 16;
    Duration::from_secs(u64::from(mixed) % (seconds + 1))
}

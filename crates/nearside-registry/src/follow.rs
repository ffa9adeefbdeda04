//! Servers that other masters list: merged, annotated and listed here too, marked as such.

use std::collections::HashSet;
use std::time::Duration;

use nearside_types::{Moment, ServerAddr};

use crate::master::{Event, Master};
use crate::server::{Facts, Family, Server, Standing};

/// Which of the other masters; the caller gives out the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SourceId(pub u16);

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
    /// Banned, unreachable for players, or beyond the cap.
    pub left_out: usize,
    /// Taken off, since the list has them no more.
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
        let before = self.shelf.get(addr);
        let is_ours = |before: &Server| before.standing != Standing::Followed;
        let elsewhere = self.followed.get(&addr).is_some_and(|from| *from != source);
        if before.is_some_and(is_ours) || elsewhere {
            counts.known += 1;
            return;
        }
        let origin = (self.origin_of)(addr.ip());
        let banned = self.bans.reason(addr.ip(), origin.asn).is_some();
        let full = before.is_none() && self.followed.len() >= self.settings.followed_servers;
        if banned || full || !self.can_list(addr) {
            counts.left_out += 1;
            return;
        }
        let is_new = before.is_none();
        // What the server said to us itself is better than what a list says of it.
        let facts = before.map(|before| before.facts.clone());
        let facts = facts.filter(|facts| facts.places > 0 && followed.facts.places == 0);
        let server = Server {
            addr,
            family: followed.family,
            standing: Standing::Followed,
            origin,
            expires: until,
            facts: facts.unwrap_or(followed.facts),
        };
        self.replace(server);
        self.followed.insert(addr, source);
        if is_new {
            self.shelf.plan(addr, asked.min(until));
        }
        counts.taken += 1;
    }

    fn leave(&mut self, source: SourceId, is_gone: impl Fn(ServerAddr) -> bool) -> usize {
        let followed = self.followed.iter();
        let gone: Vec<ServerAddr> = followed
            .filter(|(addr, from)| **from == source && is_gone(**addr))
            .map(|(addr, _)| *addr)
            .collect();
        for addr in &gone {
            self.forget(*addr);
            self.emit(Event::Removed(*addr));
        }
        gone.len()
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

//! The engine: datagrams in, datagrams and changes out.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use nearside_types::{AddrClass, Moment, Origin, ServerAddr};
use nearside_wire::{quake3, steam};
use serde::Serialize;

use crate::bans::Bans;
use crate::budget::Budgets;
use crate::caps::Counts;
use crate::cookie::{Cookies, Secret};
use crate::follow::SourceId;
use crate::payload::Payload;
use crate::probe::Asked;
use crate::refusals::{Refusal, Refusals};
use crate::server::{Server, Standing};
use crate::settings::Settings;
use crate::shelf::Shelf;
use crate::views::Views;

/// What the caller has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send a datagram.
    Send {
        /// Where to.
        to: SocketAddr,
        /// Its bytes.
        payload: Payload,
    },
    /// Send a datagram from a port of its own, where nothing but answers to such questions arrives;
    /// they come back by [`Master::handle_answer`].
    Ask {
        /// Where to.
        to: SocketAddr,
        /// Its bytes.
        payload: Payload,
    },
    /// Something happened that a store, a log or another front end should know.
    Event(Event),
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A server is new, or known with new facts or a new expiry.
    Put {
        /// As it is now.
        server: Server,
        /// Whether the address was not registered before.
        is_new: bool,
    },
    /// A server is gone.
    Removed(ServerAddr),
    /// A server that proved its address was refused.
    Refused {
        /// Who.
        addr: ServerAddr,
        /// Why.
        refusal: Refusal,
    },
    /// A server that was refused before sends heartbeats again: tell its operator why.
    Reminded {
        /// Who.
        addr: ServerAddr,
        /// Why it was refused the last time.
        refusal: Refusal,
    },
}

/// What was received and answered since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Datagrams received.
    pub received: u64,
    /// Of those, ones that meant nothing.
    pub meaningless: u64,
    /// Heartbeats of all kinds.
    pub heartbeats: u64,
    /// Registrations that proved their address and were taken, renewals included.
    pub registrations: u64,
    /// Registrations that proved their address and were refused.
    pub refusals: u64,
    /// Replies and joins whose challenge was missing, old or another's.
    pub wrong_challenges: u64,
    /// List requests.
    pub list_requests: u64,
    /// Of those, answered with a cookie.
    pub cookies: u64,
    /// Of those, answered with a list.
    pub lists: u64,
    /// Of those, answered from the budget for clients that know no cookies.
    pub legacy_lists: u64,
    /// Requests left without answer because a budget was spent or a request too short.
    pub unanswered: u64,
    /// Registrations over HTTP, proven or not.
    pub claims: u64,
    /// Registered servers asked whether they are still there.
    pub checks: u64,
    /// Bytes received from addresses that had proven nothing.
    pub unproven_bytes_in: u64,
    /// Bytes sent to them.
    pub unproven_bytes_out: u64,
}

/// Where an address comes from; the caller's tables.
pub(crate) type OriginOf = Box<dyn Fn(IpAddr) -> Origin + Send>;

/// A master server without sockets.
pub struct Master {
    pub(crate) settings: Settings,
    pub(crate) cookies: Cookies,
    pub(crate) origin_of: OriginOf,
    pub(crate) bans: Bans,
    pub(crate) shelf: Shelf,
    pub(crate) counts: Counts,
    pub(crate) refusals: Refusals,
    pub(crate) views: Views,
    pub(crate) legacy: Budgets,
    pub(crate) joins: Budgets,
    pub(crate) scans: Budgets,
    pub(crate) claims: Budgets,
    pub(crate) tally: Tally,
    /// Servers whose turn it is to be asked whether they are still there.
    pub(crate) to_check: VecDeque<ServerAddr>,
    /// When such were asked last.
    pub(crate) checked: Moment,
    /// Servers that were asked from the port for questions, and when.
    pub(crate) asked: HashMap<ServerAddr, Asked>,
    /// Servers that only other masters list, and which of them.
    pub(crate) followed: HashMap<ServerAddr, SourceId>,
    /// Servers whose origin is to be looked up again.
    stale_origins: Vec<ServerAddr>,
    outputs: VecDeque<Output>,
}

impl std::fmt::Debug for Master {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Master")
            .field("servers", &self.shelf.len())
            .field("tally", &self.tally)
            .finish_non_exhaustive()
    }
}

/// An answer to a question of ours that comes later is not believed.
const ANSWER_TIME: Duration = Duration::from_secs(3);

/// Servers looked at for new questions, for each /24 or /48 in a second: two scans of a million.
const SCANS_PER_SECOND: u32 = 2_000_000;

impl Master {
    /// A master without servers. `secret` must come from the operating system's random numbers.
    pub fn new(
        settings: Settings,
        secret: Secret,
        origin_of: impl Fn(IpAddr) -> Origin + Send + 'static,
    ) -> Self {
        Self {
            cookies: Cookies::new(secret),
            origin_of: Box::new(origin_of),
            bans: Bans::default(),
            shelf: Shelf::new(secret),
            counts: Counts::default(),
            refusals: Refusals::default(),
            views: Views::default(),
            legacy: Budgets::new(secret, settings.legacy_bytes_per_second),
            joins: Budgets::new(secret, settings.join_challenge_bytes_per_second),
            scans: Budgets::new(secret, SCANS_PER_SECOND),
            claims: Budgets::new(secret, settings.claim_challenge_bytes_per_second),
            tally: Tally::default(),
            to_check: VecDeque::new(),
            checked: Moment::EPOCH,
            asked: HashMap::new(),
            followed: HashMap::new(),
            stale_origins: Vec::new(),
            outputs: VecDeque::new(),
            settings,
        }
    }

    /// A datagram arrived.
    pub fn handle(&mut self, now: Moment, from: SocketAddr, payload: &[u8]) {
        self.tally.received += 1;
        let Some(from) = ServerAddr::from_socket(from) else {
            self.tally.meaningless += 1;
            return;
        };
        // By the first bytes, the most frequent first: a parser that fails costs more than one look.
        if quake3::Heartbeat::is_one(payload) {
            self.heartbeat_quake3(now, from, payload.len());
        } else if let Some(info) = quake3::InfoView::of_response(payload) {
            self.info_quake3(now, from, info);
        } else if let Some(info) = quake3::InfoView::of_join(payload) {
            self.join_steam(now, from, info);
        } else if let Ok(request) = steam::ListRequest::parse(payload) {
            self.list_steam(now, from, payload.len(), &request);
        } else if let Ok(request) = quake3::master::ListRequest::parse(payload) {
            self.list_quake3(now, from, payload.len(), &request);
        } else if let Ok(heartbeat) = steam::Heartbeat::parse(payload) {
            self.heartbeat_steam(now, from, payload.len(), &heartbeat);
        } else {
            self.tally.meaningless += 1;
        }
    }

    /// Time has passed: takes off whose time is up and asks those who have been silent for long.
    /// Call it once a second, or more often so that questions to many do not leave at once.
    pub fn poll(&mut self, now: Moment) {
        self.asked
            .retain(|_, asked| now.since(asked.at) < ANSWER_TIME);
        self.look_after(now);
        self.check_some(now);
    }

    /// The next thing to do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Takes a server from a store or from another front end, with the expiry it has there. Whoever
    /// heard of it last is believed.
    pub fn remember(&mut self, now: Moment, mut server: Server) {
        let addr = server.addr;
        server.expires = server.expires.min(now + self.settings.timeout());
        let known = self.shelf.get(addr);
        let known = known.filter(|known| known.standing != Standing::Followed);
        if server.expires <= now || known.is_some_and(|known| known.expires >= server.expires) {
            return;
        }
        server.origin = match known {
            Some(known) => known.origin,
            None => (self.origin_of)(addr.ip()),
        };
        let banned = self.bans.reason(addr.ip(), server.origin.asn);
        if banned.is_none() && self.can_list(addr) {
            self.replace(server);
            self.shelf.is_told(addr);
        }
    }

    /// Servers that this front end verified and the store should have but lacks, or knows only with
    /// an expiry that is far behind. `covers` tells which servers `known` is about.
    pub fn lacking(&self, known: &[Server], covers: impl Fn(ServerAddr) -> bool) -> Vec<Server> {
        let expiries = known.iter().map(|server| (server.addr, server.expires));
        let known: HashMap<ServerAddr, Moment> = expiries.collect();
        let slack = self.settings.timeout() / 2;
        let is_lacking = |server: &&Server| {
            let told = known.get(&server.addr);
            server.standing == Standing::Verified
                && told.is_none_or(|told| *told + slack < server.expires)
                && covers(server.addr)
        };
        self.shelf.iter().filter(is_lacking).cloned().collect()
    }

    /// Another front end says that a server is gone.
    pub fn forget(&mut self, addr: ServerAddr) {
        if let Some(server) = self.shelf.remove(addr) {
            self.uncount(&server);
        }
    }

    /// Takes these bans in place of those before; registered servers they concern go at once.
    pub fn set_bans(&mut self, bans: Bans) {
        self.bans = bans;
        let banned = |server: &&Server| {
            let reason = self.bans.reason(server.addr.ip(), server.origin.asn);
            reason.is_some()
        };
        let gone: Vec<ServerAddr> = self.shelf.iter().filter(banned).map(|s| s.addr).collect();
        for addr in gone {
            self.forget(addr);
            self.emit(Event::Removed(addr));
        }
    }

    /// Takes a new key for cookies.
    pub fn change_secret(&mut self, secret: Secret) {
        self.cookies.change_secret(secret);
    }

    /// Other settings from now on. Those who are registered stay, whatever the new caps say; only
    /// servers of private networks go when these are no longer listed.
    pub fn set_settings(&mut self, settings: Settings) {
        self.legacy.set_rate(settings.legacy_bytes_per_second);
        self.joins
            .set_rate(settings.join_challenge_bytes_per_second);
        self.claims
            .set_rate(settings.claim_challenge_bytes_per_second);
        self.settings = settings;
        let hidden = |server: &&Server| !self.can_list(server.addr);
        let gone: Vec<ServerAddr> = self.shelf.iter().filter(hidden).map(|s| s.addr).collect();
        for addr in gone {
            self.forget(addr);
            self.emit(Event::Removed(addr));
        }
    }

    /// Origins have changed: all servers are to be looked up again, by
    /// [`Master::refresh_some_origins`].
    pub fn refresh_origins(&mut self) {
        self.stale_origins = self.shelf.iter().map(|server| server.addr).collect();
    }

    /// Looks at most so many servers up again, so that datagrams need not wait for a million; gives
    /// how many have moved.
    pub fn refresh_some_origins(&mut self, most: usize) -> usize {
        let rest = self.stale_origins.len().saturating_sub(most);
        let due = self.stale_origins.split_off(rest);
        let mut moved = 0;
        for addr in due {
            let origin = (self.origin_of)(addr.ip());
            let before = self.shelf.get(addr).filter(|known| known.origin != origin);
            let Some(server) = before.cloned() else {
                continue;
            };
            moved += 1;
            if self.bans.reason(addr.ip(), origin.asn).is_some() {
                self.forget(addr);
                self.emit(Event::Removed(addr));
            } else {
                self.replace(Server { origin, ..server });
            }
        }
        moved
    }

    /// Whether servers wait for [`Master::refresh_some_origins`].
    pub const fn has_stale_origins(&self) -> bool {
        !self.stale_origins.is_empty()
    }

    /// Puts a server on the shelf, keeps the counts and plans when to look at it; gives whether it is
    /// new.
    pub(crate) fn replace(&mut self, server: Server) -> bool {
        let (addr, asn) = (server.addr, server.origin.asn);
        let look = self.settings.ask_from(&server).min(server.expires);
        let source = self.followed.get(&addr).copied();
        let is_followed = server.standing == Standing::Followed;
        let before = self.shelf.put(server);
        if let Some(before) = &before {
            self.uncount(before);
        }
        if is_followed {
            self.followed.insert(addr, source.unwrap_or_default());
        } else {
            self.counts.add(addr, asn);
        }
        // A plan for earlier finds the server, and plans anew.
        if before.is_none()
            || self
                .shelf
                .planned(addr)
                .is_none_or(|planned| planned > look)
        {
            self.shelf.plan(addr, look);
        }
        before.is_none_or(|before| before.standing == Standing::Followed && !is_followed)
    }

    /// A server left the shelf, or what was known of it did.
    fn uncount(&mut self, server: &Server) {
        match server.standing {
            Standing::Followed => {
                self.followed.remove(&server.addr);
            }
            Standing::Verified | Standing::Vouched | Standing::Remembered => {
                self.counts.remove(server.addr, server.origin.asn);
            }
        }
    }

    /// Servers that registered here, now or before a restart.
    pub(crate) fn registered(&self) -> usize {
        self.shelf.len() - self.followed.len()
    }

    /// Whether an address can be on a list at all.
    pub(crate) fn can_list(&self, addr: ServerAddr) -> bool {
        match addr.class() {
            AddrClass::Public => true,
            AddrClass::Loopback | AddrClass::Local => self.settings.lan,
            AddrClass::Unusable => false,
        }
    }

    pub(crate) fn ask(&mut self, to: ServerAddr, payload: Vec<u8>) {
        self.outputs.push_back(Output::Ask {
            to: to.socket(),
            payload: payload.into(),
        });
    }

    pub(crate) fn send(&mut self, to: ServerAddr, payload: impl Into<Payload>) {
        self.outputs.push_back(Output::Send {
            to: to.socket(),
            payload: payload.into(),
        });
    }

    /// Answers somebody who has proven nothing: never with more bytes than came.
    pub(crate) fn answer_unproven(&mut self, to: ServerAddr, received: usize, reply: &[u8]) {
        self.tally.unproven_bytes_in += received as u64;
        if reply.len() > received {
            self.tally.unanswered += 1;
            return;
        }
        self.tally.unproven_bytes_out += reply.len() as u64;
        self.send(to, reply);
    }

    pub(crate) fn emit(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    /// The registered servers.
    pub const fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Which of the other masters lists a server that did not register here.
    pub fn followed_from(&self, addr: ServerAddr) -> Option<SourceId> {
        self.followed.get(&addr).copied()
    }

    /// Why servers were refused.
    pub const fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// What was received and answered.
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// How many different questions are remembered.
    pub fn remembered_views(&self) -> usize {
        self.views.len()
    }
}

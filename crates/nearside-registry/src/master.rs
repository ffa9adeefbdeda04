//! The engine: datagrams in, datagrams and changes out.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use nearside_types::{AddrClass, Moment, Origin, ServerAddr};
use nearside_wire::{quake3, steam};

use crate::bans::Bans;
use crate::budget::Budgets;
use crate::caps::Counts;
use crate::cookie::{Cookies, Secret};
use crate::follow::{SourceId, Sources};
use crate::payload::Payload;
use crate::probe::Asked;
use crate::refusals::Refusals;
use crate::scans::Scans;
use crate::server::{Server, Standing};
use crate::settings::Settings;
use crate::shelf::Shelf;
use crate::told::{Event, Output, Removal, SocketId, Tally};
use crate::views::Views;

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
    pub(crate) lists: Budgets,
    pub(crate) joins: Budgets,
    pub(crate) scans: Scans,
    pub(crate) claims: Budgets,
    pub(crate) tally: Tally,
    /// Servers that joined and did not say all that A2S_INFO tells.
    pub(crate) to_ask: VecDeque<ServerAddr>,
    /// Servers whose turn it is to be asked whether they are still there.
    pub(crate) to_check: VecDeque<ServerAddr>,
    /// When such were asked last.
    pub(crate) checked: Moment,
    /// Servers that were asked from the port for questions, and when.
    pub(crate) asked: HashMap<ServerAddr, Asked>,
    /// Servers that only other masters list, and which of them.
    pub(crate) followed: HashMap<ServerAddr, Sources>,
    /// The socket of the datagram in hand.
    pub(crate) via: Option<SocketId>,
    /// Servers whose origin is to be looked up again.
    stale_origins: Vec<ServerAddr>,
    /// Origins have changed again since that was noted.
    origins_moved_on: bool,
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
            lists: Budgets::new(secret, settings.list_bytes_per_second),
            joins: Budgets::new(secret, settings.join_challenge_bytes_per_second),
            scans: Scans::new(secret),
            claims: Budgets::new(secret, settings.claim_challenge_bytes_per_second),
            tally: Tally::default(),
            to_ask: VecDeque::new(),
            to_check: VecDeque::new(),
            checked: Moment::EPOCH,
            asked: HashMap::new(),
            followed: HashMap::new(),
            via: None,
            stale_origins: Vec::new(),
            origins_moved_on: false,
            outputs: VecDeque::new(),
            settings,
        }
    }

    /// A datagram arrived on one of several sockets. Whoever registers by it is asked from there
    /// later on: game servers and their firewalls know only the address they send heartbeats to.
    pub fn handle_on(&mut self, now: Moment, via: SocketId, from: SocketAddr, payload: &[u8]) {
        self.via = Some(via);
        self.handle(now, from, payload);
        self.via = None;
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
        } else if self.page_again(now, from, payload) {
            // As often as clients page.
        } else if let Ok(request) = steam::ListRequest::parse(payload) {
            self.list_steam(now, from, payload, &request);
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
        self.views.forget_unused(now);
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

    /// Servers that this front end or another one verified and the store should have but lacks, or
    /// knows only with an expiry that is far behind. Whoever verified it may be gone. `covers` tells which servers `known` is about.
    pub fn lacking(&self, known: &[Server], covers: impl Fn(ServerAddr) -> bool) -> Vec<Server> {
        let expiries = known.iter().map(|server| (server.addr, server.expires));
        let known: HashMap<ServerAddr, Moment> = expiries.collect();
        let slack = self.settings.timeout() / 2;
        let is_lacking = |server: &&Server| {
            let told = known.get(&server.addr);
            matches!(server.standing, Standing::Verified | Standing::Vouched)
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
        let banned = |server: &Server| {
            let reason = self.bans.reason(server.addr.ip(), server.origin.asn)?;
            Some((server.addr, reason.to_owned()))
        };
        let gone: Vec<(ServerAddr, String)> = self.shelf.iter().filter_map(banned).collect();
        for (addr, reason) in gone {
            self.take_off(addr, Removal::Banned(reason));
        }
    }

    /// Takes a server off all lists, and says so.
    pub(crate) fn take_off(&mut self, addr: ServerAddr, cause: Removal) {
        self.forget(addr);
        self.emit(Event::Removed { addr, cause });
    }

    /// Takes a new key for cookies.
    pub fn change_secret(&mut self, secret: Secret) {
        self.cookies.change_secret(secret);
    }

    /// The wall clock was set: it is so many milliseconds ahead of the moments that come in, or behind
    /// them. Nobody's time changes by that, only the cookies that front ends share.
    pub const fn set_wall(&mut self, ahead_ms: i64) {
        self.cookies.set_wall(ahead_ms);
    }

    /// Other settings from now on. Those who are registered stay, whatever the new caps say; only
    /// servers of private networks go when these are no longer listed.
    pub fn set_settings(&mut self, settings: Settings) {
        self.legacy.set_rate(settings.legacy_bytes_per_second);
        self.lists.set_rate(settings.list_bytes_per_second);
        self.joins
            .set_rate(settings.join_challenge_bytes_per_second);
        self.claims
            .set_rate(settings.claim_challenge_bytes_per_second);
        self.settings = settings;
        let hidden = |server: &&Server| !self.can_list(server.addr);
        let gone: Vec<ServerAddr> = self.shelf.iter().filter(hidden).map(|s| s.addr).collect();
        for addr in gone {
            self.take_off(addr, Removal::Private);
        }
    }

    /// Origins have changed: all servers are to be looked up again, by
    /// [`Master::refresh_some_origins`].
    pub fn refresh_origins(&mut self) {
        // A round under way is finished first: of a million servers with news every second, the last
        // ones would else never have their turn.
        self.origins_moved_on = self.has_stale_origins();
        if !self.origins_moved_on {
            self.stale_origins = self.shelf.iter().map(|server| server.addr).collect();
        }
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
            match self.bans.reason(addr.ip(), origin.asn).map(str::to_owned) {
                Some(reason) => self.take_off(addr, Removal::Banned(reason)),
                None => {
                    self.replace(Server { origin, ..server });
                }
            }
        }
        if self.origins_moved_on && !self.has_stale_origins() {
            self.refresh_origins();
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
        let sources = self.followed.remove(&addr);
        let is_followed = server.standing == Standing::Followed;
        let look = match is_followed && sources.is_some() {
            // The next list is no reason to ask it again.
            true => server.expires,
            false => self.settings.ask_from(&server).min(server.expires),
        };
        let before = self.shelf.put(server);
        if let Some(before) = &before {
            self.uncount(before);
        }
        if is_followed {
            self.followed.insert(addr, sources.unwrap_or_default());
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

    /// Whether a server registered, here or at another front end.
    pub(crate) fn is_registered(&self, addr: ServerAddr) -> bool {
        let known = self.shelf.get(addr);
        known.is_some_and(|known| known.standing != Standing::Followed)
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
            via: self.shelf.via(to),
            payload: payload.into(),
        });
    }

    pub(crate) fn send(&mut self, to: ServerAddr, payload: impl Into<Payload>) {
        self.send_via(None, to, payload);
    }

    pub(crate) fn send_via(
        &mut self,
        via: Option<SocketId>,
        to: ServerAddr,
        payload: impl Into<Payload>,
    ) {
        self.outputs.push_back(Output::Send {
            to: to.socket(),
            via,
            payload: payload.into(),
        });
    }

    /// Answers somebody who has proven nothing: never with more bytes than came.
    pub(crate) fn answer_unproven(&mut self, to: ServerAddr, received: usize, reply: &[u8]) {
        self.answer_unproven_via(None, to, received, reply);
    }

    pub(crate) fn answer_unproven_via(
        &mut self,
        via: Option<SocketId>,
        to: ServerAddr,
        received: usize,
        reply: &[u8],
    ) {
        self.tally.unproven_bytes_in += received as u64;
        if reply.len() > received {
            self.tally.unanswered += 1;
            return;
        }
        self.tally.unproven_bytes_out += reply.len() as u64;
        self.send_via(via, to, reply);
    }

    pub(crate) fn emit(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    /// The registered servers.
    pub const fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Which of the other masters lists a server that did not register here; the one whose words on
    /// it are taken, if several do.
    pub fn followed_from(&self, addr: ServerAddr) -> Option<SourceId> {
        self.followed.get(&addr)?.first()
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

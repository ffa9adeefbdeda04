//! A master for the lab: answers Steam `0x31` and Quake 3 `getservers` from a fixed list.
//!
//! Filters are read and ignored: every listed server matches every `gamedir`, `appid`, `empty`,
//! `full`, region and protocol number. The list says nothing a filter could be checked against.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use nearside_types::{Moment, ServerAddr};
use nearside_wire::list::{ListPacket, Listed, OriginForm, as_order};
use nearside_wire::quake3::master as quake3;
use nearside_wire::steam;
use serde::{Deserialize, Serialize};

use crate::chance::fingerprint;
use crate::population::Population;

/// How a lab master behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListMasterConfig {
    /// Whether clients must prove their address by a list cookie first. Default: no, as masters of
    /// the games' own time.
    pub cookies: bool,
}

/// A master with a list that never changes.
///
/// Plain and country lists come in list order; lists with AS markers, and their pages, in the order
/// (AS, address, port).
#[derive(Debug)]
pub struct ListMaster {
    config: ListMasterConfig,
    in_list_order: Ordered,
    in_as_order: Ordered,
    seed: u64,
}

/// Servers in one order, with the place of each.
#[derive(Debug)]
struct Ordered {
    servers: Vec<Listed>,
    place: HashMap<ServerAddr, usize>,
}

/// A cookie holds for this long, and for as long again while the next is already valid.
const COOKIE_LIFETIME: Duration = Duration::from_secs(60);

impl ListMaster {
    /// A master of these servers, in list order; the seed makes its cookies.
    pub fn new(
        config: ListMasterConfig,
        servers: impl IntoIterator<Item = Listed>,
        seed: u64,
    ) -> Self {
        let in_list_order: Vec<Listed> = servers.into_iter().collect();
        let mut in_as_order = in_list_order.clone();
        in_as_order.sort_by_key(as_order);
        Self {
            config,
            in_list_order: Ordered::new(in_list_order),
            in_as_order: Ordered::new(in_as_order),
            seed,
        }
    }

    /// A master of a population.
    pub fn of(config: ListMasterConfig, population: &Population, seed: u64) -> Self {
        Self::new(config, population.listed(), seed)
    }

    /// A datagram arrived at `now`; the answer's datagrams are appended in order. What is no list
    /// request gets none.
    pub fn handle(
        &mut self,
        now: Moment,
        from: SocketAddr,
        payload: &[u8],
        out: &mut Vec<Vec<u8>>,
    ) {
        if let Ok(request) = steam::ListRequest::parse(payload) {
            out.extend(self.answer_steam(now, from, payload.len(), &request));
        } else if let Ok(request) = quake3::ListRequest::parse(payload) {
            out.extend(self.answer_quake3(now, from, payload.len(), &request));
        }
    }

    fn answer_steam(
        &self,
        now: Moment,
        from: SocketAddr,
        request_bytes: usize,
        request: &steam::ListRequest,
    ) -> Option<Vec<u8>> {
        let shown = request.filter.challenge().map(u32::from_be_bytes);
        let cookie = |epoch| self.cookie(from, epoch) as u32;
        if self.config.cookies && !is_current(now, shown, cookie) {
            let fresh = cookie(epoch(now)).to_be_bytes();
            return not_longer(steam::ListReply::Cookie(fresh).emit(), request_bytes);
        }
        let form = request.filter.origin();
        let rest = self.order(form).after(request.seed);
        Some(steam::page(rest, form).emit())
    }

    fn answer_quake3(
        &self,
        now: Moment,
        from: SocketAddr,
        request_bytes: usize,
        request: &quake3::ListRequest,
    ) -> Vec<Vec<u8>> {
        let form = request.reply_form();
        let cookie = |epoch| quake3::ListCookie::from_bits(self.cookie(from, epoch));
        if self.config.cookies && !is_current(now, request.challenge, cookie) {
            let reply = quake3::ListReply::Cookie(cookie(epoch(now))).emit(form);
            return not_longer(reply, request_bytes).into_iter().collect();
        }
        let servers: Vec<Listed> = self.order(form.origin).of_families(request);
        let packets = quake3::paginate(&servers, form).into_iter();
        let emit = |packet: ListPacket| quake3::ListReply::List(packet).emit(form);
        packets.map(emit).collect()
    }

    fn order(&self, form: Option<OriginForm>) -> &Ordered {
        match form {
            Some(OriginForm::As) => &self.in_as_order,
            Some(OriginForm::Country) | None => &self.in_list_order,
        }
    }

    /// Good enough for loopback, where nobody forges; not for the open Internet.
    fn cookie(&self, from: SocketAddr, epoch: u64) -> u64 {
        let text = format!("{} {from} {epoch}", self.seed);
        let hash = fingerprint(text.as_bytes());
        hash ^ (hash >> 29)
    }
}

fn epoch(now: Moment) -> u64 {
    now.since_epoch().as_secs() / COOKIE_LIFETIME.as_secs()
}

/// Whether a cookie is that of this epoch or of the one before.
fn is_current<C: PartialEq>(now: Moment, shown: Option<C>, cookie: impl Fn(u64) -> C) -> bool {
    let epoch = epoch(now);
    shown.is_some_and(|shown| {
        [epoch, epoch.saturating_sub(1)]
            .into_iter()
            .any(|epoch| cookie(epoch) == shown)
    })
}

/// A cookie never amplifies: a request shorter than the reply is not answered.
fn not_longer(reply: Vec<u8>, request_bytes: usize) -> Option<Vec<u8>> {
    (reply.len() <= request_bytes).then_some(reply)
}

impl Ordered {
    fn new(servers: Vec<Listed>) -> Self {
        let place = servers.iter().map(|listed| listed.addr).zip(0..).collect();
        Self { servers, place }
    }

    /// The servers behind a page's seed. Behind a server that is not listed there is nothing: to
    /// start over would send a confused client in circles.
    fn after(&self, seed: std::net::SocketAddrV4) -> &[Listed] {
        if seed == steam::ListRequest::FIRST {
            return &self.servers;
        }
        let addr = ServerAddr::from_socket(seed.into());
        let place = addr.and_then(|addr| self.place.get(&addr));
        place.map_or(&[], |&place| &self.servers[place + 1..])
    }

    /// The servers of the address families an extended request names, or all if it names none.
    fn of_families(&self, request: &quake3::ListRequest) -> Vec<Listed> {
        let any = request.ipv4 == request.ipv6;
        let wanted = |listed: &&Listed| any || listed.addr.ip().is_ipv4() == request.ipv4;
        self.servers.iter().filter(wanted).copied().collect()
    }
}

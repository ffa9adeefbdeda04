//! Handshakes, and what comes under their keys.

use nearside_types::Prefix;
use nearside_wire::detour::{Frame, PASS_BYTES};

use super::Service;
use super::client::Client;
use super::whereabouts::{Arrived, Place, Whereabouts};
use crate::crypto::{Broken, accept};
use crate::messages::{Request, decode};

impl Service {
    /// A hello without a cookie gets one and is forgotten; with it, it gets an answer and a connection.
    pub(super) fn hello(&mut self, place: Place, index: u32, pass: [u8; PASS_BYTES], noise: &[u8]) {
        let now = self.clock.now;
        if !self.cookies.accepts(now, place.address, &pass) {
            self.counts.retries += 1;
            let pass = self.cookies.make(now, place.address);
            // As long as the shortest hello that can be read: nobody gets more than they sent.
            return self.send(place, Frame::Retry { to: index, pass }.emit());
        }
        let prefix = self.prefix(place);
        let room = self.links.has_room(prefix, &self.config);
        if !room || !self.gate.admits(now, prefix, &self.config) {
            self.counts.turned_away += 1;
            return;
        }
        let ours = self.links.free_index(&mut self.chance);
        let both = (index, ours);
        let accepted = accept(&self.identity, both, noise, &mut self.chance, |_, _| {
            Some(Vec::new())
        });
        let Ok(accepted) = accepted else {
            self.counts.bad_hellos += 1;
            return;
        };
        self.counts.handshakes += 1;
        self.links.insert(now, ours, (accepted.keys, place, prefix));
        self.forget_strangers();
        let noise = accepted.answer.as_slice();
        self.send(place, Frame::Answer { to: index, noise }.emit());
    }

    /// A sealed frame: opened and obeyed, or dropped without a word. An answer to an unknown number would
    /// tell strangers which numbers are in use.
    pub(super) fn sealed(&mut self, place: Place, to: u32, counter: u64, body: &[u8]) {
        let Some(link) = self.links.get_mut(to) else {
            self.counts.unknown += 1;
            return;
        };
        let highest = link.keys.opener.highest();
        let mut opened = body.to_vec();
        let request = match link.keys.opener.open(counter, &mut opened) {
            Ok(plain) => decode::<Request>(plain),
            Err(Broken::Forged) => return self.counts.forged += 1,
            Err(Broken::Replayed) => return self.counts.replayed += 1,
        };
        let newest = highest.is_none_or(|highest| counter > highest);
        let Ok(request) = request else {
            self.counts.unreadable += 1;
            return;
        };
        self.prove(to);
        let bytes = body.len() + nearside_wire::detour::SEALED_HEADER;
        self.arrive(to, place, newest, bytes);
        self.request(to, place, request);
    }

    /// The first packet of a connection proves it: from now on it is the client's only one.
    fn prove(&mut self, index: u32) {
        let Some(link) = self.links.get_mut(index) else {
            return;
        };
        if std::mem::replace(&mut link.proven, true) {
            return;
        }
        let (id, key, now) = (link.id, link.keys.peer, self.clock.now);
        let whereabouts = Whereabouts::new(link.place, now);
        let Some(client) = self.clients.get_mut(&id) else {
            let budget = (now, self.config.requests);
            let client = Client::new(key, index, whereabouts, budget);
            self.clients.insert(id, client);
            return;
        };
        let before = client.whereabouts.main().address;
        let joined = client.joined.is_some();
        let old = client.reconnect(index, whereabouts);
        self.links.remove(old);
        if joined {
            self.links.set_joined(index);
            self.moved(id, before);
        }
    }

    fn arrive(&mut self, index: u32, place: Place, newest: bool, bytes: usize) {
        let now = self.clock.now;
        let Some(link) = self.links.get_mut(index) else {
            return;
        };
        let id = link.id;
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        client.heard = now;
        let is_back = std::mem::take(&mut client.silent);
        let nat = client.whereabouts.nat();
        let chance = &mut self.chance;
        let number = || u32::from_be_bytes(chance.bytes()).max(1);
        let arrived = client.whereabouts.arrive(now, place, newest, bytes, number);
        let changed = client.whereabouts.nat() != nat;
        if let Arrived::Moved(before) = arrived {
            self.moved(id, before);
        }
        if changed {
            self.nat_is_known(id);
        }
        if is_back {
            self.show(id);
        }
    }

    /// Forgets connections of strangers who do not join, or are too many.
    pub(super) fn forget_strangers(&mut self) {
        let (now, most) = (self.clock.now, self.config.most_unjoined);
        while let Some((index, id)) = self.links.pop_stranger(now, most) {
            let own = |client: &&mut Client| client.link == index;
            if self.clients.get_mut(&id).filter(own).is_some() {
                self.clients.remove(&id);
            }
        }
    }

    pub(super) fn prefix(&self, place: Place) -> Prefix {
        let ip = place.address.ip();
        let lengths = self.config.prefixes;
        let length = if ip.is_ipv4() { lengths.v4 } else { lengths.v6 };
        Prefix::new(ip, length)
    }
}

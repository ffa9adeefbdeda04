//! Answers to requests, and notices that nobody asked for: those are repeated until they are heard.

use std::time::Duration;

use nearside_detour::ClientId;
use nearside_wire::detour::{SAFE_BYTES, SEALED_HEADER};

use super::Service;
use super::client::Untold;
use super::whereabouts::Place;
use crate::crypto::SEAL_BYTES;
use crate::messages::{Notice, Tell, encode};

/// A notice is repeated after this time.
const REPEAT: Duration = Duration::from_millis(500);
/// So often a notice is sent, and then given up.
const SENDINGS: u8 = 5;
/// Notices to one client that wait to be heard.
const MOST_UNTOLD: usize = 64;
/// What a message may take for its frame to be safe on every link.
const MOST_BYTES: usize = SAFE_BYTES - SEALED_HEADER - SEAL_BYTES;

impl Service {
    /// Answers a request there where it came from, as far as that place may be sent to.
    pub(super) fn answer(&mut self, id: ClientId, place: Place, number: u32, tell: Tell) {
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let Some(challenge) = client.whereabouts.challenge(place) else {
            return self.tell_at(id, place, Some(number), 0, tell);
        };
        // The answer is the proof's first half, if it is short enough; else something shorter is.
        let observed = Tell::Observed(place.address);
        for (answers, tell) in [(Some(number), tell), (None, observed)] {
            let number = challenge;
            let notice = Notice {
                answers,
                number,
                tell,
            };
            let length = encode(&notice).len() + SEALED_HEADER + SEAL_BYTES;
            if client.whereabouts.spend(length) {
                return self.tell_at(id, place, answers, number, notice.tell);
            }
        }
        self.counts.held_back += 1;
    }

    /// Tells a client something unasked, again and again until it has heard; one that is connected to
    /// another directory is told there.
    pub(super) fn tell(&mut self, id: ClientId, tell: Tell) {
        let number = u32::from_be_bytes(self.chance.bytes()).max(1);
        let Some(client) = self.clients.get_mut(&id) else {
            return self.post(id, tell);
        };
        if client.untold.len() >= MOST_UNTOLD {
            self.counts.unheard += 1;
            return;
        }
        let next = self.clock.now;
        let sent = 0;
        client.untold.insert(number, Untold { tell, sent, next });
        self.tell_again(id, number);
    }

    /// Tells a client something that needs no confirmation.
    pub(super) fn tell_once(&mut self, id: ClientId, tell: Tell) {
        if let Some(client) = self.clients.get(&id) {
            self.tell_at(id, client.whereabouts.main(), None, 0, tell);
        }
    }

    /// A client has heard a notice.
    pub(super) fn heard(&mut self, id: ClientId, place: Place, number: u32) {
        let now = self.clock.now;
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        if let Some(untold) = client.untold.remove(&number) {
            self.repeats.remove(&(untold.next, id, number));
            return;
        }
        let nat = client.whereabouts.nat();
        let moved = client.whereabouts.prove(now, number, place);
        let changed = client.whereabouts.nat() != nat;
        if let Some(before) = moved {
            self.moved(id, before);
        }
        if changed {
            self.nat_is_known(id);
        }
    }

    pub(super) fn repeat_notices(&mut self) {
        while let Some(repeat) = self.repeats.first().copied() {
            let (at, id, number) = repeat;
            if at > self.clock.now {
                return;
            }
            self.repeats.remove(&repeat);
            self.tell_again(id, number);
        }
    }

    fn tell_again(&mut self, id: ClientId, number: u32) {
        let now = self.clock.now;
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let Some(untold) = client.untold.get_mut(&number) else {
            return;
        };
        if untold.sent >= SENDINGS {
            client.untold.remove(&number);
            self.counts.unheard += 1;
            return self.doubt(id);
        }
        untold.sent += 1;
        untold.next = now + REPEAT;
        self.repeats.insert((untold.next, id, number));
        let (place, tell) = (client.whereabouts.main(), untold.tell.clone());
        self.tell_at(id, place, None, number, tell);
    }

    /// A client has not confirmed something; whoever said nothing else either may be gone.
    fn doubt(&mut self, id: ClientId) {
        let now = self.clock.now;
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let quiet = now.since(client.heard) >= REPEAT * u32::from(SENDINGS);
        if quiet && !std::mem::replace(&mut client.silent, true) {
            self.show(id);
        }
    }

    fn tell_at(
        &mut self,
        id: ClientId,
        place: Place,
        answers: Option<u32>,
        number: u32,
        tell: Tell,
    ) {
        let notice = Notice {
            answers,
            number,
            tell,
        };
        let link = self.clients.get(&id).map(|client| client.link);
        let Some(link) = link.and_then(|index| self.links.get_mut(index)) else {
            return;
        };
        let mut frame = Vec::new();
        // A key that is used up after 2^60 packets: nobody lives to see it.
        if link
            .keys
            .sealer
            .seal(&[&encode(&notice)], &mut frame)
            .is_ok()
        {
            self.send(place, frame);
        }
    }
}

/// Whether a message with this content fits into one safe frame, whatever numbers it will have.
pub(super) fn fits(tell: &Tell) -> bool {
    let notice = Notice {
        answers: Some(u32::MAX),
        number: u32::MAX,
        tell: tell.clone(),
    };
    encode(&notice).len() <= MOST_BYTES
}

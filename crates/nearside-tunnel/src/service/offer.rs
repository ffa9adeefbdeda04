//! Relays for a session: chosen by the directory, made usable by tickets, left when they fail.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use nearside_detour::ClientId;
use nearside_detour::directory::Candidate;
use nearside_types::{Moment, Prefix};

use super::state::Pair;
use super::whereabouts::Nat;
use super::{Event, Service, notice};
use crate::crypto::{HopKey, Ticket};
use crate::messages::{Complaint, Refusal, RelayOffer, RelayPass, Tell, TicketBytes};
use crate::vouched::Voucher;

impl Service {
    /// Sends relays for a session to the one who leads it; says how many.
    ///
    /// # Errors
    /// If there is no such session.
    pub fn offer_relays(&mut self, now: Moment, session: u64, most: u8) -> Result<usize, Refusal> {
        self.clock = self.clock.at(now);
        let pair = self.sessions.get(session).ok_or(Refusal::Unknown)?;
        if !self.reaches(pair.source) {
            return Err(Refusal::Unknown);
        }
        // The one in use has its way already; another ticket for it would be of no use.
        let in_use = self.directory.state().relay_of(pair.key());
        let offers = self.offers(session, most, in_use.as_slice());
        let count = offers.len();
        for tell in in_datagrams(session, offers) {
            self.tell(pair.source, tell);
        }
        self.collect_changes();
        Ok(count)
    }

    /// What fits into the answer is the answer, the rest follows unasked.
    pub(super) fn relays(
        &mut self,
        id: ClientId,
        session: u64,
        most: u8,
        known: &[ClientId],
    ) -> Result<Tell, Refusal> {
        let pair = self.sessions.get(session).filter(|pair| pair.source == id);
        pair.ok_or(Refusal::Unknown)?;
        let offers = self.offers(session, most, known);
        let mut tells = in_datagrams(session, offers).into_iter();
        let relays = Vec::new();
        let first = tells.next().unwrap_or(Tell::Relays { session, relays });
        for tell in tells {
            self.tell(id, tell);
        }
        Ok(first)
    }

    /// The most promising relays with tickets for both ends; the relays are told whom to expect.
    pub(super) fn offers(&mut self, session: u64, most: u8, known: &[ClientId]) -> Vec<RelayOffer> {
        let Some(pair) = self.sessions.get(session) else {
            return Vec::new();
        };
        let most = usize::from(most.min(self.config.most_relays));
        let looked = most + known.len().min(MOST_KNOWN);
        let found = self.directory.lookup(pair.source, pair.target, looked);
        let mut found = found.unwrap_or_default();
        found.retain(|candidate| !known.contains(&candidate.relay.id));
        // After a restart some have not come back yet: they may carry, but cannot be told to open.
        found.sort_by_key(|candidate| !self.reaches(candidate.relay.id));
        let found = found.into_iter().take(most);
        let offers: Vec<RelayOffer> = found
            .filter_map(|candidate| self.mint(session, pair, &candidate))
            .collect();
        self.hand_out(session, pair, &offers);
        offers
    }

    /// One relay for a handshake that finds no direct way. One without a NAT, if there is one: behind a
    /// NAT that minds ports it could not be reached by who has another port for everybody. Asked again,
    /// another than before.
    pub(super) fn go_between(&mut self, session: u64) -> Option<RelayOffer> {
        let pair = self.sessions.get(session)?;
        let found = self.directory.lookup(pair.source, pair.target, LOOKED_AT);
        let mut found = found.unwrap_or_default();
        found.sort_by_key(|candidate| {
            let relay = candidate.relay.id;
            let was_offered = self.sessions.was_offered(session, relay);
            (was_offered, !self.reaches(relay), self.is_behind_nat(relay))
        });
        let mut found = found.iter();
        let offer = found.find_map(|candidate| self.mint(session, pair, candidate))?;
        self.hand_out(session, pair, std::slice::from_ref(&offer));
        Some(offer)
    }

    /// Whether a client is seen elsewhere than it sees itself, as far as is known.
    fn is_behind_nat(&self, id: ClientId) -> bool {
        let card = self.card(id);
        card.is_none_or(|card| !card.local.contains(&card.main))
    }

    /// Relays are about to be offered: they shall let the two in.
    fn hand_out(&mut self, session: u64, pair: Pair, offers: &[RelayOffer]) {
        for offer in offers {
            let relay = offer.ours.relay;
            self.sessions.offer(session, relay);
            self.let_in(relay, &[pair.source, pair.target]);
        }
        self.counts.offered += offers.len() as u64;
    }

    fn mint(&mut self, session: u64, pair: Pair, candidate: &Candidate) -> Option<RelayOffer> {
        let relay = candidate.relay.id;
        let address = candidate.relay.address.socket();
        let ends = [pair.source, pair.target];
        let [ours, theirs] = ends.map(|id| self.end_of(id, address));
        let players = [ours?, theirs?];
        let [one, other] = self.two_hops();
        let hops = [(one, other), (other, one)];
        let key = self.ticket_key(relay);
        let expires = self.clock.wall + self.config.ticket_life;
        let mut passes = players
            .iter()
            .zip(hops)
            .zip([0, 1])
            .map(|((end, hops), number)| {
                let (hop, other_hop) = hops;
                let ticket = Ticket {
                    relay,
                    session,
                    end: number,
                    hop,
                    other_hop,
                    address: end.address,
                    any_port: end.any_port,
                    key: HopKey(self.chance.bytes()),
                    expires,
                    packets: self.config.ticket_packets,
                    kilobits: self.config.ticket_kilobits,
                };
                RelayPass {
                    relay,
                    address,
                    hop,
                    key: ticket.key,
                    ticket: TicketBytes(key.seal(&ticket, &mut self.chance)),
                    packets: ticket.packets,
                    kilobits: ticket.kilobits,
                }
            });
        let (ours, theirs) = (passes.next()?, passes.next()?);
        drop(passes);
        let voucher = Voucher {
            key: self.ping_key(pair.target),
            session,
        };
        Some(RelayOffer {
            ours,
            theirs: voucher.vouch(theirs, expires),
            expected: candidate.expected(),
        })
    }

    /// Where a player will come to a relay from.
    fn end_of(&self, id: ClientId, relay: SocketAddr) -> Option<End> {
        let card = self.card(id)?;
        Some(End {
            address: card.towards(relay)?,
            any_port: card.nat != Nat::Steady,
        })
    }

    /// Two different numbers at random.
    fn two_hops(&mut self) -> [u32; 2] {
        let one = u32::from_be_bytes(self.chance.bytes());
        let apart = u32::from_be_bytes(self.chance.bytes()).max(1);
        [one, one.wrapping_add(apart)]
    }

    /// A session uses a relay now, or none; perhaps because another one failed.
    pub(super) fn uses(
        &mut self,
        id: ClientId,
        session: u64,
        relay: Option<ClientId>,
        complaint: Option<Complaint>,
    ) -> Result<Tell, Refusal> {
        let pair = self.sessions.get(session).filter(|pair| pair.source == id);
        let pair = pair.ok_or(Refusal::Unknown)?;
        if let Some(complaint) = complaint {
            self.complain(id, session, complaint);
        }
        let Some(relay) = relay else {
            self.directory.release(pair.key());
            return Ok(Tell::Done);
        };
        let used_before = self.directory.state().relay_of(pair.key()) == Some(relay);
        if !used_before && !self.sessions.was_offered(session, relay) {
            return Err(Refusal::Unknown);
        }
        // A relay that is full by our books may still carry: it knows best, and took the ticket.
        let _full = self.directory.engage(pair.key(), relay);
        Ok(Tell::Done)
    }

    /// Only who was offered a relay can complain of it, and one neighbourhood is one voice.
    fn complain(&mut self, id: ClientId, session: u64, complaint: Complaint) {
        let relay = complaint.relay;
        let Some(client) = self.clients.get(&id) else {
            return;
        };
        if !self.sessions.was_offered(session, relay) {
            return;
        }
        let prefix = self.prefix(client.whereabouts.main());
        self.counts.complaints += 1;
        let (now, life) = (self.clock.now, self.config.complaint_life);
        let voices = self.blame.add(relay, prefix, now, now + life);
        if voices >= self.config.complaints && self.blame.shun(relay, now + life) {
            self.pause(relay);
        }
    }

    pub(super) fn set_overloaded(&mut self, id: ClientId, overloaded: bool) {
        let joined = self.clients.get_mut(&id).and_then(|c| c.joined.as_mut());
        let Some(joined) = joined else {
            return;
        };
        if std::mem::replace(&mut joined.overloaded, overloaded) != overloaded {
            self.pause(id);
            self.show(id);
        }
    }

    /// Whether a relay is not offered: overloaded, or complained about.
    pub(super) fn is_paused(&self, id: ClientId) -> bool {
        let joined = self.clients.get(&id).and_then(|c| c.joined.as_ref());
        let here = joined.is_some_and(|joined| joined.overloaded);
        let elsewhere = self.cards.get(&id).is_some_and(|card| card.overloaded);
        here || elsewhere || self.blame.is_shunned(id)
    }

    /// Tells the directory whether a relay is to be offered, after something changed.
    pub(super) fn pause(&mut self, relay: ClientId) {
        let paused = self.is_paused(relay);
        self.directory.set_paused(relay, paused);
        self.event(Event::Paused { relay, paused });
    }

    /// Complaints grow old.
    pub(super) fn forgive(&mut self) {
        for relay in self.blame.forgive(self.clock.now) {
            self.pause(relay);
        }
    }
}

/// Relays that are looked at for one handshake.
const LOOKED_AT: usize = 16;
/// More that a client has already are not looked at.
const MOST_KNOWN: usize = 32;

/// One end of a session at a relay.
#[derive(Debug, Clone, Copy)]
struct End {
    address: SocketAddr,
    any_port: bool,
}

/// Offers, as many to a datagram as fit.
fn in_datagrams(session: u64, offers: Vec<RelayOffer>) -> Vec<Tell> {
    let mut tells = Vec::new();
    let mut relays = Vec::new();
    for offer in offers {
        relays.push(offer);
        let tell = Tell::Relays { session, relays };
        let fits = notice::fits(&tell);
        let Tell::Relays {
            relays: mut all, ..
        } = tell
        else {
            unreachable!("made above");
        };
        relays = match fits {
            true => all,
            false => {
                let last = all.split_off(all.len() - 1);
                tells.push(Tell::Relays {
                    session,
                    relays: all,
                });
                last
            }
        };
    }
    if !relays.is_empty() {
        tells.push(Tell::Relays { session, relays });
    }
    tells
}

impl RelayOffer {
    pub(super) fn into_both(self) -> (RelayPass, RelayPass) {
        (self.ours, self.theirs.pass)
    }
}

/// Who complained of which relays, and which are not offered for it.
#[derive(Debug, Default)]
pub(super) struct Blame {
    complaints: BTreeMap<ClientId, BTreeMap<Prefix, Moment>>,
    shunned: BTreeMap<ClientId, Moment>,
}

/// Prefixes remembered for one relay: more need not be counted.
const MOST_VOICES: usize = 64;

impl Blame {
    /// Counts a complaint until it is old; gives how many prefixes complain.
    fn add(&mut self, relay: ClientId, prefix: Prefix, now: Moment, until: Moment) -> usize {
        let voices = self.complaints.entry(relay).or_default();
        voices.retain(|_, until| *until > now);
        if voices.len() < MOST_VOICES || voices.contains_key(&prefix) {
            voices.insert(prefix, until);
        }
        voices.len()
    }

    /// Not to be offered until then; says whether that is new.
    fn shun(&mut self, relay: ClientId, until: Moment) -> bool {
        self.shunned.insert(relay, until).is_none()
    }

    fn is_shunned(&self, relay: ClientId) -> bool {
        self.shunned.contains_key(&relay)
    }

    /// Forgets what is old; gives the relays that may be offered again.
    fn forgive(&mut self, now: Moment) -> Vec<ClientId> {
        self.complaints.retain(|_, voices| {
            voices.retain(|_, until| *until > now);
            !voices.is_empty()
        });
        let over = self.shunned.iter().filter(|(_, until)| **until <= now);
        let over: Vec<ClientId> = over.map(|(relay, _)| *relay).collect();
        self.shunned.retain(|_, until| *until > now);
        over
    }
}

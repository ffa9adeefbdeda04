//! A node's peers: from an introduction over a meeting to a link.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::path::{self, Route};
use nearside_detour::{ClientId, PathConfig};
use nearside_types::{Moment, Prefix, Rtt};
use nearside_wire::detour::{Carry, Frame, PASS_BYTES};
use serde::Serialize;

use crate::crypto::{Chance, Identity, Keys, PublicKey, accept};
use crate::link::{self, Arrival, Link, Outgoing, Outset, relay_of};
use crate::messages::{Ask, Complaint, Introduction, RelayOffer};
use crate::vouched::Authority;

use super::Event;
use super::config::NodeConfig;
use super::meeting::Meeting;
use super::places::{self, Place};
use super::view::{LinkView, SwitchView};

/// A link by the number that frames for it carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct LinkId(pub u32);

impl fmt::Display for LinkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link {:08x}", self.0)
    }
}

#[derive(Debug)]
pub(super) struct Peers {
    meetings: BTreeMap<u64, Meeting>,
    links: BTreeMap<LinkId, Met>,
    words: VecDeque<Word>,
    /// How the directory's word is known, once it took us in.
    authority: Option<Authority>,
    path: PathConfig,
    source_ports: u8,
    accepts: bool,
    detours: bool,
    candidates: u8,
}

/// A peer that was met.
#[derive(Debug)]
struct Met {
    link: Link,
    session: u64,
    through_relay: bool,
    /// Where the peer was when it was met.
    network: Option<Prefix>,
    /// The first answer, in case the hello comes again.
    answered: Option<Answered>,
    next_relays: Option<Moment>,
    /// While the direct path is lost: when the directory is asked next where the peer is now.
    search: Option<Search>,
    /// What the direct path took before any relay was tried.
    before: Option<Rtt>,
    /// The last switches, the latest first.
    switches: VecDeque<path::Event>,
}

/// How a peer was found.
#[derive(Debug)]
struct Found {
    first: (Route, Outset),
    through_relay: bool,
    network: Option<Prefix>,
}

/// A search for a lost direct path.
#[derive(Debug, Clone, Copy)]
struct Search {
    next: Moment,
    interval: Duration,
    longest: Duration,
}

#[derive(Debug)]
struct Answered {
    pass: [u8; PASS_BYTES],
    index: u32,
    answer: Vec<u8>,
}

/// What peers want of the node.
#[derive(Debug)]
pub(super) enum Word {
    Send(Outgoing),
    Event(Event),
    Ask(Ask),
    /// The directory is to hear from us now.
    Sign,
    /// What came by a relay was late or lost: it may be farther away than is known.
    Suspect(ClientId),
}

/// How often new relays are asked for.
const RELAYS_INTERVAL: Duration = Duration::from_secs(60);
/// After one is not used any more, sooner.
const RELAYS_SOON: Duration = Duration::from_secs(5);
/// The directory is asked once more where a peer is after this, then after twice as long, and so on: at
/// first it may not know yet that the peer's NAT forgot, too.
const SEARCH_AGAIN: Duration = Duration::from_secs(1);
const LONGEST_SEARCH: Duration = Duration::from_secs(60);
/// A peer that is silent for so long, though it was sought where it is now, is met anew. To find one whose
/// NAT forgot takes 1.2 s when both did (docs/detour-play.md).
const FORGOTTEN: Duration = Duration::from_secs(2);
/// A direct path that never was is sought after this, and then less and less often: as a rule the NATs
/// are to blame, and stay as they are.
const SEARCH_AT_ALL: Duration = Duration::from_secs(15);
const LONGEST_SEARCH_AT_ALL: Duration = Duration::from_secs(10 * 60);
/// Switches that are remembered.
const MOST_SWITCHES: usize = 16;

impl Peers {
    pub(super) fn new(config: &NodeConfig) -> Self {
        Self {
            meetings: BTreeMap::new(),
            links: BTreeMap::new(),
            words: VecDeque::new(),
            authority: None,
            path: config.path.clone(),
            source_ports: config.source_ports,
            accepts: config.accepts,
            detours: config.detours,
            candidates: config.candidates,
        }
    }

    pub(super) fn link(&mut self, id: LinkId) -> Option<&mut Link> {
        self.links.get_mut(&id).map(|met| &mut met.link)
    }

    pub(super) fn is_silent(&self, id: LinkId) -> bool {
        let met = self.links.get(&id);
        met.is_some_and(|met| met.link.is_without_answer())
    }

    pub(super) fn ids(&self) -> Vec<LinkId> {
        self.links.keys().copied().collect()
    }

    /// Forgets a link, and gives its session.
    pub(super) fn remove(&mut self, id: LinkId) -> Option<u64> {
        Some(self.links.remove(&id)?.session)
    }

    /// The directory took us in.
    pub(super) fn set_authority(&mut self, authority: Authority) {
        self.authority = Some(authority);
        for met in self.links.values_mut() {
            met.link.set_authority(authority);
        }
    }

    pub(super) fn introduce(&mut self, now: Moment, intro: Introduction) {
        let session = intro.session;
        let unwanted = !intro.leads && !self.accepts;
        let known = self.links.values_mut().find(|met| met.session == session);
        if let Some(met) = known {
            met.seek(now, intro.clone());
            if !met.may_be_forgotten(now, &intro) {
                return;
            }
        } else if unwanted {
            return;
        }
        // One at a time with the same peer, so that nobody can take all places.
        let is_same = |other: &Introduction| other.peer == intro.peer && other.leads == intro.leads;
        self.meetings
            .retain(|known, meeting| *known == session || !is_same(&meeting.intro));
        if let Some(meeting) = self.meetings.get_mut(&session) {
            meeting.again(intro, now);
        } else if self.has_place(&intro) {
            self.make_room(&intro);
            self.meetings.insert(session, Meeting::new(intro, now));
        }
    }

    /// Whether there may be one more link with a peer; the one that it has would be replaced.
    fn has_place(&self, intro: &Introduction) -> bool {
        let others = || {
            let links = self.links.values();
            links.filter(|met| met.link.peer() != intro.peer)
        };
        let network = places::network(intro);
        let near = others().filter(|met| met.network == network).count();
        others().count() < places::MOST_LINKS && (intro.leads || near < places::MOST_LINKS_OF_ONE)
    }

    /// Gives up a meeting that somebody else asked for, where there are too many.
    fn make_room(&mut self, intro: &Introduction) {
        let others = self.meetings.values().filter(|old| !old.intro.leads);
        let others: Vec<Place> = others.map(Meeting::place).collect();
        let newcomer = places::network(intro).filter(|_| !intro.leads);
        if let Some(old) = places::gives_way(&others, newcomer) {
            self.meetings.remove(&old);
        }
    }

    /// Relays for a session of ours.
    pub(super) fn offer(&mut self, now: Moment, session: u64, relays: Vec<RelayOffer>) {
        let Some(met) = self.links.values_mut().find(|met| met.session == session) else {
            return;
        };
        for offer in relays {
            met.link.add_relay(now, offer.ours, offer.theirs);
        }
        met.link.handle_time(now);
    }

    pub(super) fn handle_sealed(
        &mut self,
        now: Moment,
        at: Arrival,
        to: u32,
        counter: u64,
        body: &mut [u8],
    ) {
        if let Some(met) = self.links.get_mut(&LinkId(to)) {
            met.link.handle_sealed(now, at, counter, body);
        }
    }

    /// By which relay a frame came, if one of ours knows its tag.
    pub(super) fn route_of(&self, carry: &Carry<'_>) -> Option<Route> {
        let links = self.links.values().find_map(|met| met.link.route_of(carry));
        let hops = || {
            self.meetings
                .values()
                .filter_map(|meeting| meeting.through.as_ref())
        };
        links.or_else(|| {
            let hop = hops().find(|hop| hop.accepts(carry))?;
            Some(Route::Via(hop.relay()))
        })
    }

    pub(super) fn handle_opened(&mut self, now: Moment, hop: u32, tag: u64) {
        for met in self.links.values_mut() {
            if met.link.handle_opened(now, hop, tag) {
                return;
            }
        }
        let hops = self
            .meetings
            .values_mut()
            .filter_map(|meeting| meeting.through.as_mut());
        for through in hops {
            through.opened(hop, tag);
        }
    }

    /// A relay has no place. A meeting goes on: it asks for another relay by itself.
    pub(super) fn handle_refused(&mut self, now: Moment, hop: u32, tag: u64) {
        let mut links = self.links.values_mut();
        links.any(|met| met.link.handle_refused(now, hop, tag));
    }

    pub(super) fn handle_punch(&mut self, now: Moment, from: SocketAddr, pass: [u8; PASS_BYTES]) {
        let meetings = self.meetings.values_mut();
        for meeting in meetings.filter(|meeting| meeting.intro.pass == pass) {
            meeting.heard_at(from, now);
        }
    }

    /// A hello from somebody who may have been introduced.
    pub(super) fn handle_hello(
        &mut self,
        now: Moment,
        at: Arrival,
        (index, pass, noise): (u32, [u8; PASS_BYTES], &[u8]),
        own: &Identity,
        chance: &mut Chance,
    ) {
        if self.answer_again(now, at, index, pass) {
            return;
        }
        let fits = |meeting: &&Meeting| meeting.intro.pass == pass && !meeting.intro.leads;
        let meeting = self.meetings.values().find(fits);
        let Some((meeting, authority)) = meeting.zip(self.authority) else {
            return;
        };
        let (session, peer) = (meeting.intro.session, meeting.intro.peer);
        let ours = self.free_index(chance);
        // Whoever the directory introduced, and nobody else.
        let said = |key: PublicKey, _: &[u8]| (key == peer).then(Vec::new);
        let Ok(accepted) = accept(own, (index, ours), noise, chance, said) else {
            return;
        };
        let answered = Answered {
            pass,
            index,
            answer: accepted.answer,
        };
        let answer = answered.frame();
        let Some(found) = self.leave_meeting(session, at) else {
            return;
        };
        let link = Link::following(accepted.keys, found.first, (authority, session), now);
        let met = Met {
            link,
            session,
            through_relay: found.through_relay,
            network: found.network,
            answered: Some(answered),
            next_relays: None,
            search: None,
            before: None,
            switches: VecDeque::new(),
        };
        self.welcome(LinkId(ours), met, peer);
        self.reply(now, LinkId(ours), at, &answer);
    }

    /// The same hello again, perhaps by another way: the same answer, by that way.
    fn answer_again(
        &mut self,
        now: Moment,
        at: Arrival,
        index: u32,
        pass: [u8; PASS_BYTES],
    ) -> bool {
        let same = |answered: &Answered| answered.pass == pass && answered.index == index;
        let found = self.links.iter().find_map(|(id, met)| {
            let answered = met.answered.as_ref().filter(|answered| same(answered))?;
            Some((*id, answered.frame()))
        });
        if let Some((id, answer)) = &found {
            self.reply(now, *id, at, answer);
        }
        found.is_some()
    }

    fn reply(&mut self, now: Moment, id: LinkId, at: Arrival, answer: &[u8]) {
        let outgoing = match at.route {
            Route::Direct => Some(Outgoing {
                port: at.port,
                to: at.from,
                bytes: answer.to_vec(),
            }),
            route => {
                let link = self.links.get_mut(&id).map(|met| &mut met.link);
                link.and_then(|link| link.carry(now, route, answer))
            }
        };
        self.words.extend(outgoing.map(Word::Send));
    }

    /// The answer to a hello of ours.
    pub(super) fn handle_answer(&mut self, now: Moment, at: Arrival, to: u32, noise: &[u8]) {
        let ours = |meeting: &&mut Meeting| meeting.index() == Some(to);
        let Some(meeting) = self.meetings.values_mut().find(ours) else {
            return;
        };
        let (session, peer) = (meeting.intro.session, meeting.intro.peer);
        let finished = meeting
            .dialling()
            .and_then(|dialling| dialling.finish(noise).ok());
        let Some((keys, _)) = finished else {
            return;
        };
        let Some(found) = self.leave_meeting(session, at) else {
            return;
        };
        let met = self.lead(now, keys, session, found);
        self.welcome(LinkId(to), met, peer);
    }

    fn lead(&self, now: Moment, keys: Keys, session: u64, found: Found) -> Met {
        let ports = self.source_ports;
        let link = Link::leading(keys, found.first, self.path.clone(), ports, now);
        let through_relay = found.through_relay;
        Met {
            link,
            session,
            through_relay,
            network: found.network,
            answered: None,
            // The direct path first; where there is none, at once.
            next_relays: (self.detours && through_relay).then_some(now),
            search: through_relay.then_some(Search {
                next: now + SEARCH_AT_ALL,
                interval: SEARCH_AT_ALL * 2,
                longest: LONGEST_SEARCH_AT_ALL,
            }),
            before: None,
            switches: VecDeque::new(),
        }
    }

    /// Ends a meeting with the way by which the other was found.
    fn leave_meeting(&mut self, session: u64, at: Arrival) -> Option<Found> {
        let meeting = self.meetings.remove(&session)?;
        let network = places::network(&meeting.intro);
        let first = match at.route {
            Route::Direct => (Route::Direct, Outset::Direct(at.from)),
            route => (route, Outset::Relay(meeting.through?)),
        };
        Some(Found {
            first,
            through_relay: at.route != Route::Direct,
            network,
        })
    }

    fn welcome(&mut self, id: LinkId, met: Met, peer: PublicKey) {
        let event = Event::Connected {
            link: id,
            peer,
            leads: met.link.leads(),
            through_relay: met.through_relay,
        };
        // A new link replaces an older one with the same peer.
        let leads = met.link.leads();
        let is_same = |old: &Met| old.link.peer() == peer && old.link.leads() == leads;
        let old = self.links.iter().filter(|(_, old)| is_same(old));
        let old: Vec<LinkId> = old.map(|(id, _)| *id).collect();
        for old in old {
            self.links.remove(&old);
            let closed = Event::Link(old, link::Event::Closed);
            self.words.push_back(Word::Event(closed));
        }
        self.links.insert(id, met);
        self.words.push_back(Word::Event(event));
    }

    fn free_index(&self, chance: &mut Chance) -> u32 {
        loop {
            let index = chance.number() as u32;
            let dialled = self
                .meetings
                .values()
                .any(|meeting| meeting.index() == Some(index));
            if !dialled && !self.links.contains_key(&LinkId(index)) {
                return index;
            }
        }
    }

    pub(super) fn handle_time(&mut self, now: Moment, own: &Identity, chance: &mut Chance) {
        self.poll_meetings(now, own, chance);
        for met in self.links.values_mut() {
            met.link.handle_time(now);
            self.words.extend(met.search(now).map(Word::Ask));
            if met.next_relays.is_some_and(|next| next <= now) {
                met.next_relays = Some(now + RELAYS_INTERVAL);
                let relays = Ask::Relays {
                    session: met.session,
                    most: self.candidates,
                    known: met.link.relays(now),
                };
                self.words.push_back(Word::Ask(relays));
            }
        }
    }

    fn poll_meetings(&mut self, now: Moment, own: &Identity, chance: &mut Chance) {
        let index = self.free_index(chance);
        let mut failed = Vec::new();
        self.end_needless_meetings();
        for (session, meeting) in &mut self.meetings {
            if meeting.has_failed(now) {
                failed.push(*session);
                continue;
            }
            if meeting.wants_relay(now) {
                self.words.push_back(Word::Ask(Ask::Through(*session)));
            }
            let index = index.wrapping_add(*session as u32);
            let out = meeting.poll(now, own, index, chance);
            self.words.extend(out.into_iter().map(Word::Send));
        }
        for session in failed {
            if let Some(meeting) = self.meetings.remove(&session)
                && meeting.intro.leads
                // Else that ends by itself, if it does not come back.
                && !self.links.values().any(|met| met.session == session)
            {
                self.words.push_back(Word::Ask(Ask::Part(session)));
                let event = Event::Unreachable(meeting.intro.peer);
                self.words.push_back(Word::Event(event));
            }
        }
    }

    /// A link that comes back needs no new one.
    fn end_needless_meetings(&mut self) {
        let links = &self.links;
        self.meetings.retain(|session, meeting| {
            let known = links.values().find(|met| met.session == *session);
            known.is_none_or(|met| met.link.heard() < meeting.begun())
        });
    }

    pub(super) fn next_time(&self) -> Option<Moment> {
        let meetings = self.meetings.values().map(Meeting::next_time);
        let links = self.links.values().map(|met| {
            let search = met.search.map(|search| search.next);
            let others = [met.next_relays, search].into_iter().flatten();
            others.fold(met.link.next_time(), Moment::min)
        });
        meetings.chain(links).min()
    }

    /// What there is to do for links.
    pub(super) fn poll(&mut self, now: Moment) -> Option<Word> {
        if let Some(word) = self.words.pop_front() {
            return Some(word);
        }
        let mut closed = None;
        for (id, met) in &mut self.links {
            let Some(output) = met.link.poll_output() else {
                continue;
            };
            let (word, over) = met.word(now, *id, output, self.detours);
            self.words.extend(word);
            closed = over.then_some(*id);
            break;
        }
        if let Some(session) = closed.and_then(|id| self.remove(id)) {
            self.words.push_back(Word::Ask(Ask::Part(session)));
        }
        self.words.pop_front()
    }

    pub(super) fn views(&self, now: Moment) -> Vec<LinkView> {
        let view = |(id, met): (&LinkId, &Met)| LinkView {
            link: *id,
            peer: met.link.peer().to_string(),
            leads: met.link.leads(),
            through_relay: met.through_relay,
            paths: met.link.paths(),
            before: met.before,
            switches: met
                .switches
                .iter()
                .filter_map(|event| switch(now, event))
                .collect(),
            gain_us: met.link.gain_us(),
            counts: met.link.counts(),
            comparison: met.link.comparison(),
        };
        self.links.iter().map(view).collect()
    }
}

impl Met {
    /// What to ask about a direct path that is lost, if it is time.
    fn search(&mut self, now: Moment) -> Option<Ask> {
        if !self.link.lacks_direct() {
            self.search = None;
        }
        let search = self.search.as_mut().filter(|search| search.next <= now)?;
        search.next = now + search.interval;
        search.interval = (search.interval * 2).min(search.longest);
        Some(Ask::Again(self.session))
    }

    /// The two were introduced again: the peer may be elsewhere by now.
    fn seek(&mut self, now: Moment, intro: Introduction) {
        let link = &mut self.link;
        if link.peer() == intro.peer && link.leads() == intro.leads {
            link.seek(now, intro.addresses, intro.pass);
            link.handle_time(now);
        }
    }

    /// Whether the peer may have lost the keys, since seeking it under them has brought nothing: it may
    /// have been started anew.
    fn may_be_forgotten(&self, now: Moment, intro: &Introduction) -> bool {
        let patience = match self.link.is_without_answer() {
            true => FORGOTTEN,
            false => FORGOTTEN * 2, // without a game there is a probe each second
        };
        let long = now.since(self.link.heard()) >= patience;
        long && self.link.peer() == intro.peer && self.link.leads() == intro.leads
    }

    /// What an output of the link means to the node, and whether the link is over.
    fn word(
        &mut self,
        now: Moment,
        id: LinkId,
        output: link::Output,
        detours: bool,
    ) -> (Vec<Word>, bool) {
        match output {
            link::Output::Send(outgoing) => (vec![Word::Send(outgoing)], false),
            link::Output::Deliver { flow, payload } => {
                let link = id;
                let event = Event::Delivered {
                    link,
                    flow,
                    payload,
                };
                (vec![Word::Event(event)], false)
            }
            link::Output::Event(event) => {
                let asks = self.consequences(now, &event, detours);
                let over = event == link::Event::Closed;
                let suspect = match &event {
                    link::Event::RelayFailed { relay, .. } => Some(Word::Suspect(*relay)),
                    _ => None,
                };
                let event = Word::Event(Event::Link(id, event));
                let words = asks.into_iter().chain(suspect).chain([event]);
                (words.collect(), over)
            }
        }
    }

    fn consequences(&mut self, now: Moment, event: &link::Event, detours: bool) -> Option<Word> {
        let session = self.session;
        let uses = |relay, complaint| {
            Some(Word::Ask(Ask::Uses {
                session,
                relay,
                complaint,
            }))
        };
        match event {
            link::Event::Settled => {
                self.before = self.link.score(Route::Direct);
                self.next_relays = detours.then_some(now);
                None
            }
            link::Event::Path(event @ path::Event::Switched { to, .. }) => {
                self.switches.truncate(MOST_SWITCHES - 1);
                self.switches.push_front(*event);
                uses(relay_of(*to), None)
            }
            link::Event::Path(path::Event::Vetoed { .. }) => {
                self.next_relays = self.next_relays.map(|next| next.min(now + RELAYS_SOON));
                None
            }
            link::Event::RelayFailed { relay, fault } => {
                let complaint = Complaint {
                    relay: *relay,
                    fault: *fault,
                };
                uses(relay_of(self.link.active()), Some(complaint))
            }
            link::Event::DirectLost | link::Event::PeerSilent if self.link.leads() => {
                let begin = Search {
                    next: now,
                    interval: SEARCH_AGAIN,
                    longest: LONGEST_SEARCH,
                };
                self.search.get_or_insert(begin);
                None
            }
            // So that the directory knows where we are when the leader asks.
            link::Event::PeerSilent => Some(Word::Sign),
            _ => None,
        }
    }
}

/// A switch as a face shows it.
fn switch(now: Moment, event: &path::Event) -> Option<SwitchView> {
    match event {
        path::Event::Switched {
            at,
            from,
            to,
            reason,
            expected_gain_us,
        } => Some(SwitchView {
            ago_s: now.since(*at).as_secs_f64(),
            from: *from,
            to: *to,
            reason: *reason,
            expected_gain_us: *expected_gain_us,
        }),
        path::Event::Vetoed { .. } => None,
    }
}

impl Answered {
    fn frame(&self) -> Vec<u8> {
        let noise = &self.answer;
        Frame::Answer {
            to: self.index,
            noise,
        }
        .emit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn introduced(number: u8, network: u8) -> Introduction {
        Introduction {
            session: u64::from(network) << 8 | u64::from(number),
            peer: PublicKey([number; 32]),
            addresses: vec![([198, 51, network, number], 4_000).into()],
            pass: [number; PASS_BYTES],
            leads: false,
            through: None,
        }
    }

    #[test]
    fn identities_of_one_network_keep_nobody_else_from_a_meeting() {
        let mut peers = Peers::new(&NodeConfig::default());
        for number in 0..200 {
            peers.introduce(Moment::EPOCH, introduced(number, 1));
        }
        assert_eq!(peers.meetings.len(), 16);
        for network in 2..200 {
            let late = introduced(1, network);
            let session = late.session;
            peers.introduce(Moment::EPOCH, late);
            assert!(peers.meetings.contains_key(&session), "network {network}");
            assert!(peers.meetings.len() <= places::MOST_MEETINGS);
        }
    }
}

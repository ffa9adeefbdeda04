//! Beside a player: a game on this machine sends to a local port, and its packets go by the link to the
//! peer beside the game server. Where nobody of ours stands there, they go plainly, as without us.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use nearside_tunnel::crypto::PublicKey;
use nearside_tunnel::messages::Found;
use nearside_tunnel::node::{GamesView, LinkId};
use nearside_types::Moment;

use super::is_idle;

/// The local side of a proxy.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) game: SocketAddr,
    flows: BTreeMap<SocketAddr, Flow>,
    next_flow: u16,
    state: State,
    /// Packets of the first seconds, until it is known how they go.
    held: VecDeque<(u16, Vec<u8>)>,
    /// Since when nothing comes by the link.
    silent: Option<Moment>,
    /// Who stands beside the server, by the directory's last answer to our own question.
    sought: Option<Found>,
    /// Whether that one is being met.
    meeting: bool,
    /// One that could not be reached, until it is time to look for it again.
    missed: Option<PublicKey>,
    /// The other end of the link, also after that ended.
    peer: Option<Found>,
    /// When the directory is asked next for somebody else, while nobody answers.
    next_look: Moment,
}

#[derive(Debug, Clone, Copy)]
struct Flow {
    number: u16,
    used: Moment,
    /// When the peer was told last where it goes, on this link.
    named: Option<Moment>,
    /// When something came for it last.
    heard: Option<Moment>,
    /// Once its server has answered it at one address, it stays there.
    begun: Begun,
}

impl Flow {
    /// See [`Proxy::wants_name`].
    fn wants_name(&mut self, now: Moment) -> bool {
        let last = self
            .named
            .map(|named| self.heard.map_or(named, |heard| named.max(heard)));
        let wants = last.is_none_or(|last| now.since(last) >= NAME_AGAIN);
        if wants {
            self.named = Some(now);
        }
        wants
    }
}

/// How a flow began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    NotYet,
    /// Sent by the link, and nothing came back yet.
    Sent,
    /// Answered by the link.
    Linked,
    Plain,
}

impl Begun {
    /// Whether it may still go plainly: no server knows it at another address.
    fn is_open(self) -> bool {
        matches!(self, Self::NotYet | Self::Sent)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Looking for the peer since then.
    Searching(Moment),
    Linked(LinkId),
    /// Nobody there; look again then.
    Plain(Moment),
}

/// How long packets wait for the link. A game's own patience with a server is longer.
const HOLD: Duration = Duration::from_secs(3);
const MOST_HELD: usize = 64;
/// How often the peer is looked for while packets go plainly.
const SEARCH_AGAIN: Duration = Duration::from_secs(30);
/// How often somebody else is asked for while the peer is silent: the directory knows after two seconds and a
/// half that it does not answer there either.
const LOOK_AGAIN: Duration = Duration::from_secs(3);
/// A flow of which nothing comes back is named again after this long: the peer may not know it.
const NAME_AGAIN: Duration = Duration::from_secs(2);
/// Local addresses at most.
const MOST_FLOWS: usize = 1_024;

/// What to do with a packet from a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Take {
    /// Send it by the link; the peer may have to be told first where the flow goes.
    Link { link: LinkId, flow: u16, name: bool },
    /// Send it plainly.
    Plain(u16),
    /// It waits.
    Held,
    /// There are too many flows.
    Dropped,
}

impl Proxy {
    /// Flows are numbered from somewhere: after a restart under the same key, none shall be taken for one
    /// of before.
    pub(crate) fn new(game: SocketAddr, first_flow: u16, now: Moment) -> Self {
        Self {
            game,
            flows: BTreeMap::new(),
            next_flow: first_flow,
            state: State::Searching(now),
            held: VecDeque::new(),
            silent: None,
            sought: None,
            meeting: false,
            missed: None,
            peer: None,
            next_look: now + LOOK_AGAIN,
        }
    }

    /// The directory named who leads to the server; whether that one is to be met now. Where it is met
    /// already, or was and is silent, another is better than none.
    pub(crate) fn seek(&mut self, found: &Found) -> bool {
        let is_another = !self.seeks(found.peer);
        let wanted = match self.state {
            State::Linked(_) => self.silent.is_some() && is_another,
            State::Searching(_) => is_another || !self.meeting,
            State::Plain(_) => self.missed != Some(found.peer) && (is_another || !self.meeting),
        };
        if wanted {
            self.sought = Some(found.clone());
            self.meeting = true;
        }
        wanted
    }

    /// One that was to be met cannot be reached: whether it is the one that is sought.
    pub(crate) fn misses(&mut self, peer: PublicKey) -> bool {
        let is_sought = self.sought.as_ref().is_some_and(|found| found.peer == peer);
        if is_sought {
            self.meeting = false;
            self.missed = Some(peer);
        }
        is_sought
    }

    /// What flows are named by: a way out has to know the server, the peer beside it does.
    pub(crate) fn destination(&self) -> Option<SocketAddr> {
        let by_exit = self.peer.as_ref().is_some_and(|peer| peer.is_exit);
        by_exit.then_some(self.game)
    }

    /// Whether a peer is the one that leads to the server, or did until it fell silent.
    pub(crate) fn seeks(&self, peer: PublicKey) -> bool {
        let mut known = [&self.sought, &self.peer].into_iter().flatten();
        known.any(|found| found.peer == peer)
    }

    pub(crate) fn link(&self) -> Option<LinkId> {
        match self.state {
            State::Linked(link) => Some(link),
            _ => None,
        }
    }

    /// A packet from a game at a local address.
    pub(crate) fn take(&mut self, now: Moment, from: SocketAddr, payload: &[u8]) -> Take {
        let Some(flow) = self.flow(now, from) else {
            return Take::Dropped;
        };
        let given_up = self.silent.is_some_and(|since| now.since(since) >= HOLD);
        match self.state {
            _ if flow.begun == Begun::Plain => Take::Plain(flow.number),
            // The peer may be gone while the server is there: what it never answered goes plainly.
            State::Linked(_) if given_up && flow.begun.is_open() => {
                self.begin(from, Begun::Plain);
                Take::Plain(flow.number)
            }
            State::Linked(link) => {
                if flow.begun == Begun::NotYet {
                    self.begin(from, Begun::Sent);
                }
                let known = self.flows.get_mut(&from);
                let name = known.is_some_and(|flow| flow.wants_name(now));
                let flow = flow.number;
                Take::Link { link, flow, name }
            }
            State::Plain(_) if flow.begun.is_open() => {
                self.begin(from, Begun::Plain);
                Take::Plain(flow.number)
            }
            // One that was sealed does not go on in the open: it waits until the peer is back.
            State::Plain(_) | State::Searching(_) => {
                if self.held.len() == MOST_HELD {
                    self.held.pop_front();
                }
                self.held.push_back((flow.number, payload.to_vec()));
                Take::Held
            }
        }
    }

    fn flow(&mut self, now: Moment, from: SocketAddr) -> Option<Flow> {
        if let Some(flow) = self.flows.get_mut(&from) {
            flow.used = now;
            return Some(*flow);
        }
        if self.flows.len() >= MOST_FLOWS {
            return None;
        }
        let flow = Flow {
            number: self.free_number(),
            used: now,
            named: None,
            heard: None,
            begun: Begun::NotYet,
        };
        self.flows.insert(from, flow);
        Some(flow)
    }

    /// Whether the peer has to be told now where a flow goes; it counts as told then.
    pub(crate) fn wants_name(&mut self, now: Moment, flow: u16) -> bool {
        let mut flows = self.flows.values_mut();
        let known = flows.find(|known| known.number == flow);
        known.is_some_and(|flow| flow.wants_name(now))
    }

    /// A number that no flow has.
    fn free_number(&mut self) -> u16 {
        loop {
            self.next_flow = self.next_flow.wrapping_add(1);
            if !self
                .flows
                .values()
                .any(|flow| flow.number == self.next_flow)
            {
                return self.next_flow;
            }
        }
    }

    fn begin(&mut self, from: SocketAddr, begun: Begun) {
        if let Some(flow) = self.flows.get_mut(&from) {
            flow.begun = begun;
        }
    }

    /// The peer does not take a flow: it goes plainly, unless its server has answered it by the link.
    /// Whether it does.
    pub(crate) fn refused(&mut self, flow: u16) -> bool {
        let mut flows = self.flows.values_mut();
        let open = flows.find(|known| known.number == flow && known.begun.is_open());
        open.map(|flow| flow.begun = Begun::Plain).is_some()
    }

    /// Something came by the link for a flow.
    pub(crate) fn answered(&mut self, now: Moment, flow: u16) {
        self.silent = None;
        let mut flows = self.flows.values_mut();
        if let Some(flow) = flows.find(|known| known.number == flow) {
            flow.heard = Some(now);
            if flow.begun.is_open() {
                flow.begun = Begun::Linked;
            }
        }
    }

    /// Nothing comes by the link any more.
    pub(crate) fn falls_silent(&mut self, now: Moment) {
        self.silent.get_or_insert(now);
    }

    /// Something comes again, if only a word between us and the peer.
    pub(crate) fn is_heard(&mut self) {
        self.silent = None;
    }

    /// Whether it is time to ask for somebody else, since nobody answers.
    pub(crate) fn wants_look(&mut self, now: Moment) -> bool {
        let since = match self.state {
            State::Searching(since) => Some(since),
            State::Linked(_) => self.silent,
            State::Plain(_) => None,
        };
        let waited = since.is_some_and(|since| now.since(since) >= LOOK_AGAIN);
        let wants = waited && self.next_look <= now;
        if wants {
            self.next_look = now + LOOK_AGAIN;
        }
        wants
    }

    /// What becomes of games, for a face.
    pub(crate) fn view(&self) -> GamesView {
        let count = |wanted: fn(Begun) -> bool| {
            let flows = self.flows.values();
            flows.filter(|flow| wanted(flow.begun)).count()
        };
        GamesView {
            game: self.game,
            sealed: count(|begun| begun == Begun::Linked),
            plain: count(|begun| begun == Begun::Plain),
            waiting: count(Begun::is_open),
            goes_plainly: matches!(self.state, State::Plain(_)),
        }
    }

    /// The local address of a flow.
    pub(crate) fn address(&self, flow: u16) -> Option<SocketAddr> {
        let found = self.flows.iter().find(|(_, known)| known.number == flow);
        found.map(|(address, _)| *address)
    }

    /// The link to a peer that was sought is there; what was held goes out.
    pub(crate) fn linked(&mut self, link: LinkId, peer: PublicKey) -> VecDeque<(u16, Vec<u8>)> {
        self.state = State::Linked(link);
        self.silent = None;
        if let Some(found) = self.sought.as_ref().filter(|found| found.peer == peer) {
            self.peer = Some(found.clone());
            (self.meeting, self.missed) = (false, None);
        }
        for flow in self.flows.values_mut() {
            flow.named = None;
            if flow.begun == Begun::NotYet {
                flow.begun = Begun::Sent;
            }
        }
        std::mem::take(&mut self.held)
    }

    /// The link ended: the peer is looked for again.
    pub(crate) fn lost(&mut self, now: Moment) {
        self.state = State::Searching(now);
    }

    /// Nobody is there, or not for the time being: what was held goes plainly, but for flows that were
    /// sealed before.
    pub(crate) fn give_up(&mut self, now: Moment) -> VecDeque<(u16, Vec<u8>)> {
        self.state = State::Plain(now + SEARCH_AGAIN);
        let sealed: Vec<u16> = self
            .flows
            .values()
            .filter(|flow| flow.begun == Begun::Linked)
            .map(|flow| flow.number)
            .collect();
        for flow in self.flows.values_mut().filter(|flow| flow.begun.is_open()) {
            flow.begun = Begun::Plain;
        }
        let mut held = std::mem::take(&mut self.held);
        held.retain(|(number, _)| !sealed.contains(number));
        held
    }

    /// Whether packets have waited long enough.
    pub(crate) fn is_tired(&self, now: Moment) -> bool {
        match self.state {
            State::Searching(since) => !self.held.is_empty() && now.since(since) >= HOLD,
            _ => false,
        }
    }

    /// Whether it is time to look for the peer again.
    pub(crate) fn wants_search(&mut self, now: Moment) -> bool {
        match self.state {
            State::Plain(at) if at <= now => {
                self.state = State::Plain(now + SEARCH_AGAIN);
                self.missed = None;
                true
            }
            _ => false,
        }
    }

    /// Forgets local addresses that were not used for long.
    pub(crate) fn sweep(&mut self, now: Moment) {
        self.flows.retain(|_, flow| !is_idle(now, flow.used));
    }

    pub(crate) fn is_plain(&self, flow: u16) -> bool {
        self.flows
            .values()
            .any(|known| known.number == flow && known.begun == Begun::Plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: LinkId = LinkId(7);
    const PEER: PublicKey = PublicKey([7; 32]);
    const OTHER: PublicKey = PublicKey([8; 32]);

    fn at(seconds: u64) -> Moment {
        Moment::EPOCH + Duration::from_secs(seconds)
    }

    fn local(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    fn proxy() -> Proxy {
        Proxy::new("192.0.2.1:27960".parse().unwrap(), 0, at(0))
    }

    #[test]
    fn first_packets_wait_for_the_link_and_then_all_go_by_it() {
        let mut proxy = proxy();
        assert_eq!(proxy.take(at(0), local(1), b"one"), Take::Held);
        assert!(!proxy.is_tired(at(1)));
        let held = proxy.linked(LINK, PEER);
        assert_eq!(held, [(1, b"one".to_vec())]);
        let second = Take::Link {
            link: LINK,
            flow: 2,
            name: true,
        };
        assert_eq!(proxy.take(at(2), local(2), b"two"), second);
        assert_eq!(proxy.address(2), Some(local(2)));
    }

    #[test]
    fn without_a_peer_packets_go_plainly_and_a_flow_stays_as_it_began() {
        let mut proxy = proxy();
        proxy.take(at(0), local(1), b"one");
        assert!(proxy.is_tired(at(3)));
        assert_eq!(proxy.give_up(at(3)).len(), 1);
        assert_eq!(proxy.take(at(4), local(1), b"two"), Take::Plain(1));
        assert!(!proxy.wants_search(at(4)));
        assert!(proxy.wants_search(at(33)));
        proxy.linked(LINK, PEER);
        assert_eq!(proxy.take(at(34), local(1), b"three"), Take::Plain(1));
        let new = Take::Link {
            link: LINK,
            flow: 2,
            name: true,
        };
        assert_eq!(proxy.take(at(34), local(2), b"four"), new);
    }

    #[test]
    fn what_was_sealed_does_not_go_on_in_the_open() {
        let mut proxy = proxy();
        proxy.linked(LINK, PEER);
        proxy.take(at(1), local(1), b"sealed");
        proxy.answered(at(1), 1);
        assert!(!proxy.refused(1), "nor when the peer has no room");
        proxy.lost(at(2));
        assert_eq!(proxy.take(at(2), local(1), b"waits"), Take::Held);
        assert_eq!(proxy.give_up(at(6)).len(), 0);
        assert_eq!(proxy.take(at(7), local(1), b"waits still"), Take::Held);
        assert_eq!(proxy.take(at(7), local(2), b"new"), Take::Plain(2));
    }

    #[test]
    fn what_a_silent_peer_never_answered_goes_plainly() {
        let mut proxy = proxy();
        proxy.linked(LINK, PEER);
        proxy.take(at(1), local(1), b"one");
        proxy.answered(at(1), 1);
        proxy.take(at(2), local(2), b"two");
        proxy.falls_silent(at(3));
        let linked = |take| matches!(take, Take::Link { .. });
        assert!(linked(proxy.take(at(5), local(2), b"waits a little")));
        assert_eq!(proxy.take(at(6), local(2), b"plain"), Take::Plain(2));
        assert!(linked(proxy.take(at(6), local(1), b"sealed for good")));
        let view = proxy.view();
        assert_eq!((view.sealed, view.plain, view.waiting), (1, 1, 0));
        proxy.answered(at(1), 1);
        assert!(linked(proxy.take(at(7), local(3), b"the peer is back")));
    }

    fn found(peer: PublicKey) -> Found {
        let is_exit = false;
        Found { peer, is_exit }
    }

    #[test]
    fn another_is_met_while_the_peer_is_silent_and_either_may_come_back() {
        let mut proxy = proxy();
        assert!(proxy.seek(&found(PEER)));
        assert!(!proxy.seek(&found(PEER)), "it is being met");
        proxy.linked(LINK, PEER);
        assert!(!proxy.seek(&found(OTHER)), "it answers");
        assert!(!proxy.wants_look(at(9)));
        proxy.falls_silent(at(10));
        assert!(!proxy.wants_look(at(12)));
        assert!(proxy.wants_look(at(13)) && !proxy.wants_look(at(14)));
        assert!(!proxy.seek(&found(PEER)), "the same would be of no use");
        assert!(proxy.seek(&found(OTHER)));
        assert!(proxy.seeks(PEER) && proxy.seeks(OTHER));
        proxy.linked(LinkId(8), OTHER);
        assert!(!proxy.wants_look(at(20)));
    }

    #[test]
    fn one_that_cannot_be_reached_is_met_again_after_a_while_and_another_at_once() {
        let mut proxy = proxy();
        proxy.seek(&found(PEER));
        assert!(!proxy.misses(OTHER));
        assert!(proxy.misses(PEER));
        proxy.give_up(at(12));
        assert!(!proxy.seek(&found(PEER)));
        assert!(proxy.seek(&found(OTHER)));
        assert!(proxy.misses(OTHER));
        assert!(proxy.wants_search(at(42)));
        assert!(proxy.seek(&found(OTHER)));
    }

    #[test]
    fn a_flow_is_named_until_something_comes_back() {
        let mut proxy = proxy();
        proxy.linked(LINK, PEER);
        let mut names = |seconds, answered: bool| {
            if answered {
                proxy.answered(at(seconds), 1);
            }
            match proxy.take(at(seconds), local(1), b"x") {
                Take::Link { name, .. } => name,
                other => panic!("{other:?}"),
            }
        };
        assert!(names(1, false), "the first");
        assert!(!names(2, false), "it is repeated until heard anyway");
        assert!(names(3, false), "nothing came back");
        assert!(!names(4, true));
        assert!(!names(5, true));
        assert!(names(7, false), "the peer may have forgotten it");
        proxy.linked(LinkId(8), PEER);
        assert!(proxy.wants_name(at(8), 1), "a new link");
    }

    #[test]
    fn local_addresses_are_bounded_and_forgotten() {
        let mut proxy = proxy();
        proxy.linked(LINK, PEER);
        for port in 1..=1_024 {
            assert!(matches!(
                proxy.take(at(0), local(port), b"x"),
                Take::Link { .. }
            ));
        }
        assert_eq!(proxy.take(at(0), local(2_000), b"x"), Take::Dropped);
        proxy.sweep(at(301));
        assert!(matches!(
            proxy.take(at(301), local(2_000), b"x"),
            Take::Link { .. }
        ));
    }
}

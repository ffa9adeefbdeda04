//! Beside a game server: every player elsewhere gets a socket of its own towards the server, so that the
//! server tells them apart by address, and sees each at the same one whatever path its packets take.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use nearside_tunnel::crypto::PublicKey;
use nearside_tunnel::node::LinkId;
use nearside_types::Moment;

use super::{Guest, Stream, is_idle};

/// Who goes where.
#[derive(Debug)]
pub(crate) struct Beside {
    game: Option<SocketAddr>,
    exits: Vec<SocketAddr>,
    guests: BTreeMap<Guest, Visit>,
    /// The guest of each link.
    links: BTreeMap<LinkId, Guest>,
    next_guest: u64,
    streams: BTreeMap<Stream, Going>,
    /// First packets of streams whose name is still under way.
    held: BTreeMap<Stream, Held>,
}

#[derive(Debug)]
struct Held {
    since: Moment,
    packets: Vec<Vec<u8>>,
}

/// A player elsewhere. Links come and go; the server keeps knowing the player at the same addresses.
#[derive(Debug, Clone, Copy)]
struct Visit {
    peer: PublicKey,
    /// Whether we asked for the link: a player may have one of either kind.
    leads: bool,
    line: Line,
}

/// How a player is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    By(LinkId),
    /// Its link ended then.
    Gone(Moment),
}

#[derive(Debug, Clone, Copy)]
struct Going {
    to: SocketAddr,
    used: Moment,
}

/// Streams at most, of one player and altogether.
const MOST_OF_ONE: usize = 64;
const MOST: usize = 4_096;
/// How long a player without a link keeps its addresses. Two ends of a link that died notice it within
/// half a minute of each other.
const RETURN: Duration = Duration::from_secs(60);
/// How long packets wait for the name of their stream, which is repeated every quarter of a second; and how
/// many, of how many streams.
const HOLD: Duration = Duration::from_secs(2);
const MOST_HELD: usize = 8;
const MOST_HOLDING: usize = 64;

impl Beside {
    pub(crate) fn new(game: Option<SocketAddr>, exits: Vec<SocketAddr>) -> Self {
        Self {
            game,
            exits,
            guests: BTreeMap::new(),
            links: BTreeMap::new(),
            next_guest: 0,
            streams: BTreeMap::new(),
            held: BTreeMap::new(),
        }
    }

    /// A player is linked, perhaps again.
    pub(crate) fn arrives(&mut self, link: LinkId, peer: PublicKey, leads: bool) {
        let is_same = |visit: &Visit| visit.peer == peer && visit.leads == leads;
        let known = self.guests.iter().find(|(_, visit)| is_same(visit));
        let guest = known.map(|(guest, _)| *guest);
        let guest = guest.unwrap_or_else(|| self.new_guest());
        let line = Line::By(link);
        let visit = Visit { peer, leads, line };
        if let Some(Line::By(old)) = self.guests.insert(guest, visit).map(|old| old.line) {
            self.links.remove(&old);
        }
        self.links.insert(link, guest);
    }

    fn new_guest(&mut self) -> Guest {
        self.next_guest += 1;
        Guest(self.next_guest)
    }

    /// A link ended. The player may come back by another at once, when the two are introduced anew.
    pub(crate) fn leaves(&mut self, now: Moment, link: LinkId) {
        let guest = self.links.remove(&link);
        if let Some(visit) = guest.and_then(|guest| self.guests.get_mut(&guest)) {
            visit.line = Line::Gone(now);
        }
    }

    /// Which stream a flow of a link is.
    pub(crate) fn stream(&self, link: LinkId, flow: u16) -> Option<Stream> {
        Some((*self.links.get(&link)?, flow))
    }

    /// By which link the player of a stream is reached.
    pub(crate) fn link(&self, stream: Stream) -> Option<LinkId> {
        match self.guests.get(&stream.0)?.line {
            Line::By(link) => Some(link),
            Line::Gone(_) => None,
        }
    }

    /// A player names where its stream goes; `false` if it may not go there.
    pub(crate) fn open(&mut self, now: Moment, stream: Stream, to: Option<SocketAddr>) -> bool {
        let to = match to {
            Some(to) => Some(to).filter(|to| self.exits.contains(to) || self.game == Some(*to)),
            None => self.game,
        };
        let Some(to) = to.filter(|_| self.has_room(stream)) else {
            return false;
        };
        self.streams.insert(stream, Going { to, used: now });
        true
    }

    fn has_room(&mut self, stream: Stream) -> bool {
        if self.streams.contains_key(&stream) {
            return true;
        }
        if self.streams.len() >= MOST {
            self.forget_guests(|line| matches!(line, Line::Gone(_)));
        }
        let (guest, _) = stream;
        let of_one = self.streams.range((guest, 0)..=(guest, u16::MAX)).count();
        of_one < MOST_OF_ONE && self.streams.len() < MOST
    }

    /// Where a packet of a stream goes. With exits, one that was never named may belong anywhere; without,
    /// it goes to the game server.
    pub(crate) fn destination(&mut self, now: Moment, stream: Stream) -> Option<SocketAddr> {
        if self.exits.is_empty() && !self.streams.contains_key(&stream) {
            self.open(now, stream, None);
        }
        let going = self.streams.get_mut(&stream)?;
        going.used = now;
        Some(going.to)
    }

    /// Keeps a packet of a stream that was not named yet: what names it may be lost, or come later.
    pub(crate) fn hold(&mut self, now: Moment, stream: Stream, payload: &[u8]) {
        if self.exits.is_empty()
            || (self.held.len() >= MOST_HOLDING && !self.held.contains_key(&stream))
        {
            return;
        }
        let held = self.held.entry(stream).or_insert_with(|| Held {
            since: now,
            packets: Vec::new(),
        });
        if held.packets.len() < MOST_HELD {
            held.packets.push(payload.to_vec());
        }
    }

    /// What was kept of a stream.
    pub(crate) fn take_held(&mut self, stream: Stream) -> Vec<Vec<u8>> {
        let held = self.held.remove(&stream);
        held.map_or_else(Vec::new, |held| held.packets)
    }

    /// Whether packets from there belong to a stream.
    pub(crate) fn accepts(&self, stream: Stream, from: SocketAddr) -> bool {
        self.streams
            .get(&stream)
            .is_some_and(|going| going.to == from)
    }

    pub(crate) fn is_known(&self, stream: Stream) -> bool {
        self.streams.contains_key(&stream)
    }

    pub(crate) fn sweep(&mut self, now: Moment) {
        self.streams.retain(|_, going| !is_idle(now, going.used));
        self.held.retain(|_, held| now.since(held.since) < HOLD);
        self.forget_guests(|line| matches!(line, Line::Gone(since) if now.since(since) >= RETURN));
    }

    fn forget_guests(&mut self, is_over: impl Fn(Line) -> bool) {
        self.guests.retain(|_, visit| !is_over(visit.line));
        let guests = &self.guests;
        self.streams
            .retain(|(guest, _), _| guests.contains_key(guest));
        self.held.retain(|(guest, _), _| guests.contains_key(guest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Guest = Guest(0);

    fn key(name: u8) -> PublicKey {
        PublicKey([name; 32])
    }

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn packets_go_to_the_game_and_to_listed_exits_only() {
        let (game, exit) = (address("127.0.0.1:27960"), address("192.0.2.9:27960"));
        let mut beside = Beside::new(Some(game), vec![exit]);
        let now = Moment::EPOCH;
        assert!(beside.open(now, (ONE, 1), None));
        assert_eq!(beside.destination(now, (ONE, 1)), Some(game));
        assert!(beside.open(now, (ONE, 2), Some(exit)));
        assert_eq!(beside.destination(now, (ONE, 2)), Some(exit));
        assert!(!beside.open(now, (ONE, 3), Some(address("192.0.2.10:53"))));
        assert!(beside.accepts((ONE, 2), exit) && !beside.accepts((ONE, 2), game));
    }

    #[test]
    fn packets_of_a_stream_without_a_name_wait_for_it_a_little() {
        let exit = address("192.0.2.9:27960");
        let mut beside = Beside::new(None, vec![exit]);
        let now = Moment::EPOCH;
        assert_eq!(beside.destination(now, (ONE, 1)), None);
        for n in 0..20 {
            beside.hold(now, (ONE, 1), &[n]);
        }
        assert!(beside.open(now, (ONE, 1), Some(exit)));
        assert_eq!(beside.take_held((ONE, 1)).len(), MOST_HELD);
        assert_eq!(beside.destination(now, (ONE, 1)), Some(exit));

        for flow in 100..300 {
            beside.hold(now, (ONE, flow), b"never named");
        }
        assert_eq!(beside.held.len(), MOST_HOLDING);
        beside.sweep(now + HOLD);
        assert_eq!(beside.take_held((ONE, 100)), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn without_a_game_server_nothing_goes_anywhere_unlisted() {
        let mut beside = Beside::new(None, Vec::new());
        assert_eq!(beside.destination(Moment::EPOCH, (ONE, 1)), None);
    }

    #[test]
    fn one_player_cannot_take_all_sockets() {
        let mut beside = Beside::new(Some(address("127.0.0.1:1")), Vec::new());
        let opened =
            (0..1_000).filter(|flow| beside.destination(Moment::EPOCH, (ONE, *flow)).is_some());
        assert_eq!(opened.count(), MOST_OF_ONE);
        assert!(beside.destination(Moment::EPOCH, (Guest(1), 1)).is_some());
    }

    #[test]
    fn a_player_who_is_introduced_anew_keeps_its_streams() {
        let game = address("127.0.0.1:27960");
        let mut beside = Beside::new(Some(game), Vec::new());
        let now = Moment::EPOCH;
        beside.arrives(LinkId(7), key(1), false);
        let stream = beside.stream(LinkId(7), 3).unwrap();
        beside.destination(now, stream);
        beside.leaves(now, LinkId(7));
        assert_eq!(beside.link(stream), None);
        beside.sweep(now + Duration::from_secs(1));
        beside.arrives(LinkId(8), key(1), false);
        assert_eq!(beside.stream(LinkId(8), 3), Some(stream));
        assert_eq!(beside.link(stream), Some(LinkId(8)));
        assert!(beside.is_known(stream));
        assert_eq!(beside.stream(LinkId(7), 3), None);

        beside.arrives(LinkId(9), key(2), false);
        assert_ne!(beside.stream(LinkId(9), 3), Some(stream), "another's");
        beside.leaves(now, LinkId(8));
        beside.sweep(now + RETURN);
        assert!(!beside.is_known(stream), "gone for good");
    }

    #[test]
    fn who_is_gone_makes_room() {
        let mut beside = Beside::new(Some(address("127.0.0.1:1")), Vec::new());
        let now = Moment::EPOCH;
        let per_guest = u16::try_from(MOST_OF_ONE).unwrap();
        for guest in 0..u8::try_from(MOST / MOST_OF_ONE).unwrap() {
            let link = LinkId(guest.into());
            beside.arrives(link, key(guest), false);
            for flow in 0..per_guest {
                let stream = beside.stream(link, flow).unwrap();
                assert!(beside.destination(now, stream).is_some());
            }
        }
        beside.arrives(LinkId(1_000), key(200), false);
        let late = beside.stream(LinkId(1_000), 1).unwrap();
        assert_eq!(beside.destination(now, late), None);
        beside.leaves(now, LinkId(5));
        assert!(beside.destination(now, late).is_some());
    }
}

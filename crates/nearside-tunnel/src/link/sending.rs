//! What goes out: packets of the game on the path in use, copies on another, beats in between.

use nearside_detour::path::Route;
use nearside_types::Moment;
use nearside_wire::detour::CarryFlags;

use crate::crypto::UsedUp;
use crate::messages::Talk;

use super::delay::micros;
use super::inner::{self, Inner};
use super::way::{self, Way};
use super::{BEAT, Link, Outgoing, Output, PLAY, Play};

impl Link {
    /// Sends a packet of the game on the path in use; what is too long for a relay goes directly.
    pub fn send(&mut self, now: Moment, flow: u16, payload: &[u8]) {
        self.plays(now);
        self.mind_pace(now);
        let route = self.compared(now).unwrap_or(self.sending);
        self.send_data(now, flow, payload, route, true);
    }

    /// Sends on the direct path whatever else there is: for what no relay shall carry even sealed.
    /// Whether there is one.
    pub fn send_direct(&mut self, now: Moment, flow: u16, payload: &[u8]) -> bool {
        let exists = self.has_direct();
        if exists {
            self.plays(now);
            self.send_data(now, flow, payload, Route::Direct, false);
        }
        exists
    }

    pub(super) fn send_data(
        &mut self,
        now: Moment,
        flow: u16,
        payload: &[u8],
        route: Route,
        copy: bool,
    ) {
        let word = self.next_word();
        let header = inner::data_header(flow, micros(now), word, self.path_number());
        if self.seal(&[&header, payload]).is_err() {
            return;
        }
        self.counts.sent += 1;
        self.pace.sent(now, self.frame.len());
        let mut route = route;
        if self
            .ways
            .get(&route)
            .is_some_and(|way| !way.fits(self.frame.len()))
        {
            self.counts.too_long += 1;
            route = Route::Direct;
        }
        self.emit(now, route, CarryFlags::default());
        if copy {
            self.emit_copy(now, route);
        }
    }

    /// While a game sends more than tickets are good for, it goes directly.
    pub(super) fn mind_pace(&mut self, now: Moment) {
        let too_fast = self.pace.is_too_fast(now);
        if let Some(lead) = &mut self.lead
            && lead.paths.handle_pace(now, too_fast)
        {
            self.follow_paths(now);
        }
    }

    pub(super) fn emit_copy(&mut self, now: Moment, route: Route) {
        match self.copies {
            Some((other, until)) if now <= until && other != route => {
                self.emit(now, other, CarryFlags::default());
            }
            Some((_, until)) if now > until => self.copies = None,
            _ => {}
        }
    }

    /// Says something beside the game.
    pub fn talk(&mut self, now: Moment, talk: &Talk) {
        self.talks.say(now, talk);
    }

    /// Ends the link; the other end is told once, on all paths.
    pub fn close(&mut self, now: Moment) {
        self.talks.say(now, &Talk::Goodbye);
        self.poll_talks(now);
        let mut others: Vec<Route> = self.ways.keys().copied().collect();
        others.retain(|route| *route != self.sending);
        for route in others {
            self.emit(now, route, CarryFlags::default());
        }
    }

    pub(super) fn send_on(&mut self, now: Moment, route: Route, inner: &Inner<'_>) {
        if self.seal(&[&inner.emit()]).is_ok() {
            self.emit(now, route, CarryFlags::default());
        }
    }

    pub(super) fn seal(&mut self, plain: &[&[u8]]) -> Result<u64, UsedUp> {
        self.keys.sealer.seal(plain, &mut self.frame)
    }

    /// Sends the sealed frame by this path, if it is open and no relay would have to drop it.
    pub(super) fn emit(&mut self, now: Moment, route: Route, flags: CarryFlags) {
        let length = self.frame.len();
        let usable = |way: &&mut Way| way.is_open() && way.fits(length);
        if let Some(way) = self.ways.get_mut(&route).filter(usable) {
            let outgoing = way.wrap(now, &self.frame, flags);
            self.out.push_back(Output::Send(outgoing));
        }
    }

    /// A frame of a handshake, by the relay of this path.
    pub(crate) fn carry(&mut self, now: Moment, route: Route, frame: &[u8]) -> Option<Outgoing> {
        let way = self.ways.get_mut(&route)?;
        way.is_open()
            .then(|| way.wrap(now, frame, CarryFlags::default()))
    }

    pub(super) fn next_word(&mut self) -> u16 {
        self.words = self.words.wrapping_add(1);
        self.words
    }

    pub(super) fn path_number(&self) -> u8 {
        let way = self.ways.get(&self.sending);
        way.map_or(way::DIRECT, |way| way.number)
    }

    pub(super) fn beat(&mut self, now: Moment) {
        let way = self.ways.get(&self.sending);
        if way.is_some_and(|way| now.since(way.last_sent) >= BEAT) {
            self.say_beat(now);
        }
    }

    pub(super) fn say_beat(&mut self, now: Moment) {
        let (sent, path) = (micros(now), self.path_number());
        let beat = Inner::Beat {
            sent,
            word: self.next_word(),
            path,
            plays: u8::from(self.is_played(now)),
        };
        self.send_on(now, self.sending, &beat);
        self.emit_copy(now, self.sending);
    }

    pub(super) fn plays(&mut self, now: Moment) {
        let since = match self.played {
            Some(play) if now.since(play.last) < PLAY => play.since,
            _ => now,
        };
        self.played = Some(Play { since, last: now });
    }

    pub(super) fn is_played(&self, now: Moment) -> bool {
        self.played.is_some_and(|play| now.since(play.last) < PLAY)
    }

    /// Whether the other end plays, and so waits for a word from here.
    pub(super) fn is_listened_to(&self, now: Moment) -> bool {
        self.peer_plays.is_some_and(|last| now.since(last) < PLAY)
    }
}

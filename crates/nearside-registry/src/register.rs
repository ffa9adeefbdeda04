//! Registration: a heartbeat proves nothing, the repeated challenge does.

use std::time::Duration;

use nearside_types::{Moment, ServerAddr};
use nearside_wire::quake3::{Challenge, InfoView};
use nearside_wire::steam::{Heartbeat, JoinChallenge};

use crate::cookie::Use;
use crate::master::Master;
use crate::refusals::Refusal;
use crate::said::Said;
use crate::server::{Facts, Family, Server, Standing};
use crate::slots::SlotId;
use crate::told::{Event, Removal};

impl Master {
    /// `heartbeat …`: asked back with a challenge. A server that says it goes down is asked too, and
    /// stays if it answers: anybody can send a farewell in another's name.
    pub(crate) fn heartbeat_quake3(&mut self, now: Moment, from: ServerAddr, received: usize) {
        self.tally.heartbeats += 1;
        self.remind(from);
        let bits = self.cookies.make(now, Use::Register, from.socket());
        self.answer_unproven(from, received, &getinfo(bits));
    }

    /// `infoResponse`: believed if it repeats a challenge of ours.
    pub(crate) fn info_quake3(&mut self, now: Moment, from: ServerAddr, info: InfoView<'_>) {
        let said = Said::of_quake3(info);
        let repeats = |bits| *said.challenge == Challenge::characters(bits);
        let uses = [Use::Register, Use::Reprobe];
        let proven = uses
            .into_iter()
            .find(|usage| self.cookies.accept(now, *usage, from.socket(), repeats));
        match proven {
            None => self.is_unproven(from),
            // It did not come by itself, we asked: another master's word keeps it listed.
            Some(Use::Reprobe) if self.followed.contains_key(&from) => {
                self.learn(from, |_| said.facts().ok());
            }
            Some(_) => self.hear(now, from, Family::Quake3, &said),
        }
    }

    /// `q` gets a challenge from a budget, since no answer is as short. Farewells are not believed,
    /// and joins are read by [`Self::join_steam`].
    pub(crate) fn heartbeat_steam(
        &mut self,
        now: Moment,
        from: ServerAddr,
        received: usize,
        heartbeat: &Heartbeat,
    ) {
        self.tally.heartbeats += 1;
        if *heartbeat == Heartbeat::Ask {
            self.challenge_steam(now, from, received);
        }
    }

    /// `0\n…`, which must repeat the answer to a `q`.
    pub(crate) fn join_steam(&mut self, now: Moment, from: ServerAddr, info: InfoView<'_>) {
        self.tally.heartbeats += 1;
        let said = Said::of_steam(info);
        let shown = JoinChallenge::from_digits(said.challenge);
        let repeats = |bits: u64| shown == Some(JoinChallenge(bits as u32));
        if self
            .cookies
            .accept(now, Use::Register, from.socket(), repeats)
        {
            self.hear(now, from, Family::Steam, &said);
        } else {
            self.is_unproven(from);
        }
    }

    /// A challenge was missing, old or another's. It is told, and not remembered: whoever forges
    /// addresses could otherwise wash away what proven ones are to be told.
    pub(crate) fn is_unproven(&mut self, addr: ServerAddr) {
        self.tally.wrong_challenges += 1;
        let refusal = Refusal::WrongChallenge;
        self.emit(Event::Refused { addr, refusal });
    }

    fn challenge_steam(&mut self, now: Moment, from: ServerAddr, received: usize) {
        self.remind(from);
        self.tally.unproven_bytes_in += received as u64;
        let bits = self.cookies.make(now, Use::Register, from.socket());
        let reply = JoinChallenge(bits as u32).emit();
        let granted = match self.is_registered(from) {
            true => self.joins.take_registered(now, from, reply.len()),
            false => self.joins.take(now, from.ip(), reply.len()),
        };
        if granted {
            self.tally.unproven_bytes_out += reply.len() as u64;
            self.send(from, reply);
        } else {
            self.tally.unanswered += 1;
        }
    }

    /// A server that has proven its address says what it is. The usual heartbeat is of one that
    /// registered before and has nothing new to say.
    fn hear(&mut self, now: Moment, addr: ServerAddr, family: Family, said: &Said<'_>) {
        let known = self.shelf.find(addr).and_then(|id| {
            let server = self.shelf.at(id).filter(|known| known.family == family)?;
            Some((id, server))
        });
        let said = known.map_or(*said, |(_, server)| said.completed(&server.facts));
        let is_no_news =
            |server: &Server| server.standing != Standing::Followed && said.is_known(&server.facts);
        if let Some((id, _)) = known.filter(|(_, server)| is_no_news(server)) {
            return self.renew(now, id);
        }
        let is_same = known.is_some_and(|(_, server)| said.is_of_game(&server.facts));
        let ask = said.leaves_questions() && !is_same;
        let facts = said.facts();
        // A refusal is told by the event.
        if self.admit(now, addr, family, facts).is_ok() && ask {
            self.to_ask.push_back(addr);
        }
        self.shelf.came_by(addr, self.via);
    }

    /// Bans were checked when it came or when they were set, and its origin is looked up again when
    /// tables change: only its time is new.
    fn renew(&mut self, now: Moment, id: SlotId) {
        self.tally.registrations += 1;
        let timeout = self.settings.timeout();
        let slack = self.settings.timeout_s / TOLD_EVERY;
        let told = self.shelf.renew(id, now + timeout, slack, self.via);
        if let Some(server) = told.cloned() {
            self.emit(Event::Put {
                server,
                is_new: false,
            });
        }
    }

    /// A server that has proven its address wants to be listed.
    pub(crate) fn admit(
        &mut self,
        now: Moment,
        addr: ServerAddr,
        family: Family,
        facts: Result<Facts, Refusal>,
    ) -> Result<Moment, Refusal> {
        let origin = (self.origin_of)(addr.ip());
        let server = facts.map(|facts| Server {
            addr,
            family,
            standing: Standing::Verified,
            origin,
            expires: now + self.settings.timeout(),
            facts,
        });
        match server.and_then(|server| self.may_enter(&server).map(|()| server)) {
            Ok(server) => {
                self.tally.registrations += 1;
                self.refusals.forget(addr);
                let expires = server.expires;
                let is_new = self.replace(server.clone());
                self.shelf.is_told(addr);
                self.emit(Event::Put { server, is_new });
                Ok(expires)
            }
            Err(refusal) => {
                self.tally.refusals += 1;
                self.refusals.note(addr, refusal.clone());
                self.emit(Event::Refused {
                    addr,
                    refusal: refusal.clone(),
                });
                Err(refusal)
            }
        }
    }

    /// New facts of a server that is on the shelf; nothing else changes.
    pub(crate) fn learn(&mut self, addr: ServerAddr, facts: impl FnOnce(&Facts) -> Option<Facts>) {
        let Some(server) = self.shelf.get(addr).cloned() else {
            return;
        };
        if let Some(facts) = facts(&server.facts) {
            self.replace(Server { facts, ..server });
        }
    }

    /// Bans concern everybody; caps only those who are not in yet.
    fn may_enter(&self, server: &Server) -> Result<(), Refusal> {
        let (addr, asn) = (server.addr, server.origin.asn);
        if !self.can_list(addr) {
            return Err(Refusal::Unreachable);
        }
        if let Some(reason) = self.bans.reason(addr.ip(), asn) {
            return Err(Refusal::Banned(reason.to_owned()));
        }
        if self.is_registered(addr) {
            return Ok(());
        }
        if self.registered() >= self.settings.servers {
            return Err(Refusal::MasterFull(self.settings.servers));
        }
        self.counts.room_for(&self.settings, &self.shelf, addr, asn)
    }

    fn remind(&mut self, addr: ServerAddr) {
        if let Some(refusal) = self.refusals.of(addr).cloned() {
            self.emit(Event::Reminded { addr, refusal });
        }
    }

    /// What the passing of time asks for: those whose time is up are taken off, those who have been
    /// silent for half of it are asked, and again until it is up; and those of other masters now and
    /// then, for what they say of themselves.
    pub(crate) fn look_after(&mut self, now: Moment) {
        let timeout = self.settings.timeout();
        while let Some(server) = self.shelf.due(now) {
            let (addr, expires) = (server.addr, server.expires);
            let again = match server.standing {
                Standing::Followed => timeout / 2,
                Standing::Verified | Standing::Vouched | Standing::Remembered => timeout / 8,
            };
            let ask_from = self.settings.ask_from(server);
            if expires <= now {
                self.take_off(addr, Removal::Expired);
            } else if ask_from > now {
                self.shelf.plan(addr, ask_from.min(expires));
            } else {
                self.to_check.push_back(addr);
                self.shelf.plan(addr, (now + again).min(expires));
            }
        }
    }

    /// Asks those who have just joined and left questions open, then those whose turn it is, as many as
    /// the time that has passed allows: their answers must fit into a socket's buffer.
    pub(crate) fn check_some(&mut self, now: Moment) {
        let passed = now.since(self.checked).min(Duration::from_secs(1));
        let mut may_ask = (CHECKS_PER_SECOND * passed.as_secs_f64()) as usize;
        if may_ask == 0 {
            return;
        }
        self.checked = now;
        while may_ask > 0
            && let Some(addr) = self.to_ask.pop_front()
        {
            if self.shelf.get(addr).is_some() {
                self.ask_a2s(now, addr);
                may_ask -= 1;
            }
        }
        while may_ask > 0
            && let Some(addr) = self.to_check.pop_front()
        {
            let known = self.shelf.get(addr);
            let is_silent = |server: &&Server| self.settings.ask_from(server) <= now;
            if let Some(family) = known.filter(is_silent).map(|server| server.family) {
                self.check(now, addr, family);
                may_ask -= 1;
            }
        }
    }

    fn check(&mut self, now: Moment, addr: ServerAddr, family: Family) {
        match family {
            Family::Quake3 => {
                self.tally.checks += 1;
                let bits = self.cookies.make(now, Use::Reprobe, addr.socket());
                let via = self.shelf.via(addr);
                self.send_via(via, addr, &getinfo(bits)[..]);
            }
            Family::Steam => self.ask_a2s(now, addr),
            // They have a protocol of their own, and prove themselves each time.
            Family::Other => {}
        }
    }
}

/// The store hears of renewals when a quarter of the timeout has passed since it last did: heartbeats
/// come more often than that, and most writes would say the same again.
const TOLD_EVERY: u32 = 4;

/// Servers that are asked in a second. 100,000 from before a restart are asked in ten, a million in
/// less than two minutes.
const CHECKS_PER_SECOND: f64 = 10_000.0;

const GETINFO: [u8; 12] = *b"\xFF\xFF\xFF\xFFgetinfo ";

/// `getinfo` with a challenge of eight characters.
pub(crate) fn getinfo(bits: u64) -> [u8; 20] {
    let mut bytes = [0; 20];
    let (command, challenge) = bytes.split_at_mut(GETINFO.len());
    command.copy_from_slice(&GETINFO);
    challenge.copy_from_slice(&Challenge::characters(bits));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_wire::quake3::Request;

    #[test]
    fn the_request_is_the_one_of_the_codec() {
        let challenge = Some(Challenge::from_random(0xABCD_EF01));
        let request = Request::GetInfo { challenge };
        assert_eq!(getinfo(0xABCD_EF01)[..], request.emit());
    }
}

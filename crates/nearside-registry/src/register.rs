//! Registration: a heartbeat proves nothing, the repeated challenge does.

use nearside_types::{Moment, ServerAddr};
use nearside_wire::quake3::{Challenge, InfoString, Request};
use nearside_wire::steam::{Heartbeat, JoinChallenge};

use crate::cookie::Use;
use crate::master::{Event, Master};
use crate::refusals::Refusal;
use crate::server::{Facts, Family, Server, Standing};

impl Master {
    /// `heartbeat …`: asked back with a challenge. A server that says it goes down is asked too, and
    /// stays if it answers: anybody can send a farewell in another's name.
    pub(crate) fn heartbeat_quake3(&mut self, now: Moment, from: ServerAddr, received: usize) {
        self.tally.heartbeats += 1;
        self.remind(from);
        let challenge = self.challenge(now, Use::Register, from);
        self.answer_unproven(from, received, getinfo(challenge));
    }

    /// `infoResponse`: believed if it repeats a challenge of ours.
    pub(crate) fn info_quake3(&mut self, now: Moment, from: ServerAddr, info: &InfoString) {
        let shown = info.challenge().unwrap_or_default().to_vec();
        let form = |bits| Challenge::from_random(bits).as_bytes().to_vec();
        let uses = [Use::Register, Use::Reprobe];
        let proven = uses.into_iter().find(|usage| {
            self.cookies
                .accepts(now, *usage, from.socket(), &shown, form)
        });
        let facts = Facts::from_quake3(info);
        match proven {
            None => self.tally.wrong_challenges += 1,
            // It did not come by itself, we asked: another master's word keeps it listed.
            Some(Use::Reprobe) if self.followed.contains_key(&from) => {
                self.learn(from, |_| facts.ok());
            }
            Some(_) => {
                // Told by the event.
                let _refused = self.admit(now, from, Family::Quake3, facts);
            }
        }
    }

    /// `q` gets a challenge from a budget, since no answer is as short; `0\n…` must repeat it.
    pub(crate) fn heartbeat_steam(
        &mut self,
        now: Moment,
        from: ServerAddr,
        received: usize,
        heartbeat: &Heartbeat,
    ) {
        self.tally.heartbeats += 1;
        match heartbeat {
            Heartbeat::Leave => {}
            Heartbeat::Ask => self.challenge_steam(now, from, received),
            Heartbeat::Join(info) => {
                let form = |bits: u64| Some(bits as u32);
                let shown = heartbeat.challenge();
                if !self
                    .cookies
                    .accepts(now, Use::Register, from.socket(), &shown, form)
                {
                    self.tally.wrong_challenges += 1;
                    return;
                }
                let facts = Facts::from_steam(info);
                // Told by the event.
                let _refused = self.admit(now, from, Family::Steam, facts);
            }
        }
    }

    fn challenge_steam(&mut self, now: Moment, from: ServerAddr, received: usize) {
        self.remind(from);
        self.tally.unproven_bytes_in += received as u64;
        let bits = self.cookies.make(now, Use::Register, from.socket());
        let reply = JoinChallenge(bits as u32).emit();
        if self.joins.take(now, from.ip(), reply.len()) {
            self.tally.unproven_bytes_out += reply.len() as u64;
            self.send(from, reply);
        } else {
            self.tally.unanswered += 1;
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
                self.check_at(now + self.settings.timeout() / 2, addr);
                let expires = server.expires;
                let is_new = self.replace(server.clone());
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
        let before = self.shelf.get(addr);
        if before.is_some_and(|before| before.standing != Standing::Followed) {
            return Ok(());
        }
        if self.registered() >= self.settings.servers {
            return Err(Refusal::MasterFull(self.settings.servers));
        }
        self.counts.room_for(&self.settings, addr, asn)
    }

    fn remind(&mut self, addr: ServerAddr) {
        if let Some(refusal) = self.refusals.of(addr).cloned() {
            self.emit(Event::Reminded { addr, refusal });
        }
    }

    pub(crate) fn challenge(&self, now: Moment, usage: Use, to: ServerAddr) -> Challenge {
        Challenge::from_random(self.cookies.make(now, usage, to.socket()))
    }

    pub(crate) fn check_at(&mut self, at: Moment, addr: ServerAddr) {
        let second = at.since_epoch().as_secs();
        self.checks.entry(second).or_default().push(addr);
    }

    /// Asks servers that have been silent for half their time, and again until it is up; and those
    /// of other masters now and then, for what they say of themselves.
    pub(crate) fn check_silent(&mut self, now: Moment) {
        let later = self.checks.split_off(&(now.since_epoch().as_secs() + 1));
        let due = std::mem::replace(&mut self.checks, later);
        let timeout = self.settings.timeout();
        for addr in due.into_values().flatten() {
            let Some(server) = self.shelf.get(addr) else {
                continue;
            };
            let silent = server.expires.since(now) <= timeout / 2;
            let (again, is_due) = match server.standing {
                Standing::Verified => (timeout / 8, silent),
                Standing::Remembered => (timeout / 8, true),
                Standing::Followed => (timeout / 2, true),
            };
            let family = server.family;
            if is_due {
                self.check(now, addr, family);
                self.check_at(now + again, addr);
            }
        }
    }

    fn check(&mut self, now: Moment, addr: ServerAddr, family: Family) {
        match family {
            Family::Quake3 => {
                self.tally.checks += 1;
                let challenge = self.challenge(now, Use::Reprobe, addr);
                self.send(addr, getinfo(challenge));
            }
            Family::Steam => self.ask_a2s(now, addr),
            // They have a protocol of their own, and prove themselves each time.
            Family::Other => {}
        }
    }
}

pub(crate) fn getinfo(challenge: Challenge) -> Vec<u8> {
    let challenge = Some(challenge);
    Request::GetInfo { challenge }.emit()
}

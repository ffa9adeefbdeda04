//! The player's line to the directory: a handshake, then requests that are repeated until answered.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use nearside_types::Moment;
use nearside_wire::detour::{Frame, PASS_BYTES};

use crate::crypto::{Chance, Dialling, Identity, Keys};
use crate::link::Outgoing;
use crate::messages::{Ask, Notice, Request, decode, encode};

use super::DirectoryAddress;

/// The line.
#[derive(Debug)]
pub(super) struct Desk {
    directories: Vec<DirectoryAddress>,
    /// Which of them is tried or used.
    at: usize,
    state: State,
    requests: BTreeMap<u32, Pending>,
    next_number: u32,
    heard: Moment,
    next_sign: Moment,
    keep_alive: Duration,
    /// Whether the other address family has worked since the last handshake.
    other_works: bool,
}

#[derive(Debug)]
enum State {
    /// Until then nothing is tried.
    Resting(Moment),
    Calling(Box<Calling>),
    Up(Box<Keys>, u32),
}

#[derive(Debug)]
struct Calling {
    dialling: Dialling,
    pass: [u8; PASS_BYTES],
    next: Moment,
    tries: u32,
}

#[derive(Debug)]
struct Pending {
    ask: Ask,
    to: Door,
    next: Moment,
    tries: u32,
}

/// Where at the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    First,
    /// Another port than the first, to learn what our NAT does.
    Second(u16),
    /// The first port in the other address family, to be seen there too.
    OtherFamily,
    /// Where it was heard from.
    At(SocketAddr),
}

const CALL_INTERVAL: Duration = Duration::from_millis(400);
const MOST_CALLS: u32 = 6;
/// A request is repeated after this, then after twice as long, and so on.
const FIRST_REPEAT: Duration = Duration::from_millis(500);
/// So many repetitions without an answer, and the directory counts as gone: after seven seconds and a half.
/// A new handshake costs little if it was only the line.
const MOST_REPEATS: u32 = 3;

/// Requests that wait at most: while the directory is away, others are not even noted.
const MOST_REQUESTS: usize = 256;
/// After a new handshake, joining comes first.
const AFTER_JOINING: Duration = Duration::from_secs(1);

impl Ask {
    /// Whether it is as true after a new handshake: who was sought is still sought, and what ended, ended.
    pub(super) fn outlives(&self) -> bool {
        matches!(self, Self::Find(_) | Self::Connect(_) | Self::Part(_))
    }
}

/// What became of a datagram from the directory.
#[derive(Debug)]
pub(super) enum Word {
    /// The handshake is done: join.
    Connected,
    /// It told something; the request it answers, if any.
    Told(Box<Notice>, Option<Ask>),
}

impl Desk {
    pub(super) fn new(directories: &[DirectoryAddress], keep_alive: Duration, now: Moment) -> Self {
        Self {
            directories: DirectoryAddress::all_ways(directories),
            at: 0,
            state: State::Resting(now),
            requests: BTreeMap::new(),
            next_number: 1,
            heard: now,
            next_sign: now,
            keep_alive,
            other_works: false,
        }
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(self.state, State::Up(..))
    }

    /// When the directory was heard last.
    pub(super) fn heard(&self) -> Moment {
        self.heard
    }

    pub(super) fn directory(&self) -> Option<SocketAddr> {
        Some(self.directories.get(self.at)?.address)
    }

    /// Whether a frame with this number is for the line.
    pub(super) fn is_ours(&self, index: u32) -> bool {
        match &self.state {
            State::Resting(_) => false,
            State::Calling(calling) => calling.dialling.index() == index,
            State::Up(_, ours) => *ours == index,
        }
    }

    /// Asks something; it is repeated until answered.
    pub(super) fn ask(&mut self, now: Moment, ask: Ask) {
        self.ask_at(now, ask, Door::First);
    }

    /// Asks somewhere else than on the directory's first port.
    pub(super) fn ask_at(&mut self, now: Moment, mut ask: Ask, to: Door) {
        // A newer report or join replaces one that was not heard yet; what that measured stays true.
        let kind = std::mem::discriminant(&ask);
        if let Ask::Report(new) = &mut ask {
            let mut unheard = self.requests.values_mut().map(|pending| &mut pending.ask);
            if let Some(Ask::Report(old)) = unheard.find(|ask| matches!(ask, Ask::Report(_))) {
                new.complete(old);
            }
        }
        if matches!(ask, Ask::Report(_) | Ask::Join(_)) {
            let is_other = |pending: &Pending| std::mem::discriminant(&pending.ask) != kind;
            self.requests.retain(|_, pending| is_other(pending));
        }
        // Who is sought again and again, while the directory is away, is sought once.
        let is_same = |pending: &Pending| pending.ask == ask;
        let asked = matches!(ask, Ask::Find(_)) && self.requests.values().any(is_same);
        if asked || self.requests.len() >= MOST_REQUESTS {
            return;
        }
        let pending = Pending {
            ask,
            to,
            next: now,
            tries: 0,
        };
        self.requests.insert(self.next_number, pending);
        self.next_number = self.next_number.wrapping_add(1).max(1);
    }

    /// Lets the directory hear from us now, and see where we are.
    pub(super) fn sign(&mut self, now: Moment) {
        self.next_sign = self.next_sign.min(now);
    }

    /// Says that a notice came, to where it came from: in either address family, and on either port, that
    /// proves that we receive there.
    pub(super) fn confirm(&mut self, number: u32, from: SocketAddr) -> Option<Outgoing> {
        let directory = self.directories.get(self.at)?;
        let door = match directory.is_at(from) {
            true => Door::At(from),
            false => Door::First,
        };
        self.send(0, &Ask::Heard(number), door)
    }

    /// Whether the directory can be asked in the other address family as well.
    pub(super) fn has_other_family(&self) -> bool {
        let directory = self.directories.get(self.at);
        directory.is_some_and(|directory| directory.other.is_some())
    }

    pub(super) fn handle_retry(&mut self, now: Moment, to: u32, pass: [u8; PASS_BYTES]) {
        if let State::Calling(calling) = &mut self.state
            && calling.dialling.index() == to
        {
            // A second cookie in a row changes nothing but the cookie: no faster than before.
            let first = calling.pass == [0; PASS_BYTES];
            calling.pass = pass;
            if first {
                calling.next = now;
            }
        }
    }

    pub(super) fn handle_answer(&mut self, now: Moment, to: u32, noise: &[u8]) -> Option<Word> {
        let State::Calling(calling) = &mut self.state else {
            return None;
        };
        if calling.dialling.index() != to {
            return None;
        }
        let (keys, _) = calling.dialling.finish(noise).ok()?;
        self.state = State::Up(Box::new(keys), to);
        self.heard = now;
        self.next_sign = now + self.keep_alive;
        self.other_works = false;
        // What was measured or used long ago is of no use any more; the rest is asked again, once we are in.
        self.requests.retain(|_, pending| pending.ask.outlives());
        for pending in self.requests.values_mut() {
            (pending.next, pending.tries) = (now + AFTER_JOINING, 0);
        }
        Some(Word::Connected)
    }

    pub(super) fn handle_sealed(
        &mut self,
        now: Moment,
        counter: u64,
        body: &mut [u8],
    ) -> Option<Word> {
        let State::Up(keys, _) = &mut self.state else {
            return None;
        };
        let plain = keys.opener.open(counter, body).ok()?;
        let notice: Notice = decode(plain).ok()?;
        self.heard = now;
        let answered = notice
            .answers
            .and_then(|number| self.requests.remove(&number));
        // An answer that came before needs no second reaction.
        if notice.answers.is_some() && answered.is_none() {
            return None;
        }
        self.other_works |= answered
            .as_ref()
            .is_some_and(|pending| pending.to == Door::OtherFamily);
        let ask = answered.map(|pending| pending.ask);
        Some(Word::Told(Box::new(notice), ask))
    }

    /// Begins anew, with the next directory if there is one.
    pub(super) fn call_again(&mut self, now: Moment) {
        self.at = (self.at + 1) % self.directories.len().max(1);
        self.state = State::Resting(now + CALL_INTERVAL);
    }

    /// Begins anew with the same directory.
    pub(super) fn call_back(&mut self, now: Moment) {
        self.state = State::Resting(now);
    }

    /// Whether a datagram is from where the directory is called.
    pub(super) fn is_from_directory(&self, from: SocketAddr) -> bool {
        let directory = self.directories.get(self.at);
        directory.is_some_and(|directory| directory.address == from)
    }

    /// What is to be sent now.
    pub(super) fn poll(
        &mut self,
        now: Moment,
        own: &Identity,
        chance: &mut Chance,
    ) -> Option<Outgoing> {
        let directory = *self.directories.get(self.at)?;
        match &mut self.state {
            State::Resting(until) if *until <= now => {
                let index = chance.number() as u32;
                let Ok(dialling) = Dialling::new(own, directory.key, index, b"", chance) else {
                    self.state = State::Resting(now + Duration::from_secs(3600));
                    return None;
                };
                self.state = State::Calling(Box::new(Calling {
                    dialling,
                    pass: [0; PASS_BYTES],
                    next: now,
                    tries: 0,
                }));
                self.poll(now, own, chance)
            }
            State::Calling(calling) if calling.next <= now => {
                if calling.tries == MOST_CALLS {
                    self.call_again(now);
                    return None;
                }
                calling.tries += 1;
                calling.next = now + CALL_INTERVAL * calling.tries;
                let hello = Frame::Hello {
                    index: calling.dialling.index(),
                    pass: calling.pass,
                    noise: calling.dialling.message(),
                };
                Some(Outgoing {
                    port: 0,
                    to: directory.address,
                    bytes: hello.emit(),
                })
            }
            State::Up(..) => self.poll_requests(now),
            _ => None,
        }
    }

    fn poll_requests(&mut self, now: Moment) -> Option<Outgoing> {
        let due = self
            .requests
            .iter_mut()
            .find(|(_, pending)| pending.next <= now);
        if let Some((number, pending)) = due {
            if pending.tries > MOST_REPEATS {
                let (number, to) = (*number, pending.to);
                if to != Door::First || !pending.ask.outlives() {
                    self.requests.remove(&number);
                }
                // A port or a family that is closed to us is no reason to leave a directory that answers
                // at its first.
                if to == Door::First {
                    self.call_again(now);
                }
                return None;
            }
            pending.next = now + FIRST_REPEAT * (1 << pending.tries.min(4));
            pending.tries += 1;
            let (number, ask, to) = (*number, pending.ask.clone(), pending.to);
            return self.send(number, &ask, to);
        }
        if self.next_sign <= now {
            self.next_sign = now + self.keep_alive;
            if self.other_works {
                self.ask_at(now, Ask::Observe, Door::OtherFamily);
            }
            return self.send(0, &Ask::Heard(0), Door::First);
        }
        None
    }

    fn send(&mut self, number: u32, ask: &Ask, door: Door) -> Option<Outgoing> {
        let directory = self.directories.get(self.at)?;
        let mut to = directory.address;
        match door {
            Door::First => {}
            Door::Second(port) => to.set_port(port),
            Door::OtherFamily => to = directory.other?,
            Door::At(from) => to = from,
        }
        let State::Up(keys, _) = &mut self.state else {
            return None;
        };
        let request = Request {
            number,
            ask: ask.clone(),
        };
        let mut bytes = Vec::new();
        keys.sealer.seal(&[&encode(&request)], &mut bytes).ok()?;
        Some(Outgoing { port: 0, to, bytes })
    }

    /// When [`poll`](Self::poll) has something to do.
    pub(super) fn next_time(&self) -> Moment {
        match &self.state {
            State::Resting(until) => *until,
            State::Calling(calling) => calling.next,
            State::Up(..) => {
                let requests = self.requests.values().map(|pending| pending.next);
                requests
                    .min()
                    .map_or(self.next_sign, |next| next.min(self.next_sign))
            }
        }
    }
}

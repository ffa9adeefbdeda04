//! Two who were introduced find each other: the one who leads says hello to every address the other may
//! have, the other opens its own NAT towards the first, both at once. Where that fails, the handshake
//! goes through a relay.

use std::net::SocketAddr;
use std::time::Duration;

use nearside_types::Moment;
use nearside_wire::detour::{CarryFlags, Frame};

use crate::crypto::{Chance, Dialling, Identity};
use crate::link::{Hop, Outgoing};
use crate::messages::Introduction;

use super::places::{Place, network};

/// A meeting that has not led to a link yet.
#[derive(Debug)]
pub(super) struct Meeting {
    pub(super) intro: Introduction,
    dialling: Option<Dialling>,
    pub(super) through: Option<Hop>,
    begun: Moment,
    next: Moment,
    /// How often a relay was asked for.
    asked_for_relay: u32,
}

const INTERVAL: Duration = Duration::from_millis(150);
/// After this long without an answer, a relay is asked for.
const DIRECT_PATIENCE: Duration = Duration::from_secs(3);
/// After this long a meeting has failed.
const PATIENCE: Duration = Duration::from_secs(12);

impl Meeting {
    pub(super) fn new(intro: Introduction, now: Moment) -> Self {
        let through = intro.through.clone().map(|pass| Hop::new(pass, now));
        Self {
            intro,
            dialling: None,
            through,
            begun: now,
            next: now,
            asked_for_relay: 0,
        }
    }

    /// Introduced again: with a relay, or from another address.
    pub(super) fn again(&mut self, intro: Introduction, now: Moment) {
        // One that opened may have the answer on its way; another is tried when it did not.
        let works = self.through.as_ref().is_some_and(Hop::is_open);
        if !works && let Some(pass) = intro.through.clone() {
            self.through = Some(Hop::new(pass, now));
        }
        // Who leads keeps its first handshake; only addresses and the pass may be new.
        self.intro = intro;
        self.next = now;
    }

    /// Somebody with the right pass was heard there. Only another port of an address that the directory
    /// named is believed: anybody who has seen a pass could name somebody else's address.
    pub(super) fn heard_at(&mut self, from: SocketAddr, now: Moment) {
        let mut named = self.intro.addresses.iter();
        if !named.any(|address| address.ip() == from.ip()) {
            return;
        }
        if !self.intro.addresses.contains(&from) && self.intro.addresses.len() < MOST_ADDRESSES {
            self.intro.addresses.push(from);
            self.next = now;
        }
    }

    pub(super) fn begun(&self) -> Moment {
        self.begun
    }

    pub(super) fn place(&self) -> Place {
        Place {
            session: self.intro.session,
            network: network(&self.intro),
            begun: self.begun,
        }
    }

    pub(super) fn index(&self) -> Option<u32> {
        self.dialling.as_ref().map(Dialling::index)
    }

    pub(super) fn dialling(&mut self) -> Option<&mut Dialling> {
        self.dialling.as_mut()
    }

    /// Whether it is time to ask for a relay, or for another than the one that brought no answer.
    pub(super) fn wants_relay(&mut self, now: Moment) -> bool {
        let patience = DIRECT_PATIENCE * (self.asked_for_relay + 1);
        let wants = self.intro.leads && now.since(self.begun) >= patience;
        self.asked_for_relay += u32::from(wants);
        wants
    }

    pub(super) fn has_failed(&self, now: Moment) -> bool {
        now.since(self.begun) >= PATIENCE
    }

    pub(super) fn next_time(&self) -> Moment {
        self.next
    }

    /// What to send now.
    pub(super) fn poll(
        &mut self,
        now: Moment,
        own: &Identity,
        index: u32,
        chance: &mut Chance,
    ) -> Vec<Outgoing> {
        if self.next > now {
            return Vec::new();
        }
        self.next = now + INTERVAL;
        let frame = match self.intro.leads {
            true => match self.hello(own, index, chance) {
                Some(hello) => hello,
                None => return Vec::new(),
            },
            false => Frame::Punch {
                pass: self.intro.pass,
            }
            .emit(),
        };
        let mut out: Vec<Outgoing> = self
            .addresses(now)
            .map(|to| Outgoing {
                port: 0,
                to,
                bytes: frame.clone(),
            })
            .collect();
        if let Some(hop) = &mut self.through {
            match hop.is_open() {
                true if self.intro.leads => out.push(hop.carry(&frame, CarryFlags::default())),
                true => {}
                false => out.extend(hop.poll_open(now).ok().flatten()),
            }
        }
        out
    }

    /// IPv6 first; IPv4 joins in after a moment, so that the better one wins where both work.
    fn addresses(&self, now: Moment) -> impl Iterator<Item = SocketAddr> {
        let any_v6 = self.intro.addresses.iter().any(SocketAddr::is_ipv6);
        let hold_v4 = any_v6 && now.since(self.begun) < INTERVAL * 2;
        let all = self.intro.addresses.iter().copied();
        all.filter(move |to| to.is_ipv6() || !hold_v4)
    }

    fn hello(&mut self, own: &Identity, index: u32, chance: &mut Chance) -> Option<Vec<u8>> {
        if self.dialling.is_none() {
            self.dialling = Dialling::new(own, self.intro.peer, index, b"", chance).ok();
        }
        let dialling = self.dialling.as_ref()?;
        let hello = Frame::Hello {
            index: dialling.index(),
            pass: self.intro.pass,
            noise: dialling.message(),
        };
        Some(hello.emit())
    }
}

/// Addresses of one peer at most.
const MOST_ADDRESSES: usize = 8;

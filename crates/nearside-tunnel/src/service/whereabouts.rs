//! Where a client is, as far as it has proven to receive there, and what its NAT does.

use std::net::SocketAddr;
use std::time::Duration;

use nearside_types::Moment;
use serde::{Deserialize, Serialize};

/// How a client's NAT gives out ports, seen from the directory's two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nat {
    /// Not both ports have been asked yet.
    #[default]
    Unknown,
    /// The same port to everybody, or no NAT at all: others can reach it, once it has sent.
    Steady,
    /// Every peer sees another port, and nobody can say beforehand which (RFC 4787, section 4.1).
    Symmetric,
}

/// An address, and which of our ports it speaks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) port: usize,
    pub(super) address: SocketAddr,
}

/// What an arrival changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrived {
    /// From where we know the client to be, or from another port there.
    Known,
    /// The client is there now; it was at this address before.
    Moved(SocketAddr),
    /// From an address where nobody has proven to receive anything.
    Stray,
}

/// Where a client is.
///
/// A sealed packet proves who made it, not where it came from: whoever writes it can put any source
/// address on it. So what goes to a new address is not more than came from there, until a number that
/// was sent there has come back. Another port of a known address needs no such proof.
#[derive(Debug)]
pub(super) struct Whereabouts {
    main: Place,
    main_heard: Moment,
    /// In the other address family.
    other: Option<SocketAddr>,
    seen: [Option<SocketAddr>; 2],
    nat: Nat,
    stray: Option<Stray>,
}

/// An address that has to be proven.
#[derive(Debug)]
struct Stray {
    place: Place,
    challenge: u32,
    /// Bytes that came from there, less those that went there.
    credit: usize,
}

/// An address in the other family takes over when the main one has been silent for so long.
const DESERTED: Duration = Duration::from_secs(40);

impl Whereabouts {
    /// A client whose handshake came from there, with a cookie.
    pub(super) fn new(place: Place, now: Moment) -> Self {
        Self {
            main: place,
            main_heard: now,
            other: None,
            seen: [None; 2],
            nat: Nat::Unknown,
            stray: None,
        }
    }

    pub(super) fn main(&self) -> Place {
        self.main
    }

    pub(super) fn nat(&self) -> Nat {
        self.nat
    }

    /// Where it is in the other address family.
    pub(super) fn other(&self) -> Option<SocketAddr> {
        self.other
    }

    fn knows(&self, address: SocketAddr) -> bool {
        let other = self.other.map(|other| other.ip());
        self.main.address.ip() == address.ip() || other == Some(address.ip())
    }

    /// A packet of the client came; `newest` if none that was sent later has come before.
    pub(super) fn arrive(
        &mut self,
        now: Moment,
        from: Place,
        newest: bool,
        bytes: usize,
        number: impl FnOnce() -> u32,
    ) -> Arrived {
        if !self.knows(from.address) {
            self.stray_at(from, bytes, number);
            return Arrived::Stray;
        }
        // What the second port was asked may be overtaken by what was asked elsewhere at the same time.
        if newest || from.port != self.main.port {
            self.see(from);
        }
        if from.port != self.main.port || !newest {
            return Arrived::Known;
        }
        if from.address.is_ipv4() != self.main.address.is_ipv4() {
            self.other = Some(from.address);
            return self.leave_if_deserted(now);
        }
        self.main_heard = now;
        let before = std::mem::replace(&mut self.main.address, from.address);
        match before == from.address {
            true => Arrived::Known,
            false => Arrived::Moved(before),
        }
    }

    fn stray_at(&mut self, place: Place, bytes: usize, number: impl FnOnce() -> u32) {
        let known = self.stray.as_mut().filter(|stray| stray.place == place);
        match known {
            Some(stray) => stray.credit += bytes,
            None => {
                self.stray = Some(Stray {
                    place,
                    challenge: number(),
                    credit: bytes,
                });
            }
        }
    }

    fn leave_if_deserted(&mut self, now: Moment) -> Arrived {
        match self.other {
            Some(other) if now.since(self.main_heard) > DESERTED => {
                let before = std::mem::replace(&mut self.main.address, other);
                self.other = Some(before);
                self.main_heard = now;
                Arrived::Moved(before)
            }
            _ => Arrived::Known,
        }
    }

    /// The number that must come back from a stray address, if this is the one in question.
    pub(super) fn challenge(&self, place: Place) -> Option<u32> {
        let stray = self.stray.as_ref().filter(|stray| stray.place == place);
        stray.map(|stray| stray.challenge)
    }

    /// Whether so many bytes may go to the stray address; if so, they are counted.
    pub(super) fn spend(&mut self, bytes: usize) -> bool {
        let Some(stray) = self.stray.as_mut() else {
            return false;
        };
        let left = stray.credit.checked_sub(bytes);
        stray.credit = left.unwrap_or(stray.credit);
        left.is_some()
    }

    /// A number came back: the client does receive at its stray address, and is there from now on.
    /// Gives where it was before, if it moved.
    pub(super) fn prove(&mut self, now: Moment, number: u32, from: Place) -> Option<SocketAddr> {
        let proven = self.challenge(from) == Some(number);
        let stray = self.stray.take_if(|_| proven)?;
        self.see(stray.place);
        if stray.place.address.is_ipv4() != self.main.address.is_ipv4() {
            self.other = Some(stray.place.address);
            return None;
        }
        if stray.place.port != self.main.port {
            // A NAT with several addresses; only the main port says where the client is.
            return None;
        }
        self.main_heard = now;
        let before = std::mem::replace(&mut self.main.address, stray.place.address);
        Some(before)
    }

    /// Compares what both ports see. A mapping that changed on one port says nothing of the other until
    /// that is asked again.
    fn see(&mut self, from: Place) {
        // The other family has a NAT of its own, if it has one.
        if from.address.is_ipv4() != self.main.address.is_ipv4() {
            return;
        }
        let Some(other) = self.seen.get(1 - from.port.min(1)).copied() else {
            return;
        };
        let known = self.seen[from.port.min(1)].replace(from.address);
        let changed = known.is_some_and(|known| known != from.address);
        let Some(other) = other else {
            return;
        };
        match (other == from.address, changed) {
            (true, _) => self.nat = Nat::Steady,
            (false, false) => self.nat = Nat::Symmetric,
            (false, true) => self.seen[1 - from.port.min(1)] = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(port: usize, address: &str) -> Place {
        let address = address.parse().unwrap();
        Place { port, address }
    }

    #[test]
    fn what_is_seen_in_ipv6_says_nothing_of_the_nat_of_ipv4() {
        let (first, now) = (place(0, "198.51.100.1:1000"), Moment::default());
        let mut client = Whereabouts::new(first, now);
        client.arrive(now, first, true, 60, || 7);
        let six = place(0, "[2001:db8::1]:4000");
        client.arrive(now, six, true, 60, || 7);
        client.prove(now, 7, six);
        assert_eq!(client.main(), first);
        assert_eq!(client.other(), Some(six.address));
        client.arrive(now, six, true, 60, || 8);
        client.arrive(now, place(1, "198.51.100.1:1001"), false, 60, || 9);
        assert_eq!(client.nat(), Nat::Symmetric);
    }
}

//! Why registrations fail. The operator of a game server cannot see into the master; so the last
//! refusal of each address is kept for a while and told when it comes again.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use nearside_types::ServerAddr;

/// Why a server was not registered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// A ban of the operator, with its reason.
    Banned(String),
    /// The address has as many servers as it may.
    AddressFull(u32),
    /// Its network (/24, /48) has.
    NetworkFull(u32),
    /// Its AS has.
    AsFull(u32),
    /// The master is full.
    MasterFull(usize),
    /// The challenge is missing, old, or another's.
    WrongChallenge,
    /// The answer lacks a key, or its value makes no sense.
    Incomplete(&'static str),
    /// Not an address that players on the Internet could reach.
    Unreachable,
}

impl Refusal {
    /// A stable name for logs and figures.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Banned(_) => "refused: banned",
            Self::AddressFull(_) => "refused: address full",
            Self::NetworkFull(_) => "refused: network full",
            Self::AsFull(_) => "refused: AS full",
            Self::MasterFull(_) => "refused: master full",
            Self::WrongChallenge => "refused: wrong challenge",
            Self::Incomplete(_) => "refused: incomplete",
            Self::Unreachable => "refused: unreachable",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Banned(reason) => write!(f, "banned by this master's operator: {reason}"),
            Self::AddressFull(cap) => write!(f, "this address has {cap} servers, the most it may"),
            Self::NetworkFull(cap) => write!(f, "this network has {cap} servers, the most it may"),
            Self::AsFull(cap) => write!(f, "this AS has {cap} servers, the most it may"),
            Self::MasterFull(cap) => write!(f, "this master has {cap} servers, the most it takes"),
            Self::WrongChallenge => {
                f.write_str("the challenge is missing, old or not for this address")
            }
            Self::Incomplete(key) => write!(f, "the answer has no sensible `{key}`"),
            Self::Unreachable => f.write_str("players on the Internet cannot reach this address"),
        }
    }
}

/// The last refusal of each address, for at most so many addresses.
#[derive(Debug, Default)]
pub struct Refusals {
    last: HashMap<ServerAddr, Refusal>,
    /// In the order they were first refused: the oldest is forgotten first.
    order: VecDeque<ServerAddr>,
}

/// About a megabyte at most.
const MOST: usize = 8192;

impl Refusals {
    /// Keeps a refusal. Only for addresses that proved themselves, or a flood would wash the others
    /// away.
    pub(crate) fn note(&mut self, addr: ServerAddr, refusal: Refusal) {
        if self.last.insert(addr, refusal).is_none() {
            self.order.push_back(addr);
        }
        while self.order.len() > MOST {
            let oldest = self.order.pop_front();
            oldest.and_then(|addr| self.last.remove(&addr));
        }
    }

    /// Why an address was refused the last time.
    pub fn of(&self, addr: ServerAddr) -> Option<&Refusal> {
        self.last.get(&addr)
    }

    pub(crate) fn forget(&mut self, addr: ServerAddr) {
        if self.last.remove(&addr).is_some() {
            self.order.retain(|known| *known != addr);
        }
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.last.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(number: u32) -> ServerAddr {
        ServerAddr::new(std::net::Ipv4Addr::from_bits(number).into(), 27960).unwrap()
    }

    #[test]
    fn the_last_reason_is_kept_and_the_oldest_address_forgotten() {
        let mut refusals = Refusals::default();
        for number in 0..=MOST as u32 {
            refusals.note(addr(number), Refusal::WrongChallenge);
            refusals.note(addr(number), Refusal::Incomplete("clients"));
        }
        assert_eq!(refusals.of(addr(0)), None);
        assert_eq!(refusals.of(addr(1)), Some(&Refusal::Incomplete("clients")));
        assert_eq!(refusals.len(), MOST);
        refusals.forget(addr(1));
        assert_eq!(refusals.of(addr(1)), None);
    }
}

//! Registration over HTTP: whoever repeats a challenge that was sent to an address by UDP receives
//! there what players would send. The address may be another than the one the request came from:
//! servers behind NAT or a tunnel prove their external one.

use std::net::IpAddr;

use nearside_types::{Moment, ServerAddr};
use nearside_wire::claim::ClaimChallenge;

use crate::cookie::Use;
use crate::master::Master;
use crate::refusals::Refusal;
use crate::register::getinfo;
use crate::server::{Facts, Family, Standing};

/// What a request says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Where players reach the server.
    pub addr: ServerAddr,
    /// Which lists it belongs to.
    pub family: Family,
    /// What it is.
    pub facts: Facts,
    /// The challenge that came by UDP.
    pub challenge: Option<String>,
    /// Where the request came from, which TCP has proven: its network pays for the challenge.
    pub requester: IpAddr,
    /// Bytes of the request, which no challenge may exceed.
    pub bytes: usize,
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimAnswer {
    /// On the list until then.
    Registered(Moment),
    /// A challenge is on its way to the address; come again with it.
    Challenged,
    /// The game server itself was asked, and its own answer registers it.
    Asked,
    /// Not registered.
    Refused(Refusal),
    /// The requester's network has had its share of challenges; come again in some seconds.
    Busy,
}

/// The answer, and what happened to the address before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// When it was answered.
    pub at: Moment,
    /// What becomes of this request.
    pub answer: ClaimAnswer,
    /// What was wrong with this request's challenge, or why the address was refused the last time,
    /// unless the answer says so.
    pub earlier: Option<Refusal>,
}

impl Master {
    /// Somebody wants to have a server listed.
    pub fn claim(&mut self, now: Moment, claim: Claim) -> Claimed {
        self.tally.claims += 1;
        let mut earlier = self.refusals.of(claim.addr).cloned();
        let answer = if !self.can_list(claim.addr) {
            ClaimAnswer::Refused(Refusal::Unreachable)
        } else if claim.family == Family::Quake3 {
            self.claim_quake3(now, &claim)
        } else if self.proves(now, &claim) {
            match self.admit(now, claim.addr, claim.family, Ok(claim.facts)) {
                Ok(expires) => ClaimAnswer::Registered(expires),
                Err(refusal) => ClaimAnswer::Refused(refusal),
            }
        } else {
            if claim.challenge.is_some() {
                earlier = Some(Refusal::WrongChallenge);
                self.is_unproven(claim.addr);
            }
            let bits = self.cookies.make(now, Use::Claim, claim.addr.socket());
            let datagram = ClaimChallenge::from_bits(bits).emit();
            self.challenge_claim(now, &claim, &datagram, ClaimAnswer::Challenged)
        };
        let is_news = !matches!(answer, ClaimAnswer::Registered(_) | ClaimAnswer::Refused(_));
        Claimed {
            at: now,
            answer,
            earlier: earlier.filter(|_| is_news),
        }
    }

    fn proves(&self, now: Moment, claim: &Claim) -> bool {
        let Some(shown) = &claim.challenge else {
            return false;
        };
        let repeats = |bits| ClaimChallenge::from_bits(bits).as_str() == shown;
        let addr = claim.addr.socket();
        self.cookies.accept(now, Use::Claim, addr, repeats)
    }

    /// Games of the Quake 3 family answer `getinfo` themselves, so nobody has to carry a challenge
    /// back; who asks again is told how it went.
    fn claim_quake3(&mut self, now: Moment, claim: &Claim) -> ClaimAnswer {
        let known = self.shelf.get(claim.addr);
        let fresh = self.settings.timeout() / 2;
        match known.filter(|known| known.standing == Standing::Verified) {
            Some(known) if known.expires.since(now) > fresh => {
                ClaimAnswer::Registered(known.expires)
            }
            _ => {
                let bits = self.cookies.make(now, Use::Register, claim.addr.socket());
                self.challenge_claim(now, claim, &getinfo(bits), ClaimAnswer::Asked)
            }
        }
    }

    /// Sends to an address that has proven nothing, which the sender of a request only names: from
    /// an allowance, and never more than the request had.
    fn challenge_claim(
        &mut self,
        now: Moment,
        claim: &Claim,
        datagram: &[u8],
        answer: ClaimAnswer,
    ) -> ClaimAnswer {
        if !self.may_challenge(now, claim, datagram.len()) {
            self.tally.unanswered += 1;
            return ClaimAnswer::Busy;
        }
        let via = self.shelf.via(claim.addr);
        self.answer_unproven_via(via, claim.addr, claim.bytes, datagram);
        answer
    }

    /// Who asks pays, not who is named: otherwise anybody could keep a network's servers out by
    /// asking in their name. A proxy on this machine hides who asks, so behind one it is the network
    /// that is named. A registered server that renews itself has its reserve.
    fn may_challenge(&mut self, now: Moment, claim: &Claim, bytes: usize) -> bool {
        let requester = claim.requester.to_canonical();
        if requester == claim.addr.ip() && self.is_registered(claim.addr) {
            return self.claims.take_registered(now, claim.addr, bytes);
        }
        let pays = match requester.is_loopback() {
            true => claim.addr.ip(),
            false => requester,
        };
        self.claims.take(now, pays, bytes)
    }
}

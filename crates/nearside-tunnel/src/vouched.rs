//! Ways through relays that one player hands to another, with the directory's word for each. Without it
//! a peer could name any address as a relay's, and have the other end knock there.

use std::hash::Hasher;
use std::time::Duration;

use nearside_types::Moment;
use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::crypto::PingKey;
use crate::messages::{RelayPass, encode};

/// A way through a relay, and the proof that the directory made it for its owner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vouched {
    /// The way.
    pub pass: RelayPass,
    /// When the word ends, in milliseconds since 1970: with the ticket.
    pub until_ms: u64,
    /// Made from all of it and the session, under the key that owner and directory share.
    pub proof: [u8; 16],
}

/// What one end of one session makes or checks the directory's word with.
#[derive(Debug, Clone, Copy)]
pub struct Voucher {
    /// The key of the end that the way is for.
    pub key: PingKey,
    /// The session.
    pub session: u64,
}

impl Voucher {
    /// The directory's word for a way, until then since 1970.
    pub fn vouch(&self, pass: RelayPass, until: Duration) -> Vouched {
        let until_ms = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        let proof = self.proof(&pass, until_ms);
        Vouched {
            pass,
            until_ms,
            proof,
        }
    }

    /// The way, if the directory made it for this end and session and its word still holds.
    pub fn check(&self, vouched: Vouched, wall: Duration) -> Option<RelayPass> {
        let holds = wall.as_millis() <= u128::from(vouched.until_ms);
        let made = self.proof(&vouched.pass, vouched.until_ms) == vouched.proof;
        (holds && made).then_some(vouched.pass)
    }

    fn proof(&self, pass: &RelayPass, until_ms: u64) -> [u8; 16] {
        let mut hasher = SipHasher24::new_with_key(&self.key.0);
        hasher.write(b"pass");
        hasher.write(&self.session.to_be_bytes());
        hasher.write(&until_ms.to_be_bytes());
        hasher.write(&encode(pass));
        hasher.finish128().as_bytes()
    }
}

/// What a player knows its directory's word by: their key, and the directory's clock.
#[derive(Debug, Clone, Copy)]
pub struct Authority {
    /// What the directory gave when it took the player in.
    pub key: PingKey,
    /// Time since 1970 at a moment of the player's.
    pub clock: (Duration, Moment),
}

impl Authority {
    /// The way that a peer names in a session, if the directory vouches for it now.
    pub fn check(&self, now: Moment, session: u64, vouched: Vouched) -> Option<RelayPass> {
        let key = self.key;
        let (wall, at) = self.clock;
        Voucher { key, session }.check(vouched, wall + now.since(at))
    }
}

#[cfg(test)]
mod tests {
    use nearside_detour::ClientId;
    use nearside_wire::detour::TICKET_BYTES;

    use super::*;
    use crate::crypto::HopKey;
    use crate::messages::TicketBytes;

    const UNTIL: Duration = Duration::from_secs(1_000);

    fn vouched(session: u64) -> (Voucher, Vouched) {
        let pass = RelayPass {
            relay: ClientId(7),
            address: "198.51.100.7:4000".parse().unwrap(),
            hop: 3,
            key: HopKey([1; 16]),
            ticket: TicketBytes([2; TICKET_BYTES]),
            packets: 200,
            kilobits: 512,
        };
        let key = PingKey([9; 16]);
        let voucher = Voucher { key, session };
        (voucher, voucher.vouch(pass, UNTIL))
    }

    #[test]
    fn a_word_is_for_one_way_one_session_one_end_and_a_short_time() {
        let (voucher, word) = vouched(5);
        let pass = Some(word.pass.clone());
        assert_eq!(voucher.check(word.clone(), UNTIL), pass);
        let late = UNTIL + Duration::from_millis(1);
        assert_eq!(voucher.check(word.clone(), late), None, "too late");
        let (other, _) = vouched(6);
        assert_eq!(other.check(word.clone(), UNTIL), None, "another session");
        let key = voucher.key.of(ClientId(1));
        let other = Voucher { key, ..voucher };
        assert_eq!(other.check(word.clone(), UNTIL), None, "another end");
        let mut elsewhere = word.clone();
        elsewhere.pass.address = "192.0.2.66:53".parse().unwrap();
        assert_eq!(voucher.check(elsewhere, UNTIL), None, "another address");
        let mut longer = word;
        longer.until_ms += 1;
        assert_eq!(voucher.check(longer, UNTIL), None, "a longer time");
    }
}

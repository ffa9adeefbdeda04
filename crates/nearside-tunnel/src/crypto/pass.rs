//! Small proofs: that somebody receives at an address, and that the directory sent somebody.

use std::hash::Hasher;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use nearside_detour::ClientId;
use nearside_types::Moment;
use nearside_wire::detour::PASS_BYTES;
use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher24};

/// Makes and checks the directory's cookies without remembering anybody.
#[derive(Clone)]
pub struct Cookies {
    secret: [u8; 16],
}

/// A cookie is good for one to two of these.
const LIFE: Duration = Duration::from_secs(30);

impl Cookies {
    /// Cookies under one secret.
    pub fn new(secret: [u8; 16]) -> Self {
        Self { secret }
    }

    /// What somebody at this address has to repeat.
    pub fn make(&self, now: Moment, at: SocketAddr) -> [u8; PASS_BYTES] {
        self.of(period(now), at)
    }

    /// Whether it was made for this address, not long ago.
    pub fn accepts(&self, now: Moment, at: SocketAddr, pass: &[u8; PASS_BYTES]) -> bool {
        let now = period(now);
        [now, now.wrapping_sub(1)]
            .map(|period| self.of(period, at))
            .contains(pass)
    }

    fn of(&self, period: u64, at: SocketAddr) -> [u8; PASS_BYTES] {
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write_u64(period);
        match at.ip() {
            IpAddr::V4(ip) => hasher.write(&ip.octets()),
            IpAddr::V6(ip) => hasher.write(&ip.octets()),
        }
        hasher.write_u16(at.port());
        hasher.finish128().as_bytes()
    }
}

impl std::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cookies(…)")
    }
}

fn period(now: Moment) -> u64 {
    now.since_epoch().as_secs() / LIFE.as_secs()
}

/// What a client shares with the directory so that it answers only those pings whose sender the
/// directory named to it as a neighbour's: each sender gets a key of its own, and the client can work
/// it out without being told of every one.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingKey(pub [u8; 16]);

impl std::fmt::Debug for PingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PingKey(…)")
    }
}

impl PingKey {
    /// The key for one who may ping the owner of this one.
    #[must_use]
    pub fn of(&self, pinger: ClientId) -> Self {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write_u64(pinger.0);
        Self(hasher.finish128().as_bytes())
    }

    /// The tag of a ping.
    pub fn tag_ping(&self, nonce: u64) -> u64 {
        self.tag(b"ping", nonce, &[])
    }

    /// The tag of its answer.
    pub fn tag_pong(&self, nonce: u64, place: &[u8]) -> u64 {
        self.tag(b"pong", nonce, place)
    }

    /// The tag of the directory's word that it has begun anew.
    pub fn tag_anew(&self, wall_ms: u64) -> u64 {
        self.tag(b"anew", wall_ms, &[])
    }

    fn tag(&self, what: &[u8; 4], nonce: u64, said: &[u8]) -> u64 {
        let mut hasher = siphasher::sip::SipHasher24::new_with_key(&self.0);
        hasher.write(what);
        hasher.write_u64(nonce);
        hasher.write(said);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_for_one_address_and_a_short_time() {
        let cookies = Cookies::new([7; 16]);
        let at: SocketAddr = "192.0.2.1:4000".parse().unwrap();
        let start = Moment::EPOCH + Duration::from_secs(10_000);
        let cookie = cookies.make(start, at);
        assert!(cookies.accepts(start + Duration::from_secs(29), at, &cookie));
        assert!(!cookies.accepts(start + Duration::from_secs(61), at, &cookie));
        let elsewhere = "192.0.2.1:4001".parse().unwrap();
        assert!(!cookies.accepts(start, elsewhere, &cookie));
        assert!(!Cookies::new([8; 16]).accepts(start, at, &cookie));
    }
}

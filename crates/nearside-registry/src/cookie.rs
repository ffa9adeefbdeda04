//! Stateless proof that somebody receives what is sent to an address: a keyed hash of address, use
//! and time window. The master remembers nothing of those who only ask.

use std::hash::Hasher;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use nearside_types::Moment;
use siphasher::sip::SipHasher24;

/// The key of all cookies. Front ends that share it accept each other's cookies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret(pub [u8; 16]);

impl std::fmt::Debug for Secret {
    /// Keys do not belong into logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What a cookie is good for: one for lists must not register a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    List = 1,
    Register = 2,
    Reprobe = 3,
    Claim = 4,
}

/// Makes and checks cookies.
#[derive(Debug, Clone)]
pub struct Cookies {
    current: Secret,
    /// A secret that was in use before, accepted until the next change.
    previous: Option<Secret>,
    /// How far the wall clock is ahead of the moments that come in: windows are the wall clock's, or
    /// front ends would not know each other's.
    wall_ahead_ms: i64,
}

/// A cookie is valid in the window it was made in and in the next: between one and two minutes.
pub(crate) const WINDOW: Duration = Duration::from_secs(60);

impl Cookies {
    /// Cookies under one key.
    pub const fn new(secret: Secret) -> Self {
        Self {
            current: secret,
            previous: None,
            wall_ahead_ms: 0,
        }
    }

    /// Takes a new key; cookies of the last one stay valid as long as they would have been.
    pub fn change_secret(&mut self, secret: Secret) {
        if secret != self.current {
            self.previous = Some(std::mem::replace(&mut self.current, secret));
        }
    }

    /// The wall clock was set, and is now so far ahead of the moments that come in. Cookies of before
    /// lose their worth if it was by more than a minute; whoever has one asks for another.
    pub const fn set_wall(&mut self, ahead_ms: i64) {
        self.wall_ahead_ms = ahead_ms;
    }

    fn window(&self, now: Moment) -> u64 {
        let ms = now.since_epoch().as_millis() as i64;
        ms.saturating_add(self.wall_ahead_ms).unsigned_abs() / WINDOW.as_millis() as u64
    }

    /// The cookie to send now.
    pub(crate) fn make(&self, now: Moment, usage: Use, to: SocketAddr) -> u64 {
        hash(self.current, self.window(now), usage, to)
    }

    /// Whether somebody repeats a cookie of this window or the last.
    pub(crate) fn accept(
        &self,
        now: Moment,
        usage: Use,
        from: SocketAddr,
        repeats: impl Fn(u64) -> bool,
    ) -> bool {
        let secrets = [Some(self.current), self.previous];
        let window = self.window(now);
        let windows = [window, window.wrapping_sub(1)];
        secrets.into_iter().flatten().any(|secret| {
            windows
                .into_iter()
                .any(|window| repeats(hash(secret, window, usage, from)))
        })
    }
}

/// SipHash-2-4: made for exactly this, short inputs under a secret key that an attacker may choose.
fn hash(secret: Secret, window: u64, usage: Use, addr: SocketAddr) -> u64 {
    let mut hasher = SipHasher24::new_with_key(&secret.0);
    hasher.write_u64(window);
    hasher.write_u8(usage as u8);
    match addr.ip().to_canonical() {
        IpAddr::V4(ip) => hasher.write(&ip.octets()),
        IpAddr::V6(ip) => hasher.write(&ip.octets()),
    }
    hasher.write_u16(addr.port());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::EPOCH + Duration::from_secs(seconds)
    }

    fn accepted(cookies: &Cookies, made: u64, shown: u64, usage: Use, from: &str) -> bool {
        let to = "192.0.2.1:27960".parse().unwrap();
        let cookie = cookies.make(at(made), Use::List, to);
        cookies.accept(at(shown), usage, from.parse().unwrap(), |bits| {
            bits == cookie
        })
    }

    #[test]
    fn a_cookie_holds_for_its_window_and_the_next_and_for_its_address_and_use_only() {
        let cookies = Cookies::new(Secret([7; 16]));
        let home = "192.0.2.1:27960";
        assert!(accepted(&cookies, 600, 600, Use::List, home));
        assert!(accepted(&cookies, 600, 719, Use::List, home));
        assert!(!accepted(&cookies, 600, 720, Use::List, home));
        assert!(!accepted(&cookies, 600, 600, Use::Register, home));
        assert!(!accepted(&cookies, 600, 600, Use::List, "192.0.2.1:27961"));
        assert!(!accepted(&cookies, 600, 600, Use::List, "192.0.2.2:27960"));
    }

    #[test]
    fn front_ends_know_each_others_cookies_whatever_clock_they_started_with() {
        let (mut early, right) = (Cookies::new(Secret([7; 16])), Cookies::new(Secret([7; 16])));
        let from = "192.0.2.1:1".parse().unwrap();
        // Started with a clock that was an hour behind.
        let accepts = |early: &Cookies| {
            let cookie = early.make(at(10_000), Use::List, from);
            right.accept(at(13_600), Use::List, from, |bits| bits == cookie)
        };
        assert!(!accepts(&early));
        early.set_wall(3_600_000);
        assert!(accepts(&early));
    }

    #[test]
    fn a_mapped_address_is_the_address_it_carries() {
        let cookies = Cookies::new(Secret([7; 16]));
        let mapped = "[::ffff:192.0.2.1]:27960";
        assert!(accepted(&cookies, 600, 600, Use::List, mapped));
    }

    #[test]
    fn cookies_of_the_last_secret_survive_its_change_once() {
        let mut cookies = Cookies::new(Secret([1; 16]));
        let from = "192.0.2.1:1".parse().unwrap();
        let cookie = cookies.make(at(0), Use::List, from);
        let accepts =
            |cookies: &Cookies| cookies.accept(at(1), Use::List, from, |bits| bits == cookie);
        cookies.change_secret(Secret([2; 16]));
        assert!(accepts(&cookies));
        cookies.change_secret(Secret([2; 16]));
        assert!(accepts(&cookies), "the same secret again is no change");
        cookies.change_secret(Secret([3; 16]));
        assert!(!accepts(&cookies));
    }
}

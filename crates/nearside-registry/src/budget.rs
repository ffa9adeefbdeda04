//! Small allowances for networks that have proven nothing: a fixed table of token buckets, so that
//! no flood can make it grow. Networks that share a bucket share its allowance, which errs on the
//! strict side; the table's key keeps an attacker from choosing whom to share with.

use std::hash::Hasher;
use std::net::IpAddr;

use nearside_types::{Moment, Prefix, ServerAddr};
use siphasher::sip::SipHasher13;

use crate::cookie::Secret;

/// Allowances of bytes for each IPv4 /24 and IPv6 /48, and reserves: for each registered server, or
/// for each client that has proven its address.
#[derive(Debug)]
pub(crate) struct Budgets {
    key: Secret,
    per_second: f64,
    burst: f64,
    networks: Vec<Bucket>,
    /// Empty until the first who has one needs it.
    reserves: Vec<Bucket>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f32,
    /// When `left` was right, in milliseconds.
    at: u64,
}

const BUCKETS: usize = 1 << 14;

/// The network that shares an allowance and a cap.
pub(crate) fn network(ip: IpAddr) -> Prefix {
    let ip = ip.to_canonical();
    Prefix::new(ip, if ip.is_ipv4() { 24 } else { 48 })
}

/// What has a client's reserve: an address, or an IPv6 /56, as providers give to a home; there are 256
/// of either in a network, so a network that floods as a whole gets 26 times its allowance at most.
fn household(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        ip @ IpAddr::V4(_) => ip,
        ip @ IpAddr::V6(_) => Prefix::new(ip, 56).network(),
    }
}

/// A client's reserve is this part of its network's allowance.
const CLIENTS: f64 = 10.0;

impl Budgets {
    /// `per_second` bytes for each network, of which ten seconds' worth can be saved up.
    pub(crate) fn new(key: Secret, per_second: u32) -> Self {
        let per_second = f64::from(per_second);
        let burst = 10.0 * per_second;
        Self {
            key,
            per_second,
            burst,
            networks: vec![Bucket::full(burst); BUCKETS],
            reserves: Vec::new(),
        }
    }

    /// Another allowance from now on; what was saved up stays, as far as it fits.
    pub(crate) fn set_rate(&mut self, per_second: u32) {
        self.per_second = f64::from(per_second);
        self.burst = 10.0 * self.per_second;
    }

    /// Takes `bytes` from the allowance of a network; `false`, and nothing taken, if they are not
    /// there.
    pub(crate) fn take(&mut self, now: Moment, ip: IpAddr, bytes: usize) -> bool {
        let place = self.place(network(ip).network(), 0);
        let (per_second, burst) = (self.per_second, self.burst);
        self.networks[place].take(now, bytes, per_second, burst)
    }

    /// The same where a network that has anything left may take more, and owes it.
    pub(crate) fn owe(&mut self, now: Moment, ip: IpAddr, bytes: usize) -> bool {
        let place = self.place(network(ip).network(), 0);
        let (per_second, burst) = (self.per_second, self.burst);
        self.networks[place].owe(now, bytes, per_second, burst)
    }

    /// Whether a network has so many bytes left.
    pub(crate) fn has(&self, now: Moment, ip: IpAddr, bytes: usize) -> bool {
        let mut bucket = self.networks[self.place(network(ip).network(), 0)];
        bucket.take(now, bytes, self.per_second, self.burst)
    }

    /// The same for a registered server. When its neighbours have spent what the network has, it
    /// takes from a reserve that is its own: they can make newcomers wait, and nobody who is in.
    pub(crate) fn take_registered(&mut self, now: Moment, addr: ServerAddr, bytes: usize) -> bool {
        let (per_second, burst) = (self.per_second, self.burst);
        self.take(now, addr.ip(), bytes)
            || self
                .reserve(burst, addr.ip(), addr.port())
                .take(now, bytes, per_second, burst)
    }

    /// The same for a client that has proven its address: a tenth of what its network has is its own.
    /// Who has anything of it left may take more, and owes it: one list, however long, is for everybody.
    pub(crate) fn take_proven(&mut self, now: Moment, ip: IpAddr, bytes: usize) -> bool {
        let (per_second, burst) = (self.per_second / CLIENTS, self.burst / CLIENTS);
        self.take(now, ip, bytes)
            || self
                .reserve(burst, household(ip), 0)
                .owe(now, bytes, per_second, burst)
    }

    fn reserve(&mut self, burst: f64, ip: IpAddr, port: u16) -> &mut Bucket {
        if self.reserves.is_empty() {
            self.reserves = vec![Bucket::full(burst); BUCKETS];
        }
        let place = self.place(ip, port);
        &mut self.reserves[place]
    }

    fn place(&self, ip: IpAddr, port: u16) -> usize {
        let mut hasher = SipHasher13::new_with_key(&self.key.0);
        match ip {
            IpAddr::V4(ip) => hasher.write(&ip.octets()),
            IpAddr::V6(ip) => hasher.write(&ip.octets()),
        }
        hasher.write_u16(port);
        hasher.finish() as usize % BUCKETS
    }
}

/// One allowance that all share.
#[derive(Debug)]
pub(crate) struct Allowance {
    per_second: f64,
    burst: f64,
    bucket: Bucket,
}

impl Allowance {
    pub(crate) const fn new(per_second: f64, burst: f64) -> Self {
        Self {
            per_second,
            burst,
            bucket: Bucket::full(burst),
        }
    }

    /// Whether so much is there.
    pub(crate) fn has(&self, now: Moment, amount: usize) -> bool {
        let mut bucket = self.bucket;
        bucket.take(now, amount, self.per_second, self.burst)
    }

    /// Takes so much; `false`, and nothing taken, if it is not there.
    pub(crate) fn take(&mut self, now: Moment, amount: usize) -> bool {
        self.bucket.take(now, amount, self.per_second, self.burst)
    }
}

impl Bucket {
    const fn full(burst: f64) -> Self {
        Self {
            left: burst as f32,
            at: 0,
        }
    }

    fn take(&mut self, now: Moment, bytes: usize, per_second: f64, burst: f64) -> bool {
        self.fill(now, per_second, burst);
        let enough = f64::from(self.left) >= bytes as f64;
        if enough {
            self.left -= bytes as f32;
        }
        enough
    }

    /// Takes what is not there too, as long as something is.
    fn owe(&mut self, now: Moment, bytes: usize, per_second: f64, burst: f64) -> bool {
        self.fill(now, per_second, burst);
        let is_some = self.left > 0.0;
        if is_some {
            self.left -= bytes as f32;
        }
        is_some
    }

    fn fill(&mut self, now: Moment, per_second: f64, burst: f64) {
        let now_ms = now.as_nanos() / 1_000_000;
        let passed = now_ms.saturating_sub(self.at) as f64 / 1000.0;
        let left = (f64::from(self.left) + passed * per_second).min(burst);
        *self = Self {
            left: left as f32,
            at: now_ms.max(self.at),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_network_spends_its_burst_and_then_its_rate_and_others_keep_theirs() {
        let mut budgets = Budgets::new(Secret([3; 16]), 100);
        let ip = |text: &str| text.parse().unwrap();
        let start = Moment::EPOCH + Duration::from_secs(1000);
        let takes = |budgets: &mut Budgets, now| {
            (0..100)
                .filter(|host| budgets.take(now, ip(&format!("192.0.2.{host}")), 50))
                .count()
        };
        assert_eq!(takes(&mut budgets, start), 20, "1,000 bytes at once");
        assert_eq!(takes(&mut budgets, start + Duration::from_secs(2)), 4);
        assert!(budgets.take(start, ip("198.51.100.1"), 50));
        assert!(budgets.take(start, ip("2001:db8::1"), 50));
    }

    #[test]
    fn no_allowance_gives_nothing() {
        let mut budgets = Budgets::new(Secret([3; 16]), 0);
        let late = Moment::EPOCH + Duration::from_secs(1 << 30);
        assert!(!budgets.take(late, [192, 0, 2, 1].into(), 1));
        let server = ServerAddr::new([192, 0, 2, 1].into(), 27015).unwrap();
        assert!(!budgets.take_registered(late, server, 1));
        assert!(!budgets.take_proven(late, server.ip(), 1));
    }

    #[test]
    fn a_proven_client_has_a_reserve_that_a_list_may_overdraw_and_that_ends() {
        let mut budgets = Budgets::new(Secret([3; 16]), 1_000);
        let start = Moment::EPOCH + Duration::from_secs(1000);
        while budgets.take(start, [192, 0, 2, 9].into(), 10) {}
        let client = |host: u8| IpAddr::from([192, 0, 2, host]);
        assert!(budgets.take_proven(start, client(1), 5_000), "one list");
        assert!(!budgets.take_proven(start, client(1), 10), "it owes 4,000");
        let count = |budgets: &mut Budgets, host| {
            let granted = (0..100).filter(|_| budgets.take_proven(start, client(host), 100));
            granted.count()
        };
        assert_eq!(count(&mut budgets, 2), 10, "its neighbour has 1,000");
        let home = |text: &str| text.parse::<IpAddr>().unwrap();
        while budgets.take(start, home("2001:db8::1"), 10) {}
        assert!(budgets.take_proven(start, home("2001:db8:0:1::1"), 5_000));
        assert!(!budgets.take_proven(start, home("2001:db8:0:2::1"), 10));
        assert!(budgets.take_proven(start, home("2001:db8:0:100::1"), 10));
    }

    #[test]
    fn a_registered_server_has_a_reserve_that_ends_too() {
        let mut budgets = Budgets::new(Secret([3; 16]), 10);
        let start = Moment::EPOCH + Duration::from_secs(1000);
        while budgets.take(start, [192, 0, 2, 9].into(), 10) {}
        let server = |port| ServerAddr::new([192, 0, 2, 1].into(), port).unwrap();
        let granted = (0..100).filter(|_| budgets.take_registered(start, server(1), 10));
        assert_eq!(granted.count(), 10);
        assert!(budgets.take_registered(start, server(2), 10));
    }
}

//! Small allowances for networks that have proven nothing: a fixed table of token buckets, so that
//! no flood can make it grow. Networks that share a bucket share its allowance, which errs on the
//! strict side; the table's key keeps an attacker from choosing whom to share with.

use std::hash::Hasher;
use std::net::IpAddr;

use nearside_types::{Moment, Prefix};
use siphasher::sip::SipHasher13;

use crate::cookie::Secret;

/// Allowances of bytes for each IPv4 /24 and IPv6 /48.
#[derive(Debug)]
pub(crate) struct Budgets {
    key: Secret,
    per_second: f64,
    burst: f64,
    buckets: Vec<Bucket>,
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

impl Budgets {
    /// `per_second` bytes for each network, of which ten seconds' worth can be saved up.
    pub(crate) fn new(key: Secret, per_second: u32) -> Self {
        let per_second = f64::from(per_second);
        let burst = 10.0 * per_second;
        let full = Bucket {
            left: burst as f32,
            at: 0,
        };
        Self {
            key,
            per_second,
            burst,
            buckets: vec![full; BUCKETS],
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
        let now_ms = now.as_nanos() / 1_000_000;
        let place = self.place(ip);
        let bucket = &mut self.buckets[place];
        let passed = now_ms.saturating_sub(bucket.at) as f64 / 1000.0;
        let left = (f64::from(bucket.left) + passed * self.per_second).min(self.burst);
        let enough = left >= bytes as f64;
        *bucket = Bucket {
            left: (left - if enough { bytes as f64 } else { 0.0 }) as f32,
            at: now_ms.max(bucket.at),
        };
        enough
    }

    fn place(&self, ip: IpAddr) -> usize {
        let mut hasher = SipHasher13::new_with_key(&self.key.0);
        match network(ip).network() {
            IpAddr::V4(ip) => hasher.write(&ip.octets()),
            IpAddr::V6(ip) => hasher.write(&ip.octets()),
        }
        hasher.finish() as usize % BUCKETS
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
    }
}

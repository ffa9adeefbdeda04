//! What each network may take of work that others would have to wait for: a fixed table of token
//! buckets, so that no crowd can make it grow. Networks that share a bucket share its allowance; the
//! hash is keyed, so nobody can choose whom to share with.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::server::network;

/// Allowances of bytes for each IPv4 /24 and IPv6 /48.
///
/// What something costs is known only when it is done. So who has anything left may begin, and may
/// owe afterwards.
#[derive(Debug)]
pub(super) struct Allowances {
    hash: RandomState,
    per_second: f64,
    buckets: Mutex<Vec<Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    /// When `left` was right.
    at: Instant,
}

const BUCKETS: usize = 1 << 12;
/// Seconds' worth that can be saved up.
const SAVED_S: f64 = 10.0;

impl Allowances {
    pub(super) fn new(per_second: u32, now: Instant) -> Self {
        let per_second = f64::from(per_second);
        let full = Bucket {
            left: SAVED_S * per_second,
            at: now,
        };
        Self {
            hash: RandomState::new(),
            per_second,
            buckets: Mutex::new(vec![full; BUCKETS]),
        }
    }

    /// Whether a network may begin something.
    pub(super) fn has_any(&self, now: Instant, ip: IpAddr) -> bool {
        self.settle(now, ip, 0) > 0.0
    }

    /// Takes what something did cost.
    pub(super) fn pay(&self, now: Instant, ip: IpAddr, bytes: usize) {
        self.settle(now, ip, bytes);
    }

    /// What is left once the time that has passed is added and a price taken.
    fn settle(&self, now: Instant, ip: IpAddr, bytes: usize) -> f64 {
        let place = self.hash.hash_one(network(ip)) as usize % BUCKETS;
        let bucket = &mut self.lock()[place];
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        let saved = (bucket.left + passed * self.per_second).min(SAVED_S * self.per_second);
        *bucket = Bucket {
            left: saved - bytes as f64,
            at: now.max(bucket.at),
        };
        bucket.left
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Bucket>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_owes_waits_until_it_is_paid_off_and_neighbours_with_them() {
        let start = Instant::now();
        let allowances = Allowances::new(100, start);
        let ip = |text: &str| text.parse().unwrap();
        assert!(allowances.has_any(start, ip("192.0.2.1")));
        allowances.pay(start, ip("192.0.2.1"), 1500);
        let after = |seconds| start + Duration::from_secs(seconds);
        assert!(!allowances.has_any(after(4), ip("192.0.2.2")));
        assert!(allowances.has_any(after(4), ip("2001:db8::1")));
        assert!(allowances.has_any(after(6), ip("192.0.2.2")));
    }
}

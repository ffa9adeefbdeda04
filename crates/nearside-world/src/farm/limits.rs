//! How real servers ignore who asks too often; each server counts for itself, by source address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use nearside_types::Moment;

use super::config::{Protocol, RateLimits};

/// `sv_max_queries_sec` 3 over `sv_max_queries_window` 30 (Source engine defaults).
const SOURCE_WINDOW: Duration = Duration::from_secs(30);
const SOURCE_QUERIES: u32 = 90;

/// `SVC_RateLimitAddress(from, 10, 1000)` (ioquake3; OpenArena answered 10 of a burst of 40).
const QUAKE_BURST: u32 = 10;
const QUAKE_REFILL: Duration = Duration::from_secs(1);

/// More sources than this are forgotten when they have been quiet, so that forged ones cannot fill
/// the memory.
const PRUNE_ABOVE: usize = 1 << 17;

/// The counters of all servers of a farm.
#[derive(Debug)]
pub(super) struct Limits {
    rule: Option<Protocol>,
    counters: HashMap<(u32, IpAddr), Counter>,
}

#[derive(Debug, Clone, Copy)]
struct Counter {
    /// When the window began, or when the bucket last leaked.
    since: Moment,
    count: u32,
}

impl Limits {
    pub(super) fn new(protocol: Protocol, limits: RateLimits) -> Self {
        Self {
            rule: (limits == RateLimits::Real).then_some(protocol),
            counters: HashMap::new(),
        }
    }

    /// Counts a query; whether the server answers it.
    pub(super) fn admit(&mut self, now: Moment, server: u32, source: IpAddr) -> bool {
        let Some(rule) = self.rule else {
            return true;
        };
        if self.counters.len() > PRUNE_ABOVE {
            let quiet = SOURCE_WINDOW;
            self.counters
                .retain(|_, counter| now - counter.since < quiet);
        }
        let fresh = Counter {
            since: now,
            count: 0,
        };
        let counter = self.counters.entry((server, source)).or_insert(fresh);
        match rule {
            Protocol::A2s => counter.admit_source(now),
            Protocol::EnemyTerritory => counter.admit_quake(now),
        }
    }
}

impl Counter {
    /// A window that starts with its first query and counts the refused ones too.
    fn admit_source(&mut self, now: Moment) -> bool {
        if now - self.since > SOURCE_WINDOW {
            self.since = now;
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        self.count <= SOURCE_QUERIES
    }

    /// A bucket that leaks one query a second; the refused ones do not fill it.
    fn admit_quake(&mut self, now: Moment) -> bool {
        let leaked = (now - self.since).as_millis() / QUAKE_REFILL.as_millis();
        let leaked = u32::try_from(leaked).unwrap_or(u32::MAX);
        if leaked >= self.count {
            self.since = now;
            self.count = 0;
        } else {
            self.since += QUAKE_REFILL * leaked;
            self.count -= leaked;
        }
        let admitted = self.count < QUAKE_BURST;
        self.count += u32::from(admitted);
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn second(count: u64) -> Moment {
        Moment::EPOCH + Duration::from_secs(count)
    }

    fn admitted(limits: &mut Limits, now: Moment, queries: usize) -> usize {
        (0..queries).filter(|_| limits.admit(now, 0, HERE)).count()
    }

    #[test]
    fn quake_servers_answer_ten_of_a_burst_of_forty_and_then_one_a_second() {
        let mut limits = Limits::new(Protocol::EnemyTerritory, RateLimits::Real);
        assert_eq!(admitted(&mut limits, second(0), 40), 10);
        assert_eq!(admitted(&mut limits, second(1), 5), 1);
        assert_eq!(admitted(&mut limits, second(4), 5), 3);
        assert_eq!(admitted(&mut limits, second(60), 40), 10);
    }

    #[test]
    fn source_servers_answer_ninety_in_thirty_seconds() {
        let mut limits = Limits::new(Protocol::A2s, RateLimits::Real);
        assert_eq!(admitted(&mut limits, second(0), 80), 80);
        assert_eq!(admitted(&mut limits, second(20), 80), 10);
        assert_eq!(admitted(&mut limits, second(31), 80), 80);
    }

    #[test]
    fn servers_and_sources_are_counted_apart() {
        let mut limits = Limits::new(Protocol::EnemyTerritory, RateLimits::Real);
        assert_eq!(admitted(&mut limits, second(0), 40), 10);
        assert!(limits.admit(second(0), 1, HERE));
        assert!(limits.admit(second(0), 0, Ipv4Addr::new(127, 0, 0, 2).into()));
    }

    #[test]
    fn switched_off_everything_is_answered() {
        let mut limits = Limits::new(Protocol::A2s, RateLimits::Off);
        assert_eq!(admitted(&mut limits, second(0), 1000), 1000);
    }

    #[test]
    fn forged_sources_do_not_fill_the_memory() {
        let mut limits = Limits::new(Protocol::A2s, RateLimits::Real);
        for forged in 0..400_000u32 {
            let source = Ipv4Addr::from_bits(forged).into();
            limits.admit(Moment::from_nanos(u64::from(forged) * 1_000_000), 0, source);
        }
        assert!(limits.counters.len() <= PRUNE_ABOVE + 1);
    }
}

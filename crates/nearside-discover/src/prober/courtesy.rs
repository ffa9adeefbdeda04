//! Good manners towards the probed: a minimum gap between probes to one address, where several
//! servers may share a rate limit (`gamedig#198`), and never more than three datagrams a second to
//! one server (Source's `sv_max_queries_sec` default).

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use nearside_types::Moment;

/// Hands out send times per address.
#[derive(Debug)]
pub(crate) struct AddressGaps {
    gap: Duration,
    free_at: HashMap<IpAddr, Moment>,
}

impl AddressGaps {
    pub(crate) fn new(gap: Duration) -> Self {
        Self {
            gap,
            free_at: HashMap::new(),
        }
    }

    /// Reserves the next slot for `ip`, at `now` or later.
    pub(crate) fn reserve(&mut self, ip: IpAddr, now: Moment) -> Moment {
        let free = self.free_at.entry(ip).or_insert(now);
        let slot = (*free).max(now);
        *free = slot + self.gap;
        slot
    }
}

/// The last three sends to one server.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RecentSends {
    times: [Option<Moment>; 3],
}

impl RecentSends {
    /// When another datagram keeps the server at three a second.
    pub(crate) fn next_allowed(&self) -> Moment {
        self.times[0].map_or(Moment::EPOCH, |oldest| oldest + Duration::from_secs(1))
    }

    pub(crate) fn record(&mut self, now: Moment) {
        self.times.rotate_left(1);
        self.times[2] = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn servers_on_one_address_are_spaced_and_others_are_not() {
        let mut gaps = AddressGaps::new(Duration::from_millis(250));
        let shared: IpAddr = "192.0.2.1".parse().unwrap();
        let alone: IpAddr = "192.0.2.2".parse().unwrap();
        assert_eq!(gaps.reserve(shared, at(0)), at(0));
        assert_eq!(gaps.reserve(shared, at(0)), at(250));
        assert_eq!(gaps.reserve(shared, at(10)), at(500));
        assert_eq!(gaps.reserve(alone, at(10)), at(10));
        assert_eq!(
            gaps.reserve(shared, at(9000)),
            at(9000),
            "idle time is not saved up"
        );
    }

    #[test]
    fn a_fourth_datagram_waits_until_a_second_after_the_first() {
        let mut recent = RecentSends::default();
        for millis in [100, 200, 300] {
            assert!(recent.next_allowed() <= at(millis));
            recent.record(at(millis));
        }
        assert_eq!(recent.next_allowed(), at(1100));
    }
}

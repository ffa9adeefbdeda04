//! Servers that one front end alone hears of: others can list them only if what it writes reaches
//! them. The fleet cannot show that, since its servers go round all front ends.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

use nearside::fleet::Fleet;
use nearside_net::Stop;

/// Registers servers that nobody has heard of, each at one front end and once.
pub(crate) struct Newcomers {
    fleet: Fleet,
    stop: Stop,
    next: u32,
}

/// Servers that come to each front end at a time.
const EACH: u32 = 20;

impl Newcomers {
    /// With numbers from `first` on.
    pub(crate) fn from(first: u32) -> Self {
        Self {
            fleet: Fleet::open().unwrap(),
            stop: Stop::new().unwrap(),
            next: first,
        }
    }

    /// Some register at each of these front ends; gives their numbers.
    pub(crate) fn register(&mut self, front_ends: &[SocketAddr]) -> Vec<u32> {
        let first = self.next;
        for front_end in front_ends {
            let numbers = self.next..self.next + EACH;
            self.next = numbers.end;
            self.register_at(*front_end, numbers);
        }
        (first..self.next).collect()
    }

    fn register_at(&mut self, front_end: SocketAddr, numbers: Range<u32>) {
        let mut waiting: BTreeSet<u32> = numbers.collect();
        let limit = Instant::now() + Duration::from_secs(30);
        while !waiting.is_empty() {
            assert!(
                Instant::now() < limit,
                "{front_end} has not challenged {waiting:?}"
            );
            for number in &waiting {
                self.fleet.heartbeat(*number, front_end);
            }
            self.fleet.flush();
            let until = self.fleet.clock().now() + Duration::from_millis(300);
            let answered = |number, _| {
                waiting.remove(&number);
            };
            self.fleet.answer(until, &self.stop, answered).unwrap();
        }
    }
}

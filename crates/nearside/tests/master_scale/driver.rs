//! The fleet on a thread of its own, sending heartbeats at a steady pace.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nearside::fleet::Fleet;
use nearside_net::Stop;

/// Who has proven its address, and when.
#[derive(Debug)]
pub(crate) struct Proofs {
    began: Instant,
    /// Milliseconds of each server's first proof; 0 for none.
    first: Vec<AtomicU32>,
    pub(crate) heartbeats: AtomicU64,
    pub(crate) answers: AtomicU64,
}

impl Proofs {
    /// Servers that had proven themselves at a moment.
    pub(crate) fn before(&self, moment: Instant) -> Vec<u32> {
        let limit = moment.saturating_duration_since(self.began).as_millis();
        let is_before = |first: &AtomicU32| {
            let first = first.load(Ordering::Relaxed);
            first > 0 && u128::from(first) <= limit
        };
        let numbers = (0..).zip(&self.first);
        numbers
            .filter(|(_, first)| is_before(first))
            .map(|(number, _)| number)
            .collect()
    }
}

/// Heartbeats in turn until dropped.
pub(crate) struct Driver {
    pub(crate) proofs: Arc<Proofs>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Driver {
    /// Each server sends a heartbeat every `interval`, to each of the masters in turn.
    pub(crate) fn start(servers: u32, interval: Duration, masters: Vec<SocketAddr>) -> Self {
        let proofs = Arc::new(Proofs {
            began: Instant::now(),
            first: (0..servers).map(|_| AtomicU32::new(0)).collect(),
            heartbeats: AtomicU64::new(0),
            answers: AtomicU64::new(0),
        });
        let stop = Stop::new().unwrap();
        let (shared, told) = (Arc::clone(&proofs), stop.clone());
        let thread = std::thread::spawn(move || drive(servers, interval, &masters, &shared, &told));
        Self {
            proofs,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _failed = thread.join();
        }
    }
}

fn drive(servers: u32, interval: Duration, masters: &[SocketAddr], proofs: &Proofs, stop: &Stop) {
    let mut fleet = Fleet::open().unwrap();
    let rate = f64::from(servers) / interval.as_secs_f64();
    let mut sent = 0_u64;
    while !stop.is_stopped() {
        let due = (proofs.began.elapsed().as_secs_f64() * rate) as u64;
        // A test that was held up does not catch up in one burst.
        sent = sent.max(due.saturating_sub(1000));
        while sent < due {
            let (number, round) = (sent % u64::from(servers), sent / u64::from(servers));
            let master = (number + round) as usize % masters.len();
            fleet.heartbeat(number as u32, masters[master]);
            sent += 1;
            if sent.is_multiple_of(64) {
                fleet.flush();
            }
        }
        fleet.flush();
        proofs.heartbeats.store(sent, Ordering::Relaxed);
        let until = fleet.clock().now() + Duration::from_millis(2);
        let elapsed = proofs.began.elapsed().as_millis().max(1) as u32;
        let answered = fleet.answer(until, stop, |number| {
            if let Some(first) = proofs.first.get(number as usize) {
                let _known =
                    first.compare_exchange(0, elapsed, Ordering::Relaxed, Ordering::Relaxed);
            }
        });
        proofs
            .answers
            .fetch_add(answered.unwrap() as u64, Ordering::Relaxed);
    }
}

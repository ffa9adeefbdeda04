//! The fleet on a thread of its own, sending heartbeats at a steady pace.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nearside::fleet::Fleet;
use nearside_net::Stop;

/// Who has proven its address to which master, and when.
#[derive(Debug)]
pub(crate) struct Proofs {
    began: Instant,
    masters: Vec<SocketAddr>,
    /// For each server, one for each master.
    times: Vec<Times>,
    pub(crate) heartbeats: AtomicU64,
    pub(crate) answers: AtomicU64,
}

/// Milliseconds of the last proof, and of the last before it that had settled by then; 0 for none.
#[derive(Debug, Default)]
struct Times {
    last: AtomicU32,
    before: AtomicU32,
}

/// On a busy machine an answer waits for so long in the master's socket, and may be lost there.
const SETTLED: Duration = Duration::from_secs(5);

impl Proofs {
    fn new(servers: u32, masters: Vec<SocketAddr>) -> Self {
        let places = servers as usize * masters.len();
        Self {
            began: Instant::now(),
            masters,
            times: (0..places).map(|_| Times::default()).collect(),
            heartbeats: AtomicU64::new(0),
            answers: AtomicU64::new(0),
        }
    }

    fn now(&self) -> u32 {
        self.began.elapsed().as_millis().max(1) as u32
    }

    fn note(&self, server: u32, master: SocketAddr) {
        let master = self.masters.iter().position(|known| *known == master);
        let place = master.map(|master| server as usize * self.masters.len() + master);
        if let Some(times) = place.and_then(|place| self.times.get(place)) {
            let now = self.now();
            let last = times.last.swap(now, Ordering::Relaxed);
            if has_settled(last, now) {
                times.before.store(last, Ordering::Relaxed);
            }
        }
    }

    /// All masters were seen to list all servers: what one has heard, the others know.
    pub(crate) fn all_know_all(&self) {
        for of_server in self.times.chunks(self.masters.len()) {
            let lasts = of_server
                .iter()
                .map(|times| times.last.load(Ordering::Relaxed));
            let latest = lasts.max().unwrap_or(0);
            for times in of_server {
                times.last.store(latest, Ordering::Relaxed);
                times.before.store(latest, Ordering::Relaxed);
            }
        }
    }

    /// Servers that a master must list: they proved themselves to it, and neither is the proof so
    /// young that it may not have been read, nor so old that their time may be up. On a machine that
    /// keeps up with the heartbeats, that is all of them.
    pub(crate) fn owed(&self, master: usize, timeout: Duration) -> Vec<u32> {
        let now = self.now();
        // The store hears of a renewal when a quarter of the timeout has passed.
        let longest = (timeout * 3 / 4 - SETTLED).as_millis() as u32;
        let is_owed = |times: &Times| {
            let last = times.last.load(Ordering::Relaxed);
            let proof = match has_settled(last, now) {
                true => last,
                false => times.before.load(Ordering::Relaxed),
            };
            proof > 0 && now - proof < longest
        };
        let of_master = self.times.iter().skip(master).step_by(self.masters.len());
        let numbered = (0..).zip(of_master);
        numbered
            .filter(|(_, times)| is_owed(times))
            .map(|(number, _)| number)
            .collect()
    }
}

fn has_settled(proof: u32, now: u32) -> bool {
    u128::from(now.saturating_sub(proof)) >= SETTLED.as_millis()
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
        let proofs = Arc::new(Proofs::new(servers, masters));
        let stop = Stop::new().unwrap();
        let (shared, told) = (Arc::clone(&proofs), stop.clone());
        let thread = std::thread::spawn(move || drive(servers, interval, &shared, &told));
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

/// Heartbeats whose challenge has not come. More would fill the sockets of masters that are held up,
/// and the kernel would throw servers' proofs away.
const WINDOW: u64 = 4096;

/// A challenge that takes longer comes from a master that is down.
const PATIENCE: Duration = Duration::from_millis(300);

fn drive(servers: u32, interval: Duration, proofs: &Proofs, stop: &Stop) {
    let mut fleet = Fleet::open().unwrap();
    let rate = f64::from(servers) / interval.as_secs_f64();
    let (mut sent, mut in_flight) = (0_u64, 0_u64);
    let mut paced = Instant::now();
    let mut heard = Instant::now();
    while !stop.is_stopped() {
        // A fleet that was held up neither catches up nor passes a server over: its round becomes
        // longer.
        let due = (paced.elapsed().as_secs_f64() * rate) as u64;
        paced += Duration::from_secs_f64(due as f64 / rate);
        let count = due.min(WINDOW.saturating_sub(in_flight));
        for beat in sent..sent + count {
            let (number, round) = (beat % u64::from(servers), beat / u64::from(servers));
            let master = (number + round) as usize % proofs.masters.len();
            fleet.heartbeat(number as u32, proofs.masters[master]);
            if beat.is_multiple_of(64) {
                fleet.flush();
            }
        }
        fleet.flush();
        sent += count;
        proofs.heartbeats.store(sent, Ordering::Relaxed);
        let until = fleet.clock().now() + Duration::from_millis(2);
        let answered = fleet.answer(until, stop, |number, master| proofs.note(number, master));
        let answered = answered.unwrap() as u64;
        proofs.answers.fetch_add(answered, Ordering::Relaxed);
        in_flight = (in_flight + count).saturating_sub(answered);
        if answered > 0 {
            heard = Instant::now();
        } else if heard.elapsed() > PATIENCE {
            in_flight = 0;
        }
    }
}

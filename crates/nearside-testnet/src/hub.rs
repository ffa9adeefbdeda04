//! The one thread between all hosts: takes packets from their devices, keeps each for as long as
//! its path says, and gives it to the device of its destination.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::path::{Passage, Path, Share};
use crate::places::Places;
use crate::shared::{Fate, Shared};
use crate::{TestnetError, packet};

/// Jumbo frames fit; the devices have an MTU of 1,500.
const LONGEST: usize = 9_216;
/// After so many from one host it is the others' turn, and that of packets which are due.
const TURN: usize = 64;
/// The running thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Hub {
    shared: Arc<Mutex<Shared>>,
    /// Closing it is the sign to stop.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Hub {
    /// Serves hosts by their devices; `places` says which host a destination is.
    pub(crate) fn start(
        devices: Vec<File>,
        places: Places,
        path: Path,
        seed: u64,
    ) -> Result<Self, TestnetError> {
        let (ours, theirs) = UnixStream::pair().map_err(TestnetError::io("make a pipe"))?;
        let shared = Arc::new(Mutex::new(Shared::new(devices.len(), path)));
        let carrier = Carrier {
            devices,
            places,
            shared: Arc::clone(&shared),
            under_way: BinaryHeap::new(),
            sent: 0,
            seed,
            chance: ChaCha8Rng::seed_from_u64(seed),
        };
        let (prepared, is_prepared) = mpsc::channel();
        let work = move || {
            crate::be_punctual();
            drop(prepared);
            carrier.run(&theirs);
        };
        let thread = std::thread::Builder::new()
            .name("testnet hub".to_owned())
            .spawn(work)
            .map_err(TestnetError::io("start the hub"))?;
        // The first packets of a test shall be as punctual as all others.
        let _closed: Result<(), mpsc::RecvError> = is_prepared.recv();
        Ok(Self {
            shared,
            stop: Some(ours),
            thread: Some(thread),
        })
    }

    pub(crate) fn shared(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// A test that panicked while it held the lock has changed a path or has not: both are fine.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A packet under way. Ordered by when it is due, then by when it was sent.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Parcel {
    due: Instant,
    number: u64,
    to: usize,
    packet: Box<[u8]>,
}

struct Carrier {
    devices: Vec<File>,
    places: Places,
    shared: Arc<Mutex<Shared>>,
    under_way: BinaryHeap<Reverse<Parcel>>,
    sent: u64,
    seed: u64,
    chance: ChaCha8Rng,
}

impl Carrier {
    fn run(mut self, stop: &UnixStream) {
        while let Ok(ready) = self.wait(stop) {
            let Some((Ready::No, hosts)) = ready.split_first() else {
                return;
            };
            for (from, _) in hosts
                .iter()
                .enumerate()
                .filter(|(_, is)| **is == Ready::Yes)
            {
                self.collect(from);
            }
            self.deliver();
        }
    }

    /// Sleeps until a packet comes or one is due. The first answer is that of `stop`.
    fn wait(&self, stop: &UnixStream) -> Result<Vec<Ready>, rustix::io::Errno> {
        let next = self.under_way.peek().map(|Reverse(parcel)| parcel.due);
        let left = next.map(|due| due.saturating_duration_since(Instant::now()));
        let timeout = left.map(|left| {
            Timespec::try_from(left).expect("delays are shorter than the age of the universe")
        });
        let mut waited = vec![PollFd::new(stop, PollFlags::IN)];
        waited.extend(
            self.devices
                .iter()
                .map(|device| PollFd::new(device, PollFlags::IN)),
        );
        match poll(&mut waited, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(waited.iter().map(Ready::of).collect()),
            Err(error) => Err(error),
        }
    }

    /// Takes what a host has sent.
    fn collect(&mut self, from: usize) {
        let mut buffer = [0; LONGEST];
        for _ in 0..TURN {
            // An error means that there is no more for now.
            let Ok(length) = (&self.devices[from]).read(&mut buffer) else {
                return;
            };
            self.send(from, &buffer[..length]);
        }
    }

    /// Where nobody lives a packet is dropped, as on a network without routers that tell; what a
    /// host's kernel sends to all neighbours ends here too.
    fn send(&mut self, from: usize, packet: &[u8]) {
        let now = Instant::now();
        let to = packet::destination(packet).and_then(|address| self.places.find(address));
        let Some(to) = to else { return };
        let path = *lock(&self.shared).path(from, to);
        let fate = self.fate(path);
        lock(&self.shared).note(from, to, packet, fate);
        if fate == Fate::Arrives {
            self.dispatch(now, path, to, packet);
        }
    }

    fn fate(&mut self, path: Path) -> Fate {
        if path.passage == Passage::Cut || self.happens(path.loss) {
            Fate::Lost
        } else {
            Fate::Arrives
        }
    }

    /// Sends a packet on its way, once or twice.
    fn dispatch(&mut self, now: Instant, path: Path, to: usize, packet: &[u8]) {
        let route = path
            .spread
            .mul_f64(packet::share_of_flow(packet, self.seed));
        let copies = if self.happens(path.duplication) { 2 } else { 1 };
        for _ in 0..copies {
            let jitter = path.jitter.mul_f64(self.chance.random::<f64>());
            self.sent += 1;
            self.under_way.push(Reverse(Parcel {
                due: now + path.delay + route + jitter,
                number: self.sent,
                to,
                packet: packet.into(),
            }));
        }
    }

    fn happens(&mut self, share: Share) -> bool {
        self.chance.random::<f64>() < share.0
    }

    /// Hands out what is due.
    fn deliver(&mut self) {
        let now = Instant::now();
        let mut shared = lock(&self.shared);
        while let Some(Reverse(next)) = self.under_way.peek() {
            if next.due > now {
                return;
            }
            // A device that is full or down loses packets, as real ones do.
            if (&self.devices[next.to]).write(&next.packet).is_ok() {
                shared.note_lateness(now - next.due);
            }
            self.under_way.pop();
        }
    }
}

/// Whether there is something to read, or nobody at the other end any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ready {
    Yes,
    No,
}

impl Ready {
    fn of(polled: &PollFd<'_>) -> Self {
        if polled.revents().is_empty() {
            Self::No
        } else {
            Self::Yes
        }
    }
}

//! Writes what changed, in groups, on a thread of its own. Between two groups only the last change
//! of each server counts, so a flood of heartbeats costs one write for each server and second.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nearside_registry::Server;
use nearside_types::ServerAddr;

use crate::store::Store;

/// What is to be kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A server is new or changed.
    Put(Box<Server>),
    /// A server is gone.
    Remove(ServerAddr),
}

impl Change {
    /// Which server it is about.
    pub fn addr(&self) -> ServerAddr {
        match self {
            Self::Put(server) => server.addr,
            Self::Remove(addr) => *addr,
        }
    }
}

/// How keeping goes.
#[derive(Debug, Default)]
pub struct KeeperStats {
    written: AtomicU64,
    groups: AtomicU64,
    failures: AtomicU64,
    waiting: AtomicU64,
    last_error: Mutex<Option<String>>,
}

impl KeeperStats {
    /// Changes written.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Groups written.
    pub fn groups(&self) -> u64 {
        self.groups.load(Ordering::Relaxed)
    }

    /// Groups that failed and were tried again.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Changes that wait.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// What the store said when it failed last; `None` while it works.
    pub fn last_error(&self) -> Option<String> {
        let error = self
            .last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        error.clone()
    }

    fn note(&self, error: Option<String>) {
        *self
            .last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = error;
    }
}

/// The writing thread.
#[derive(Debug)]
pub struct Keeper {
    changes: Option<Sender<Change>>,
    stats: Arc<KeeperStats>,
    thread: Option<JoinHandle<()>>,
}

/// Groups are at most this far apart.
const GROUP: Duration = Duration::from_millis(500);

/// Changes that wait for a store that is away; one for each server, so this bounds the memory. Later
/// ones are not kept: a server that is heard of again is written again.
const MOST_WAITING: usize = 2_000_000;

impl Keeper {
    /// Starts writing to a store.
    pub fn start(store: impl Store + 'static) -> Self {
        let (changes, receiver) = channel();
        let stats = Arc::new(KeeperStats::default());
        let shared = Arc::clone(&stats);
        let thread = thread::spawn(move || write_groups(store, &receiver, &shared));
        Self {
            changes: Some(changes),
            stats,
            thread: Some(thread),
        }
    }

    /// Hands over a change; never waits.
    pub fn keep(&self, change: Change) {
        if let Some(changes) = &self.changes {
            // A keeper that has ended cannot be helped; its last error tells why.
            let _ended = changes.send(change);
        }
    }

    /// How it goes.
    pub fn stats(&self) -> Arc<KeeperStats> {
        Arc::clone(&self.stats)
    }
}

impl Drop for Keeper {
    /// Writes the rest.
    fn drop(&mut self) {
        drop(self.changes.take());
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

fn write_groups(mut store: impl Store, changes: &Receiver<Change>, stats: &KeeperStats) {
    let mut waiting = Waiting::default();
    let mut open = true;
    while open || !waiting.is_empty() {
        open = open && collect(changes, &mut waiting);
        stats.waiting.store(waiting.len() as u64, Ordering::Relaxed);
        let group = waiting.take();
        if group.is_empty() {
            continue;
        }
        match store.write(&group) {
            Ok(()) => {
                let count = group.len() as u64;
                stats.written.fetch_add(count, Ordering::Relaxed);
                stats.groups.fetch_add(1, Ordering::Relaxed);
                stats.waiting.store(0, Ordering::Relaxed);
                stats.note(None);
            }
            Err(error) => {
                stats.failures.fetch_add(1, Ordering::Relaxed);
                stats.note(Some(error.to_string()));
                if !open {
                    return;
                }
                waiting.put_back(group);
            }
        }
    }
}

/// The last change of each server that is not written yet.
#[derive(Debug, Default)]
struct Waiting {
    changes: HashMap<ServerAddr, Change>,
}

impl Waiting {
    fn len(&self) -> usize {
        self.changes.len()
    }

    fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    fn add(&mut self, change: Change) {
        let known = self.changes.contains_key(&change.addr());
        if known || self.len() < MOST_WAITING {
            self.changes.insert(change.addr(), change);
        }
    }

    /// All of them, to be written. The table goes too: after a flood it would stay large.
    fn take(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes).into_values().collect()
    }

    /// They could not be written. Nothing came in between, so none of them is out of date.
    fn put_back(&mut self, group: Vec<Change>) {
        self.changes = group
            .into_iter()
            .map(|change| (change.addr(), change))
            .collect();
    }
}

/// Takes changes in for a while; `false` once no more can come.
fn collect(changes: &Receiver<Change>, waiting: &mut Waiting) -> bool {
    let until = Instant::now() + GROUP;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match changes.recv_timeout(left) {
            Ok(change) => waiting.add(change),
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

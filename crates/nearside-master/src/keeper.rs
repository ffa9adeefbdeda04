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
    let mut waiting: HashMap<ServerAddr, Change> = HashMap::new();
    let mut open = true;
    while open || !waiting.is_empty() {
        open = open && collect(changes, &mut waiting);
        stats.waiting.store(waiting.len() as u64, Ordering::Relaxed);
        let group: Vec<Change> = waiting.values().cloned().collect();
        if group.is_empty() {
            continue;
        }
        match store.write(&group) {
            Ok(()) => {
                stats
                    .written
                    .fetch_add(group.len() as u64, Ordering::Relaxed);
                stats.groups.fetch_add(1, Ordering::Relaxed);
                stats.note(None);
                waiting.clear();
            }
            Err(error) => {
                stats.failures.fetch_add(1, Ordering::Relaxed);
                stats.note(Some(error.to_string()));
                if !open {
                    return;
                }
            }
        }
    }
}

/// Takes changes in for a while; `false` once no more can come.
fn collect(changes: &Receiver<Change>, waiting: &mut HashMap<ServerAddr, Change>) -> bool {
    let until = Instant::now() + GROUP;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match changes.recv_timeout(left) {
            Ok(change) => {
                let known = waiting.contains_key(&change.addr());
                if known || waiting.len() < MOST_WAITING {
                    waiting.insert(change.addr(), change);
                }
            }
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

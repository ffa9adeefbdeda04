//! Writes what changed, in groups, on a thread of its own. Between two groups only the last change
//! of each server counts, so a flood of heartbeats costs one write for each server and second.
//!
//! A store may fail, and it may also never return from a write, as a hanging disk does. The engine
//! waits for neither: what changes meanwhile lies in a table of bounded size.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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
    lost: AtomicU64,
    last_error: Mutex<Option<String>>,
    /// When the write under way began.
    writing: Mutex<Option<Instant>>,
}

/// A write that takes longer hangs.
const HANGS: Duration = Duration::from_secs(5);

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

    /// Changes that were not kept, since too many waited already.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// What the store said when it failed last, or that it hangs; `None` while it works.
    pub fn last_error(&self) -> Option<String> {
        let hangs = lock(&self.writing).map(|began| began.elapsed());
        match hangs.filter(|time| *time >= HANGS) {
            Some(time) => Some(format!(
                "the store has not returned from a write for {} s",
                time.as_secs()
            )),
            None => lock(&self.last_error).clone(),
        }
    }

    fn note(&self, error: Option<String>) {
        *lock(&self.last_error) = error;
    }

    fn note_writing(&self, since: Option<Instant>) {
        *lock(&self.writing) = since;
    }
}

/// The writing thread.
#[derive(Debug)]
pub struct Keeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the engine's thread and the writing thread share.
#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Told when no more changes come, and when all is written.
    turned: Condvar,
    stats: Arc<KeeperStats>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Groups are at most this far apart.
const GROUP: Duration = Duration::from_millis(500);

/// After failures the groups are farther apart, up to this: other front ends wait for them.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How often the rest is tried at the end: a store that has just failed may have to open its file
/// again.
const LAST_TRIES: u32 = 2;

/// How long the end waits for a store that hangs.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// Changes that wait for a store that is away; one for each server, so this bounds the memory. Later
/// ones are not kept: a server that is heard of again is written again.
const MOST_WAITING: usize = 2_000_000;

impl Keeper {
    /// Starts writing to a store.
    pub fn start(store: impl Store + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            write_groups(store, &its);
            lock(&its.waiting).over = true;
            its.turned.notify_all();
        });
        Self {
            shared,
            thread: Some(thread),
        }
    }

    /// Hands over a change; never waits for the store.
    pub fn keep(&self, change: Change) {
        let mut waiting = lock(&self.shared.waiting);
        waiting.add(change);
        self.shared.note(&waiting);
    }

    /// How it goes.
    pub fn stats(&self) -> Arc<KeeperStats> {
        Arc::clone(&self.shared.stats)
    }
}

impl Drop for Keeper {
    /// Writes the rest. A thread that hangs in its store is left to itself.
    fn drop(&mut self) {
        let mut waiting = lock(&self.shared.waiting);
        waiting.closed = true;
        self.shared.turned.notify_all();
        let is_writing = |waiting: &mut Waiting| !waiting.over;
        let ended = self
            .shared
            .turned
            .wait_timeout_while(waiting, LAST_WAIT, is_writing);
        let (waiting, _) = ended.unwrap_or_else(PoisonError::into_inner);
        let over = waiting.over;
        drop(waiting);
        if let Some(thread) = self.thread.take().filter(|_| over) {
            let _panicked = thread.join();
        }
    }
}

fn write_groups(mut store: impl Store, shared: &Shared) {
    let stats = &shared.stats;
    let mut pause = GROUP;
    let mut tries = LAST_TRIES;
    loop {
        let (group, closed) = shared.next_group(pause);
        if closed && (group.is_empty() || tries == 0) {
            return shared.put_back(group);
        }
        tries -= u32::from(closed);
        if group.is_empty() {
            continue;
        }
        stats.note_writing(Some(Instant::now()));
        let written = store.write(&group);
        stats.note_writing(None);
        match written {
            Ok(()) => {
                let count = group.len() as u64;
                stats.written.fetch_add(count, Ordering::Relaxed);
                stats.groups.fetch_add(1, Ordering::Relaxed);
                stats.note(None);
                shared.is_written();
                pause = GROUP;
            }
            Err(error) => {
                stats.failures.fetch_add(1, Ordering::Relaxed);
                stats.note(Some(error.to_string()));
                shared.put_back(group);
                pause = (2 * pause).min(LONGEST_PAUSE);
            }
        }
    }
}

impl Shared {
    /// What has changed after a pause, or at once when no more comes, which is told too.
    fn next_group(&self, pause: Duration) -> (Vec<Change>, bool) {
        let waiting = lock(&self.waiting);
        let is_open = |waiting: &mut Waiting| !waiting.closed;
        let paused = self.turned.wait_timeout_while(waiting, pause, is_open);
        let (mut waiting, _) = paused.unwrap_or_else(PoisonError::into_inner);
        let (changes, closed) = (waiting.take(), waiting.closed);
        // The engine may want to hand something over: two million are sorted out without the lock.
        drop(waiting);
        (changes.into_values().collect(), closed)
    }

    /// They could not be written. The table is made without the lock, with room for what has changed
    /// since: the engine waits for the latter alone.
    fn put_back(&self, group: Vec<Change>) {
        let newer = lock(&self.waiting).changes.len();
        let mut older = HashMap::with_capacity(group.len() + 2 * newer);
        older.extend(group.into_iter().map(|change| (change.addr(), change)));
        let mut waiting = lock(&self.waiting);
        waiting.put_back(older);
        self.note(&waiting);
    }

    fn is_written(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.in_hand = 0;
        self.note(&waiting);
    }

    fn note(&self, waiting: &Waiting) {
        let count = (waiting.changes.len() + waiting.in_hand) as u64;
        self.stats.waiting.store(count, Ordering::Relaxed);
        self.stats.lost.store(waiting.lost, Ordering::Relaxed);
    }
}

/// The last change of each server that is not written yet.
#[derive(Debug, Default)]
struct Waiting {
    changes: HashMap<ServerAddr, Change>,
    /// Changes that are being written.
    in_hand: usize,
    /// Changes there was no room for.
    lost: u64,
    /// No more changes come.
    closed: bool,
    /// The writing thread has ended.
    over: bool,
}

impl Waiting {
    fn add(&mut self, change: Change) {
        let known = self.changes.contains_key(&change.addr());
        if known || self.changes.len() < MOST_WAITING {
            self.changes.insert(change.addr(), change);
        } else {
            self.lost += 1;
        }
    }

    /// All of them, to be written. The table goes too: after a flood it would stay large.
    fn take(&mut self) -> HashMap<ServerAddr, Change> {
        self.in_hand = self.changes.len();
        std::mem::take(&mut self.changes)
    }

    /// They could not be written. What has changed since counts.
    fn put_back(&mut self, older: HashMap<ServerAddr, Change>) {
        self.in_hand = 0;
        let newer = std::mem::replace(&mut self.changes, older);
        self.changes.extend(newer);
    }
}

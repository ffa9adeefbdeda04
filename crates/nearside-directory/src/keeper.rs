//! Writes what changed, in groups at most a second apart, on a thread of its own.
//!
//! A store may fail, and it may also never return from a write, as a hanging disk does. The engine waits
//! for neither: what changes meanwhile lies in a list of bounded length.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nearside_tunnel::service::Change;

use crate::store::Store;

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

    /// Changes that wait, with those that are being written.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Changes there was no room for while the store failed.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Why the last group failed, or that the store hangs; `None` while it works.
    pub fn last_error(&self) -> Option<String> {
        let time = lock(&self.writing).map(|began| began.elapsed());
        match time.filter(|time| *time >= HANGS) {
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

/// Takes changes and has them written; what is there when it is dropped is written first.
#[derive(Debug)]
pub struct Keeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the engine's thread and the writing thread share.
#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Told when a letter waits, when no more changes come, and when all is written.
    turned: Condvar,
    stats: Arc<KeeperStats>,
}

/// Changes that are not written yet, in their order.
#[derive(Debug, Default)]
struct Waiting {
    changes: Vec<Change>,
    /// Changes that are being written.
    in_hand: usize,
    /// Changes there was no room for.
    lost: u64,
    /// Somebody elsewhere waits for one of them.
    urgent: bool,
    /// No more changes come.
    closed: bool,
    /// The writing thread has ended.
    over: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes are written at most so late.
const GROUP: Duration = Duration::from_secs(1);
/// Between two groups at least: letters of that time go together, and others' log is not soon full.
const BREATH: Duration = Duration::from_millis(20);
/// The pause after failures grows up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Changes that wait for a store that fails: some 100 MB.
const MOST_WAITING: usize = 1_000_000;
/// How often the rest is tried at the end: a store that has just failed may have to open its file again.
const LAST_TRIES: u32 = 2;
/// How long the end waits for a store that hangs.
const LAST_WAIT: Duration = Duration::from_secs(10);

impl Keeper {
    /// Keeps into this store.
    pub fn start(store: impl Store + 'static) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        let builder = thread::Builder::new().name("keeper".to_owned());
        let thread = builder.spawn(move || {
            write_groups(store, &its);
            lock(&its.waiting).over = true;
            its.turned.notify_all();
        })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Has changes written within a second, and letters to clients of other directories at once. Never
    /// waits for the store.
    pub fn keep(&self, changes: Vec<Change>) {
        let mut waiting = lock(&self.shared.waiting);
        let is_letter = |change: &Change| matches!(change, Change::Letter { .. });
        if changes.iter().any(is_letter) {
            waiting.urgent = true;
            self.shared.turned.notify_all();
        }
        waiting.add(changes);
        self.shared.note(&waiting);
    }

    /// How keeping goes.
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
        let turned = &self.shared.turned;
        let ended = turned.wait_timeout_while(waiting, LAST_WAIT, is_writing);
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
                thread::sleep(BREATH);
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
    /// What has changed after a pause; at once when no more comes, which is told too, and when somebody
    /// waits, unless the store has just failed.
    fn next_group(&self, pause: Duration) -> (Vec<Change>, bool) {
        let waiting = lock(&self.waiting);
        let hurries = pause == GROUP;
        let idle = |waiting: &mut Waiting| !(waiting.closed || hurries && waiting.urgent);
        let paused = self.turned.wait_timeout_while(waiting, pause, idle);
        let (mut waiting, _) = paused.unwrap_or_else(PoisonError::into_inner);
        (waiting.take(), waiting.closed)
    }

    fn put_back(&self, group: Vec<Change>) {
        let mut waiting = lock(&self.waiting);
        waiting.put_back(group);
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

impl Waiting {
    fn add(&mut self, changes: Vec<Change>) {
        match self.changes.len() + self.in_hand + changes.len() <= MOST_WAITING {
            true => self.changes.extend(changes),
            false => self.lost += changes.len() as u64,
        }
    }

    fn take(&mut self) -> Vec<Change> {
        let group = std::mem::take(&mut self.changes);
        self.urgent = false;
        self.in_hand = group.len();
        group
    }

    /// They could not be written: before what has changed since.
    fn put_back(&mut self, mut group: Vec<Change>) {
        self.in_hand = 0;
        group.append(&mut self.changes);
        self.changes = group;
    }
}

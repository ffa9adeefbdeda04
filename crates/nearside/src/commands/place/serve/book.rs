//! All sessions by id. One that is only on disk is replayed when it is first asked for, so a restart
//! takes no time. All but [`Book::ids`] and [`Book::len`] may wait for the disk or a solver: call it off
//! the network's thread.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use nearside_placement::session::{Event, Report, SessionLog};
use nearside_placement::{Session, SessionSetup};
use tokio::sync::broadcast;

use super::failure::Failure;
use super::store::Store;
use crate::exit::WorldFailure;

/// Reports that a stream which comes back can still get.
const RECENT: usize = 256;
/// Events of one session: beyond them its log takes too long to replay.
const MAX_EVENTS: u64 = 100_000;
/// Steps of one event, about ten seconds for 100 servers and 50 players.
const MAX_STEPS: u64 = 1_000_000;

/// The sessions.
pub(super) struct Book {
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
    store: Option<Store>,
    most: usize,
}

/// One session, alive or on disk.
struct Slot {
    state: Mutex<State>,
    reports: broadcast::Sender<Arc<Told>>,
}

enum State {
    OnDisk,
    Alive(Box<Live>),
    Removed,
}

/// A session with what it said last.
pub(super) struct Live {
    pub(super) session: Session,
    recent: VecDeque<Arc<Told>>,
}

/// A report as streams send it.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) number: u64,
    pub(super) text: String,
}

/// What a stream starts with, and where the rest comes from.
pub(super) struct Subscription {
    /// The session as it is, for those who have seen nothing yet.
    pub(super) view: Option<String>,
    pub(super) missed: Vec<Arc<Told>>,
    pub(super) reports: broadcast::Receiver<Arc<Told>>,
}

impl Slot {
    fn new(state: State) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(state),
            reports: broadcast::channel(RECENT).0,
        })
    }
}

impl Live {
    fn new(session: Session) -> Self {
        Self {
            session,
            recent: VecDeque::new(),
        }
    }

    /// Replays a log, which gives the same reports again.
    fn replay(lines: &[String]) -> anyhow::Result<Self> {
        let log = SessionLog::from_lines(lines.iter().map(String::as_str))?;
        let mut live = Self::new(Session::new(log.setup().clone()));
        for event in log.events() {
            live.take(event.clone());
        }
        Ok(live)
    }

    fn take(&mut self, event: Event) -> (Report, Arc<Told>) {
        let report = self.session.handle(event);
        let told = Arc::new(Told {
            number: report.number,
            text: serde_json::to_string(&report).expect("a report is plain data"),
        });
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Arc::clone(&told));
        (report, told)
    }
}

impl Book {
    /// The sessions of a store.
    pub(super) fn open(store: Option<Store>, most: usize) -> anyhow::Result<Self> {
        let ids = match &store {
            Some(store) => store.ids().map_err(|error| {
                WorldFailure(format!("cannot read the sessions of the store: {error}"))
            })?,
            None => Vec::new(),
        };
        let slots = ids.into_iter().map(|id| (id, Slot::new(State::OnDisk)));
        Ok(Self {
            slots: Mutex::new(slots.collect()),
            store,
            most,
        })
    }

    pub(super) fn ids(&self) -> Vec<String> {
        lock(&self.slots).keys().cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.slots).len()
    }

    /// A new session under a new name.
    pub(super) fn create(&self, setup: SessionSetup) -> Result<String, Failure> {
        if setup.steps > MAX_STEPS {
            let why = format!("steps: at most {MAX_STEPS} for each event");
            return Err(Failure::bad_request(why));
        }
        let id = new_id().map_err(Failure::internal)?;
        let text = setup.to_json();
        let live = Box::new(Live::new(Session::new(setup)));
        self.insert(&id, Slot::new(State::Alive(live)))?;
        if let Some(store) = &self.store {
            store.create(&id, &text).map_err(|error| {
                lock(&self.slots).remove(&id);
                Failure::store(error)
            })?;
        }
        Ok(id)
    }

    /// Nobody knows the id yet, so the store can be told afterwards, without holding up others.
    fn insert(&self, id: &str, slot: Arc<Slot>) -> Result<(), Failure> {
        let mut slots = lock(&self.slots);
        if slots.len() >= self.most {
            let why = format!("there are {} sessions already (--max-sessions)", self.most);
            return Err(Failure::limit(why));
        }
        slots.insert(id.to_owned(), slot);
        Ok(())
    }

    pub(super) fn remove(&self, id: &str) -> Result<(), Failure> {
        let slot = self.slot(id)?;
        let mut state = lock(&slot.state);
        if let Some(store) = &self.store {
            store.remove(id).map_err(Failure::store)?;
        }
        *state = State::Removed;
        lock(&self.slots).remove(id);
        Ok(())
    }

    /// Looks at a session.
    pub(super) fn look<T>(&self, id: &str, look: impl FnOnce(&Live) -> T) -> Result<T, Failure> {
        let slot = self.slot(id)?;
        let mut state = lock(&slot.state);
        Ok(look(self.wake(id, &mut state)?))
    }

    /// An event: first to the store, then to the session, then to all who listen.
    pub(super) fn handle(&self, id: &str, event: Event) -> Result<Report, Failure> {
        let slot = self.slot(id)?;
        let mut state = lock(&slot.state);
        let live = self.wake(id, &mut state)?;
        let number = live.session.log().len() + 1;
        if number > MAX_EVENTS {
            let why = format!("the session has had {MAX_EVENTS} events; start another");
            return Err(Failure::limit(why));
        }
        if let Some(store) = &self.store {
            let text = serde_json::to_string(&event).expect("an event is plain data");
            store.append(id, number, &text).map_err(Failure::store)?;
        }
        let (report, told) = live.take(event);
        // Nobody listens: nobody is told.
        let _ = slot.reports.send(told);
        Ok(report)
    }

    /// All reports after number `seen`, as far back as they are kept, and all to come.
    pub(super) fn subscribe(&self, id: &str, seen: Option<u64>) -> Result<Subscription, Failure> {
        let slot = self.slot(id)?;
        let mut state = lock(&slot.state);
        let live = self.wake(id, &mut state)?;
        let missed = live.recent.iter();
        let missed = missed.filter(|told| seen.is_some_and(|seen| told.number > seen));
        let view = || serde_json::to_string(&live.session.view()).expect("a view is plain data");
        Ok(Subscription {
            view: seen.is_none().then(view),
            missed: missed.cloned().collect(),
            reports: slot.reports.subscribe(),
        })
    }

    fn slot(&self, id: &str) -> Result<Arc<Slot>, Failure> {
        let slots = lock(&self.slots);
        slots
            .get(id)
            .cloned()
            .ok_or_else(|| Failure::no_session(id))
    }

    fn wake<'s>(&self, id: &str, state: &'s mut State) -> Result<&'s mut Live, Failure> {
        if let State::OnDisk = state {
            let live = self
                .load(id)
                .map_err(|error| Failure::store(format!("{error:#}")))?;
            *state = State::Alive(Box::new(live));
        }
        match state {
            State::Alive(live) => Ok(live),
            State::OnDisk | State::Removed => Err(Failure::no_session(id)),
        }
    }

    fn load(&self, id: &str) -> anyhow::Result<Live> {
        let store = self.store.as_ref().context("there is no store")?;
        let lines = store.log(id)?.context("the session is not there")?;
        Live::replay(&lines)
    }
}

/// Nobody can guess it, and it fits a URL.
fn new_id() -> anyhow::Result<String> {
    let number = getrandom::u64().context("the system gives no random numbers")?;
    Ok(format!("{number:016x}"))
}

/// A thread that broke while it held a lock has broken one session at most.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

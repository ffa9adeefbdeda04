//! All sessions by id. One that is only in the store is woken when it is first asked for, so a restart
//! takes no time. What readers see lies apart from the session itself: nobody who looks waits for a
//! solver. All but [`Book::ids`], [`Book::len`] and [`Book::face`] may wait for the disk or a solver:
//! call it off the network's thread.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use nearside_placement::session::{Event, MigrationPlan, Report};
use nearside_placement::{Session, SessionSetup};
use tokio::sync::broadcast;

use super::deadline::Deadline;
use super::face::{Face, RECENT, Subscription, Told};
use super::failure::Failure;
use super::store::{Saved, Store};
use crate::exit::WorldFailure;

/// Events of one session: beyond them its log is too long to be handed out.
const MAX_EVENTS: u64 = 100_000;
/// Events between two snapshots: so many are replayed at most when a session wakes.
const SNAPSHOT_EVERY: u64 = 32;
/// Steps of one event, about ten seconds for 100 servers and 50 players.
const MAX_STEPS: u64 = 1_000_000;

/// The sessions.
pub(super) struct Book {
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
    store: Store,
    most: usize,
}

/// One session, awake or in the store.
struct Slot {
    /// Held while an event is decided.
    state: Mutex<State>,
    /// Held for a moment. `None` as long as the session has not been woken.
    face: Mutex<Option<Face>>,
    reports: broadcast::Sender<Arc<Told>>,
}

enum State {
    Stored,
    Awake(Box<Session>),
    Removed,
}

impl Slot {
    fn stored() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::Stored),
            face: Mutex::new(None),
            reports: broadcast::channel(RECENT).0,
        })
    }

    fn awake(session: Session) -> Arc<Self> {
        let slot = Self::stored();
        *lock(&slot.face) = Some(Face::new(&session));
        *lock(&slot.state) = State::Awake(Box::new(session));
        slot
    }

    /// Shows the session as it is now, and tells all who listen. Who subscribes meanwhile waits for
    /// the face, so nobody misses a report or gets it twice.
    fn show(&self, session: &Session, told: Told) {
        let mut face = lock(&self.face);
        let told = face
            .get_or_insert_with(|| Face::new(session))
            .turn(session, told);
        // Nobody listens: nobody is told.
        let _ = self.reports.send(told);
    }
}

impl Book {
    /// The sessions of a store.
    pub(super) fn open(store: Store, most: usize) -> anyhow::Result<Self> {
        let ids = store.ids().map_err(|error| {
            WorldFailure(format!("cannot read the sessions of the store: {error}"))
        })?;
        let slots = ids.into_iter().map(|id| (id, Slot::stored()));
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
        self.insert(&id, Slot::awake(Session::new(setup)))?;
        self.store.create(&id, &text).map_err(|error| {
            lock(&self.slots).remove(&id);
            Failure::store(error)
        })?;
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
        self.store.remove(id).map_err(Failure::store)?;
        *state = State::Removed;
        lock(&self.slots).remove(id);
        Ok(())
    }

    /// What there is to see of a session; `None` as long as it has not been woken.
    pub(super) fn face(&self, id: &str) -> Result<Option<Face>, Failure> {
        Ok(lock(&self.slot(id)?.face).clone())
    }

    /// The same, woken if need be.
    pub(super) fn woken(&self, id: &str) -> Result<Face, Failure> {
        let slot = self.slot(id)?;
        if let Some(face) = lock(&slot.face).clone() {
            return Ok(face);
        }
        let mut state = lock(&slot.state);
        let session = self.wake(id, &slot, &mut state)?;
        let face = lock(&slot.face).clone();
        Ok(face.unwrap_or_else(|| Face::new(session)))
    }

    /// An event: decided first, then to the store, then to all who listen. One that is refused changes
    /// nothing, so nobody is told but who asked.
    pub(super) fn handle(
        &self,
        id: &str,
        event: &Event,
        deadline: &Deadline,
    ) -> Result<Report, Failure> {
        let slot = self.slot(id)?;
        let mut state = lock(&slot.state);
        let session = self.wake(id, &slot, &mut state)?;
        if session.events() >= MAX_EVENTS {
            let why = format!("the session has had {MAX_EVENTS} events; start another");
            return Err(Failure::limit(why));
        }
        let decided = session.after(event, &|| deadline.is_over());
        let (after, report) = decided.map_err(Failure::out_of_time)?;
        if report.is_refused() {
            return Ok(report);
        }
        let text = serde_json::to_string(event).expect("an event is plain data");
        let due = report.number % SNAPSHOT_EVERY == 0;
        let snapshot = due.then(|| after.to_snapshot());
        let stored = self
            .store
            .append(id, report.number, &text, snapshot.as_deref());
        stored.map_err(Failure::store)?;
        *session = after;
        slot.show(session, Told::new(&report));
        Ok(report)
    }

    /// Who would move. Works on a copy: nobody waits for it.
    pub(super) fn plan(
        &self,
        id: &str,
        max_moves: usize,
        deadline: &Deadline,
    ) -> Result<MigrationPlan, Failure> {
        let slot = self.slot(id)?;
        let copy = self.wake(id, &slot, &mut lock(&slot.state))?.clone();
        let plan = copy.plan_consolidation_within(max_moves, &|| deadline.is_over());
        plan.map_err(Failure::out_of_time)
    }

    /// Set-up and events, a line each.
    pub(super) fn log(&self, id: &str) -> Result<String, Failure> {
        self.slot(id)?;
        let saved = self.store.log(id).map_err(Failure::store)?;
        let Saved { setup, events, .. } = saved.ok_or_else(|| Failure::no_session(id))?;
        Ok(events
            .into_iter()
            .fold(setup + "\n", |text, line| text + &line + "\n"))
    }

    /// All reports after number `seen`, or how the session is where they are not kept any more; and
    /// all reports to come.
    pub(super) fn subscribe(&self, id: &str, seen: Option<u64>) -> Result<Subscription, Failure> {
        self.woken(id)?;
        let slot = self.slot(id)?;
        let face = lock(&slot.face);
        let face = face.as_ref().ok_or_else(|| Failure::no_session(id))?;
        Ok(face.subscription(seen, slot.reports.subscribe()))
    }

    fn slot(&self, id: &str) -> Result<Arc<Slot>, Failure> {
        let slots = lock(&self.slots);
        slots
            .get(id)
            .cloned()
            .ok_or_else(|| Failure::no_session(id))
    }

    fn wake<'s>(
        &self,
        id: &str,
        slot: &Slot,
        state: &'s mut State,
    ) -> Result<&'s mut Session, Failure> {
        if let State::Stored = state {
            let (session, face) = self
                .load(id)
                .map_err(|error| Failure::store(format!("{error:#}")))?;
            *lock(&slot.face) = Some(face);
            *state = State::Awake(Box::new(session));
        }
        match state {
            State::Awake(session) => Ok(session),
            State::Stored | State::Removed => Err(Failure::no_session(id)),
        }
    }

    /// From the last snapshot on; replayed events give the same reports again.
    fn load(&self, id: &str) -> anyhow::Result<(Session, Face)> {
        let saved = self.store.load(id)?.context("the session is not there")?;
        let mut session = match &saved.snapshot {
            Some(text) => Session::from_snapshot(text)?,
            None => Session::new(SessionSetup::from_json(saved.setup.as_bytes())?),
        };
        let mut face = Face::new(&session);
        for event in &saved.events {
            let report = session.replay(&serde_json::from_str(event)?);
            face.turn(&session, Told::new(&report));
        }
        Ok((session, face))
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

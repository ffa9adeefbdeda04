//! All sessions by id. One that is only in the store is woken when it is first asked for, so a restart
//! takes no time. What readers see lies apart from the session itself: nobody who looks waits for a
//! solver. All but [`Book::ids`], [`Book::len`], [`Book::is_awake`], [`Book::face`] and [`Book::queue`] may wait for the
//! disk or a solver: call it off the network's thread. What asks for a [`Hold`] has the session to
//! itself; wait for one before anything that others wait for too.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use nearside_placement::session::{Event, MigrationPlan, Report};
use nearside_placement::{Session, SessionSetup};
use tokio::sync::broadcast;

use super::deadline::Deadline;
use super::face::{Face, RECENT, Subscription, Told};
use super::failure::Failure;
use super::gate::{Admitted, Gate, Turn};
use super::store::{Saved, Store};
use crate::exit::WorldFailure;

/// Events of one session: beyond them its log is too long to be handed out.
const MAX_EVENTS: u64 = 100_000;
/// Events between two snapshots: so many are replayed at most when a session wakes.
const SNAPSHOT_EVERY: u64 = 32;
/// Steps of one event, about ten seconds for 100 servers and 50 players.
const MAX_STEPS: u64 = 1_000_000;

/// Requests that may wait for one session: a slow one must not fill the queue of all.
const QUEUE: usize = 63;

/// The sessions.
pub(super) struct Book {
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
    store: Store,
    most: usize,
}

/// One session, awake or in the store.
struct Slot {
    /// Who may work on the session: one at a time, in the order they came.
    gate: Gate,
    /// Held while an event is decided, by whoever has the turn: nobody waits for it.
    state: Mutex<State>,
    /// Held for a moment. `None` as long as the session has not been woken.
    face: Mutex<Option<Face>>,
    reports: broadcast::Sender<Arc<Told>>,
}

/// A session, held by one request: to be kept until its work ends, which may outlive the request.
pub(super) struct Hold {
    id: String,
    slot: Arc<Slot>,
    _turn: Turn,
}

/// A place in the queue of a session.
pub(super) struct Queued {
    id: String,
    slot: Arc<Slot>,
    place: Admitted,
}

impl Queued {
    /// Waits until everybody before has done; whoever goes away leaves the queue.
    pub(super) async fn hold(self) -> Result<Hold, Failure> {
        Ok(Hold {
            _turn: self.place.turn().await?,
            id: self.id,
            slot: self.slot,
        })
    }
}

enum State {
    Stored,
    Awake(Box<Session>),
    Removed,
}

impl Slot {
    fn stored() -> Arc<Self> {
        Arc::new(Self {
            gate: Gate::new(1, QUEUE),
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

    /// A place in the queue of a session, if it is not too long.
    pub(super) fn queue(&self, id: &str) -> Result<Queued, Failure> {
        let slot = self.slot(id)?;
        Ok(Queued {
            id: id.to_owned(),
            place: slot.gate.admit()?,
            slot,
        })
    }

    pub(super) fn remove(&self, hold: &Hold) -> Result<(), Failure> {
        let mut state = lock(&hold.slot.state);
        if let State::Removed = *state {
            return Err(Failure::no_session(&hold.id));
        }
        self.store.remove(&hold.id).map_err(Failure::store)?;
        *state = State::Removed;
        lock(&self.slots).remove(&hold.id);
        Ok(())
    }

    /// Whether there is anything to see of a session yet.
    pub(super) fn is_awake(&self, id: &str) -> Result<bool, Failure> {
        Ok(lock(&self.slot(id)?.face).is_some())
    }

    /// What there is to see of a session; `None` as long as it has not been woken.
    pub(super) fn face(&self, id: &str) -> Result<Option<Face>, Failure> {
        Ok(lock(&self.slot(id)?.face).clone())
    }

    /// Makes a session's face, unless somebody has.
    pub(super) fn show(&self, hold: &Hold) -> Result<(), Failure> {
        self.wake(hold, &mut lock(&hold.slot.state))?;
        Ok(())
    }

    /// An event: decided first, then to the store, then to all who listen. One that is refused changes
    /// nothing, so nobody is told but who asked.
    pub(super) fn handle(
        &self,
        hold: &Hold,
        event: &Event,
        deadline: &Deadline,
    ) -> Result<Report, Failure> {
        let Hold { id, slot, .. } = hold;
        let mut state = lock(&slot.state);
        let session = self.wake(hold, &mut state)?;
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

    /// Who would move. Works on a copy and lets go of the session: nobody waits for it.
    pub(super) fn plan(
        &self,
        hold: Hold,
        max_moves: usize,
        deadline: &Deadline,
    ) -> Result<MigrationPlan, Failure> {
        let copy = self.wake(&hold, &mut lock(&hold.slot.state))?.clone();
        drop(hold);
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
    /// all reports to come. For a session that has a face.
    pub(super) fn subscribe(&self, id: &str, seen: Option<u64>) -> Result<Subscription, Failure> {
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

    fn wake<'s>(&self, hold: &Hold, state: &'s mut State) -> Result<&'s mut Session, Failure> {
        let Hold { id, slot, .. } = hold;
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

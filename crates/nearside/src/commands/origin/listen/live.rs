//! What the listener, the status line and the HTTP side share: the stack with the live table on
//! top, and counters.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nearside_net::BgpObserver;
use nearside_origin::bgp::{Neighbour, PeerEvent, Refusal, Rib};
use nearside_origin::{Snapshot, SourceKind, Stack, Timestamp};

use crate::origins::{self, Origins};

/// The name of the live table among the sources.
const LABEL: &str = "live BGP";

/// Lines kept for the status face when it comes late; more than a screen helps nobody.
const MESSAGES: usize = 100;

/// The state of the feed.
pub(in crate::commands) struct Live {
    /// Behind a lock of its own, which the ticker alone holds while it reads files.
    origins: Mutex<Origins>,
    state: Mutex<State>,
}

/// What is behind the lock; nobody holds it for longer than it takes to copy a few pointers.
pub(in crate::commands) struct State {
    /// What fills the gaps of the feed, and what there is to say about it.
    base: Stack,
    notes: Vec<String>,
    live: Option<Snapshot>,
    /// When a neighbour was last connected.
    last_up: Option<Timestamp>,
    /// Prefixes for which several origins are announced.
    pub(in crate::commands) multi_origin: usize,
    pub(in crate::commands) neighbours: Vec<NeighbourState>,
    pub(in crate::commands) publications: u64,
    pub(in crate::commands) refused: u64,
    pub(in crate::commands) lookups: u64,
    messages: VecDeque<String>,
}

/// One neighbour.
#[derive(Debug, Clone)]
pub(in crate::commands) struct NeighbourState {
    pub(in crate::commands) addr: IpAddr,
    pub(in crate::commands) up: bool,
    /// Prefixes when it last said that all were sent.
    pub(in crate::commands) prefixes: usize,
    pub(in crate::commands) sessions: u64,
    pub(in crate::commands) malformed: u64,
}

impl Live {
    pub(in crate::commands) fn new(neighbours: &[Neighbour], origins: Origins) -> Self {
        let neighbour = |neighbour: &Neighbour| NeighbourState {
            addr: neighbour.addr,
            up: false,
            prefixes: 0,
            sessions: 0,
            malformed: 0,
        };
        Self {
            state: Mutex::new(State {
                base: origins.stack().clone(),
                notes: origins.notes(),
                live: None,
                last_up: None,
                multi_origin: 0,
                neighbours: neighbours.iter().map(neighbour).collect(),
                publications: 0,
                refused: 0,
                lookups: 0,
                messages: VecDeque::new(),
            }),
            origins: Mutex::new(origins),
        }
    }

    /// The state, also after a thread that held it has panicked: every field is whole by itself.
    pub(in crate::commands) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads changed files again, and notes that a neighbour is still there.
    pub(in crate::commands) fn refresh(&self) {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        let said = origins.refresh();
        let mut state = self.state();
        state.base = origins.stack().clone();
        state.notes = origins.notes();
        if state.is_up() {
            state.last_up = Some(origins::now());
        }
        for words in said {
            state.say(words);
        }
    }

    fn publish(&self, table: Option<Snapshot>, multi_origin: usize) {
        let mut state = self.state();
        state.publications += 1;
        state.multi_origin = multi_origin;
        if table.is_none() && state.live.is_some() {
            state.say("the live table is empty: its routes were withdrawn or too old".to_owned());
        }
        state.live = table;
    }

    fn event(&self, neighbour: Neighbour, event: &PeerEvent) {
        let mut state = self.state();
        let addr = neighbour.addr;
        let mut known = state.neighbours.iter_mut();
        let Some(entry) = known.find(|entry| entry.addr == addr) else {
            return;
        };
        let mut last_up = None;
        let words = match event {
            PeerEvent::Established(_) => {
                entry.up = true;
                entry.sessions += 1;
                "session established".to_owned()
            }
            PeerEvent::Loaded { prefixes } => {
                entry.prefixes = *prefixes;
                format!("{prefixes} prefixes loaded")
            }
            PeerEvent::Malformed(malformed) => {
                entry.malformed += 1;
                format!("a broken announcement, taken as withdrawn: {malformed}")
            }
            PeerEvent::Closed(reason) => {
                entry.up = false;
                last_up = Some(origins::now());
                format!("session over: {reason}; its routes stay for now")
            }
        };
        state.last_up = last_up.or(state.last_up);
        state.say(format!("{addr}: {words}"));
    }

    fn refused(&self, refusal: Refusal) {
        let mut state = self.state();
        state.refused += 1;
        state.say(format!("turned away: {refusal}"));
    }
}

impl State {
    /// All sources as one. The live table is as old as the last word of a neighbour: now, as long
    /// as one is connected.
    pub(in crate::commands) fn stack(&self) -> Stack {
        let stack = self.base.clone();
        match &self.live {
            Some(live) if self.is_up() => stack.with(live.clone().with_date(origins::now())),
            Some(live) => stack.with(live.clone()),
            None => stack,
        }
    }

    pub(in crate::commands) fn is_up(&self) -> bool {
        self.neighbours.iter().any(|neighbour| neighbour.up)
    }

    /// The live table, if there is one.
    pub(in crate::commands) fn live(&self) -> Option<&Snapshot> {
        self.live.as_ref()
    }

    pub(in crate::commands) fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// How long no neighbour has been connected; `None` if there never was one.
    pub(in crate::commands) fn feed_age(&self) -> Option<Duration> {
        if self.is_up() {
            return Some(Duration::ZERO);
        }
        self.last_up.map(|last| last.age_at(origins::now()))
    }

    /// What happened since the last call.
    pub(in crate::commands) fn take_messages(&mut self) -> Vec<String> {
        self.messages.drain(..).collect()
    }

    fn say(&mut self, words: String) {
        if self.messages.len() == MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back(words);
    }
}

/// Passes what the listener hears on to the shared state.
pub(in crate::commands) struct Feed(pub(in crate::commands) std::sync::Arc<Live>);

impl BgpObserver for Feed {
    fn publish(&mut self, rib: &Rib) {
        // Built outside the lock: it takes a tenth of a second for a full table.
        let (table, cleaned) = rib.to_table();
        let known = table.known_ranges() != (0, 0);
        let snapshot = Snapshot::new(SourceKind::Bgp, LABEL, table).with_date(origins::now());
        self.0
            .publish(known.then_some(snapshot), cleaned.multi_origin);
    }

    fn event(&mut self, neighbour: Neighbour, event: &PeerEvent) {
        self.0.event(neighbour, event);
    }

    fn refused(&mut self, refusal: Refusal) {
        self.0.refused(refusal);
    }
}

//! What the listener, the status line and the HTTP side share: the stack with the live table on
//! top, and counters.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nearside_net::BgpObserver;
use nearside_origin::bgp::{Neighbour, PeerEvent, Refusal, Rib};
use nearside_origin::{Snapshot, SourceKind, Stack};

use crate::origins::{self, Origins};

/// The name of the live table among the sources.
const LABEL: &str = "live BGP";

/// Lines kept for the status face when it comes late; more than a screen helps nobody.
const MESSAGES: usize = 100;

/// The state of the feed.
pub(super) struct Live {
    state: Mutex<State>,
}

/// What is behind the lock; nobody holds it for longer than a copy of a few pointers or a file.
pub(super) struct State {
    origins: Origins,
    live: Option<Snapshot>,
    pub(super) neighbours: Vec<NeighbourState>,
    pub(super) publications: u64,
    pub(super) refused: u64,
    pub(super) lookups: u64,
    messages: VecDeque<String>,
}

/// One neighbour.
#[derive(Debug, Clone)]
pub(super) struct NeighbourState {
    pub(super) addr: IpAddr,
    pub(super) up: bool,
    /// Prefixes when it last said that all were sent.
    pub(super) prefixes: usize,
    pub(super) sessions: u64,
    pub(super) malformed: u64,
}

impl Live {
    pub(super) fn new(neighbours: &[Neighbour], origins: Origins) -> Self {
        let neighbour = |neighbour: &Neighbour| NeighbourState {
            addr: neighbour.addr,
            up: false,
            prefixes: 0,
            sessions: 0,
            malformed: 0,
        };
        Self {
            state: Mutex::new(State {
                origins,
                live: None,
                neighbours: neighbours.iter().map(neighbour).collect(),
                publications: 0,
                refused: 0,
                lookups: 0,
                messages: VecDeque::new(),
            }),
        }
    }

    /// The state, also after a thread that held it has panicked: every field is whole by itself.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads changed files again.
    pub(super) fn refresh(&self) {
        let mut state = self.state();
        for said in state.origins.refresh() {
            state.say(said);
        }
    }

    fn publish(&self, table: Option<Snapshot>) {
        let mut state = self.state();
        state.publications += 1;
        state.live = table;
    }

    fn event(&self, neighbour: Neighbour, event: &PeerEvent) {
        let mut state = self.state();
        let addr = neighbour.addr;
        let mut known = state.neighbours.iter_mut();
        let Some(entry) = known.find(|entry| entry.addr == addr) else {
            return;
        };
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
                format!("session over: {reason}; its routes stay for now")
            }
        };
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
    pub(super) fn stack(&self) -> Stack {
        let stack = self.origins.stack().clone();
        match &self.live {
            Some(live) if self.is_up() => stack.with(live.clone().with_date(origins::now())),
            Some(live) => stack.with(live.clone()),
            None => stack,
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.neighbours.iter().any(|neighbour| neighbour.up)
    }

    /// The live table, if there is one.
    pub(super) fn live(&self) -> Option<&Snapshot> {
        self.live.as_ref()
    }

    pub(super) fn notes(&self) -> Vec<String> {
        self.origins.notes()
    }

    /// What happened since the last call.
    pub(super) fn take_messages(&mut self) -> Vec<String> {
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
pub(super) struct Feed(pub(super) std::sync::Arc<Live>);

impl BgpObserver for Feed {
    fn publish(&mut self, rib: &Rib) {
        // Built outside the lock: it takes a tenth of a second for a full table.
        let table = rib.to_table().0;
        let known = table.known_ranges() != (0, 0);
        let snapshot = Snapshot::new(SourceKind::Bgp, LABEL, table).with_date(origins::now());
        self.0.publish(known.then_some(snapshot));
    }

    fn event(&mut self, neighbour: Neighbour, event: &PeerEvent) {
        self.0.event(neighbour, event);
    }

    fn refused(&mut self, refusal: Refusal) {
        self.0.refused(refusal);
    }
}

//! A session that goes on: players join and leave, latencies change, servers fail and come back. After
//! every event the bound and the loads hold, or the event says why not. The same events give the same
//! session, so its log is all that has to be kept; a snapshot saves replaying a long one.

mod apply;
mod bell;
mod consolidate;
mod event;
mod log;
mod seats;
mod setup;
mod snapshot;

pub use bell::OutOfTime;
pub use consolidate::MigrationPlan;
pub use event::{Event, Move, Reason, Report, Settlement, latencies_by_server};
pub use log::{LogError, SessionLog, of_one_line};
pub use setup::{SessionSetup, SetupError};
pub use snapshot::SnapshotError;

pub use crate::numbers::whole_number;

use std::sync::Arc;

use serde::Serialize;

use crate::solver::{Budget, Seating};
use crate::{Allocation, ClientId, Delay, Instance, ServerId};

/// An online session.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    setup: Arc<SessionSetup>,
    bound: Delay,
    /// Servers, and the players who are here. A server that is down has no places.
    roster: Instance,
    contacts: Vec<Option<ServerId>>,
    /// Places of servers that are down, for when they come back.
    down: Vec<Option<Option<u32>>>,
    /// Events it has taken; those it has refused are none.
    events: u64,
}

/// How a session is, for faces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionView<'s> {
    /// The bound.
    pub bound_ms: Delay,
    /// The session delay; `None` while nobody has a seat.
    pub delay_ms: Option<Delay>,
    /// Whether everybody has a seat and the bound holds.
    pub kept: bool,
    /// Events taken so far.
    pub events: u64,
    /// Servers that are up or in use.
    pub servers: Vec<ServerView<'s>>,
    /// Players in the order they joined.
    pub clients: Vec<ClientView<'s>>,
}

/// One server of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerView<'s> {
    /// Its name.
    pub name: &'s str,
    /// Whether it can be used.
    pub up: bool,
    /// Its players.
    pub load: usize,
    /// Its places; `None` for any number.
    pub capacity: Option<u32>,
}

/// One player of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientView<'s> {
    /// Their name.
    pub name: &'s str,
    /// Their contact server; `None` while they wait.
    pub server: Option<&'s str>,
    /// One-way delay to it.
    pub delay_ms: Option<Delay>,
}

impl Session {
    /// A session without players yet.
    pub fn new(setup: SessionSetup) -> Self {
        Self {
            bound: setup.bound,
            roster: setup.servers().clone(),
            contacts: Vec::new(),
            down: vec![None; setup.servers().servers().len()],
            events: 0,
            setup: Arc::new(setup),
        }
    }

    /// How it was set up.
    pub fn setup(&self) -> &SessionSetup {
        &self.setup
    }

    /// The bound it keeps now.
    pub const fn bound(&self) -> Delay {
        self.bound
    }

    /// Events it has taken so far; refused ones do not count.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Players in the session.
    pub fn clients(&self) -> usize {
        self.contacts.len()
    }

    /// Servers and players as an instance, for other solvers to look at. It has no clients while
    /// nobody is here.
    pub const fn instance(&self) -> &Instance {
        &self.roster
    }

    /// Where everybody is; `None` while somebody waits or nobody is here.
    pub fn allocation(&self) -> Option<Allocation> {
        let contacts: Option<Vec<ServerId>> = self.contacts.iter().copied().collect();
        contacts.filter(|all| !all.is_empty()).map(Allocation::new)
    }

    /// Where a player is, by name.
    pub fn server_of(&self, client: &str) -> Option<&str> {
        let place = self
            .roster
            .clients()
            .iter()
            .position(|name| name == client)?;
        let server = self.contacts[place]?;
        Some(self.roster.server_name(server))
    }

    /// How the session is.
    pub fn view(&self) -> SessionView<'_> {
        let seating = self.seating();
        SessionView {
            bound_ms: self.bound,
            delay_ms: self.delay(),
            kept: self.is_kept(&seating),
            events: self.events,
            servers: self.server_views(&seating),
            clients: self.client_views(),
        }
    }

    fn server_views(&self, seating: &Seating<'_>) -> Vec<ServerView<'_>> {
        let view = |server: ServerId| ServerView {
            name: self.roster.server_name(server),
            up: self.down[server.index()].is_none(),
            load: seating.load(server),
            capacity: self.down[server.index()]
                .unwrap_or(self.roster.servers()[server.index()].capacity),
        };
        self.roster.server_ids().map(view).collect()
    }

    fn client_views(&self) -> Vec<ClientView<'_>> {
        let view = |client: ClientId| {
            let server = self.contacts[client.index()];
            ClientView {
                name: self.roster.client_name(client),
                server: server.map(|server| self.roster.server_name(server)),
                delay_ms: server.map(|server| self.roster.access(client, server)),
            }
        };
        self.roster.client_ids().map(view).collect()
    }

    /// The session delay; `None` while nobody has a seat.
    pub fn delay(&self) -> Option<Delay> {
        let seated = self.contacts.iter().any(Option::is_some);
        seated.then(|| self.seating().delay())
    }

    /// The seats as they are.
    fn seating(&self) -> Seating<'_> {
        Seating::partial(&self.roster, self.bound, &self.contacts)
    }

    /// Whether everybody has a seat, the bound and the loads hold.
    fn is_kept(&self, seating: &Seating<'_>) -> bool {
        self.contacts.iter().all(Option::is_some) && self.is_sound(seating)
    }

    /// Whether the bound and the loads hold for those who have a seat.
    fn is_sound(&self, seating: &Seating<'_>) -> bool {
        let fits = |&server: &ServerId| {
            let places = self.roster.servers()[server.index()].places(usize::MAX);
            seating.load(server) <= places
        };
        seating.holds() && seating.in_use().iter().all(fits)
    }

    fn budget(&self) -> Budget<'static> {
        Budget::unlimited(self.setup.seed).with_steps(self.setup.steps)
    }
}

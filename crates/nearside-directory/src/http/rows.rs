//! What answers look like. Numbers of clients and sessions have 64 bits, more than programs in
//! JavaScript can count, so they stand in quotes.

use std::net::SocketAddr;

use nearside_tunnel::service::{ClientView, Counts, Nat, SessionView};
use serde::Serialize;

use crate::server::Handle;

#[derive(Debug, Serialize)]
pub(super) struct ClientRow {
    id: String,
    key: Option<String>,
    address: SocketAddr,
    nat: Nat,
    relays: bool,
    carries: u16,
    paused: bool,
    legs: usize,
    silent_s: u64,
}

impl ClientRow {
    pub(super) fn of(client: &ClientView) -> Self {
        Self {
            id: client.id.0.to_string(),
            key: client.key.map(|key| key.to_string()),
            address: client.address,
            nat: client.nat,
            relays: client.relays,
            carries: client.carries,
            paused: client.paused,
            legs: client.legs,
            silent_s: client.silent_for.as_secs(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct SessionRow {
    session: String,
    source: String,
    target: String,
    age_s: u64,
    relay: Option<String>,
}

impl SessionRow {
    pub(super) fn of(view: &SessionView) -> Self {
        Self {
            session: view.session.to_string(),
            source: view.source.0.to_string(),
            target: view.target.0.to_string(),
            age_s: view.age.as_secs(),
            relay: view.relay.map(|relay| relay.0.to_string()),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct StatusRow {
    uptime_s: u64,
    clients: usize,
    relays: usize,
    connections: usize,
    sessions: usize,
    relayed_sessions: usize,
    changes_waiting: u64,
    clock_step_ms: i64,
    counts: Counts,
}

impl StatusRow {
    pub(super) fn of(handle: &Handle) -> Self {
        let snapshot = handle.snapshot();
        Self {
            uptime_s: snapshot.at.since(snapshot.started).as_secs(),
            clients: snapshot.clients,
            relays: snapshot.relays,
            connections: snapshot.connections,
            sessions: snapshot.sessions,
            relayed_sessions: snapshot.relayed,
            changes_waiting: handle.keeper().waiting(),
            clock_step_ms: snapshot.clock_step_ms,
            counts: snapshot.counts,
        }
    }
}

//! The status page and the figures behind it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use nearside_registry::{Standing, Text};
use nearside_types::Moment;
use nearside_wire::GameText;
use serde::Serialize;

use super::Shared;
use super::failure::Failure;
use super::pages::current;
use crate::listing::Listing;
use crate::operator::{FeedStatus, SourceStatus};
use crate::service::{ServiceHandle, Snapshot};

const PAGE: &str = include_str!("status.html");

pub(super) async fn page() -> Response {
    // Nothing from elsewhere, and nobody may frame it.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(PAGE)).into_response()
}

/// How a master stands, for people and monitors.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Status {
    program: &'static str,
    uptime_s: u64,
    servers: usize,
    players: u64,
    verified: usize,
    remembered: usize,
    followed: usize,
    games: Vec<Count>,
    countries: Vec<Count>,
    systems: Vec<Count>,
    per_second: PerSecond,
    sources: Vec<SourceStatus>,
    feed: Option<FeedStatus>,
    store: StoreStatus,
}

/// How the store fares.
#[derive(Debug, Clone, Default, Serialize)]
struct StoreStatus {
    waiting: u64,
    error: Option<String>,
}

/// Something, and how many servers and players it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Count {
    name: String,
    servers: usize,
    players: u64,
}

/// Averages over the last minute, or over as much of it as the master has lived.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub(super) struct PerSecond {
    datagrams: f64,
    heartbeats: f64,
    registrations: f64,
    list_requests: f64,
    lists: f64,
}

/// What lists are counted into, once for each version.
#[derive(Debug, Clone, Default)]
struct Counted {
    version: u64,
    standings: [usize; 3],
    players: u64,
    games: Vec<Count>,
    countries: Vec<Count>,
    systems: Vec<Count>,
}

/// Past snapshots, and the last count.
#[derive(Debug, Default)]
pub(super) struct History {
    snapshots: Mutex<VecDeque<Arc<Snapshot>>>,
    counted: Mutex<Option<Arc<Counted>>>,
    /// The engine's last word, and when it was new.
    heard: Mutex<Option<(Moment, Instant)>>,
}

/// A minute of them.
const SNAPSHOTS: usize = 60;
/// The most rows of each table.
const TOP: usize = 50;

impl History {
    /// Call it about once a second.
    pub(super) fn note(&self, handle: &ServiceHandle) {
        let snapshot = handle.snapshot();
        let mut heard = lock(&self.heard);
        if heard.is_none_or(|(at, _)| at != snapshot.at) {
            *heard = Some((snapshot.at, Instant::now()));
        }
        drop(heard);
        self.keep(snapshot);
    }

    fn keep(&self, snapshot: Arc<Snapshot>) {
        let mut snapshots = lock(&self.snapshots);
        if snapshots.len() == SNAPSHOTS {
            snapshots.pop_front();
        }
        snapshots.push_back(snapshot);
    }

    /// How long the engine has said nothing new.
    pub(super) fn silence(&self) -> Duration {
        let heard = *lock(&self.heard);
        heard.map_or(Duration::ZERO, |(_, at)| at.elapsed())
    }

    fn per_second(&self) -> PerSecond {
        let snapshots = lock(&self.snapshots);
        match (snapshots.front(), snapshots.back()) {
            (Some(_), Some(last)) if snapshots.len() < SNAPSHOTS => rates(&beginning(last), last),
            (Some(first), Some(last)) => rates(first, last),
            _ => PerSecond::default(),
        }
    }

    fn counted(&self, listing: &Listing) -> Arc<Counted> {
        let known = lock(&self.counted).clone();
        match known.filter(|known| known.version == listing.version) {
            Some(known) => known,
            None => {
                let counted = Arc::new(count(listing));
                *lock(&self.counted) = Some(Arc::clone(&counted));
                counted
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How the master stood when it started.
fn beginning(later: &Snapshot) -> Snapshot {
    Snapshot {
        at: later.started,
        started: later.started,
        ..Snapshot::default()
    }
}

fn rates(first: &Snapshot, last: &Snapshot) -> PerSecond {
    let seconds = last.at.since(first.at).as_secs_f64();
    let rate = |before: u64, after: u64| match seconds > 0.0 {
        true => after.saturating_sub(before) as f64 / seconds,
        false => 0.0,
    };
    let (a, b) = (first.tally, last.tally);
    PerSecond {
        datagrams: rate(a.received, b.received),
        heartbeats: rate(a.heartbeats, b.heartbeats),
        registrations: rate(a.registrations, b.registrations),
        list_requests: rate(a.list_requests, b.list_requests),
        lists: rate(a.lists, b.lists),
    }
}

/// For everybody: what went wrong with a source may name files and machines.
pub(super) async fn public(State(web): State<Shared>) -> Result<Response, Failure> {
    let mut sources = web.operator.sources();
    for source in &mut sources {
        let hidden = source.error.take();
        source.error = hidden.map(|_| "no list lately".to_owned());
    }
    let mut store = store(&web);
    let hidden = store.error.take();
    store.error = hidden.map(|_| STORE_FAILS.to_owned());
    status(web, sources, store).await
}

/// For those who need not know where it is.
pub(super) const STORE_FAILS: &str = "the store takes no changes";

fn store(web: &Shared) -> StoreStatus {
    let trouble = web.handle.store_trouble();
    trouble.map_or_else(StoreStatus::default, |trouble| StoreStatus {
        waiting: trouble.waiting,
        error: Some(trouble.reason),
    })
}

/// For the operator.
pub(super) async fn whole(State(web): State<Shared>) -> Result<Response, Failure> {
    let (sources, store) = (web.operator.sources(), store(&web));
    status(web, sources, store).await
}

async fn status(
    web: Shared,
    sources: Vec<SourceStatus>,
    store: StoreStatus,
) -> Result<Response, Failure> {
    let listing = current(&web.handle).await?;
    let status = tokio::task::spawn_blocking(move || {
        let counted = web.history.counted(&listing);
        let snapshot = web.handle.snapshot();
        serde_json::to_vec(&Status {
            program: concat!("nearside ", env!("CARGO_PKG_VERSION")),
            uptime_s: uptime(snapshot.started, snapshot.at),
            servers: listing.rows.len(),
            players: counted.players,
            verified: counted.standings[0],
            remembered: counted.standings[1],
            followed: counted.standings[2],
            games: counted.games.clone(),
            countries: counted.countries.clone(),
            systems: counted.systems.clone(),
            per_second: web.history.per_second(),
            sources,
            feed: web.operator.origins().feed,
            store,
        })
    })
    .await;
    match status {
        Ok(Ok(body)) => Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response()),
        _ => Err(Failure::busy("the figures could not be counted")),
    }
}

fn uptime(started: Moment, now: Moment) -> u64 {
    now.since(started).as_secs()
}

fn count(listing: &Listing) -> Counted {
    let mut counted = Counted {
        version: listing.version,
        ..Counted::default()
    };
    let (mut games, mut countries, mut systems) =
        (Table::default(), Table::default(), Table::default());
    for row in &listing.rows {
        let server = &row.server;
        let people = u64::from(server.facts.players.saturating_sub(server.facts.bots));
        let place = match server.standing {
            Standing::Verified | Standing::Vouched => 0,
            Standing::Remembered => 1,
            Standing::Followed => 2,
        };
        counted.standings[place] += 1;
        counted.players += people;
        games.add(server.facts.text(Text::Game).to_vec(), people);
        countries.add(server.origin.country, people);
        systems.add(server.origin.asn, people);
    }
    let unknown = || "unknown".to_owned();
    counted.games = games.top(|game| match game.is_empty() {
        true => unknown(),
        false => GameText::from(&game[..]).plain(),
    });
    counted.countries =
        countries.top(|country| country.map_or_else(unknown, |country| country.to_string()));
    counted.systems = systems.top(|asn| asn.map_or_else(unknown, |asn| asn.to_string()));
    counted
}

/// Servers and players by something.
struct Table<K>(HashMap<K, (usize, u64)>);

impl<K> Default for Table<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + std::hash::Hash> Table<K> {
    fn add(&mut self, key: K, players: u64) {
        let entry = self.0.entry(key).or_default();
        entry.0 += 1;
        entry.1 += players;
    }

    /// The rows with the most servers.
    fn top(self, name: impl Fn(&K) -> String) -> Vec<Count> {
        let rows = self.0.into_iter().map(|(key, (servers, players))| Count {
            name: name(&key),
            servers,
            players,
        });
        let mut rows: Vec<Count> = rows.collect();
        rows.sort_unstable_by(|a, b| b.servers.cmp(&a.servers).then(a.name.cmp(&b.name)));
        rows.truncate(TOP);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_registry::Tally;

    #[test]
    fn rates_of_the_first_minute_are_of_the_time_that_has_passed() {
        let started = Moment::EPOCH + Duration::from_secs(1_800_000_000);
        let history = History::default();
        let note = |seconds: u64, received| {
            let snapshot = Snapshot {
                tally: Tally {
                    received,
                    ..Tally::default()
                },
                at: started + Duration::from_secs(seconds),
                started,
                ..Snapshot::default()
            };
            history.keep(Arc::new(snapshot));
            history.per_second().datagrams
        };
        assert!(note(0, 0).abs() < 1e-9, "no time, no rate");
        assert!((note(4, 400) - 100.0).abs() < 1e-9);
        for second in 5..200 {
            note(second, 400);
        }
        assert!(note(200, 400).abs() < 1e-9, "the last minute counts");
        assert!((note(201, 1000) - 10.0).abs() < 0.5);
    }
}

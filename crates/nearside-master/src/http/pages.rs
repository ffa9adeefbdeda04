//! Lists as bodies, written once and sent to all who ask the same. What is kept is bounded, and one
//! list is written at a time, on a thread where it may take its time.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use nearside_registry::{Standing, Text, WebFilter};
use nearside_types::Listed;
use nearside_wire::GameText;
use nearside_wire::compact::{CompactEntry, CompactList};
use serde::Serialize;

use super::failure::Failure;
use super::rows::ServerRow;
use crate::listing::{Listing, Row};
use crate::service::ServiceHandle;

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Form {
    Json,
    Compact,
}

/// A list as it is sent.
#[derive(Debug)]
pub(super) struct Page {
    version: u64,
    pub(super) etag: String,
    pub(super) body: Bytes,
    pub(super) gzipped: Bytes,
}

/// All lists that are kept.
pub(super) struct Pages {
    /// Tells this process's lists from those of the last.
    boot: u64,
    sources: Vec<String>,
    kept: Mutex<HashMap<(WebFilter, Form), Arc<Page>>>,
    writing: tokio::sync::Mutex<()>,
}

/// Different lists that are kept, and their bytes in all.
const MOST_PAGES: usize = 64;
const MOST_BYTES: usize = 512 << 20;
/// How often to look whether the engine has made a newer listing, and how long.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS: usize = 250;

impl Pages {
    pub(super) fn new(boot: u64, sources: Vec<String>) -> Self {
        Self {
            boot,
            sources,
            kept: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
        }
    }

    /// The list that a filter selects, at most a second old or as old as the engine's time allows.
    pub(super) async fn get(
        self: &Arc<Self>,
        handle: &ServiceHandle,
        filter: WebFilter,
        form: Form,
    ) -> Result<Arc<Page>, Failure> {
        let listing = current(handle).await;
        let key = (filter, form);
        if let Some(page) = self.known(&key, listing.version) {
            return Ok(page);
        }
        let _turn = self.writing.lock().await;
        // Somebody else may have asked the same and been first.
        if let Some(page) = self.known(&key, listing.version) {
            return Ok(page);
        }
        let pages = Arc::clone(self);
        let written = tokio::task::spawn_blocking(move || pages.write(key, &listing)).await;
        written.map_err(|_| Failure::busy("the list could not be written; please report it"))
    }

    fn known(&self, key: &(WebFilter, Form), version: u64) -> Option<Arc<Page>> {
        let kept = self.lock();
        let page = kept.get(key).filter(|page| page.version >= version);
        page.cloned()
    }

    fn write(&self, key: (WebFilter, Form), listing: &Listing) -> Arc<Page> {
        let rows = listing.rows.iter();
        let rows: Vec<&Row> = rows.filter(|row| key.0.selects(&row.server)).collect();
        let body = match key.1 {
            Form::Json => json(&rows, listing, &self.sources),
            Form::Compact => compact(&rows),
        };
        let page = Arc::new(Page {
            version: listing.version,
            etag: format!("W/\"{:x}-{:x}\"", self.boot, listing.version),
            gzipped: gzip(&body).into(),
            body: body.into(),
        });
        self.keep(key, Arc::clone(&page));
        page
    }

    /// Old versions go first; then whatever, for the next who asks writes it again.
    fn keep(&self, key: (WebFilter, Form), page: Arc<Page>) {
        let mut kept = self.lock();
        let size = |page: &Page| page.body.len() + page.gzipped.len();
        let mut total: usize = kept.values().map(|page| size(page)).sum();
        while kept.len() >= MOST_PAGES || (!kept.is_empty() && total + size(&page) > MOST_BYTES) {
            let oldest = kept.iter().min_by_key(|(_, page)| page.version);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            total -= kept.remove(&oldest).map_or(0, |page| size(&page));
        }
        kept.insert(key, page);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(WebFilter, Form), Arc<Page>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a source is called.
    pub(super) fn source(&self, row: &Row) -> Option<&str> {
        let name = self.sources.get(usize::from(row.from?.0));
        name.map(String::as_str)
    }
}

/// The engine's latest listing, once it is as good as can be had.
pub(super) async fn current(handle: &ServiceHandle) -> Arc<Listing> {
    for _ in 0..LOOKS {
        let listing = handle.listing();
        if handle.is_current(&listing) {
            return listing;
        }
        tokio::time::sleep(LOOK).await;
    }
    handle.listing()
}

#[derive(Serialize)]
struct Document<'a> {
    /// Seconds since the Unix epoch.
    at: u64,
    servers: Vec<ServerRow<'a>>,
}

fn json(rows: &[&Row], listing: &Listing, sources: &[String]) -> Vec<u8> {
    let name = |row: &Row| {
        let name = sources.get(usize::from(row.from?.0));
        name.map(String::as_str)
    };
    let rows = rows.iter().map(|row| ServerRow::of(&row.server, name(row)));
    let document = Document {
        at: listing.at.since_epoch().as_secs(),
        servers: rows.collect(),
    };
    serde_json::to_vec(&document).expect("a list is plain data")
}

fn compact(rows: &[&Row]) -> Vec<u8> {
    let mut list = CompactList::default();
    let mut places: HashMap<&[u8], u16> = HashMap::new();
    for row in rows {
        let server = &row.server;
        let name = server.facts.text(Text::Game);
        let games = list.games.len();
        // 65,536 games are more than anybody asks for; the rest is listed under the last.
        let game = *places.entry(name).or_insert_with(|| {
            let place = u16::try_from(games).unwrap_or(u16::MAX);
            if place < u16::MAX {
                list.games.push(GameText::from(name));
            }
            place.min(u16::MAX - 1)
        });
        list.entries.push(CompactEntry {
            listed: Listed {
                addr: server.addr,
                origin: server.origin,
            },
            game,
            protocol: server.facts.protocol,
            players: server.facts.players,
            places: server.facts.places,
            password: server.facts.flags.password,
            followed: server.standing == Standing::Followed,
            remembered: server.standing == Standing::Remembered,
        });
    }
    list.emit()
}

/// Fast: a list lives for a second.
fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(body).and_then(|()| encoder.finish());
    written.expect("memory takes all that is written")
}

//! Lists as bodies, written once and sent to all who ask the same. What is kept is bounded, and what
//! slow readers hold. One list is written at a time, on a thread where it may take its time; those
//! with a filter are charged to the network that asks first.

use std::collections::HashMap;
use std::io::Write;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use nearside_registry::{Standing, Text, WebFilter};
use nearside_types::Listed;
use nearside_wire::GameText;
use nearside_wire::compact::{CompactEntry, CompactList};
use serde::Serialize;

use super::allowance::Allowances;
use super::failure::Failure;
use super::rows::ServerRow;
use super::server::{Door, Guest, Limits};
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

impl Page {
    fn size(&self) -> usize {
        self.body.len() + self.gzipped.len()
    }
}

type Key = (WebFilter, Form);

/// All lists that are kept.
pub(super) struct Pages {
    /// Tells this process's lists from those of the last.
    boot: u64,
    sources: Vec<String>,
    /// The lists without a filter, which most ask for: nobody's filters keep them waiting.
    whole: Shelf,
    filtered: Shelf,
    /// Who waits for a filtered list to be written.
    queue: Arc<Door>,
    queue_limits: Limits,
    allowances: Allowances,
}

/// Lists of one kind, of which one is written at a time.
struct Shelf {
    kept: Mutex<HashMap<Key, Arc<Page>>>,
    /// Bytes that are kept at most, and bytes that slow readers may hold beyond what is kept.
    most: usize,
    /// Bytes of all lists that are there, kept or on their way to somebody.
    alive: Arc<AtomicUsize>,
    writing: tokio::sync::Mutex<()>,
}

/// Different filtered lists that are kept.
const MOST_PAGES: usize = 64;
/// Bytes of outdated whole lists on their way. A list of a million servers has 370 MB.
const MOST_WHOLE: usize = 512 << 20;
/// Who may wait for filtered lists, in all and of one network. Whoever waits knows it is for seconds
/// at most: 30,000 servers are written in a tenth of one.
const WAITING: (usize, usize) = (32, 4);
/// Looking whether a server is selected takes as long as writing about so many bytes of it.
const BYTES_PER_LOOK: usize = 4;
/// How often to look whether the engine has made a newer listing, and how long.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS: usize = 250;

impl Pages {
    pub(super) fn new(boot: u64, sources: Vec<String>, limits: &Limits) -> Self {
        let (connections, per_network) = WAITING;
        Self {
            boot,
            sources,
            whole: Shelf::new(MOST_WHOLE),
            filtered: Shelf::new(limits.list_memory),
            queue: Arc::default(),
            queue_limits: Limits {
                connections,
                per_network,
                ..*limits
            },
            allowances: Allowances::new(limits.list_bytes_per_second, Instant::now()),
        }
    }

    /// The list that a filter selects, at most a second old or as old as the engine's time allows.
    /// Writing one is charged to the visitor's network, unless it is the list without a filter.
    pub(super) async fn get(
        self: &Arc<Self>,
        handle: &ServiceHandle,
        visitor: IpAddr,
        filter: WebFilter,
        form: Form,
    ) -> Result<Arc<Page>, Failure> {
        let listing = current(handle).await?;
        let key = (filter.simplified(), form);
        let shelf = self.shelf(&key);
        if let Some(page) = shelf.known(&key, listing.version) {
            return Ok(page);
        }
        let _place = match key.0.is_all() {
            true => None,
            false => Some(self.queue_up(visitor)?),
        };
        let _turn = shelf.writing.lock().await;
        // Somebody else may have asked the same and been first.
        if let Some(page) = shelf.known(&key, listing.version) {
            return Ok(page);
        }
        if shelf.outside() > shelf.most {
            let full = || Failure::busy("slow readers hold all the memory there is for lists");
            return shelf.known(&key, 0).ok_or_else(full);
        }
        if !key.0.is_all() && !self.allowances.has_any(Instant::now(), visitor) {
            return Err(Failure::share_spent());
        }
        let pages = Arc::clone(self);
        let written =
            tokio::task::spawn_blocking(move || pages.write_for(visitor, key, &listing)).await;
        written.map_err(|_| Failure::busy("the list could not be written; please report it"))
    }

    fn queue_up(&self, visitor: IpAddr) -> Result<Guest, Failure> {
        if !self.allowances.has_any(Instant::now(), visitor) {
            return Err(Failure::share_spent());
        }
        let place = self.queue.enter(&self.queue_limits, visitor);
        place.ok_or_else(|| Failure::busy("too many wait for filtered lists"))
    }

    fn shelf(&self, key: &Key) -> &Shelf {
        match key.0.is_all() {
            true => &self.whole,
            false => &self.filtered,
        }
    }

    fn write_for(&self, visitor: IpAddr, key: Key, listing: &Listing) -> Arc<Page> {
        let is_charged = !key.0.is_all();
        let page = self.write(key, listing);
        if is_charged {
            let price = page.size() + BYTES_PER_LOOK * listing.rows.len();
            self.allowances.pay(Instant::now(), visitor, price);
        }
        page
    }

    fn write(&self, key: Key, listing: &Listing) -> Arc<Page> {
        let rows = listing.rows.iter();
        let rows: Vec<&Row> = rows.filter(|row| key.0.selects(&row.server)).collect();
        let body = match key.1 {
            Form::Json => json(&rows, listing, &self.sources),
            Form::Compact => compact(&rows),
        };
        let shelf = self.shelf(&key);
        let page = Arc::new(Page {
            version: listing.version,
            etag: format!("W/\"{:x}-{:x}\"", self.boot, listing.version),
            gzipped: shelf.counted(gzip(&body)),
            body: shelf.counted(body),
        });
        shelf.keep(key, Arc::clone(&page));
        page
    }

    /// What a source is called.
    pub(super) fn source(&self, row: &Row) -> Option<&str> {
        let name = self.sources.get(usize::from(row.from?.0));
        name.map(String::as_str)
    }
}

impl Shelf {
    fn new(most: usize) -> Self {
        Self {
            kept: Mutex::default(),
            most,
            alive: Arc::default(),
            writing: tokio::sync::Mutex::default(),
        }
    }

    fn known(&self, key: &Key, version: u64) -> Option<Arc<Page>> {
        let kept = self.lock();
        let page = kept.get(key).filter(|page| page.version >= version);
        page.cloned()
    }

    /// Old versions go first; then whatever, for the next who asks writes it again.
    fn keep(&self, key: Key, page: Arc<Page>) {
        let mut kept = self.lock();
        kept.remove(&key);
        let mut total: usize = kept.values().map(|page| page.size()).sum();
        while kept.len() >= MOST_PAGES || (!kept.is_empty() && total + page.size() > self.most) {
            let oldest = kept.iter().min_by_key(|(_, page)| page.version);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            total -= kept.remove(&oldest).map_or(0, |page| page.size());
        }
        kept.insert(key, page);
    }

    /// Bytes that are no longer kept, and still on their way to somebody.
    fn outside(&self) -> usize {
        let kept = self.lock();
        let kept: usize = kept.values().map(|page| page.size()).sum();
        self.alive.load(Ordering::Relaxed).saturating_sub(kept)
    }

    /// Bytes that count until the last who sends them is done.
    fn counted(&self, bytes: Vec<u8>) -> Bytes {
        self.alive.fetch_add(bytes.len(), Ordering::Relaxed);
        Bytes::from_owner(Counted {
            bytes,
            alive: Arc::clone(&self.alive),
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Arc<Page>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Counted {
    bytes: Vec<u8>,
    alive: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

/// The engine's latest listing, once it is as good as can be had.
pub(super) async fn current(handle: &ServiceHandle) -> Result<Arc<Listing>, Failure> {
    for _ in 0..LOOKS {
        let listing = handle.listing();
        if let Some(listing) = listing.filter(|listing| handle.is_current(listing)) {
            return Ok(listing);
        }
        tokio::time::sleep(LOOK).await;
    }
    let listing = handle.listing();
    listing.ok_or_else(|| Failure::busy("the master has only begun; come again in some seconds"))
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
        at: listing.wall.since_epoch().as_secs(),
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

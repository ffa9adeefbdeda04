//! All servers at one moment, copied for those who write web lists. A copy is made when somebody
//! asks, something has changed and a second has passed; the engine's thread spends at most a
//! twentieth of its time on copies, however many servers there are.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use nearside_registry::{Master, Server, SourceId};
use nearside_types::Moment;
use nearside_wire::list::{Listed, as_order};

use crate::wall::WallClock;

/// A server, and which other master it is known from if it did not register here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The server.
    pub server: Server,
    /// Who lists it.
    pub from: Option<SourceId>,
}

/// All servers at one moment, in the order of lists.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The version of the registry.
    pub version: u64,
    /// When, since the Unix epoch as it was when the master started.
    pub at: Moment,
    /// The same by the wall clock of that moment, for others.
    pub wall: Moment,
    /// The servers.
    pub rows: Vec<Row>,
}

/// The latest listing, and whether a newer one is wanted.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    wanted: AtomicBool,
    latest: RwLock<Latest>,
}

#[derive(Debug, Default)]
struct Latest {
    /// None until somebody has asked: without a web side there is no need of any.
    listing: Option<Arc<Listing>>,
    /// When the next copy may be made.
    next: Moment,
}

const REWRITE: Duration = Duration::from_secs(1);
/// Copying may take this part of the time.
const SHARE: u32 = 20;

impl Shared {
    /// The latest listing, if there is one yet; a newer one will be made.
    pub(crate) fn ask(&self) -> Option<Arc<Listing>> {
        self.wanted.store(true, Ordering::Relaxed);
        let latest = self.latest.read().unwrap_or_else(PoisonError::into_inner);
        latest.listing.clone()
    }

    /// Makes a newer listing if one is wanted, may be made and would differ.
    pub(crate) fn refresh(&self, clock: &WallClock, master: &Master) {
        if !self.wanted.load(Ordering::Relaxed) {
            return;
        }
        let began = clock.now();
        let (version, next) = {
            let latest = self.latest.read().unwrap_or_else(PoisonError::into_inner);
            let version = latest.listing.as_ref().map(|listing| listing.version);
            (version, latest.next)
        };
        if began < next {
            return;
        }
        self.wanted.store(false, Ordering::Relaxed);
        if version == Some(master.shelf().version()) {
            return;
        }
        let listing = Arc::new(Listing {
            version: master.shelf().version(),
            at: began,
            wall: clock.step().to_wall(began),
            rows: rows(master),
        });
        let took = clock.now().since(began);
        *self.latest.write().unwrap_or_else(PoisonError::into_inner) = Latest {
            listing: Some(listing),
            next: began + REWRITE.max(took * SHARE),
        };
    }
}

fn rows(master: &Master) -> Vec<Row> {
    let row = |server: &Server| Row {
        server: server.clone(),
        from: master.followed_from(server.addr),
    };
    let mut rows: Vec<Row> = master.shelf().iter().map(row).collect();
    rows.sort_unstable_by_key(|row| {
        as_order(&Listed {
            addr: row.server.addr,
            origin: row.server.origin,
        })
    });
    rows
}

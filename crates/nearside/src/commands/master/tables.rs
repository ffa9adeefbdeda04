//! Where servers come from, for the engine: files and the live BGP feed as one table, which is
//! looked into without waiting for whoever changes it.

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use anyhow::Result;
use nearside_master::{FeedStatus, OriginLayer, OriginStatus};
use nearside_net::{BgpListener, MonotonicClock, Stop};
use nearside_origin::{Stack, Timestamp};
use nearside_types::Origin;

use super::log::Log;
use crate::commands::origin::listen::blame;
use crate::commands::origin::listen::live::{Feed, Live};
use crate::origins::{BgpSection, Origins, now};

/// The table in use, and what it is made from.
pub(super) struct Tables {
    live: Arc<Live>,
    has_feed: bool,
    current: RwLock<Arc<Current>>,
}

struct Current {
    stack: Stack,
    now: Timestamp,
    /// How many tables the feed had published.
    publications: u64,
}

/// A listener that is open but does not run yet.
pub(super) struct FeedListener(BgpListener);

impl Tables {
    /// The tables of a configuration, and the listener for its BGP neighbours, if it has any.
    pub(super) fn open(
        origins: Origins,
        bgp: &BgpSection,
    ) -> Result<(Arc<Self>, Option<FeedListener>)> {
        let mut neighbours = Vec::new();
        let mut listener = None;
        if bgp.has_neighbours() {
            let config = bgp.config()?;
            neighbours.clone_from(&config.collector.neighbours);
            listener = Some(FeedListener(BgpListener::bind(config).map_err(blame)?));
        }
        let current = Current {
            stack: origins.stack().clone(),
            now: now(),
            publications: 0,
        };
        let tables = Self {
            live: Arc::new(Live::new(&neighbours, origins)),
            has_feed: listener.is_some(),
            current: RwLock::new(Arc::new(current)),
        };
        Ok((Arc::new(tables), listener))
    }

    pub(super) fn origin(&self, ip: IpAddr) -> Origin {
        let current = self.current();
        current.stack.lookup(ip, current.now).origin()
    }

    /// Reads changed files again; gives what there is to say.
    pub(super) fn read_again(&self) -> Vec<String> {
        self.live.refresh();
        let said = self.live.state().take_messages();
        if !said.is_empty() {
            self.take_up();
        }
        said
    }

    /// Whether the feed has published a table that is not in use yet; it is from now on.
    pub(super) fn take_news(&self) -> bool {
        let is_news = self.live.state().publications != self.current().publications;
        if is_news {
            self.take_up();
        }
        is_news
    }

    fn take_up(&self) {
        let current = {
            let state = self.live.state();
            Current {
                stack: state.stack(),
                now: now(),
                publications: state.publications,
            }
        };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(current);
    }

    fn current(&self) -> Arc<Current> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    pub(super) fn status(&self) -> OriginStatus {
        let now = now();
        let state = self.live.state();
        let layers = state.stack();
        let layers = layers.layers().iter().map(|layer| OriginLayer {
            label: layer.label().to_owned(),
            source: layer.source().to_string(),
            age_days: layer.age(now).map(|age| age.as_secs() / 86_400),
        });
        let (ranges_v4, ranges_v6) = state
            .live()
            .map_or((0, 0), |live| live.table().known_ranges());
        let feed = FeedStatus {
            neighbours: state.neighbours.len(),
            up: state.neighbours.iter().filter(|entry| entry.up).count(),
            age_s: state.feed_age().map(|age| age.as_secs()),
            ranges_v4,
            ranges_v6,
            publications: state.publications,
        };
        OriginStatus {
            layers: layers.collect(),
            notes: state.notes(),
            feed: self.has_feed.then_some(feed),
        }
    }
}

impl FeedListener {
    /// Where neighbours connect.
    pub(super) fn addr(&self) -> Result<std::net::SocketAddr> {
        self.0.local_addr().map_err(blame)
    }

    /// Serves neighbours on a thread of its own.
    pub(super) fn spawn(self, tables: &Tables, stop: &Stop, log: &Log) -> JoinHandle<()> {
        let (live, stop, log) = (Arc::clone(&tables.live), stop.clone(), log.clone());
        thread::spawn(move || {
            let clock = MonotonicClock::start();
            if let Err(error) = self.0.run(&stop, &clock, &mut Feed(live)) {
                log.say(&format!("feed ended why={:?}", error.to_string()));
            }
        })
    }
}

//! Servers to keep, and a store that keeps them or not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nearside_master::store::{Change, Loaded, Store, StoreError};
use nearside_registry::{Facts, Family, Server, Standing, Text};
use nearside_types::{Moment, Origin, ServerAddr};

/// As many seconds since the epoch.
pub fn at(seconds: u64) -> Moment {
    Moment::EPOCH + Duration::from_secs(seconds)
}

pub fn server(number: u32, expires: u64) -> Server {
    let ip = std::net::Ipv4Addr::from_bits(0x0B00_0000 + number);
    let mut facts = Facts::of_texts(&[(Text::Game, b"Quake3Arena"), (Text::Map, b"oa_dm1")]);
    (facts.protocol, facts.players, facts.places) = (71, 3, 8);
    Server {
        addr: ServerAddr::new(ip.into(), 27960).unwrap(),
        family: Family::Quake3,
        standing: Standing::Remembered,
        origin: Origin::default(),
        expires: at(expires),
        facts,
    }
}

/// A store that can be away, and remembers its groups.
#[derive(Clone, Default)]
pub struct Recorder {
    pub away: Arc<AtomicBool>,
    pub groups: Arc<Mutex<Vec<Vec<Change>>>>,
    /// What it has from before.
    pub known: Vec<Server>,
}

impl Store for Recorder {
    fn load(&mut self) -> Result<Loaded, StoreError> {
        Ok(Loaded {
            servers: self.known.clone(),
            ..Loaded::default()
        })
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        if self.away.load(Ordering::SeqCst) {
            return Err(StoreError {
                place: "recorder".to_owned(),
                reason: "away".to_owned(),
            });
        }
        self.groups.lock().unwrap().push(changes.to_vec());
        Ok(())
    }
}

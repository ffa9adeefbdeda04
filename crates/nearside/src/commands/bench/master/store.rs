//! How many updates the embedded store takes, in groups as the master writes them.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use nearside_master::store::{Change, Embedded, Store as _};
use nearside_registry::{Facts, Family, Server, Standing, Text};
use nearside_types::{Moment, Origin, ServerAddr};

use crate::fleet::address;

/// What the store did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Updates {
    pub(super) per_second: f64,
    pub(super) longest_s: f64,
}

/// Servers that the store holds, and updates of one group: what comes in half a second.
const SERVERS: u32 = 100_000;
const GROUP: u32 = 10_000;
const GROUPS: u32 = 30;

/// Updates of known servers, spread over the whole file.
pub(super) fn measure(folder: &Path) -> Result<Updates> {
    let mut store = Embedded::open(&folder.join("updates.redb"))?;
    let all: Vec<Change> = (0..SERVERS).map(|number| put(number, 0)).collect();
    store.write(&all)?;
    let (mut total, mut longest) = (Duration::ZERO, Duration::ZERO);
    for group in 0..GROUPS {
        let numbers = (0..GROUP).map(|at| (group + at * (SERVERS / GROUP)) % SERVERS);
        let changes: Vec<Change> = numbers.map(|number| put(number, group + 1)).collect();
        let began = Instant::now();
        store.write(&changes)?;
        let passed = began.elapsed();
        (total, longest) = (total + passed, longest.max(passed));
    }
    Ok(Updates {
        per_second: f64::from(GROUP * GROUPS) / total.as_secs_f64(),
        longest_s: longest.as_secs_f64(),
    })
}

fn put(number: u32, seconds: u32) -> Change {
    let name = format!("Fleet {number}");
    let mut facts = Facts::of_texts(&[
        (Text::Game, b"Quake3Arena"),
        (Text::Name, name.as_bytes()),
        (Text::Map, b"oa_dm1"),
    ]);
    (facts.protocol, facts.players, facts.places) = (71, 3, 8);
    Change::Put(Box::new(Server {
        addr: ServerAddr::new(address(number), 27_960).expect("a port above 0"),
        family: Family::Quake3,
        standing: Standing::Verified,
        origin: Origin::default(),
        expires: Moment::EPOCH + Duration::from_secs(1_800_000_000 + u64::from(seconds)),
        facts,
    }))
}

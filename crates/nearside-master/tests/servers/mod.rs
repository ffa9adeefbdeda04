//! Servers to keep.

#![allow(dead_code, reason = "each test program uses its part")]

use std::time::Duration;

use nearside_registry::{Facts, Family, Server, Standing, Text};
use nearside_types::{Moment, Origin, ServerAddr};

/// As many seconds since the epoch.
pub(crate) fn at(seconds: u64) -> Moment {
    Moment::EPOCH + Duration::from_secs(seconds)
}

pub(crate) fn server(number: u32, expires: u64) -> Server {
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

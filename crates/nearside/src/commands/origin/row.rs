//! One answer, as every face shows it.

use std::net::IpAddr;

use nearside_origin::{OriginInfo, SourceKind, Stack, Timestamp};
use nearside_types::{Asn, Country, Prefix};
use serde::Serialize;

const SECONDS_PER_DAY: u64 = 86_400;

/// What is known of an address: the JSON contract of `nearside origin`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct OriginRow {
    pub(super) addr: IpAddr,
    pub(super) asn: Option<Asn>,
    pub(super) country: Option<Country>,
    pub(super) prefix: Option<Prefix>,
    pub(super) source: Option<SourceKind>,
    pub(super) age_days: Option<u64>,
}

impl OriginRow {
    /// Looks `addr` up.
    pub(super) fn of(addr: IpAddr, stack: &Stack, now: Timestamp) -> Self {
        let addr = addr.to_canonical();
        let info: OriginInfo = stack.lookup(addr, now);
        Self {
            addr,
            asn: info.asn,
            country: info.country,
            prefix: info.prefix,
            source: info.source,
            age_days: info.age.map(|age| age.as_secs() / SECONDS_PER_DAY),
        }
    }

    pub(super) fn is_known(&self) -> bool {
        self.asn.is_some() || self.country.is_some()
    }
}

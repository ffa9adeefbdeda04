//! A table with its papers: who made it, what it is called, and from when it is.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::info::{OriginInfo, SourceKind};
use crate::table::RangeTable;
use crate::timestamp::Timestamp;

/// One source's knowledge at one time. Immutable, and cheap to clone: a caller that has newer
/// knowledge puts a new snapshot in the place of the old one while others still read that.
#[derive(Clone)]
pub struct Snapshot {
    table: Arc<RangeTable>,
    source: SourceKind,
    label: Arc<str>,
    built: Option<Timestamp>,
}

impl Snapshot {
    /// `label` names the source to people: a file's path, a router's address.
    pub fn new(source: SourceKind, label: impl Into<Arc<str>>, table: RangeTable) -> Self {
        Self {
            table: Arc::new(table),
            source,
            label: label.into(),
            built: None,
        }
    }

    /// The same with the date of its data. Default: none, and then it never counts as old.
    #[must_use]
    pub fn with_date(mut self, built: Timestamp) -> Self {
        self.built = Some(built);
        self
    }

    /// What this source knows of `ip`; `now` is for the age. All fields are empty if it knows
    /// nothing.
    pub fn lookup(&self, ip: IpAddr, now: Timestamp) -> OriginInfo {
        let Some(found) = self.table.lookup(ip) else {
            return OriginInfo::default();
        };
        OriginInfo {
            asn: found.origin.asn,
            country: found.origin.country,
            prefix: Some(found.prefix),
            source: Some(self.source),
            age: self.age(now),
        }
    }

    /// How old the data is at `now`, where it has a date.
    pub fn age(&self, now: Timestamp) -> Option<Duration> {
        self.built.map(|built| built.age_at(now))
    }

    /// The date of the data.
    pub fn built(&self) -> Option<Timestamp> {
        self.built
    }

    /// What kind of source it is.
    pub fn source(&self) -> SourceKind {
        self.source
    }

    /// What it is called.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The table itself, for statistics.
    pub fn table(&self) -> &RangeTable {
        &self.table
    }
}

impl fmt::Debug for Snapshot {
    /// The papers without the million rows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("source", &self.source)
            .field("label", &self.label)
            .field("built", &self.built.map(|built| built.to_string()))
            .finish_non_exhaustive()
    }
}

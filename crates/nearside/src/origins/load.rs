//! One file into a snapshot, whatever kind of table it is.

use std::fs::{self, File};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use nearside_origin::bgp::{Rib, RibConfig};
use nearside_origin::mrt::{self, MrtEnd, MrtReport};
use nearside_origin::{AsnRule, Cleaned, Rules, Snapshot, SourceKind, Timestamp, files};

use super::SourceFile;

/// How a file looked: another look means that it has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: SystemTime,
    length: u64,
}

impl Stamp {
    /// `None` for a file that cannot be seen, for example while it is being replaced.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            modified: metadata.modified().ok()?,
            length: metadata.len(),
        })
    }
}

/// What reading a file brought besides its table.
#[derive(Debug, Clone)]
pub enum Report {
    /// A table of ranges.
    Table {
        /// What kind of table.
        format: files::Format,
        /// What was left out.
        cleaned: Cleaned,
    },
    /// A dump of a routing table.
    Mrt(MrtReport),
}

impl Report {
    /// What the user should know: what is missing, and why.
    pub fn note(&self, path: &Path) -> Option<String> {
        let path = path.display();
        match self {
            Self::Table { .. } => None,
            Self::Mrt(report) => match report.end {
                MrtEnd::Complete => None,
                MrtEnd::Truncated { at } => Some(format!(
                    "{path} breaks off in the record at byte {at}: {} routes before it were read",
                    report.routes
                )),
                MrtEnd::Damaged { at } => Some(format!(
                    "{path} is damaged from byte {at} on: {} routes before it were read",
                    report.routes
                )),
            },
        }
    }
}

/// Reads a file as the kind of source it is named as.
pub fn read_file(file: &SourceFile) -> Result<(Snapshot, Report)> {
    let label = file.path.display().to_string();
    let cannot = || format!("cannot read {label}");
    if file.kind == SourceKind::Mrt {
        let opened = File::open(&file.path).with_context(cannot)?;
        let (snapshot, report) = read_mrt(&label, opened)?;
        return Ok((snapshot, Report::Mrt(report)));
    }
    let bytes = fs::read(&file.path).with_context(cannot)?;
    let loaded = files::read(&label, &bytes, rules(file.kind))?;
    let report = Report::Table {
        format: loaded.format,
        cleaned: loaded.cleaned,
    };
    let dated = loaded.date.is_some();
    let snapshot = loaded.into_snapshot(file.kind, &label);
    let snapshot = match changed(&file.path).filter(|_| !dated) {
        Some(date) => snapshot.with_date(date),
        None => snapshot,
    };
    Ok((snapshot, report))
}

/// Reads a dump of a routing table.
pub(super) fn read_mrt(label: &str, input: impl std::io::Read) -> Result<(Snapshot, MrtReport)> {
    let mut rib = Rib::new(RibConfig::default());
    let report = mrt::load(input, &mut rib).with_context(|| label.to_owned())?;
    let snapshot = Snapshot::new(SourceKind::Mrt, label, rib.to_table().0);
    let snapshot = match report.newest {
        Some(date) => snapshot.with_date(date),
        None => snapshot,
    };
    Ok((snapshot, report))
}

/// The operator's own word may name private AS numbers: it is about networks the operator knows.
fn rules(kind: SourceKind) -> Rules {
    match kind {
        SourceKind::Override => Rules {
            asns: AsnRule::Any,
            ..Rules::default()
        },
        _ => Rules::default(),
    }
}

/// When a file was last changed: the best guess at the age of a format without a date.
pub(super) fn changed(path: &Path) -> Option<Timestamp> {
    let modified = fs::metadata(path).ok()?.modified().ok()?;
    let since = modified.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_unix_seconds(since.as_secs()))
}

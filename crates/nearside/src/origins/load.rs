//! Files into a snapshot, whatever kind of table they are.

use std::fs::{self, File, Metadata};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use nearside_origin::bgp::{Rib, RibConfig};
use nearside_origin::compact::Credit;
use nearside_origin::mrt::{self, MrtEnd, MrtReport};
use nearside_origin::{AsnRule, Cleaned, Rules, Snapshot, SourceKind, Timestamp, files};

use super::Part;

/// How a file looked: another look means that it has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: SystemTime,
    length: u64,
    /// Another file moved into its place may have the same time and length.
    file: u64,
}

impl Stamp {
    /// `None` for a file that cannot be seen, for example while it is being replaced.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            modified: metadata.modified().ok()?,
            length: metadata.len(),
            file: identity(&metadata),
        })
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> u64 {
    0
}

/// Reads a part as the kind of source it is named as, and what there is to say about it.
pub(super) fn read(part: &Part) -> Result<(Snapshot, Option<String>)> {
    match part.kind {
        SourceKind::Mrt => read_dumps(part),
        kind => {
            let path = part.paths.first().context("a source without a file")?;
            let (snapshot, cleaned, _) = read_table(kind, path)?;
            let note = left_out(&cleaned).map(|words| format!("{}: {words}", path.display()));
            Ok((snapshot, note))
        }
    }
}

/// Reads a table, and to whom thanks are due for it.
pub(super) fn read_table(
    kind: SourceKind,
    path: &Path,
) -> Result<(Snapshot, Cleaned, Vec<Credit>)> {
    let label = path.display().to_string();
    check_regular(path)?;
    let bytes = fs::read(path).with_context(|| format!("cannot read {label}"))?;
    let loaded = files::read(&label, &bytes, rules(kind))?;
    let (cleaned, credits) = (loaded.cleaned, loaded.credits.clone());
    let dated = loaded.date.is_some();
    let snapshot = loaded.into_snapshot(kind, &label);
    let snapshot = match changed(path).filter(|_| !dated) {
        Some(date) => snapshot.with_date(date),
        None => snapshot,
    };
    Ok((snapshot, cleaned, credits))
}

/// A pipe or a device has no end, or none that comes twice.
fn check_regular(path: &Path) -> Result<()> {
    let name = path.display();
    let metadata = fs::metadata(path).with_context(|| format!("cannot read {name}"))?;
    if !metadata.is_file() {
        bail!("cannot read {name}: not a regular file");
    }
    Ok(())
}

/// What was left out of a table, in words; `None` when nothing was.
pub(super) fn left_out(cleaned: &Cleaned) -> Option<String> {
    let counts = [
        (cleaned.reserved_asns, "reserved or private AS numbers"),
        (cleaned.unallocated_asns, "unallocated AS numbers"),
        (cleaned.default_routes, "ranges that cover everything"),
        (cleaned.too_long, "prefixes too long for the Internet"),
    ];
    let told: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!told.is_empty()).then(|| format!("left out {}", told.join(", ")))
}

/// Routing dumps, in the order given, as one: a table and the updates since.
fn read_dumps(part: &Part) -> Result<(Snapshot, Option<String>)> {
    let mut rib = Rib::new(RibConfig::default());
    let reports = read_into(&mut rib, part)?;
    let notes: Vec<String> = part
        .paths
        .iter()
        .zip(&reports)
        .filter_map(|(path, report)| dump_note(path, report))
        .collect();
    let snapshot = Snapshot::new(SourceKind::Mrt, part.label(), rib.to_table().0);
    let newest = reports.iter().filter_map(|report| report.newest).max();
    let snapshot = match newest {
        Some(date) => snapshot.with_date(date),
        None => snapshot,
    };
    Ok((snapshot, (!notes.is_empty()).then(|| notes.join("; "))))
}

fn read_into(rib: &mut Rib, part: &Part) -> Result<Vec<MrtReport>> {
    let open = |path: &std::path::PathBuf| {
        check_regular(path)?;
        File::open(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let opened: Vec<File> = part.paths.iter().map(open).collect::<Result<_>>()?;
    mrt::load_all(opened, rib).with_context(|| part.label())
}

/// What a dump lacks, in words.
pub(super) fn dump_note(path: &Path, report: &MrtReport) -> Option<String> {
    let (path, read) = (path.display(), report.routes + report.updates);
    match report.end {
        MrtEnd::Truncated { at } => Some(format!(
            "{path} breaks off in the record at byte {at}: {read} routes and updates before it were read"
        )),
        MrtEnd::Damaged { at } => Some(format!(
            "{path} is damaged from byte {at} on: {read} routes and updates before it were read"
        )),
        MrtEnd::Complete if read == 0 => Some(format!("{path} holds no route")),
        MrtEnd::Complete if report.malformed > 0 => Some(format!(
            "{path}: {} of its routes and messages make no sense and were passed over",
            report.malformed
        )),
        MrtEnd::Complete if report.over_limit > 0 => Some(format!(
            "{path} has more prefixes than the table takes: {} were left out",
            report.over_limit
        )),
        MrtEnd::Complete => None,
    }
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

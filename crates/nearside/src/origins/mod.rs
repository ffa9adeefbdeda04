//! Who tells this process where addresses come from: the operator's files, the machine's GeoIP
//! folders, the user's installed table and the one in the program, as one stack that follows its
//! files when they change, come and go.

mod config;
mod folders;
mod installed;
mod load;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use nearside_discover::sources::OriginLookup;
use nearside_origin::compact;
use nearside_origin::{Snapshot, SourceKind, Stack, Timestamp};
use nearside_types::Origin;

use crate::cli::OriginSourceArgs;
use load::{Stamp, read};

pub use config::{BgpSection, ListenConfig, NeighbourConfig, Sources};
pub use installed::{Half, Installed, install, remove};

/// The calendar, asked by faces and shells; engines get it as an argument.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp::from_unix_seconds(since.map_or(0, |since| since.as_secs()))
}

/// A folder of the user's by the XDG rules: the variable if it is an absolute path, else the usual
/// place below the home directory.
pub(crate) fn folder_of(variable: &str, usual: &str) -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let named = set(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    named.or_else(|| Some(PathBuf::from(set("HOME")?).join(usual)))
}

/// The sources of this process.
#[derive(Debug)]
pub struct Origins {
    sources: Sources,
    embedded: Option<Snapshot>,
    /// What was read, good or bad, so that only what changed is read again.
    read: BTreeMap<Part, Entry>,
    stack: Stack,
    notes: Vec<String>,
    now: Timestamp,
}

/// Files that together are one source: routing dumps with their updates are several, others one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// How far it is trusted.
    pub kind: SourceKind,
    /// Where it is.
    pub paths: Vec<PathBuf>,
    /// Who named it.
    pub named_by: NamedBy,
}

/// Who named a file. What the user names must be right; what was merely found is passed over with a
/// note when it is broken, or one bad file on a machine would stop every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamedBy {
    /// A flag or a configuration.
    User,
    /// A look into the usual folders.
    Chance,
}

/// What reading a part brought, and how its files looked then.
#[derive(Debug, Clone)]
struct Entry {
    stamps: Vec<Option<Stamp>>,
    /// The last good content.
    snapshot: Option<Snapshot>,
    note: Option<String>,
}

impl Origins {
    /// Opens the sources that flags, configuration and machine name.
    pub fn open(args: &OriginSourceArgs) -> Result<Self> {
        Self::of(Sources::resolve(args)?)
    }

    /// Opens these sources. What the user named must be good.
    pub fn of(sources: Sources) -> Result<Self> {
        let embedded = sources.embedded.then(embedded).transpose()?;
        let mut origins = Self {
            sources,
            embedded,
            read: BTreeMap::new(),
            stack: Stack::new(),
            notes: Vec::new(),
            now: now(),
        };
        for part in origins.sources.named() {
            let stamps = part.stamps();
            let (snapshot, note) = read(&part)?;
            let entry = Entry {
                stamps,
                snapshot: Some(snapshot),
                note,
            };
            origins.read.insert(part, entry);
        }
        origins.refresh();
        Ok(origins)
    }

    /// Reads again what has changed on disk, takes up what has come and leaves what has gone. A
    /// file of the user's that became unreadable keeps its last good content. Returns what there
    /// is to say.
    pub fn refresh(&mut self) -> Vec<String> {
        self.now = now();
        let mut said = Vec::new();
        let mut stack = self
            .embedded
            .iter()
            .cloned()
            .fold(Stack::new(), Stack::with);
        self.notes.clear();
        for alternatives in self.sources.parts() {
            for part in alternatives {
                let entry = self.entry(&part, &mut said);
                self.notes.extend(entry.note);
                if let Some(snapshot) = entry.snapshot {
                    stack = stack.with(snapshot);
                    break;
                }
            }
        }
        self.stack = stack;
        said
    }

    /// A part as it is now: from memory when its files look as before.
    fn entry(&mut self, part: &Part, said: &mut Vec<String>) -> Entry {
        let before = self.read.get(part);
        let stamps = part.stamps();
        let gone = stamps.iter().any(Option::is_none);
        if let Some(before) = before
            && (before.stamps == stamps || gone)
        {
            return before.clone();
        }
        let last_good = before.and_then(|before| before.snapshot.clone());
        if before.is_some() {
            said.push(format!("{} has changed", part.label()));
        }
        let entry = match read(part) {
            Ok((snapshot, note)) => Entry {
                stamps,
                snapshot: Some(snapshot),
                note,
            },
            Err(error) => Entry {
                stamps,
                note: Some(match last_good {
                    Some(_) => format!("the last good content stays in use: {error:#}"),
                    None => format!("passed over: {error:#}"),
                }),
                snapshot: last_good,
            },
        };
        said.extend(entry.note.clone().filter(|_| before.is_some()));
        self.read.insert(part.clone(), entry.clone());
        entry
    }

    /// The sources as one.
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// What was passed over or left out while reading, and which data is old.
    pub fn notes(&self) -> Vec<String> {
        let old = self.stack.warnings(self.now);
        let old = old.into_iter().map(|warning| warning.to_string());
        self.notes.iter().cloned().chain(old).collect()
    }
}

impl OriginLookup for Origins {
    fn origin(&self, ip: IpAddr) -> Origin {
        self.stack.lookup(ip, self.now).origin()
    }

    fn overriding(&self, ip: IpAddr) -> Origin {
        let layers = self.stack.layers().iter();
        layers
            .take_while(|layer| layer.source() == SourceKind::Override)
            .map(|layer| layer.lookup(ip.to_canonical(), self.now).origin())
            .fold(Origin::default(), Origin::or)
    }
}

impl Part {
    /// What it is called in answers and messages.
    pub(super) fn label(&self) -> String {
        let names: Vec<String> = self
            .paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        names.join(" + ")
    }

    fn stamps(&self) -> Vec<Option<Stamp>> {
        self.paths.iter().map(|path| Stamp::of(path)).collect()
    }
}

/// The table in the program.
fn embedded() -> Result<Snapshot> {
    let table = compact::decode(nearside_origin_data::ORIGIN)
        .context("the origin table in the program is damaged: install the program anew")?;
    let snapshot = Snapshot::new(SourceKind::Embedded, "embedded", table.table);
    Ok(match table.about.date() {
        Some(date) => snapshot.with_date(date),
        None => snapshot,
    })
}

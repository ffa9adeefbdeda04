//! Who tells this process where addresses come from: the operator's files, the machine's GeoIP
//! folders, the user's installed table and the one in the program, as one stack that follows its
//! files when they change.

mod config;
mod folders;
mod installed;
mod load;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use nearside_discover::sources::OriginLookup;
use nearside_origin::compact;
use nearside_origin::{Snapshot, SourceKind, Stack, Timestamp};
use nearside_types::Origin;

use crate::cli::OriginSourceArgs;
use load::Stamp;

pub use config::{ListenConfig, NeighbourConfig, Sources};
pub use installed::{Half, Installed, install, remove};
pub use load::{Report, read_file};

/// The calendar, asked by faces and shells; engines get it as an argument.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp::from_unix_seconds(since.map_or(0, |since| since.as_secs()))
}

/// The sources of this process.
#[derive(Debug)]
pub struct Origins {
    stack: Stack,
    files: Vec<Watched>,
    notes: Vec<String>,
    now: Timestamp,
}

/// A file in the stack, and how it looked when it was read.
#[derive(Debug)]
struct Watched {
    file: SourceFile,
    stamp: Option<Stamp>,
}

/// A file that speaks for origins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// How far it is trusted.
    pub kind: SourceKind,
    /// Where it is.
    pub path: PathBuf,
    /// Who named it.
    pub named_by: NamedBy,
}

/// Who named a file. What the user names must be right; what was merely found is passed over with a
/// note when it is broken, or one bad file on a machine would stop every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// A flag or a configuration.
    User,
    /// A look into the usual folders.
    Chance,
}

impl Origins {
    /// Opens the sources that flags, configuration and machine name.
    pub fn open(args: &OriginSourceArgs) -> Result<Self> {
        Self::of(&Sources::resolve(args)?)
    }

    /// Opens these sources.
    pub fn of(sources: &Sources) -> Result<Self> {
        let mut origins = Self {
            stack: Stack::new(),
            files: Vec::new(),
            notes: Vec::new(),
            now: now(),
        };
        if sources.embedded {
            origins.stack = origins.stack.with(embedded()?);
        }
        for file in sources.files() {
            origins.add(file)?;
        }
        Ok(origins)
    }

    fn add(&mut self, file: SourceFile) -> Result<()> {
        let stamp = Stamp::of(&file.path);
        match read_file(&file) {
            Ok((snapshot, report)) => {
                self.notes.extend(report.note(&file.path));
                self.stack = std::mem::take(&mut self.stack).with(snapshot);
                self.files.push(Watched { file, stamp });
            }
            Err(error) if file.named_by == NamedBy::Chance => {
                self.notes.push(format!("passed over {error:#}"));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Reads again what has changed on disk. A file that became unreadable keeps its last good
    /// content. Returns what there is to say.
    pub fn refresh(&mut self) -> Vec<String> {
        self.now = now();
        let mut said = Vec::new();
        for watched in &mut self.files {
            let stamp = Stamp::of(&watched.file.path);
            if stamp.is_none() || stamp == watched.stamp {
                continue;
            }
            watched.stamp = stamp;
            let path = watched.file.path.display();
            match read_file(&watched.file) {
                Ok((snapshot, report)) => {
                    said.push(format!("{path} has changed: read again"));
                    said.extend(report.note(&watched.file.path));
                    self.stack = std::mem::take(&mut self.stack).with(snapshot);
                }
                Err(error) => said.push(format!(
                    "{path} has changed, but its last good content stays: {error:#}"
                )),
            }
        }
        said
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

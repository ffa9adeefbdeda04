//! The table a user installed with `nearside origin use`: compact files in the data directory.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use nearside_origin::compact::{self, About, Credit};
use nearside_origin::{RangeTable, Snapshot, SourceKind, Timestamp};

use super::load::{changed, left_out, read, read_table};
use super::{NamedBy, Part, now};

/// What an installed table knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// AS numbers alone.
    Asn,
    /// Countries alone.
    Country,
    /// Both.
    Both,
}

impl Half {
    /// In the order they are asked: a half was installed after the whole that it stands beside,
    /// since installing a whole removes the halves.
    const ALL: [Self; 3] = [Self::Asn, Self::Country, Self::Both];

    const fn file_name(self) -> &'static str {
        match self {
            Self::Asn => "asn.bin",
            Self::Country => "country.bin",
            Self::Both => "origin.bin",
        }
    }

    /// What it knows, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Asn => "AS numbers",
            Self::Country => "countries",
            Self::Both => "AS numbers and countries",
        }
    }

    fn of(table: &RangeTable) -> Option<Self> {
        let knows = |(asn, country), (_, _, origin): (_, _, nearside_types::Origin)| {
            (
                asn || origin.asn.is_some(),
                country || origin.country.is_some(),
            )
        };
        match table.ranges().fold((false, false), knows) {
            (true, true) => Some(Self::Both),
            (true, false) => Some(Self::Asn),
            (false, true) => Some(Self::Country),
            (false, false) => None,
        }
    }
}

/// The directory, whether it exists or not; `None` where nothing says who the user is.
pub(super) fn folder() -> Option<PathBuf> {
    let data = super::folder_of("XDG_DATA_HOME", ".local/share")?;
    Some(data.join("nearside").join("origin"))
}

/// The files that are there.
pub(super) fn files() -> Vec<PathBuf> {
    let paths = folder().into_iter().flat_map(|folder| {
        Half::ALL
            .into_iter()
            .map(move |half| folder.join(half.file_name()))
    });
    paths.filter(|path| path.is_file()).collect()
}

/// A table that was installed.
#[derive(Debug)]
pub struct Installed {
    /// Where it is kept.
    pub path: PathBuf,
    /// What it knows.
    pub half: Half,
    /// From when its data is.
    pub date: Timestamp,
    /// Ranges of IPv4 and of IPv6.
    pub ranges: (usize, usize),
    /// What is missing from it.
    pub note: Option<String>,
}

/// Checks `file`, converts it and puts it in its place in one step: a broken file or a full disk
/// leaves what was there before.
pub fn install(file: &Path, date: Option<Timestamp>) -> Result<Installed> {
    let folder = folder().context("neither HOME nor XDG_DATA_HOME is set: where should it go?")?;
    let found = read_any(file)?;
    let table = found.snapshot.table();
    let Some(half) = Half::of(table) else {
        bail!("{}: nothing in it says an AS or a country", file.display());
    };
    let date = date
        .or(found.snapshot.built())
        .or_else(|| changed(file))
        .unwrap_or_else(now);
    let bytes = compact::encode(table, &about(file, date, found.credits));
    let path = folder.join(half.file_name());
    let written = fs::create_dir_all(&folder).and_then(|()| replace(&path, &bytes));
    written.with_context(|| format!("cannot write {}", path.display()))?;
    if half == Half::Both {
        remove_files(&[folder.join("asn.bin"), folder.join("country.bin")])?;
    }
    Ok(Installed {
        path,
        half,
        date,
        ranges: table.known_ranges(),
        note: found.note,
    })
}

/// Removes what was installed; says which files those were.
pub fn remove() -> Result<Vec<PathBuf>> {
    let files = files();
    remove_files(&files)?;
    Ok(files)
}

fn remove_files(files: &[PathBuf]) -> Result<()> {
    for path in files.iter().filter(|path| path.exists()) {
        fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

/// What a file to be installed holds.
struct Found {
    snapshot: Snapshot,
    credits: Vec<Credit>,
    note: Option<String>,
}

/// A table of any kind, or a dump: told by what can be read. The error is that of the more likely.
fn read_any(path: &Path) -> Result<Found> {
    let error = match read_table(SourceKind::File, path) {
        Ok((snapshot, cleaned, credits)) => {
            return Ok(Found {
                snapshot,
                credits,
                note: left_out(&cleaned),
            });
        }
        Err(error) => error,
    };
    let dump = Part {
        kind: SourceKind::Mrt,
        paths: vec![path.to_owned()],
        named_by: NamedBy::User,
    };
    match read(&dump) {
        Ok((snapshot, note)) if snapshot.table().known_ranges() != (0, 0) => Ok(Found {
            snapshot,
            credits: Vec::new(),
            note,
        }),
        _ => Err(error),
    }
}

/// The credits of the file are kept, with the date the user gave; licences ask for the former.
fn about(file: &Path, date: Timestamp, mut credits: Vec<Credit>) -> About {
    for credit in &mut credits {
        credit.date = date;
    }
    if credits.is_empty() {
        let name = file.file_name().unwrap_or(file.as_os_str());
        credits.push(Credit {
            name: name.to_string_lossy().into_owned(),
            licence: String::new(),
            attribution: "installed by the user".to_owned(),
            date,
        });
    }
    About { credits }
}

/// Writes beside the old file and moves the new one over it.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let mut file = fs::File::create(&new)?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&new, path))
        .inspect_err(|_| {
            let _ = fs::remove_file(&new);
        })
}

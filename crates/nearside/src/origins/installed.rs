//! The table a user installed with `nearside origin use`: compact files in the data directory.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use nearside_origin::compact::{self, About, Credit};
use nearside_origin::{RangeTable, SourceKind, Timestamp};

use super::load::{Report, changed, read_file};
use super::{NamedBy, SourceFile, now};

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
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    let data = set("XDG_DATA_HOME").map(PathBuf::from);
    let home = || set("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    Some(data.or_else(home)?.join("nearside").join("origin"))
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
    /// What reading the file brought.
    pub report: Report,
}

/// Checks `file`, converts it and puts it in its place in one step: a broken file or a full disk
/// leaves what was there before.
pub fn install(file: &Path, date: Option<Timestamp>) -> Result<Installed> {
    let folder = folder().context("neither HOME nor XDG_DATA_HOME is set: where should it go?")?;
    let (snapshot, report) = read_any(file)?;
    let Some(half) = Half::of(snapshot.table()) else {
        bail!("{}: nothing in it says an AS or a country", file.display());
    };
    let date = date
        .or(snapshot.built())
        .or_else(|| changed(file))
        .unwrap_or_else(now);
    let bytes = compact::encode(snapshot.table(), &about(file, date));
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
        ranges: snapshot.table().known_ranges(),
        report,
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

/// A table of any kind, or a dump: told by what can be read. The error is that of the more likely.
fn read_any(path: &Path) -> Result<(nearside_origin::Snapshot, Report)> {
    let as_kind = |kind| {
        read_file(&SourceFile {
            kind,
            path: path.to_owned(),
            named_by: NamedBy::User,
        })
    };
    as_kind(SourceKind::File).or_else(|error| match as_kind(SourceKind::Mrt) {
        Ok((_, Report::Mrt(report))) if report.routes + report.updates == 0 => Err(error),
        Ok(read) => Ok(read),
        Err(_) => Err(error),
    })
}

fn about(file: &Path, date: Timestamp) -> About {
    let name = file.file_name().unwrap_or(file.as_os_str());
    About {
        credits: vec![Credit {
            name: name.to_string_lossy().into_owned(),
            licence: String::new(),
            attribution: "installed by the user".to_owned(),
            date,
        }],
    }
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

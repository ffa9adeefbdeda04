//! Tables that operators bring: MMDB, asmap, range and prefix lists, compact files; plain or gzip. The
//! caller reads the file; what is inside is told by its bytes, not by its name.

mod asmap;
pub(crate) mod fuzzing;
mod lines;
mod mmdb;
mod unpack;

use std::fmt;

use thiserror::Error;

use crate::builder::{Cleaned, RangeError, Rules, TableBuilder};
use crate::compact;
use crate::info::SourceKind;
use crate::snapshot::Snapshot;
use crate::table::RangeTable;
use crate::timestamp::Timestamp;

pub use asmap::AsmapFault;

/// What a file held.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Its ranges.
    pub table: RangeTable,
    /// The date of its data, where the format has one.
    pub date: Option<Timestamp>,
    /// What it was.
    pub format: Format,
    /// What was left out of the table.
    pub cleaned: Cleaned,
    /// To whom thanks are due, where the format says so.
    pub credits: Vec<compact::Credit>,
}

impl Loaded {
    /// The table as a source of a [`Stack`](crate::Stack); `label` should be the file's path.
    pub fn into_snapshot(self, source: SourceKind, label: &str) -> Snapshot {
        let snapshot = Snapshot::new(source, label, self.table);
        match self.date {
            Some(date) => snapshot.with_date(date),
            None => snapshot,
        }
    }
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Our own compact table.
    Compact,
    /// MaxMind's tree format.
    Mmdb,
    /// Bitcoin's tree of networks and AS numbers.
    Asmap,
    /// `start, end, asn, country, name` between tabs.
    IptoasnTsv,
    /// `prefix,asn,country`.
    PrefixCsv,
    /// `start-end,asn,country`, or `start,end` and then an AS number, a country or both; tor's files.
    RangeCsv,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Compact => "compact",
            Self::Mmdb => "MMDB",
            Self::Asmap => "asmap",
            Self::IptoasnTsv => "iptoasn TSV",
            Self::PrefixCsv => "prefix CSV",
            Self::RangeCsv => "range CSV",
        })
    }
}

/// Why a file was refused: which, where, and what to do.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{file}{place}: {problem}")]
pub struct FileError {
    /// The label the caller gave.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What is wrong there.
    pub problem: Problem,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// A line, from 1.
    Line(u64),
    /// A byte of the unpacked file, from 0.
    Byte(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Line(line) => write!(f, ", line {line}"),
            Self::Byte(offset) => write!(f, ", byte {offset}"),
        }
    }
}

/// What is wrong with a file.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Nothing in it.
    #[error("no ranges in it")]
    Empty,
    /// Not any kind of file we know. It might have been an asmap, which has no mark of its own.
    #[error(
        "neither MMDB, compact table, TSV nor CSV (a routing dump is given with --mrt; unpack xz, zstd and bzip2 first), and no asmap: {0}"
    )]
    Asmap(#[source] AsmapFault),
    /// The gzip around it does not unpack.
    #[error("gzip: {0}")]
    Gzip(String),
    /// Unpacks to more than any origin table has.
    #[error("unpacks to more than {0} MiB, which no origin table does")]
    TooLarge(u64),
    /// The compact table is refused.
    #[error(transparent)]
    Compact(#[from] compact::DecodeError),
    /// The MMDB file is refused.
    #[error("MMDB: {0}")]
    Mmdb(String),
    /// An MMDB file about something else.
    #[error("MMDB of type `{0}` has neither AS numbers nor countries in a form we know")]
    NothingKnown(String),
    /// A line with too few fields, or a first line of no known form.
    #[error("expected `start,end,asn[,country]`, `prefix,asn,country` or iptoasn's tabs")]
    Fields,
    /// Not an address.
    #[error("`{0}` is not an address (write 192.0.2.1 or 2001:db8::1)")]
    Address(String),
    /// Not a prefix.
    #[error("`{0}` is not a prefix (write 192.0.2.0/24 or 2001:db8::/32)")]
    Prefix(String),
    /// Not a range.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// Not an AS number.
    #[error("`{0}` is not an AS number (write 64496, or leave it empty)")]
    Asn(String),
    /// Not a country.
    #[error("`{0}` is not a two-letter country code (write DE, or leave it empty)")]
    Country(String),
    /// Broken quoting.
    #[error("{0}")]
    Csv(String),
}

/// What is quoted from a file: it may be anything, and of any length.
fn quoted(text: &str) -> String {
    const MOST: usize = 60;
    text.chars()
        .take(MOST)
        .flat_map(char::escape_debug)
        .collect()
}

/// A problem with its place; the file's name is added last.
type Refusal = (Place, Problem);

/// Reads a file of any known kind. `label` names it in errors, `rules` say what is taken; compact
/// files are taken as they are, since they were cleaned when they were made.
pub fn read(label: &str, bytes: &[u8], rules: Rules) -> Result<Loaded, FileError> {
    let refused = |(place, problem)| FileError {
        file: label.to_owned(),
        place,
        problem,
    };
    let plain = unpack::unpack(bytes).map_err(refused)?;
    read_plain(&plain, rules).map_err(refused)
}

fn read_plain(bytes: &[u8], rules: Rules) -> Result<Loaded, Refusal> {
    if bytes.starts_with(&compact::MAGIC) {
        return read_compact(bytes);
    }
    let mut builder = TableBuilder::new(rules);
    let (format, date) = if mmdb::is_mmdb(bytes) {
        (Format::Mmdb, Some(mmdb::read(bytes, &mut builder)?))
    } else {
        read_unmarked(bytes, &mut builder)?
    };
    let (table, cleaned) = builder.finish();
    Ok(Loaded {
        table,
        date,
        format,
        cleaned,
        credits: Vec::new(),
    })
}

/// Text, or an asmap.
fn read_unmarked(
    bytes: &[u8],
    builder: &mut TableBuilder,
) -> Result<(Format, Option<Timestamp>), Refusal> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok((lines::read(text, builder)?, lines::date(text))),
        Err(_) => {
            asmap::read(bytes, builder)?;
            Ok((Format::Asmap, None))
        }
    }
}

fn read_compact(bytes: &[u8]) -> Result<Loaded, Refusal> {
    // The error of a compact file has its place inside.
    let compact = compact::decode(bytes).map_err(|error| (Place::Whole, error.into()))?;
    Ok(Loaded {
        date: compact.about.date(),
        table: compact.table,
        format: Format::Compact,
        cleaned: Cleaned::default(),
        credits: compact.about.credits,
    })
}

//! The compact file: a whole table, ASN and country, IPv4 and IPv6, in less than 2 MB. Described
//! bit by bit in docs/origin.md.
//!
//! Made to be built into a program and read at each start, so it is decoded in one pass, and every
//! fault is named with its place.

mod about;
mod bytes;
mod column;
mod dictionary;
pub(crate) mod fuzzing;
mod groups;
mod lengths;
mod model;
mod rans;
mod values;

use std::hint::select_unpredictable;

use thiserror::Error;

use crate::cell::{CountryCode, Known};
use crate::key::Key;
use crate::rows::{Rows, RowsBuilder};
use crate::table::RangeTable;
use crate::tiles::Tiles;
use bytes::Reader;
use column::Column;
use dictionary::{Dictionary, Word};

pub use about::{About, Credit};

/// How every file begins. The first byte is no ASCII and the end holds both line ends, so that a
/// file damaged by a text transfer shows at once (the idea is PNG's).
pub const MAGIC: [u8; 8] = *b"\x8ENSORG\r\n";

/// The version of the format this code reads and writes.
pub const VERSION: u8 = 2;

/// Magic, version, checksum.
const PREAMBLE: usize = MAGIC.len() + 1 + 4;

/// A table with its papers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compact {
    /// Where the data is from.
    pub about: About,
    /// The data.
    pub table: RangeTable,
}

/// Why a file was refused.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum DecodeError {
    /// It does not begin as our files do.
    #[error("not a compact origin table: it does not begin with the right 8 bytes")]
    Foreign,
    /// Written by an older or a newer program.
    #[error("format version {found}, but this program reads version {VERSION}: {}", remedy(*found))]
    Version {
        /// The version in the file.
        found: u8,
    },
    /// The bytes are not those that were written.
    #[error(
        "checksum is {found:08x}, expected {expected:08x}: the file is damaged, fetch it again"
    )]
    Checksum {
        /// What the file says.
        expected: u32,
        /// What its bytes give.
        found: u32,
    },
    /// The contents make no sense.
    #[error("byte {offset}, in the {part}: {fault}")]
    Damaged {
        /// What was being read.
        part: &'static str,
        /// How far into the file.
        offset: usize,
        /// What is wrong.
        fault: Fault,
    },
}

/// What is wrong at a place.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Ends too early.
    #[error("the file ends too early")]
    Truncated,
    /// More bytes than the contents need.
    #[error("{0} surplus bytes")]
    Surplus(usize),
    /// A number above its bound.
    #[error("a number is too large")]
    TooLarge,
    /// A text that is not UTF-8.
    #[error("a text is not UTF-8")]
    NotUtf8,
    /// A stream written in a way we do not know.
    #[error("unknown stream mode {0}")]
    UnknownMode(u8),
    /// A stream that does not decode.
    #[error("a coded stream is inconsistent")]
    Stream,
    /// Streams of different lengths.
    #[error("streams of one column have different lengths")]
    Count,
    /// A value that is none.
    #[error("a value is no AS number or country, or is out of order")]
    Dictionary,
    /// Ranges beyond the last address, or values no dictionary has.
    #[error("ranges go beyond the last address, or name values that are not there")]
    Tiles,
}

/// Whose turn it is when versions differ.
fn remedy(found: u8) -> &'static str {
    if found < VERSION {
        "make the table anew from its source (nearside origin use FILE)"
    } else {
        "update the program"
    }
}

/// Writes a table. The same table and papers give the same bytes, always.
pub fn encode(table: &RangeTable, about: &About) -> Vec<u8> {
    let mut body = Vec::new();
    about.write(&mut body);
    put_half(&mut body, &table.v4.asn_tiles(), &table.v6.asn_tiles());
    put_half(
        &mut body,
        &table.v4.country_tiles(),
        &table.v6.country_tiles(),
    );
    seal(&body)
}

/// Puts magic, version and checksum before a body.
pub(crate) fn seal(body: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.push(VERSION);
    file.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    file.extend_from_slice(body);
    file
}

fn put_half<V: Word>(out: &mut Vec<u8>, v4: &Tiles<u32, V>, v6: &Tiles<u128, V>) {
    let values = v4.values().iter().chain(v6.values());
    let dictionary = Dictionary::of(values.copied());
    dictionary.write(out);
    column::write(out, v4, &dictionary);
    column::write(out, v6, &dictionary);
}

/// Reads a file.
pub fn decode(file: &[u8]) -> Result<Compact, DecodeError> {
    let body = open(file)?;
    let mut reader = Reader::new(body, PREAMBLE);
    let about = About::read(&mut reader)?;
    let asns = Half::read(&mut reader, "AS numbers")?;
    let countries = Half::read(&mut reader, "countries")?;
    reader.finish()?;
    let table = RangeTable {
        v4: overlay(
            (&asns.v4, &asns.dictionary),
            (&countries.v4, &countries.dictionary),
        )?,
        v6: overlay(
            (&asns.v6, &asns.dictionary),
            (&countries.v6, &countries.dictionary),
        )?,
    };
    Ok(Compact { about, table })
}

/// The body behind a preamble that is in order.
fn open(file: &[u8]) -> Result<&[u8], DecodeError> {
    let rest = file.strip_prefix(&MAGIC).ok_or(DecodeError::Foreign)?;
    let truncated = DecodeError::Damaged {
        part: "header",
        offset: file.len(),
        fault: Fault::Truncated,
    };
    let (&version, rest) = rest.split_first().ok_or_else(|| truncated.clone())?;
    if version != VERSION {
        return Err(DecodeError::Version { found: version });
    }
    let (checksum, body) = rest.split_first_chunk().ok_or(truncated)?;
    let expected = u32::from_le_bytes(*checksum);
    let found = crc32fast::hash(body);
    if found != expected {
        return Err(DecodeError::Checksum { expected, found });
    }
    Ok(body)
}

/// AS numbers or countries, of both families.
struct Half<V> {
    dictionary: Dictionary<V>,
    v4: Column,
    v6: Column,
}

impl<V: Word> Half<V> {
    fn read(reader: &mut Reader<'_>, part: &'static str) -> Result<Self, DecodeError> {
        reader.enter(part);
        let dictionary = Dictionary::read(reader)?;
        Ok(Self {
            v4: Column::read(reader, dictionary.len())?,
            v6: Column::read(reader, dictionary.len())?,
            dictionary,
        })
    }
}

/// A row begins wherever one of the two columns changes. Which does comes without a pattern, so the
/// next start and what is known from there on are chosen, not branched on.
fn overlay<K: Key>(
    (asns, numbers): (&Column, &Dictionary<u32>),
    (countries, codes): (&Column, &Dictionary<CountryCode>),
) -> Result<Rows<K>, DecodeError> {
    let (mut asns, mut countries) = (asns.tiles::<K, _>(numbers), countries.tiles::<K, _>(codes));
    let mut rows = RowsBuilder::new();
    let mut known = Known::default();
    while let (Some(left), Some(right)) = (asns.peek(), countries.peek()) {
        let (from_left, from_right) = (left.0 <= right.0, right.0 <= left.0);
        known.asn = select_unpredictable(from_left, left.1, known.asn);
        known.country = select_unpredictable(from_right, right.1, known.country);
        rows.push(select_unpredictable(from_left, left.0, right.0), known);
        asns.skip(from_left);
        countries.skip(from_right);
    }
    while let Some((start, asn)) = asns.peek() {
        known.asn = asn;
        rows.push(start, known);
        asns.skip(true);
    }
    while let Some((start, country)) = countries.peek() {
        known.country = country;
        rows.push(start, known);
        countries.skip(true);
    }
    asns.finish()?;
    countries.finish()?;
    Ok(rows.finish())
}

//! Recorded latencies: matrices, traces and labelled series, from files plain or gzipped.
//!
//! The caller opens the file; errors name it by the label given, with line, column or slice. Sizes
//! are limited, so that no file can ask for more memory than it has bytes for.

mod matrix;
mod matrix_csv;
mod paths;
mod series;
mod trace;

use std::io;

use thiserror::Error;

pub use matrix::{MatrixLayout, MatrixSlices, ParseLayoutError, read_matrix};
pub use matrix_csv::write_matrix_csv;
pub use paths::{NoNodes, RecordedPaths};
pub use series::{Series, SeriesPoint, read_series};
pub use trace::{Trace, TraceSample};

use crate::lines::{LineFault, Lines};

/// The most nodes a matrix or a trace may have: 256 MiB of cells. The 8,063 subnets of Ly et al.
/// (section 6.1) fit.
pub const MAX_NODES: usize = 8192;

/// The most measurements a trace or all series of a file may have.
pub const MAX_SAMPLES: usize = 50_000_000;

/// A minute: what takes longer is a mistake of units, not a round trip.
const MAX_RTT_MS: f64 = 60_000.0;

/// Why a file of recorded latencies was refused, and where.
#[derive(Debug, Error)]
pub enum RecordedError {
    /// The bytes could not be read, or not unpacked.
    #[error("{label}: {source}")]
    Read {
        /// The file's name, as the caller gave it.
        label: String,
        /// What the operating system or the decompressor said.
        source: io::Error,
    },
    /// A line is not what it should be.
    #[error("{label}, line {line}: {fault}")]
    Line {
        /// The file's name, as the caller gave it.
        label: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong.
        fault: RecordedFault,
    },
    /// The file ends inside a slice, or before it.
    #[error(
        "{label}, slice {slice}: {found} bytes where {expected} are needed for {nodes} nodes (is the layout right?)"
    )]
    Short {
        /// The file's name, as the caller gave it.
        label: String,
        /// The slice, counted from 1.
        slice: usize,
        /// Nodes, as the layout says.
        nodes: usize,
        /// Bytes such a slice has.
        expected: u64,
        /// Bytes that are left for it.
        found: u64,
    },
}

/// What is wrong with one line of a file of recorded latencies.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RecordedFault {
    /// The line cannot be taken apart into fields.
    #[error(transparent)]
    Line(#[from] LineFault),
    /// The first line is another one than the format asks for.
    #[error("the header must be `{expected}`")]
    Header {
        /// What the line should be.
        expected: &'static str,
    },
    /// More or fewer fields than there should be.
    #[error("{found} fields where {expected} are needed")]
    FieldCount {
        /// Fields there should be.
        expected: usize,
        /// Fields of the line.
        found: usize,
    },
    /// A matrix has another number of lines than of columns.
    #[error("{found} lines in a matrix of {expected} columns")]
    NotSquare {
        /// Lines there should be.
        expected: usize,
        /// Lines there are.
        found: usize,
    },
    /// A field does not hold what its column says.
    #[error("column {column}: `{found}` is not {expected}")]
    Field {
        /// The column, by name or counted from 1.
        column: String,
        /// What the file says there.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// More than is read.
    #[error("more than {max} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// What is read at most.
        max: usize,
    },
}

/// A file of lines while it is read, to name places in errors.
struct LineFile<R> {
    label: String,
    lines: Lines<R>,
}

impl<R: io::Read> LineFile<R> {
    fn open(label: &str, source: R, separator: char) -> Result<Self, RecordedError> {
        let label = label.to_owned();
        match Lines::new(source, separator) {
            Ok(lines) => Ok(Self { label, lines }),
            Err(source) => Err(RecordedError::Read { label, source }),
        }
    }

    /// The next line that is not blank.
    fn next(&mut self) -> Result<Option<Vec<String>>, RecordedError> {
        match self.lines.next_fields() {
            Ok(None) => Ok(None),
            Ok(Some(Ok(fields))) => Ok(Some(fields)),
            Ok(Some(Err(fault))) => Err(self.error(fault.into())),
            Err(source) => Err(RecordedError::Read {
                label: self.label.clone(),
                source,
            }),
        }
    }

    /// Takes the first line, which must be this one.
    fn expect_header(
        &mut self,
        expected: &'static str,
        separator: char,
    ) -> Result<(), RecordedError> {
        let found = self.next()?.unwrap_or_default();
        match found
            .iter()
            .map(String::as_str)
            .eq(expected.split(separator))
        {
            true => Ok(()),
            false => Err(self.error(RecordedFault::Header { expected })),
        }
    }

    /// Takes a line apart into exactly `N` fields.
    fn next_array<const N: usize>(&mut self) -> Result<Option<[String; N]>, RecordedError> {
        let Some(fields) = self.next()? else {
            return Ok(None);
        };
        let found = fields.len();
        let array = fields.try_into();
        array
            .map(Some)
            .map_err(|_| self.error(RecordedFault::FieldCount { expected: N, found }))
    }

    /// The fault, at the line read last.
    fn error(&self, fault: RecordedFault) -> RecordedError {
        RecordedError::Line {
            label: self.label.clone(),
            line: self.lines.number,
            fault,
        }
    }
}

fn field_fault(column: &impl ToString, found: &str, expected: &'static str) -> RecordedFault {
    RecordedFault::Field {
        column: column.to_string(),
        found: found.to_owned(),
        expected,
    }
}

/// Milliseconds that can be a round trip.
fn parse_millis(text: &str) -> Option<nearside_types::Rtt> {
    let millis: f64 = text.parse().ok()?;
    let possible = (0.0..=MAX_RTT_MS).contains(&millis);
    possible.then(|| nearside_types::Rtt::from_millis_f64(millis))
}

//! RTT matrices in the layouts of published data sets.

use std::fmt;
use std::io::{self, BufReader, Read};
use std::str::FromStr;

use nearside_types::{LatencyMatrix, Rtt};
use thiserror::Error;

use super::matrix_csv::read_csv;
use super::{MAX_NODES, RecordedError};
use crate::lines::Unpacked;

/// How a matrix is written. Binary files are little-endian and hold one matrix after another, the
/// slices of time, which count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatrixLayout {
    /// `upper-u32-us:N[:slice]`: the pairs above the diagonal, row by row, as 32-bit microseconds;
    /// both directions are the same, and 0 is missing.
    UpperMicros {
        /// Nodes, 2 to [`MAX_NODES`].
        nodes: usize,
        /// The slice to read, or to begin with.
        slice: usize,
    },
    /// `full-u16-10ms:N[:slice]`: all cells, row by row, in 16-bit units of 10 ms; 0 is missing, and
    /// the diagonal says nothing.
    FullTenMillis {
        /// Nodes, 2 to [`MAX_NODES`].
        nodes: usize,
        /// The slice to read, or to begin with.
        slice: usize,
    },
    /// `csv`: as many lines as columns, in milliseconds, an empty cell is missing.
    Csv,
}

/// A text names no layout.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "`{0}` is no layout of a matrix (write csv, upper-u32-us:N[:slice] or full-u16-10ms:N[:slice], N from 2 to {MAX_NODES}, slices from 1)"
)]
pub struct ParseLayoutError(String);

impl FromStr for MatrixLayout {
    type Err = ParseLayoutError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_layout(text).ok_or_else(|| ParseLayoutError(text.to_owned()))
    }
}

fn parse_layout(text: &str) -> Option<MatrixLayout> {
    let mut parts = text.split(':');
    let form = parts.next()?;
    if form == "csv" {
        return parts.next().is_none().then_some(MatrixLayout::Csv);
    }
    let nodes = parts.next()?.parse().ok()?;
    let slice = parts.next().map_or(Some(1), |slice| slice.parse().ok())?;
    let possible = (2..=MAX_NODES).contains(&nodes) && slice >= 1 && parts.next().is_none();
    match form {
        "upper-u32-us" if possible => Some(MatrixLayout::UpperMicros { nodes, slice }),
        "full-u16-10ms" if possible => Some(MatrixLayout::FullTenMillis { nodes, slice }),
        _ => None,
    }
}

impl fmt::Display for MatrixLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UpperMicros { nodes, slice } => write!(f, "upper-u32-us:{nodes}:{slice}"),
            Self::FullTenMillis { nodes, slice } => write!(f, "full-u16-10ms:{nodes}:{slice}"),
            Self::Csv => f.write_str("csv"),
        }
    }
}

/// Reads one matrix: the slice of the layout. `label` names the file in errors; gzip is recognised.
///
/// # Errors
/// When the file cannot be read, is too short for the slice, or has a cell that is no RTT.
pub fn read_matrix(
    label: &str,
    source: impl Read,
    layout: MatrixLayout,
) -> Result<LatencyMatrix, RecordedError> {
    match Binary::of(layout) {
        None => read_csv(label, source),
        Some(binary) => {
            let mut slices = MatrixSlices::of(label, source, binary)?;
            let bytes = slices.next_bytes()?.ok_or_else(|| slices.short(0))?;
            slices.skip_the_rest()?;
            Ok(binary.decode(&bytes))
        }
    }
}

/// The matrices of a binary file one by one, from the layout's slice to the last.
pub struct MatrixSlices<R> {
    label: String,
    source: BufReader<Unpacked<R>>,
    binary: Binary,
    /// The slice that comes next.
    slice: usize,
}

impl<R: Read> MatrixSlices<R> {
    /// Opens a file and skips to the slice. A CSV file has no slices: `None`.
    ///
    /// # Errors
    /// When the file cannot be read, or ends before the slice.
    pub fn open(
        label: &str,
        source: R,
        layout: MatrixLayout,
    ) -> Result<Option<Self>, RecordedError> {
        let binary = Binary::of(layout);
        binary
            .map(|binary| Self::of(label, source, binary))
            .transpose()
    }

    fn of(label: &str, source: R, binary: Binary) -> Result<Self, RecordedError> {
        let label = label.to_owned();
        let source = match Unpacked::new(source) {
            Ok(source) => BufReader::new(source),
            Err(source) => return Err(RecordedError::Read { label, source }),
        };
        let mut slices = Self {
            label,
            source,
            binary,
            slice: 1,
        };
        while slices.slice < binary.first_slice {
            let size = binary.slice_bytes();
            let skipped = io::copy(&mut slices.source.by_ref().take(size), &mut io::sink());
            match skipped {
                Ok(bytes) if bytes == size => slices.slice += 1,
                Ok(bytes) => return Err(slices.short(bytes)),
                Err(source) => return Err(slices.failed(source)),
            }
        }
        Ok(slices)
    }

    /// The bytes of the next slice; `None` after the last.
    fn next_bytes(&mut self) -> Result<Option<Vec<u8>>, RecordedError> {
        let size = self.binary.slice_bytes();
        let mut bytes = Vec::new();
        let read = self.source.by_ref().take(size).read_to_end(&mut bytes);
        match read {
            Err(source) => Err(self.failed(source)),
            Ok(0) => Ok(None),
            Ok(found) if found as u64 == size => {
                self.slice += 1;
                Ok(Some(bytes))
            }
            Ok(found) => Err(self.short(found as u64)),
        }
    }

    /// Reads on to the end, which must be the end of a slice: otherwise the layout is another's, and
    /// what was read is nonsense.
    fn skip_the_rest(&mut self) -> Result<(), RecordedError> {
        let size = self.binary.slice_bytes();
        loop {
            let skipped = io::copy(&mut self.source.by_ref().take(size), &mut io::sink());
            match skipped {
                Ok(0) => return Ok(()),
                Ok(bytes) if bytes == size => self.slice += 1,
                Ok(bytes) => return Err(self.short(bytes)),
                Err(source) => return Err(self.failed(source)),
            }
        }
    }

    fn short(&self, found: u64) -> RecordedError {
        RecordedError::Short {
            label: self.label.clone(),
            slice: self.slice,
            nodes: self.binary.nodes,
            expected: self.binary.slice_bytes(),
            found,
        }
    }

    fn failed(&self, source: io::Error) -> RecordedError {
        RecordedError::Read {
            label: self.label.clone(),
            source,
        }
    }
}

impl<R: Read> Iterator for MatrixSlices<R> {
    type Item = Result<LatencyMatrix, RecordedError>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.next_bytes().transpose()?;
        Some(bytes.map(|bytes| self.binary.decode(&bytes)))
    }
}

/// A binary layout.
#[derive(Debug, Clone, Copy)]
struct Binary {
    form: Form,
    nodes: usize,
    first_slice: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    UpperMicros,
    FullTenMillis,
}

impl Binary {
    fn of(layout: MatrixLayout) -> Option<Self> {
        let (form, nodes, first_slice) = match layout {
            MatrixLayout::Csv => return None,
            MatrixLayout::UpperMicros { nodes, slice } => (Form::UpperMicros, nodes, slice),
            MatrixLayout::FullTenMillis { nodes, slice } => (Form::FullTenMillis, nodes, slice),
        };
        Some(Self {
            form,
            // The variants are open to all; a matrix beyond the limits would only be empty.
            nodes: nodes.clamp(2, MAX_NODES),
            first_slice: first_slice.max(1),
        })
    }

    fn slice_bytes(self) -> u64 {
        let nodes = self.nodes as u64;
        match self.form {
            Form::UpperMicros => nodes * (nodes - 1) / 2 * 4,
            Form::FullTenMillis => nodes * nodes * 2,
        }
    }

    /// The matrix of exactly [`slice_bytes`](Self::slice_bytes) bytes.
    fn decode(self, bytes: &[u8]) -> LatencyMatrix {
        let mut matrix = LatencyMatrix::unknown(self.nodes);
        match self.form {
            Form::UpperMicros => decode_upper(&mut matrix, bytes),
            Form::FullTenMillis => decode_full(&mut matrix, bytes),
        }
        matrix
    }
}

fn decode_upper(matrix: &mut LatencyMatrix, bytes: &[u8]) {
    let nodes = matrix.nodes();
    let pairs = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
    let (cells, _) = bytes.as_chunks();
    for ((a, b), &cell) in pairs.zip(cells) {
        let micros = u32::from_le_bytes(cell);
        matrix.set_both(a, b, (micros != 0).then_some(Rtt::from_micros(micros)));
    }
}

fn decode_full(matrix: &mut LatencyMatrix, bytes: &[u8]) {
    let nodes = matrix.nodes();
    let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
    let (cells, _) = bytes.as_chunks();
    for ((from, to), &cell) in pairs.zip(cells).filter(|((from, to), _)| from != to) {
        let units = u32::from(u16::from_le_bytes(cell));
        let rtt = (units != 0).then_some(Rtt::from_micros(units * 10_000));
        matrix.set(from, to, rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::GZIP_MAGIC;
    use proptest::prelude::*;

    fn layout(text: &str) -> MatrixLayout {
        text.parse().unwrap()
    }

    fn ms(millis: u32) -> Option<Rtt> {
        Some(Rtt::from_micros(millis * 1000))
    }

    #[test]
    fn layouts_are_read_back_from_their_text() {
        for text in ["csv", "upper-u32-us:490:6", "full-u16-10ms:99:200"] {
            assert_eq!(layout(text).to_string(), text);
        }
        assert_eq!(layout("upper-u32-us:490"), layout("upper-u32-us:490:1"));
    }

    #[test]
    fn what_is_no_layout_is_refused_with_the_choices() {
        for text in [
            "",
            "csv:3",
            "upper-u32-us",
            "upper-u32-us:1",
            "upper-u32-us:9000",
            "full-u16-10ms:9:0",
            "full-u16-10ms:9:1:1",
            "full-u8:9",
        ] {
            let error = text.parse::<MatrixLayout>().unwrap_err().to_string();
            assert!(error.contains("upper-u32-us:N[:slice]"), "{error}");
        }
    }

    #[test]
    fn the_upper_triangle_comes_row_by_row_and_counts_both_ways() {
        let micros = [1000u32, 2000, 3000, 4000, 0, 6000];
        let bytes: Vec<u8> = micros
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let first = read_matrix("m", &bytes[..], layout("upper-u32-us:3")).unwrap();
        assert_eq!(
            [first.rtt(0, 1), first.rtt(0, 2), first.rtt(1, 2)],
            [ms(1), ms(2), ms(3)]
        );
        assert!(first.is_symmetric());
        let second = read_matrix("m", &bytes[..], layout("upper-u32-us:3:2")).unwrap();
        assert_eq!(
            [second.rtt(1, 0), second.rtt(2, 0), second.rtt(2, 1)],
            [ms(4), None, ms(6)]
        );
    }

    #[test]
    fn the_full_form_is_directed_and_has_no_diagonal() {
        let units = [9u16, 1, 0, 9];
        let bytes: Vec<u8> = units.iter().flat_map(|value| value.to_le_bytes()).collect();
        let matrix = read_matrix("m", &bytes[..], layout("full-u16-10ms:2")).unwrap();
        assert_eq!(
            [matrix.rtt(0, 1), matrix.rtt(1, 0), matrix.rtt(0, 0)],
            [ms(10), None, ms(0)]
        );
    }

    #[test]
    fn a_file_that_does_not_end_with_a_slice_has_another_layout() {
        let bytes = [7; 3 * 4 * 5 + 1];
        let error = read_matrix("m", &bytes[..], layout("upper-u32-us:3")).unwrap_err();
        assert!(
            error.to_string().contains("is the layout right?"),
            "{error}"
        );
        assert!(read_matrix("m", &bytes[..60], layout("upper-u32-us:3")).is_ok());
    }

    #[test]
    fn a_file_that_ends_early_is_refused_with_slice_and_size() {
        let bytes = [0u8; 30];
        let error = |text| {
            read_matrix("m.bin", &bytes[..], layout(text))
                .unwrap_err()
                .to_string()
        };
        let short = error("upper-u32-us:3:3");
        assert!(
            short.contains("m.bin, slice 3: 6 bytes where 12 are needed"),
            "{short}"
        );
        let beyond = error("upper-u32-us:3:9");
        assert!(beyond.contains("slice 3: 6 bytes"), "{beyond}");
        let empty = read_matrix("m", &[][..], layout("full-u16-10ms:2")).unwrap_err();
        assert!(
            empty.to_string().contains("slice 1: 0 bytes where 8"),
            "{empty}"
        );
    }

    #[test]
    fn a_matrix_that_begins_with_two_bytes_of_gzip_is_no_gzip() {
        let bytes = [0x1f, 0x8b, 0, 0];
        let matrix = read_matrix("m", &bytes[..], layout("upper-u32-us:2:1")).unwrap();
        assert_eq!(matrix.rtt(0, 1), Some(Rtt::from_micros(0x8b1f)));
    }

    #[test]
    fn slices_follow_one_another_to_the_end_of_the_file() {
        let bytes: Vec<u8> = (1..=4u32)
            .flat_map(|value| (value * 1000).to_le_bytes())
            .collect();
        let slices = MatrixSlices::open("m", &bytes[..], layout("upper-u32-us:2:2")).unwrap();
        let rtts: Vec<_> = slices
            .unwrap()
            .map(|matrix| matrix.unwrap().rtt(0, 1))
            .collect();
        assert_eq!(rtts, [ms(2), ms(3), ms(4)]);
        assert!(
            MatrixSlices::open("m", &b""[..], MatrixLayout::Csv)
                .unwrap()
                .is_none()
        );
    }

    proptest! {
        #[test]
        fn slices_and_single_matrices_say_the_same(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
            nodes in 2usize..6,
            full: bool,
        ) {
            let layout = |slice| match full {
                true => MatrixLayout::FullTenMillis { nodes, slice },
                false => MatrixLayout::UpperMicros { nodes, slice },
            };
            let size = if full { nodes * nodes * 2 } else { nodes * (nodes - 1) * 2 };
            let whole = &bytes[..bytes.len() / size * size];
            prop_assume!(!whole.starts_with(&GZIP_MAGIC));
            let slices = MatrixSlices::open("m", whole, layout(1)).unwrap().unwrap();
            let mut count = 0;
            for (matrix, slice) in slices.zip(1..) {
                let alone = read_matrix("m", whole, layout(slice)).unwrap();
                prop_assert_eq!(matrix.unwrap(), alone);
                count += 1;
            }
            prop_assert_eq!(count, bytes.len() / size);
        }
    }
}

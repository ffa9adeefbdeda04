//! RTT matrices as CSV in milliseconds, without header: a line for each node, an empty cell where
//! nothing is known. The diagonal may be empty or 0.

use std::io::{self, Read, Write};

use nearside_types::LatencyMatrix;

use super::{LineFile, MAX_NODES, RecordedError, RecordedFault, field_fault, parse_millis};

pub(super) fn read_csv(label: &str, source: impl Read) -> Result<LatencyMatrix, RecordedError> {
    let mut file = LineFile::open(label, source, ',')?;
    let first = file.next()?.unwrap_or_default();
    let nodes = first.len();
    if nodes > MAX_NODES {
        let (what, max) = ("columns", MAX_NODES);
        return Err(file.error(RecordedFault::TooMany { what, max }));
    }
    let mut matrix = LatencyMatrix::unknown(nodes);
    let mut line = Some(first).filter(|first| !first.is_empty());
    let mut found = 0;
    while let Some(fields) = line {
        if found < nodes {
            read_row(&mut matrix, found, &fields).map_err(|fault| file.error(fault))?;
        }
        found += 1;
        line = file.next()?;
    }
    match found == nodes {
        true => Ok(matrix),
        false => Err(file.error(RecordedFault::NotSquare {
            expected: nodes,
            found,
        })),
    }
}

fn read_row(
    matrix: &mut LatencyMatrix,
    from: usize,
    fields: &[String],
) -> Result<(), RecordedFault> {
    let (expected, found) = (matrix.nodes(), fields.len());
    if found != expected {
        return Err(RecordedFault::FieldCount { expected, found });
    }
    for (to, text) in fields.iter().enumerate() {
        if text.is_empty() || from == to {
            continue;
        }
        let rtt = parse_millis(text)
            .ok_or_else(|| field_fault(&(to + 1), text, "a time from 0 to 60000 ms, or empty"))?;
        matrix.set(from, to, Some(rtt));
    }
    Ok(())
}

/// Writes a matrix as CSV that [`read_matrix`](super::read_matrix) reads back unchanged.
///
/// # Errors
/// When the sink fails.
pub fn write_matrix_csv(matrix: &LatencyMatrix, mut sink: impl Write) -> io::Result<()> {
    for from in 0..matrix.nodes() {
        let cell = |to| match matrix.rtt(from, to) {
            Some(rtt) => format!("{:.3}", rtt.as_millis_f64()),
            None => String::new(),
        };
        let cells: Vec<String> = (0..matrix.nodes()).map(cell).collect();
        writeln!(sink, "{}", cells.join(","))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_types::Rtt;
    use proptest::prelude::*;

    fn error(text: &str) -> String {
        read_csv("m.csv", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn cells_are_milliseconds_and_may_be_empty() {
        let matrix = read_csv("m", &b"0, 12.5,\n13,,1\n , 2,0\n"[..]).unwrap();
        assert_eq!(matrix.rtt(0, 1), Some(Rtt::from_micros(12_500)));
        assert_eq!(matrix.rtt(1, 0), Some(Rtt::from_micros(13_000)));
        assert_eq!(matrix.rtt(0, 2), None);
    }

    #[test]
    fn errors_name_line_and_column() {
        for (text, place, fault) in [
            ("0,1\nx,0", "m.csv, line 2: column 1", "`x` is not a time"),
            ("0,-1\n1,0", "line 1: column 2", "`-1`"),
            ("0,1\n\n1", "line 3", "1 fields where 2 are needed"),
            ("0,1", "line 2", "1 lines in a matrix of 2 columns"),
            ("0,1\n1,0\n1,1", "line 4", "3 lines in a matrix of 2"),
            ("0,\"1", "line 1", "quoted"),
        ] {
            let message = error(text);
            assert!(message.contains(place), "`{text}` gave: {message}");
            assert!(message.contains(fault), "`{text}` gave: {message}");
        }
        assert!(error(&",".repeat(MAX_NODES)).contains("more than 8192 columns"));
    }

    proptest! {
        #[test]
        fn matrices_read_back_unchanged(
            nodes in 2usize..7,
            cells in proptest::collection::vec(proptest::option::of(0u32..60_000_000), 36),
        ) {
            let mut matrix = LatencyMatrix::unknown(nodes);
            for from in 0..nodes {
                for to in (0..nodes).filter(|&to| to != from) {
                    matrix.set(from, to, cells[from * nodes + to].map(Rtt::from_micros));
                }
            }
            let mut text = Vec::new();
            write_matrix_csv(&matrix, &mut text).unwrap();
            prop_assert_eq!(read_csv("m", &text[..]).unwrap(), matrix);
        }
    }
}

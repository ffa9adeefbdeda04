//! Rows of an experiment on standard output, in each form.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::faces::Format;

/// Writes rows: as tables by `table`, else as the records they are.
pub(super) fn print_rows(
    rows: &[impl Serialize],
    format: Format,
    table: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match format {
        Format::Table => table(&mut out)?,
        Format::Json => {
            serde_json::to_writer(&mut out, rows)?;
            writeln!(out)?;
        }
        Format::Ndjson => {
            for row in rows {
                serde_json::to_writer(&mut out, row)?;
                writeln!(out)?;
            }
        }
        Format::Csv => {
            let mut csv = csv::Writer::from_writer(&mut out);
            for row in rows {
                csv.serialize(row)?;
            }
            csv.flush()?;
        }
    }
    out.flush()
}

//! Tables of latencies as CSV: a header with the servers' names, then one line for each player, the
//! name first. An empty cell cannot be used.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::Latencies;

pub(super) fn is_named(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name).to_lowercase();
    name.ends_with(".csv")
}

/// A table with names on both sides.
pub(super) fn read(bytes: &[u8]) -> Result<Latencies> {
    let mut lines = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let header = lines.headers().context("line 1")?.clone();
    ensure!(
        header.len() > 1,
        "line 1: expected a header such as player,fra,iad with a column for each server"
    );
    let servers: Vec<String> = header.iter().skip(1).map(str::to_owned).collect();
    let mut columns = HashMap::new();
    for (column, server) in servers.iter().enumerate() {
        if let Some(first) = columns.insert(server, column) {
            let places = [first, column].map(|column| column + 2);
            bail!(
                "line 1: server `{server}` has two columns, {} and {}",
                places[0],
                places[1]
            );
        }
    }
    let (mut clients, mut rows) = (Vec::new(), Vec::new());
    let mut lines_of = HashMap::new();
    for record in lines.records() {
        let record = record.context("not a table: every line needs as many cells as the first")?;
        let line = record.position().map_or(0, csv::Position::line);
        if let Some(first) = lines_of.insert(record[0].to_owned(), line) {
            bail!("line {line}: `{}` has a line already, {first}", &record[0]);
        }
        clients.push(record[0].to_owned());
        let cells = record.iter().skip(1).zip(&servers);
        let row = cells.map(|(cell, server)| {
            cell_of(cell).with_context(|| format!("line {line}, column `{server}`"))
        });
        rows.push(row.collect::<Result<Vec<_>>>()?);
    }
    Ok(Latencies {
        clients,
        servers,
        rows,
    })
}

/// Milliseconds, or nothing.
pub(super) fn cell_of(cell: &str) -> Result<Option<f64>> {
    match cell {
        "" | "null" | "-" => Ok(None),
        number => match number.parse::<f64>() {
            Ok(millis) if (0.0..=1e9).contains(&millis) => Ok(Some(millis)),
            _ => bail!(
                "`{number}` is not milliseconds from 0 to 1e9 (leave it empty if there is no path)"
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_a_table_or_refused(text in "[a-c,\n\"0-9.\\-]{0,60}") {
            if let Ok(table) = read(text.as_bytes()) {
                prop_assert!(table.rows.iter().all(|row| row.len() == table.servers.len()));
                prop_assert_eq!(table.rows.len(), table.clients.len());
            }
        }
    }

    #[test]
    fn names_and_gaps_come_through() {
        let table = read(b"player, fra, iad\nanna, 12.5,\nbert, ,90\n").unwrap();
        assert_eq!(table.servers, ["fra", "iad"]);
        assert_eq!(table.clients, ["anna", "bert"]);
        assert_eq!(table.rows, [[Some(12.5), None], [None, Some(90.0)]]);
    }

    #[test]
    fn a_bad_cell_is_named_by_line_and_column() {
        let error = format!("{:#}", read(b"p,fra\nanna,12\nbert,fast\n").err().unwrap());
        assert!(
            error.contains("line 3, column `fra`") && error.contains("`fast`"),
            "{error}"
        );
        let error = format!("{:#}", read(b"p,fra\nanna\n").err().unwrap());
        assert!(
            error.contains("line: 2") || error.contains("line 2"),
            "{error}"
        );
        assert!(read(b"players\n").is_err());
    }

    #[test]
    fn nobody_stands_in_a_table_twice() {
        let error = format!("{:#}", read(b"p,fra,iad,fra\n").err().unwrap());
        assert!(error.contains("`fra` has two columns, 2 and 4"), "{error}");
        let twice = b"p,fra\nanna,12\nbert,9\nanna,13\n";
        let error = format!("{:#}", read(twice).err().unwrap());
        assert!(
            error.contains("line 4: `anna` has a line already, 2"),
            "{error}"
        );
    }

    #[test]
    fn tables_are_known_by_their_ending() {
        for name in ["a.csv", "A.CSV", "b.csv.gz"] {
            assert!(is_named(Path::new(name)), "{name}");
        }
        assert!(!is_named(Path::new("csv.json")));
    }
}

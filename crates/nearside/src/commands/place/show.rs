//! Pieces of output that several subcommands share.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result};
use nearside_placement::{Allocation, Instance};
use serde::ser::{Serialize, Serializer};

use super::args::PlaceFormat;
use crate::faces::is_closed_pipe;

/// A table for people, JSON for pipes, unless the user says otherwise.
pub(super) fn format(given: Option<PlaceFormat>) -> PlaceFormat {
    given.unwrap_or(if io::stdout().is_terminal() {
        PlaceFormat::Table
    } else {
        PlaceFormat::Json
    })
}

/// Writes to standard output; a reader that has gone away is no error.
pub(super) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if !is_closed_pipe(&error) => Err(error).context("cannot write the answer"),
        _ => Ok(()),
    }
}

/// One JSON document on lines of its own.
pub(super) fn json(document: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}

/// `{client: server}` in the order of clients.
pub(crate) struct Assignment<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) allocation: &'a Allocation,
}

impl Serialize for Assignment<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.allocation.by_name(self.instance))
    }
}

/// Lines of cells under each other, numbers to the right.
pub(super) fn columns(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells
            .chain([header[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let padded =
            cells
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(place, (cell, &width))| match place {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let body = rows
        .iter()
        .map(|row| line(row.iter().map(String::as_str).collect()));
    line(header.to_vec()) + &body.collect::<String>()
}

/// Milliseconds as people read them.
pub(super) fn millis(delay: nearside_placement::Delay) -> String {
    format!("{:.2}", delay.as_millis())
}

/// `1 server`, `3 servers`.
pub(super) fn servers(number: usize) -> String {
    format!("{number} server{}", if number == 1 { "" } else { "s" })
}

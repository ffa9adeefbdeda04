//! Pieces of output that several subcommands share.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result};
use nearside_placement::{Allocation, Delay, Instance, Status};
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

/// Writes to standard error, beside an answer that has no place for it.
pub(super) fn tell(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
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
pub(super) fn millis(delay: Delay) -> String {
    format!("{:.2}", delay.as_millis())
}

/// What a session takes, as people read it: somebody may have no path at all.
pub(super) fn taken(delay: Delay) -> String {
    match delay.is_usable() {
        true => format!("{} ms", millis(delay)),
        false => "unreachable".to_owned(),
    }
}

/// The same with the bound it should keep.
pub(super) fn taken_of(delay: Delay, most: Delay) -> String {
    match delay.is_usable() {
        true => format!("{} of {} ms", taken(delay), bound(most)),
        false => format!("{} at any bound", taken(delay)),
    }
}

/// A bound that somebody gave, with all the decimals it has.
pub(super) fn bound(bound: Delay) -> String {
    let (exact, short) = (bound.as_millis().to_string(), millis(bound));
    match exact.len() > short.len() {
        true => exact,
        false => short,
    }
}

/// A delay that may be given as a bound, and is kept then.
pub(super) fn as_bound(delay: Delay) -> String {
    millis(rounded_up(delay, 2))
}

/// What no delay is below.
pub(super) fn not_below(delay: Delay) -> String {
    millis(rounded_down(delay, 2))
}

/// The smallest bound of so many decimals that a delay keeps, tolerance included. Rounded to the nearest
/// instead, half of all delays would break the bound that they are shown as.
pub(super) fn rounded_up(delay: Delay, decimals: usize) -> Delay {
    let near = nearest(delay, decimals);
    match delay <= near + Delay::TOLERANCE {
        true => near,
        false => near + last_decimal(decimals),
    }
}

/// The largest number of so many decimals that a delay is not below.
pub(super) fn rounded_down(delay: Delay, decimals: usize) -> Delay {
    let near = nearest(delay, decimals);
    match near <= delay {
        true => near,
        false => near - last_decimal(decimals),
    }
}

fn nearest(delay: Delay, decimals: usize) -> Delay {
    let shown = format!("{:.decimals$}", delay.as_millis());
    let shown = shown.parse().ok().and_then(Delay::from_millis);
    shown.unwrap_or(delay)
}

fn last_decimal(decimals: usize) -> Delay {
    let millis = 0.1f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX));
    Delay::from_millis(millis).unwrap_or(Delay::ZERO)
}

/// `1 server`, `3 servers`.
pub(super) fn servers(number: usize) -> String {
    counted(number, "server")
}

/// So many of something.
pub(super) fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A status by its name in JSON.
pub(super) fn word(status: Status) -> String {
    let name = serde_json::to_value(status).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rounded_up_it_is_the_smallest_bound_that_is_kept(millis in 0.0f64..1e4, decimals in 0usize..5) {
            let delay = Delay::from_millis(millis).unwrap();
            let keeps = |bound: Delay| delay <= bound + Delay::TOLERANCE;
            let bound = rounded_up(delay, decimals);
            prop_assert!(keeps(bound));
            prop_assert!(!keeps(bound - last_decimal(decimals)));
            prop_assert_eq!(nearest(bound, decimals), bound);
            let below = rounded_down(delay, decimals);
            prop_assert!(below <= delay && delay < below + last_decimal(decimals));
        }
    }

    #[test]
    fn a_session_without_a_path_takes_no_milliseconds() {
        assert_eq!(taken(Delay::UNREACHABLE + Delay::TOLERANCE), "unreachable");
        assert_eq!(taken(Delay::ZERO), "0.00 ms");
    }

    #[test]
    fn a_given_bound_keeps_its_decimals() {
        let shown = [60.0, 60.5, 18.918].map(|millis| bound(Delay::from_millis(millis).unwrap()));
        assert_eq!(shown, ["60.00", "60.50", "18.918"]);
        assert_eq!(as_bound(Delay::from_millis(52.0).unwrap()), "52.00");
    }
}

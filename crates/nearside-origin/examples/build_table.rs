//! Builds a compact table from source files, the same bytes for the same input. Called by
//! `cargo xtask origin-data`, which fetches the files; of use to whoever has better ones.
//!
//! `build_table OUTPUT NAME|LICENCE|DATE|ATTRIBUTION=FILE,FILE… …`
//!
//! Where sources overlap, earlier ones win for each half of an origin.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks by printing"
)]

use std::process::ExitCode;

use nearside_origin::compact::{self, About, Credit};
use nearside_origin::files::{self, FileError};
use nearside_origin::{RangeTable, Rules, Timestamp};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("build_table: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let [output, sources @ ..] = arguments else {
        return Err("usage: build_table OUTPUT NAME|LICENCE|DATE|ATTRIBUTION=FILE,FILE…".into());
    };
    let mut table = RangeTable::default();
    let mut about = About::default();
    for source in sources {
        let (credit, paths) = source.split_once('=').ok_or("a source needs `=FILE`")?;
        about.credits.push(parse_credit(credit)?);
        for path in paths.split(',') {
            table = table.over(&load(path)?);
        }
    }
    write(output, &table, &about)
}

fn parse_credit(text: &str) -> Result<Credit, String> {
    let fields: Vec<&str> = text.split('|').collect();
    let [name, licence, date, attribution] = fields[..] else {
        return Err(format!("`{text}` is not NAME|LICENCE|DATE|ATTRIBUTION"));
    };
    Ok(Credit {
        name: name.to_owned(),
        licence: licence.to_owned(),
        attribution: attribution.to_owned(),
        date: Timestamp::from_date(date).ok_or(format!("`{date}` is not a date"))?,
    })
}

fn load(path: &str) -> Result<RangeTable, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let loaded = files::read(path, &bytes, Rules::default());
    let loaded = loaded.map_err(|error: FileError| error.to_string())?;
    println!("{path}: {}, {:?}", loaded.format, loaded.cleaned);
    Ok(loaded.table)
}

fn write(output: &str, table: &RangeTable, about: &About) -> Result<(), String> {
    let bytes = compact::encode(table, about);
    let read_back = compact::decode(&bytes).map_err(|error| error.to_string())?;
    if read_back.table != *table || read_back.about != *about {
        return Err("the table does not read back as it was written".into());
    }
    let (v4, v6) = table.known_ranges();
    println!("{v4} IPv4 and {v6} IPv6 ranges, {} bytes", bytes.len());
    println!("{} bytes in memory", read_back.table.heap_bytes());
    std::fs::write(output, &bytes).map_err(|error| format!("cannot write {output}: {error}"))
}

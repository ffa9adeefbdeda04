//! Section 6.1 on files: what browse found, and measurements between those addresses.

use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nearside_report::files::File;
use nearside_sim::ly::{Collected, Filtered};
use nearside_types::ServerAddr;
use nearside_world::recorded::{MAX_NODES, write_matrix_csv};
use serde::Deserialize;

use super::LyCollectArgs;
use crate::commands::sim::papers;
use crate::exit::Exit;
use crate::faces::is_closed_pipe;
use crate::worlds;

/// Runs the command.
pub(super) fn run(args: &LyCollectArgs) -> Result<Exit> {
    let mut addresses = Vec::new();
    for path in &args.browse {
        addresses.extend(browsed(path)?);
    }
    ensure!(
        !addresses.is_empty(),
        "these files name no server: give what `nearside browse --format json` wrote"
    );
    let collected = Collected::new(addresses, args.seed);
    let mut files = vec![targets(&collected)];
    let mut told = format!(
        "{} addresses in {} subnets.\n",
        collected.addresses,
        collected.subnets.len()
    );
    if let Some(path) = &args.pings {
        let (label, file) = worlds::open("measurements", path)?;
        let subnets = collected.subnets.len();
        ensure!(
            subnets <= MAX_NODES,
            "{subnets} subnets are too many for a matrix (collect at most {MAX_NODES}, or leave out --pings)"
        );
        let filtered = collected.read(&label, file)?;
        told += &kept(&filtered);
        files.extend(recordings(&filtered)?);
    }
    papers::make(&args.out)?;
    papers::write_files(&args.out, files.into_iter())?;
    match io::stdout().write_all(told.as_bytes()) {
        Err(error) if !is_closed_pipe(&error) => Err(error).context("cannot write the summary"),
        _ => Ok(Exit::Done),
    }
}

/// The part of a row of browse that matters here.
#[derive(Deserialize)]
struct Row {
    addr: ServerAddr,
}

#[derive(Deserialize)]
struct Document {
    servers: Vec<Row>,
}

/// The addresses of one file, in whatever form browse wrote it.
fn browsed(path: &Path) -> Result<Vec<IpAddr>> {
    let (label, mut file) = worlds::open("browse output", path)?;
    let mut text = String::new();
    file.read_to_string(&mut text)
        .with_context(|| format!("{label} is no text (unpack it first)"))?;
    let rows = match text.trim_start().starts_with('{') {
        true => json(&text),
        false => csv(&text),
    };
    let rows = rows.with_context(|| {
        format!("{label} is not what nearside browse prints with --format json, ndjson or csv")
    })?;
    Ok(rows.iter().map(|row| row.addr.ip()).collect())
}

/// One document, or an object on every line; lines without an address are progress and summary.
fn json(text: &str) -> Result<Vec<Row>> {
    if let Ok(document) = serde_json::from_str::<Document>(text) {
        return Ok(document.servers);
    }
    let mut rows = Vec::new();
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
    {
        let value: serde_json::Value =
            serde_json::from_str(line).with_context(|| format!("line {}", number + 1))?;
        if value.get("addr").is_some() {
            let row = serde_json::from_value(value);
            rows.push(row.with_context(|| format!("line {}", number + 1))?);
        }
    }
    anyhow::ensure!(!rows.is_empty(), "no line has a field `addr`");
    Ok(rows)
}

fn csv(text: &str) -> Result<Vec<Row>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.deserialize().collect::<Result<_, _>>();
    rows.context("each line needs a column `addr` such as 192.0.2.1:27015")
}

fn targets(collected: &Collected) -> File {
    let mut contents = "node,subnet,address\n".to_owned();
    for (place, (subnet, address)) in collected.subnets.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(contents, "{},{subnet},{address}", place + 1);
    }
    File {
        name: "targets.csv".to_owned(),
        contents,
    }
}

fn recordings(filtered: &Filtered) -> Result<[File; 2]> {
    let mut matrix = Vec::new();
    write_matrix_csv(&filtered.medians(), &mut matrix).context("cannot write the matrix")?;
    let matrix = String::from_utf8(matrix).expect("digits and commas are text");
    let file = |name: &str, contents| File {
        name: name.to_owned(),
        contents,
    };
    Ok([
        file("trace.csv", filtered.trace_csv()),
        file("matrix.csv", matrix),
    ])
}

fn kept(filtered: &Filtered) -> String {
    let cells = filtered.medians().known().count();
    let pairs = cells / 2;
    format!(
        "{} measurements between them, {pairs} pairs; dropped: {} below 1 ms, {} inside a subnet, {} \
         of other addresses.\n",
        filtered.trace.samples.len(),
        filtered.too_short,
        filtered.inside,
        filtered.foreign
    )
}

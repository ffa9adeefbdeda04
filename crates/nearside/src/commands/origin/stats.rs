//! `nearside origin stats`: which sources speak, how much they know and how old they are.

use std::collections::BTreeSet;
use std::io::{self, Write};

use anyhow::{Context, Result};
use nearside_origin::{Snapshot, SourceKind, Timestamp};
use serde::Serialize;

use crate::cli::OriginStatsArgs;
use crate::exit::Exit;
use crate::faces::is_closed_pipe;
use crate::origins::{self, Origins};

/// All sources: the JSON contract of `nearside origin stats`.
#[derive(Debug, Serialize)]
pub(super) struct Stats {
    sources: Vec<SourceStats>,
    notes: Vec<String>,
    /// What licences ask to be said of the sources in use.
    attribution: Option<&'static str>,
}

/// One source.
#[derive(Debug, Serialize)]
struct SourceStats {
    source: SourceKind,
    name: String,
    date: Option<String>,
    age_days: Option<u64>,
    ranges_v4: usize,
    ranges_v6: usize,
    ases: usize,
    countries: usize,
    memory_bytes: usize,
}

pub(super) fn run(args: &OriginStatsArgs) -> Result<Exit> {
    let origins = Origins::open(&args.sources)?;
    let stats = Stats::of(origins.stack().layers(), origins.notes(), origins::now());
    let out = io::stdout().lock();
    let written = if args.json {
        stats.write_json(out)
    } else {
        stats.write_table(out)
    };
    match written {
        Err(error) if is_closed_pipe(&error) => Ok(Exit::Done),
        Err(error) => Err(error).context("cannot write the result"),
        Ok(()) if stats.sources.is_empty() => Ok(Exit::Negative),
        Ok(()) => Ok(Exit::Done),
    }
}

impl Stats {
    pub(super) fn of(layers: &[Snapshot], notes: Vec<String>, now: Timestamp) -> Self {
        Self {
            sources: layers
                .iter()
                .map(|layer| SourceStats::of(layer, now))
                .collect(),
            notes,
            attribution: layers
                .iter()
                .any(|layer| layer.source() == SourceKind::Embedded)
                .then_some(nearside_origin_data::ATTRIBUTION),
        }
    }

    fn write_json(&self, mut out: impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut out, self)?;
        out.write_all(b"\n")
    }

    fn write_table(&self, mut out: impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{:<8}  {:<10}  {:>6}  {:>9}  {:>9}  {:>6}  {:>3}  {:>8}  NAME",
            "SOURCE", "DATE", "DAYS", "IPV4", "IPV6", "ASES", "CC", "MEMORY"
        )?;
        for source in &self.sources {
            source.write_row(&mut out)?;
        }
        if self.sources.is_empty() {
            writeln!(out, "no source: nothing will be known of any address")?;
        }
        for note in &self.notes {
            writeln!(out, "{note}")?;
        }
        match self.attribution {
            Some(words) => writeln!(out, "{words}"),
            None => Ok(()),
        }
    }
}

impl SourceStats {
    fn of(layer: &Snapshot, now: Timestamp) -> Self {
        let (mut ases, mut countries) = (BTreeSet::new(), BTreeSet::new());
        for (_, _, origin) in layer.table().ranges() {
            ases.extend(origin.asn);
            countries.extend(origin.country);
        }
        let (ranges_v4, ranges_v6) = layer.table().known_ranges();
        Self {
            source: layer.source(),
            name: layer.label().to_owned(),
            date: layer.built().map(|date| date.to_string()),
            age_days: layer.age(now).map(|age| age.as_secs() / 86_400),
            ranges_v4,
            ranges_v6,
            ases: ases.len(),
            countries: countries.len(),
            memory_bytes: layer.table().heap_bytes(),
        }
    }

    fn write_row(&self, out: &mut impl Write) -> io::Result<()> {
        let age = self
            .age_days
            .map_or("–".to_owned(), |days| days.to_string());
        writeln!(
            out,
            "{:<8}  {:<10}  {age:>6}  {:>9}  {:>9}  {:>6}  {:>3}  {:>4.1} MiB  {}",
            self.source,
            self.date.as_deref().unwrap_or("–"),
            self.ranges_v4,
            self.ranges_v6,
            self.ases,
            self.countries,
            self.memory_bytes as f64 / f64::from(1 << 20),
            self.name,
        )
    }
}

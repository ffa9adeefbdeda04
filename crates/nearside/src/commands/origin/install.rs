//! `nearside origin use FILE`: a newer table for this user.

use std::io::{self, Write};

use anyhow::{Context, Result};
use nearside_origin::Timestamp;

use crate::cli::OriginUseArgs;
use crate::exit::Exit;
use crate::origins::{self, Report, install, remove};

pub(super) fn run(args: &OriginUseArgs) -> Result<Exit> {
    match &args.file {
        Some(file) => {
            let date = args.date.as_deref().map(parse_date).transpose()?;
            let installed = install(file, date)?;
            if let Some(note) = installed.report.note(file) {
                writeln!(io::stderr(), "{note}")?;
            }
            told(&installed)
        }
        None => take_away(),
    }
}

fn parse_date(text: &str) -> Result<Timestamp> {
    let date = Timestamp::from_date(text);
    let date = date.filter(|date| *date <= origins::now());
    date.with_context(|| format!("--date {text}: write a day of the past, as 2026-11-01"))
}

fn told(installed: &crate::origins::Installed) -> Result<Exit> {
    let mut out = io::stdout().lock();
    let (v4, v6) = installed.ranges;
    writeln!(
        out,
        "installed {} of {}: {v4} ranges of IPv4, {v6} of IPv6, in {}",
        installed.half.words(),
        installed.date,
        installed.path.display()
    )?;
    if let Report::Table { cleaned, .. } = &installed.report {
        let left_out = cleaned.reserved_asns + cleaned.unallocated_asns + cleaned.default_routes;
        if left_out > 0 {
            writeln!(
                out,
                "left out: {left_out} ranges whose AS is reserved or unallocated, or that cover everything"
            )?;
        }
    }
    Ok(Exit::Done)
}

fn take_away() -> Result<Exit> {
    let removed = remove()?;
    let mut out = io::stdout().lock();
    for path in &removed {
        writeln!(out, "removed {}", path.display())?;
    }
    if removed.is_empty() {
        writeln!(
            out,
            "no table is installed; the one in the program is in use"
        )?;
        return Ok(Exit::Negative);
    }
    Ok(Exit::Done)
}

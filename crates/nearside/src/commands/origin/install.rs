//! `nearside origin use FILE`: a newer table for this user.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use nearside_origin::Timestamp;

use crate::cli::OriginUseArgs;
use crate::exit::Exit;
use crate::faces::is_closed_pipe;
use crate::origins::{self, Installed, install, remove};

pub(super) fn run(args: &OriginUseArgs) -> Result<Exit> {
    match &args.file {
        Some(file) => {
            let date = args.date.as_deref().map(parse_date).transpose()?;
            let installed = install(file, date)?;
            said(told(&installed), Exit::Done)
        }
        None => {
            let removed = remove()?;
            let exit = if removed.is_empty() {
                Exit::Negative
            } else {
                Exit::Done
            };
            said(told_removed(&removed), exit)
        }
    }
}

fn parse_date(text: &str) -> Result<Timestamp> {
    let date = Timestamp::from_date(text);
    let date = date.filter(|date| *date <= origins::now());
    date.with_context(|| format!("--date {text}: write a day of the past, as 2026-11-01"))
}

/// The work is done; a reader that went away changes nothing about that.
fn said(written: io::Result<()>, exit: Exit) -> Result<Exit> {
    match written {
        Err(error) if !is_closed_pipe(&error) => {
            Err(error).context("done, but standard output cannot be written")
        }
        _ => Ok(exit),
    }
}

fn told(installed: &Installed) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let (v4, v6) = installed.ranges;
    writeln!(
        out,
        "installed {} of {}: {v4} ranges of IPv4, {v6} of IPv6, in {}",
        installed.half.words(),
        installed.date,
        installed.path.display()
    )?;
    match &installed.note {
        Some(note) => writeln!(out, "{note}"),
        None => Ok(()),
    }
}

fn told_removed(removed: &[PathBuf]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for path in removed {
        writeln!(out, "removed {}", path.display())?;
    }
    if removed.is_empty() {
        writeln!(
            out,
            "no table is installed; the one in the program is in use"
        )?;
    }
    Ok(())
}

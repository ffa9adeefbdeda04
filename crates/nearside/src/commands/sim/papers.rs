//! `nearside sim PAPER WHAT` and `nearside sim all`: tables and figures of papers, made again.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use nearside_report::files::{self, File};
use nearside_report::{Report, html, json, text};
use nearside_sim::experiment::{Setup, Size, conduct};
use nearside_sim::ly::Settings;
use nearside_sim::{Seeds, Volume, everything};

use super::args::{AllArgs, HowArgs, PaperShowingArgs};
use super::ly;
use super::on_threads;
use super::progress::Bar;
use crate::exit::{Exit, WorldFailure};
use crate::faces::is_closed_pipe;

/// What a terminal is wide enough for.
const WIDTH: usize = 120;

/// The page that `all` writes.
const PAGE: &str = "index.html";

/// Runs one experiment of a paper, or all of them.
pub(super) fn run(
    paper: &str,
    what: &str,
    how: &HowArgs,
    showing: &PaperShowingArgs,
) -> Result<Exit> {
    let volume = Volume::find(paper).expect("the flags name papers of the catalogue");
    run_volume(volume, what, how, showing, "")
}

/// The same of a volume that the catalogue does not have: its network was read from a file, which
/// `words` name for the line that makes a report again.
pub(super) fn run_volume(
    volume: Volume,
    what: &str,
    how: &HowArgs,
    showing: &PaperShowingArgs,
    words: &str,
) -> Result<Exit> {
    let setup = setup(how, |size| volume.usual_seeds(size));
    let experiments = volume.chosen(what);
    if let Some(folder) = &showing.out {
        make(folder)?; // before minutes are spent on what cannot be written
    }
    let bar = Bar::new();
    let mut reports = on_threads(how.threads, || conduct(&experiments, &setup, &bar))?;
    drop(bar);
    for report in &mut reports {
        report.command.push_str(words);
    }
    if let Some(folder) = &showing.out {
        write_files(folder, reports.iter().flat_map(files::of))?;
    }
    match print(&reports, &showing.format) {
        Err(error) if !is_closed_pipe(&error) => Err(error).context("cannot write the report"),
        _ => Ok(Exit::Done),
    }
}

/// Runs everything, writes the page, and prints what stands on top of it.
pub(super) fn all(args: &AllArgs) -> Result<Exit> {
    make(&args.out)?;
    let setup = setup(&args.how, Setup::usual_seeds);
    let lab = ly::laboratory(&args.network, Settings::default())?;
    let command = setup.command("all --out DIR") + &ly::network_words(&args.network);
    let footer = format!("nearside {}, {command}", env!("CARGO_PKG_VERSION"));
    let bar = Bar::new();
    let page = on_threads(args.how.threads, || everything(&setup, lab, footer, &bar))?;
    drop(bar);
    let reports = page.chapters.iter().flat_map(|chapter| &chapter.reports);
    let index = File {
        name: PAGE.to_owned(),
        contents: html::render(&page),
    };
    let written = write_files(&args.out, reports.flat_map(files::of).chain([index]))?;
    let path = args.out.join(PAGE);
    let note = format!("Wrote {written} files; open {}", path.display());
    let conclusion = Report {
        parts: page.lead,
        ..Report::new("all", page.title, command, "") // the first lines name the seeds
    };
    match print(&[conclusion.with(note)], "table") {
        Err(error) if !is_closed_pipe(&error) => Err(error).context("cannot write the summary"),
        _ => Ok(Exit::Done),
    }
}

fn setup(how: &HowArgs, usual: impl Fn(Size) -> Seeds) -> Setup {
    let size = match how.quick {
        true => Size::Quick,
        false => Size::Full,
    };
    Setup {
        seeds: how.seeds.clone().unwrap_or_else(|| usual(size)),
        size,
    }
}

/// One report as JSON is one object; several are one array.
fn print(reports: &[Report], format: &str) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match (format, reports) {
        ("json", [report]) => out.write_all(json::render(report).as_bytes())?,
        ("json", reports) => {
            let documents: Vec<String> = reports.iter().map(json::render).collect();
            writeln!(out, "[{}]", documents.join(","))?;
        }
        _ => {
            let texts: Vec<String> = reports
                .iter()
                .map(|report| text::render(report, WIDTH))
                .collect();
            write!(out, "{}", texts.join("\n\n"))?;
        }
    }
    out.flush()
}

pub(super) fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| failed("make", folder, &error))
}

pub(super) fn write_files(folder: &Path, files: impl Iterator<Item = File>) -> Result<usize> {
    let mut written = 0;
    for file in files {
        let path = folder.join(&file.name);
        fs::write(&path, &file.contents).map_err(|error| failed("write", &path, &error))?;
        written += 1;
    }
    Ok(written)
}

/// A disk that refuses is the world's fault, not the user's.
fn failed(doing: &str, path: &Path, error: &io::Error) -> anyhow::Error {
    WorldFailure(format!("cannot {doing} {}: {error}", path.display())).into()
}

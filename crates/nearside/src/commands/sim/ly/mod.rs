//! `nearside sim ly`: detours on recorded latencies.

mod args;
mod collect;
mod paper;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use nearside_report::{Table, text};
use nearside_sim::ly::{CoordinateStudy, LagStudy, Liars, MatrixMode, RankingStudy};
use nearside_types::{LatencyMatrix, Rtt};
use nearside_world::recorded::{MatrixLayout, RecordedError, Series, read_matrix, read_series};
use serde::Serialize;

use super::on_threads;
use super::progress::Bar;
use super::rows::print_rows;
use crate::commands::share;
use crate::exit::Exit;
use crate::faces::{Format, is_closed_pipe};
use crate::worlds;

pub use args::{
    LyArgs, LyCollectArgs, LyCommand, LyCoordinatesArgs, LyLagArgs, LyMatrixArgs, LyNetworkArgs,
    LyPaperArgs, LyRankingArgs, LySettingsArgs,
};
pub(super) use paper::{laboratory, network_words};

/// Runs the command.
pub(super) fn run(args: &LyArgs) -> Result<Exit> {
    match &args.what {
        LyCommand::Ranking(args) => ranking(args),
        LyCommand::Coordinates(args) => coordinates(args),
        LyCommand::Lag(args) => lag(args),
        LyCommand::Collect(args) => collect::run(args),
        what => {
            let (item, args) = what.of_paper().expect("all others are of the paper");
            paper::run(item, args)
        }
    }
}

/// Each number once, where it is named first: a row twice says nothing more.
fn distinct(numbers: &[usize]) -> Vec<usize> {
    let mut kept = Vec::with_capacity(numbers.len());
    for number in numbers {
        if !kept.contains(number) {
            kept.push(*number);
        }
    }
    kept
}

fn ranking(args: &LyRankingArgs) -> Result<Exit> {
    anyhow::ensure!(
        (0.0..=1000.0).contains(&args.overhead),
        "--overhead {} is no time a relay takes (write 0 to 1000 ms)",
        args.overhead
    );
    let liars = share("liars", args.liars)?;
    let chooses = read(&args.matrix.matrix, args.matrix.layout)?;
    let (judge, judges) = judge(args, &chooses)?;
    let study = RankingStudy {
        labels: [args.matrix.layout, judge].map(|layout| label(&args.matrix, layout)),
        mode: mode(&args.matrix),
        ks: distinct(&args.k),
        pairs: args.pairs,
        overhead: Rtt::from_millis_f64(args.overhead),
        liars: (f64::from(liars) > 0.0).then_some(Liars {
            share: liars.into(),
            lie: args.lie,
        }),
        seeds: args.matrix.seeds.clone(),
    };
    let bar = Bar::new();
    let rows = on_threads(args.matrix.threads, || study.run(&chooses, &judges, &bar))??;
    drop(bar);
    show(&rows, &RankingStudy::table(&rows), args.matrix.format)
}

/// The matrix that judges: the one named, else the next slice, else the same.
fn judge(args: &LyRankingArgs, chooses: &LatencyMatrix) -> Result<(MatrixLayout, LatencyMatrix)> {
    let path = &args.matrix.matrix;
    if let Some(layout) = args.judge {
        return Ok((layout, read(path, layout)?));
    }
    let next = following(args.matrix.layout).map(|layout| (layout, read(path, layout)));
    match next {
        Some((layout, Ok(matrix))) => Ok((layout, matrix)),
        // Only the end of the file is a reason to judge by what was seen.
        Some((_, Err(error))) if !is_past_the_end(&error) => Err(error),
        _ => {
            let note = "note: no later slice, so choices are judged on what they were made on";
            writeln!(io::stderr(), "{note}").ok();
            Ok((args.matrix.layout, chooses.clone()))
        }
    }
}

fn following(layout: MatrixLayout) -> Option<MatrixLayout> {
    match layout {
        MatrixLayout::UpperMicros { nodes, slice } => Some(MatrixLayout::UpperMicros {
            nodes,
            slice: slice + 1,
        }),
        MatrixLayout::FullTenMillis { nodes, slice } => Some(MatrixLayout::FullTenMillis {
            nodes,
            slice: slice + 1,
        }),
        MatrixLayout::Csv => None,
    }
}

fn is_past_the_end(error: &anyhow::Error) -> bool {
    let recorded = error.downcast_ref::<RecordedError>();
    recorded.and_then(slices_before_the_end).is_some()
}

fn coordinates(args: &LyCoordinatesArgs) -> Result<Exit> {
    let study = CoordinateStudy {
        label: label(&args.matrix, args.matrix.layout),
        mode: mode(&args.matrix),
        dimensions: distinct(&args.dimensions),
        ranks: distinct(&args.ranks),
        seeds: args.matrix.seeds.clone(),
    };
    let matrix = read(&args.matrix.matrix, args.matrix.layout)?;
    let bar = Bar::new();
    let rows = on_threads(args.matrix.threads, || study.run(&matrix, &bar))?;
    drop(bar);
    anyhow::ensure!(
        !rows.is_empty(),
        "{}: no pair is known that nobody measured (is it empty, or --neighbours {} all there are?)",
        args.matrix.matrix.display(),
        args.matrix.neighbours
    );
    show(&rows, &CoordinateStudy::table(&rows), args.matrix.format)
}

fn lag(args: &LyLagArgs) -> Result<Exit> {
    let series = series(&args.series)?;
    let margins = args.margins.iter().copied();
    let study = LagStudy {
        margins: margins.map(Rtt::from_millis_f64).collect(),
        window: args.window,
    };
    let bar = Bar::new();
    let rows = study.run(&series, &bar);
    drop(bar);
    show(&rows, &LagStudy::table(&rows), args.format)
}

/// Labelled series with something in them.
fn series(path: &Path) -> Result<Vec<Series>> {
    let (label, file) = worlds::open("series", path)?;
    let series = read_series(&label, file)?;
    anyhow::ensure!(
        series.iter().any(|series| !series.points.is_empty()),
        "{label}: no sample in it (lines are probe;epoch_utc;rtt_ms;change_point)"
    );
    Ok(series)
}

/// What a slice is called in rows and tables: by the file's name, since they are read elsewhere.
fn label(args: &LyMatrixArgs, layout: MatrixLayout) -> String {
    format!("{} {layout}", paper::name(&args.matrix))
}

fn mode(args: &LyMatrixArgs) -> MatrixMode {
    MatrixMode {
        neighbours: args.neighbours,
        pings: args.pings,
        ..MatrixMode::default()
    }
}

fn read(path: &Path, layout: MatrixLayout) -> Result<LatencyMatrix> {
    let (label, file) = worlds::open("matrix", path)?;
    let read = read_matrix(&label, file, layout);
    read.map_err(|error| match slices_before_the_end(&error) {
        Some(slices) => {
            let ends = format!("{label}: no such slice as {layout} (the file has {slices})");
            anyhow::Error::new(error).context(ends)
        }
        None => error.into(),
    })
}

/// How many slices a file has that ended before the one that was asked for.
fn slices_before_the_end(error: &RecordedError) -> Option<usize> {
    match error {
        RecordedError::Short {
            found: 0, slice, ..
        } => Some(slice - 1),
        _ => None,
    }
}

fn show(rows: &[impl Serialize], table: &Table, format: Format) -> Result<Exit> {
    match print_rows(rows, format, |out| {
        write!(out, "{}", text::table(table, WIDTH))
    }) {
        Err(error) if !is_closed_pipe(&error) => Err(error).context("cannot write the rows"),
        _ => Ok(Exit::Done),
    }
}

/// What a terminal is wide enough for.
const WIDTH: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_named_twice_counts_once() {
        assert_eq!(distinct(&[8, 2, 8, 8, 4, 2]), [8, 2, 4]);
    }
}

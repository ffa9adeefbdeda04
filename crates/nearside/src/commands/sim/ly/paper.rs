//! Figures, tables and sweeps of the paper, on a recording or an invented globe.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use nearside_sim::Volume;
use nearside_sim::ly::{Laboratory, Network, Settings, Source};
use nearside_types::{LatencyMatrix, Rtt};
use nearside_world::recorded::{MatrixLayout, Trace};

use super::{LyNetworkArgs, LyPaperArgs, LySettingsArgs, following, is_past_the_end, read};
use crate::commands::sim::papers;
use crate::exit::Exit;
use crate::worlds;

/// Runs one experiment of the paper, or all of them.
pub(super) fn run(item: &str, args: &LyPaperArgs) -> Result<Exit> {
    let lab = laboratory(&args.network, settings(&args.settings))?;
    let words = words(args);
    papers::run_volume(Volume::detours(lab), item, &args.how, &args.showing, &words)
}

/// The network and the series that were asked for.
pub(in crate::commands::sim) fn laboratory(
    args: &LyNetworkArgs,
    settings: Settings,
) -> Result<Laboratory> {
    let mut lab = Laboratory::new(source(args)?, settings);
    if let Some(path) = &args.series {
        lab.series = super::series(path)?;
    }
    Ok(lab)
}

fn source(args: &LyNetworkArgs) -> Result<Source> {
    if let Some(path) = &args.trace {
        let (label, file) = worlds::open("trace", path)?;
        let trace = Trace::read(&label, file)?;
        let network = Network::replayed(name(path), trace).context(label)?;
        return Ok(Source::Recorded(Arc::new(network)));
    }
    let (Some(path), Some(layout)) = (&args.matrix, args.layout) else {
        return Ok(Source::Generated);
    };
    let label = path.display().to_string();
    let slices = slices(path, layout, args.slices)?;
    if slices.len() < args.slices {
        let (wanted, found) = (args.slices, slices.len());
        let note =
            format!("note: {wanted} slices were asked for, and {found} are used: the file ends");
        writeln!(io::stderr(), "{note}").ok();
    }
    let title = format!("{}, {layout}, slices: {}", name(path), slices.len());
    let network = Network::recorded(title, slices).context(label)?;
    Ok(Source::Recorded(Arc::new(network)))
}

/// So many slices from the layout's on, or as many as there are.
fn slices(path: &Path, layout: MatrixLayout, count: usize) -> Result<Vec<LatencyMatrix>> {
    let mut slices = vec![read(path, layout)?];
    let mut next = following(layout);
    while let (Some(layout), true) = (next, slices.len() < count) {
        match read(path, layout) {
            Ok(slice) => slices.push(slice),
            Err(error) if is_past_the_end(&error) => break,
            Err(error) => return Err(error),
        }
        next = following(layout);
    }
    Ok(slices)
}

/// The file without its folders: reports are read elsewhere.
pub(super) fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn settings(args: &LySettingsArgs) -> Settings {
    Settings {
        neighbours: args.neighbours,
        candidates: args.candidates,
        pings: args.pings,
        report_interval: Duration::from_secs_f64(args.report_interval),
        delta: Rtt::from_millis_f64(args.delta),
        own_delta: Rtt::from_millis_f64(args.own_delta),
        overhead: Rtt::from_millis_f64(args.overhead),
    }
}

/// What the command line had beside seeds and size, for the line that makes a report again.
fn words(args: &LyPaperArgs) -> String {
    let mut words = network_words(&args.network);
    let (now, usual) = (settings(&args.settings), Settings::default());
    let mut add = |differs: bool, flag: &str, value: f64| {
        if differs {
            words.push_str(&format!(" --{flag} {value}"));
        }
    };
    let given = &args.settings;
    add(
        now.neighbours != usual.neighbours,
        "neighbours",
        given.neighbours as f64,
    );
    add(
        now.candidates != usual.candidates,
        "candidates",
        given.candidates as f64,
    );
    add(now.pings != usual.pings, "pings", given.pings as f64);
    add(
        now.report_interval != usual.report_interval,
        "report-interval",
        given.report_interval,
    );
    add(now.delta != usual.delta, "delta", given.delta);
    add(
        now.own_delta != usual.own_delta,
        "own-delta",
        given.own_delta,
    );
    add(now.overhead != usual.overhead, "overhead", given.overhead);
    words
}

pub(in crate::commands::sim) fn network_words(args: &LyNetworkArgs) -> String {
    let series = args.series.as_ref();
    let series = series.map_or(String::new(), |path| format!(" --series {}", name(path)));
    source_words(args) + &series
}

fn source_words(args: &LyNetworkArgs) -> String {
    if let Some(path) = &args.trace {
        return format!(" --trace {}", name(path));
    }
    let (Some(path), Some(layout)) = (&args.matrix, args.layout) else {
        return String::new();
    };
    let slices = match args.slices {
        1 => String::new(),
        count => format!(" --slices {count}"),
    };
    format!(" --matrix {} --layout {layout}{slices}", name(path))
}

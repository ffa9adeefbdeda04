//! `nearside browse`: from lists to a ranked table that stops by itself.

mod explain;
mod lists;
mod picture;
mod remembering;
mod settings;
mod showing;

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nearside_discover::journal::{Entry, Sink};
use nearside_discover::planner::{
    Activity, Objective, PlannerConfig, PlannerKind, ServerId, StopReason,
};
use nearside_discover::prober::{Event, Prober};
use nearside_discover::snapshot::{Progress, Snapshot};
use nearside_discover::sources::{Completeness, SourceReport};
use nearside_net::{BrowseObserver, BrowseOutcome, BrowseSetup, MonotonicClock, Stop, browse};
use nearside_types::{Moment, ServerAddr};

use self::explain::explain;
use self::lists::{check, favourites, lists};
use self::picture::Picture;
use self::remembering::Remembering;
use self::settings::{planner_config, prober_config};
use self::showing::{face, is_table};
use super::{create, seed, stop_on_interrupt};
use crate::cli::BrowseArgs;
use crate::exit::{Exit, WorldFailure};
use crate::faces::{Face, Goal, Shown};

/// Runs the command.
pub fn run(args: &BrowseArgs) -> Result<Exit> {
    let clock = MonotonicClock::start();
    let seed = seed(args.probing.seed)?;
    let planner = planner_config(&args.planning, args.showing.max_rtt)?;
    if args.showing.explain && planner.kind != PlannerKind::Adaptive {
        bail!(
            "--explain is for the adaptive planner, not for {}",
            planner.kind
        );
    }
    check(&args.sources)?;
    let favourites = favourites(&args.sources)?;
    // Before anything is drawn: who presses Ctrl-C then wants a tidy end too.
    let stop = stop_on_interrupt()?;
    let stop_rtt = planner.rtt_stop();
    let remembering = Remembering::of(args);
    let mut face = face(&args.showing, goal(&planner), &favourites);
    let shows_progress = !(args.showing.quiet && is_table(&args.showing));
    if let (Some(last), Some(age), true) = (&remembering.last, remembering.age(), shows_progress) {
        // Lists from the Web and tables of origins take their time.
        face.remembered(&last.rows, age);
        if let Err(error) = face.progress(&Progress::beginning()) {
            return closed_output(error);
        }
    }
    let lists = lists(args, favourites.clone(), planner, seed, clock, &stop)?;
    let Recording {
        sink: record,
        failure,
    } = Recording::to(args.probing.record.as_deref())?;
    let setup = BrowseSetup {
        prober: prober_config(args, seed),
        planner: lists.planner,
        masters: lists.masters,
        servers: lists.servers,
        favourites: lists.favourites,
        policy: lists.policy,
        origins: lists.origins,
        memory: remembering.last.as_ref().map(|last| last.memory.clone()),
        record,
    };
    let picture = args.showing.picture.as_deref();
    let picture = picture.map(|path| Picture::open(path, stop_rtt));
    let mut observer = Watcher {
        face: &mut face,
        shows_progress,
        listed: false,
        last_progress: None,
        picture: picture.transpose()?,
        started: clock.now(),
        seconds: 0.0,
        warnings: lists.notes,
        closed: None,
        stop: stop.clone(),
    };
    let outcome = browse(setup, &clock, &stop, &mut observer)?;
    let Watcher {
        closed,
        mut warnings,
        picture,
        ..
    } = observer;
    drop(lists.lab);
    let snapshot = snapshot(&outcome, &favourites);
    if let Some(picture) = picture {
        picture.write(&snapshot.summary)?;
    }
    if let Some(error) = closed {
        return closed_output(error);
    }
    let narrowed = outcome.merge.unwanted > 0;
    warnings.extend(remembering.told(outcome.prober.prober().plan().memory));
    warnings.extend(remembering.keep(outcome.prober.prober(), &snapshot, narrowed));
    let shown = match face.finish(&snapshot) {
        Ok(shown) => shown,
        Err(error) => return closed_output(error),
    };
    if args.showing.explain {
        explanation(outcome.prober.prober())?;
    }
    if !args.showing.quiet {
        notes(&outcome, &warnings, seed)?;
    }
    let failure = failure.lock().map_or(None, |mut failure| failure.take());
    match failure {
        Some(error) => Err(error).context("the record is not whole"),
        None => judge(&outcome, &snapshot, shown),
    }
}

/// What is looked for: only the adaptive planner can aim at the best alone.
fn goal(planner: &PlannerConfig) -> Goal {
    let adaptive = &planner.adaptive;
    Goal {
        stop_rtt: planner.rtt_stop(),
        best: adaptive.best,
        only_best: planner.kind == PlannerKind::Adaptive && adaptive.objective == Objective::Best,
    }
}

/// What the planner believed, on standard error.
fn explanation(prober: &Prober) -> Result<()> {
    if let Some(explanation) = prober.explanation() {
        std::io::stderr().write_all(explain(&explanation).as_bytes())?;
    }
    Ok(())
}

/// A reader that went away (`| head`) is no failure; a full disk is.
fn closed_output(error: std::io::Error) -> Result<Exit> {
    if crate::faces::is_closed_pipe(&error) {
        return Ok(Exit::Done);
    }
    Err(error).context("cannot write the result")
}

/// What the exit code says.
fn judge(outcome: &BrowseOutcome, snapshot: &Snapshot, shown: Shown) -> Result<Exit> {
    if snapshot.summary.stopped == Some(StopReason::Interrupted) {
        return Ok(Exit::Interrupted);
    }
    let silent = |(_, report): &(String, SourceReport)| report.completeness == Completeness::Silent;
    if snapshot.summary.listed == 0 && outcome.sources.iter().any(silent) {
        let names: Vec<&str> = outcome
            .sources
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        return Err(WorldFailure(format!(
            "no list came from {}: is the address right, and does it serve this game?",
            names.join(", ")
        ))
        .into());
    }
    Ok(if snapshot.summary.answered == 0 || shown.matching == 0 {
        Exit::Negative
    } else {
        Exit::Done
    })
}

/// Every row that answered, and favourites that did not.
fn snapshot(outcome: &BrowseOutcome, favourites: &[ServerAddr]) -> Snapshot {
    let prober = outcome.prober.prober();
    let mut snapshot = prober.snapshot();
    // Favourites were listed first; those out of reach were not listed at all.
    let first = favourites.len().min(snapshot.summary.listed);
    let down = (0..first)
        .map(|index| prober.row(ServerId::from_index(index)))
        .filter(|row| row.rtt_ms.is_none() && favourites.contains(&row.addr));
    snapshot.servers.extend(down);
    snapshot
}

/// Passes what happens on to the face.
struct Watcher<'a, 'out> {
    face: &'a mut Face<'out>,
    shows_progress: bool,
    /// Whether the face knows that the list is whole.
    listed: bool,
    last_progress: Option<Moment>,
    picture: Option<Picture>,
    started: Moment,
    /// How long it runs, as of the last tick.
    seconds: f64,
    /// Said at the end, so that they do not tear the live view.
    warnings: Vec<String>,
    /// Why nothing more can be written.
    closed: Option<std::io::Error>,
    stop: Stop,
}

/// Ten times a second is smooth to the eye and costs nothing.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

impl Watcher<'_, '_> {
    fn check(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written
            && self.closed.is_none()
        {
            self.closed = Some(error);
            self.stop.stop();
        }
    }
}

impl BrowseObserver for Watcher<'_, '_> {
    fn event(&mut self, prober: &Prober, event: Event) {
        match event {
            Event::Answered(server) => {
                let row = prober.row(server);
                if let Some(picture) = &mut self.picture {
                    picture.answered(self.seconds, row.rtt_ms);
                }
                let written = self.face.row(&row);
                self.check(written);
            }
            Event::Unanswered(server) => self.face.gone(prober.listed(server).addr),
        }
    }

    fn tick(&mut self, prober: &Prober, now: Moment) {
        self.seconds = now.since(self.started).as_secs_f64();
        let due = self
            .last_progress
            .is_none_or(|last| now - last >= PROGRESS_EVERY);
        if !due {
            return;
        }
        self.last_progress = Some(now);
        let progress = prober.progress(now);
        if !self.listed && progress.activity != Activity::Listing {
            self.listed = true;
            self.face.list_complete(|addr| prober.is_listed(addr));
        }
        if let Some(picture) = &mut self.picture {
            picture.progress(&progress);
        }
        if self.shows_progress {
            let written = self.face.progress(&progress);
            self.check(written);
        }
    }

    fn source_done(&mut self, name: &str, report: &SourceReport) {
        if report.completeness != Completeness::Whole {
            self.warnings.push(source_words(name, report));
        }
    }
}

fn source_words(name: &str, report: &SourceReport) -> String {
    match report.completeness {
        Completeness::Whole => format!("{name}: {} servers", report.servers),
        Completeness::Truncated => format!(
            "{name}: the list broke off after {} servers (lost packets, or the master limits its guests: try again in a minute)",
            report.servers
        ),
        Completeness::Silent => format!(
            "{name}: no answer to {} requests ({} replies not understood)",
            report.requests, report.malformed
        ),
    }
}

/// What was left out and how to run it again, on standard error.
fn notes(outcome: &BrowseOutcome, warnings: &[String], seed: u64) -> Result<()> {
    let merge = outcome.merge;
    let mut err = std::io::stderr().lock();
    for warning in warnings {
        writeln!(err, "{warning}")?;
    }
    if merge.bogons > 0 {
        writeln!(
            err,
            "{} not probed: addresses that are private, reserved or out of reach (--lan allows private ones)",
            merge.bogons
        )?;
    }
    if merge.crowded > 0 {
        writeln!(
            err,
            "{} not probed: too many on one address (--per-address raises the limit)",
            merge.crowded
        )?;
    }
    if merge.unwanted > 0 {
        writeln!(
            err,
            "{} not probed: of another country or AS than asked for, or of an unknown one",
            merge.unwanted
        )?;
    }
    if outcome.unsent > 0 {
        writeln!(
            err,
            "{} datagrams not sent: the system had no room",
            outcome.unsent
        )?;
    }
    writeln!(err, "seed {seed}")?;
    Ok(())
}

/// A record under way, and what went wrong with it.
#[derive(Default)]
struct Recording {
    sink: Option<Sink>,
    failure: Arc<Mutex<Option<std::io::Error>>>,
}

impl Recording {
    fn to(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let mut file = BufWriter::new(create(path)?);
        let failure: Arc<Mutex<Option<std::io::Error>>> = Arc::default();
        let told = Arc::clone(&failure);
        let sink: Sink = Box::new(move |entry| {
            if let Err(error) = write_entry(&mut file, &entry) {
                let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
                told.get_or_insert(error);
            }
        });
        Ok(Self {
            sink: Some(sink),
            failure,
        })
    }
}

fn write_entry(file: &mut impl Write, entry: &Entry) -> std::io::Result<()> {
    serde_json::to_writer(&mut *file, entry)?;
    file.write_all(b"\n")?;
    if matches!(entry, Entry::End { .. }) {
        file.flush()?;
    }
    Ok(())
}

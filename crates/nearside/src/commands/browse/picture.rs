//! The run as a picture: round-trip times against time, as in the papers' figures, and what the
//! planner believed meanwhile.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use nearside_discover::snapshot::{Progress, Summary};
use nearside_report::{Axis, Figure, Layer, Point, svg};
use nearside_types::Rtt;

/// What the picture shows of the RTT axis; beyond are only queues.
const HIGHEST_MS: f64 = 600.0;

/// Collects the points of a picture while the run is under way.
pub(super) struct Picture {
    path: PathBuf,
    /// Open from the start, so that nobody waits for a run whose picture cannot be written.
    file: File,
    rtt_stop: Rtt,
    answers: Vec<Point>,
    to_find: Vec<Point>,
}

impl Picture {
    /// A picture that is written to `path` in the end; an older one stays until then.
    pub(super) fn open(path: &Path, rtt_stop: Rtt) -> Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(path);
        Ok(Self {
            path: path.to_owned(),
            file: file.with_context(|| format!("cannot write {}", path.display()))?,
            rtt_stop,
            answers: Vec::new(),
            to_find: Vec::new(),
        })
    }

    pub(super) fn answered(&mut self, seconds: f64, rtt_ms: Option<f64>) {
        self.answers
            .extend(rtt_ms.map(|rtt| Point { x: seconds, y: rtt }));
    }

    pub(super) fn progress(&mut self, progress: &Progress) {
        let Some(missed) = progress.expected_missed else {
            return;
        };
        let all = progress.playable as f64 + missed;
        if progress.probed > 0 && all > 0.0 {
            self.to_find.push(Point {
                x: progress.seconds,
                y: HIGHEST_MS * missed / all,
            });
        }
    }

    pub(super) fn write(mut self, summary: &Summary) -> Result<()> {
        let text = svg::render(&self.figure(summary));
        // What is no file, as /dev/stdout, cannot be shortened and need not be.
        let _cut = self.file.set_len(0);
        let written = self.file.write_all(text.as_bytes());
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }

    fn figure(&self, summary: &Summary) -> Figure {
        let caption = format!(
            "{} of {} servers probed by the planner {}",
            summary.probed, summary.listed, summary.planner
        );
        let x = Axis::linear("time (s)");
        let y = Axis::linear("RTT (ms)").range(0.0, HIGHEST_MS);
        let figure = Figure::chart("run", caption, x, y)
            .layer(Layer::points("answers", self.answers.iter().copied()))
            .layer(Layer::horizontal(
                "playable below",
                self.rtt_stop.as_millis_f64(),
            ))
            .layer(Layer::vertical("end", summary.seconds));
        if self.to_find.is_empty() {
            return figure;
        }
        let share = Axis::linear("share of the playable (%)").range(0.0, 100.0);
        let label = "believed still to find";
        let figure = figure.layer(Layer::steps(label, self.to_find.iter().copied()));
        figure.right_axis(share)
    }
}
